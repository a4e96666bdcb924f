"""An evaluation document or a receipt as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.names import spoken
from evaluation.documents import WHOLE_SCOPES

REASON_SHOWN = 400
PROMISES = "promises"

Row = Mapping[str, Any]


def render(document: Row) -> str:
    """Gates, outputs, timing, scores and the verdict, in this order."""
    timing = document["timing"]
    blocks = (
        gates(document["gates"]),
        outputs(document["outputs"]),
        timings([*timing["kernels"], *(timing[scope] for scope in WHOLE_SCOPES if timing[scope])]),
        scores(document["ear"] or {}),
        _proof(document["proof"]),
        f"verdict: {document['verdict'].replace('_', ' ')}",
    )
    return "\n\n".join(block for block in blocks if block)


def gates(found: Sequence[Row]) -> str:
    return "\n".join(gate_line(gate, number) for number, gate in enumerate(found, start=1))


def gate_line(gate: Row, number: int) -> str:
    reason = " ".join(gate["reason"].split())
    shown = reason if len(reason) <= REASON_SHOWN else reason[:REASON_SHOWN] + " ..."
    return f"{number} {gate['name']:11} {gate['status'].replace('_', ' '):14} {gate['seconds']:6.2f} s  {shown}"


def outputs(found: Iterable[Row]) -> str:
    return "\n".join(_output_line(each) for each in found)


def _output_line(row: Row) -> str:
    said = "the same" if row["same"] else "; ".join(row["differences"])
    masks = [f"  not compared in {mask['stream']}: {_mask(mask)}" for mask in row["masks"]]
    return "\n".join([f"workload {row['workload']}: {said} ({row['compared_bytes']} bytes compared)", *masks])


def _mask(mask: Row) -> str:
    if mask["origin"] == "declared":
        return f"{mask['pattern']} (declared in optimas.toml)"
    return f"what varies by itself in {mask['example']!r}"


def timings(found: Iterable[Row]) -> str:
    return "\n".join(timing_line(timing) for timing in found)


def timing_line(timing: Row) -> str:
    """Speedup and time saved are both printed: "gain" alone has misled before."""
    word, scope = timing["verdict"].replace("_", " "), spoken(timing["scope"])
    if timing["speedup"] is None or timing["time_saved"] is None:
        return f"{scope}: {word} ({timing['reason']})"
    return (
        f"{scope}: {word}, speedup {timing['speedup']:.3f} ({timing['low']:.3f} to {timing['high']:.3f}), "
        f"time saved {timing['time_saved']:.1%}, {timing['pairs']} pairs, "
        f"smallest effect this run could have seen {timing['smallest_effect']:.1%}"
    )


def scores(found: Mapping[str, Row]) -> str:
    lines = [_score_line(name, score) for name, score in found.items()]
    promises = [_promise_line(row) for score in found.values() for row in score["parts"].get(PROMISES, [])]
    return "\n".join([*lines, *promises])


def _score_line(name: str, score: Row) -> str:
    value = "not available" if score["value"] is None else f"{score['value']:.0%}"
    parts = "" if score["value"] is None else f" = {score['numerator']:.3g} / {score['denominator']:.3g}"
    chance = "" if score["chance"] is None else f", by chance {score['chance']:.0%}"
    return f"{name}: {value}{parts}{chance}. {score['sentence']}"


def _promise_line(row: Row) -> str:
    return f"promise {row['evidence']} {row['direction']}{_percent(row['by_percent'])}: {_kept(row)}"


def _kept(row: Row) -> str:
    measured = _percent(row["measured_percent"])
    return str(row["outcome"]).replace("_", " ") + (f", measured{measured}" if measured else "")


def _percent(value: object) -> str:
    return f" {value:.0f} %" if isinstance(value, int | float) else ""


def _proof(proof: Row) -> str:
    if not proof["proved"] or proof["different_data"] >= 2:
        return ""
    return "Approval needs two workloads with different data that agree; add a [[workload]] to optimas.toml."
