"""An evaluation as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evaluation.documents import verdict
from evaluation.types import Baseline, Comparison, Evaluation, Score, Timing
from optimizer.types import Gate

REASON_SHOWN = 400
PROMISES = "promises"


def render(evaluation: Evaluation) -> str:
    """Gates, outputs, timing, scores and the verdict, in this order."""
    blocks = (
        gates(evaluation.gates),
        outputs(evaluation.comparisons, evaluation.baselines),
        timings(evaluation.timings.values()),
        scores(evaluation.scores),
        _proof(evaluation),
        f"verdict: {verdict(evaluation).replace('_', ' ')}",
    )
    return "\n\n".join(block for block in blocks if block)


def gates(found: Sequence[Gate]) -> str:
    return "\n".join(gate_line(gate, number) for number, gate in enumerate(found, start=1))


def gate_line(gate: Gate, number: int) -> str:
    reason = " ".join(gate.reason.split())
    shown = reason if len(reason) <= REASON_SHOWN else reason[:REASON_SHOWN] + " ..."
    return f"{number} {gate.name:11} {gate.status.replace('_', ' '):14} {gate.seconds:6.2f} s  {shown}"


def outputs(comparisons: Iterable[Comparison], baselines: Iterable[Baseline]) -> str:
    masked = {baseline.workload: len(baseline.masks) for baseline in baselines}
    rows = []
    for each in comparisons:
        said = "the same" if each.same else "; ".join(each.differences)
        masks = f", {masked[each.workload]} masked places" if masked.get(each.workload) else ""
        rows.append(f"workload {each.workload}: {said} ({each.compared_bytes} bytes compared{masks})")
    return "\n".join(rows)


def timings(found: Iterable[Timing]) -> str:
    return "\n".join(timing_line(timing) for timing in found)


def timing_line(timing: Timing) -> str:
    """Speedup and time saved are both printed: "gain" alone has misled before."""
    word = timing.verdict.replace("_", " ")
    if timing.speedup is None or timing.time_saved is None:
        return f"{timing.scope}: {word} ({timing.reason})"
    return (
        f"{timing.scope}: {word}, speedup {timing.speedup:.3f} ({timing.low:.3f} to {timing.high:.3f}), "
        f"time saved {timing.time_saved:.1%}, {timing.pairs} pairs, "
        f"smallest effect this run could have seen {timing.smallest_effect:.1%}"
    )


def scores(found: Sequence[Score]) -> str:
    lines = [_score_line(score) for score in found]
    promises = [row for score in found for row in _promises(score)]
    return "\n".join([*lines, *promises])


def _score_line(score: Score) -> str:
    value = "not available" if score.value is None else f"{score.value:.0%}"
    parts = "" if score.value is None else f" = {score.numerator:.3g} / {score.denominator:.3g}"
    chance = "" if score.chance is None else f", by chance {score.chance:.0%}"
    return f"{score.name}: {value}{parts}{chance}. {score.sentence}"


def _promises(score: Score) -> list[str]:
    rows = score.parts.get(PROMISES, [])
    assert isinstance(rows, list)
    return [f"promise {row['evidence']} {row['direction']}{_percent(row['by_percent'])}: {_kept(row)}" for row in rows]


def _kept(row: dict[str, object]) -> str:
    measured = _percent(row["measured_percent"])
    return str(row["outcome"]).replace("_", " ") + (f", measured{measured}" if measured else "")


def _percent(value: object) -> str:
    return f" {value:.0f} %" if isinstance(value, int | float) else ""


def _proof(evaluation: Evaluation) -> str:
    if not evaluation.proved or evaluation.different_data >= 2:
        return ""
    return "Approval needs two workloads with different data that agree; add a [[workload]] to optimas.toml."
