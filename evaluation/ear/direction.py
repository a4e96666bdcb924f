"""Directional consistency: after the edits, did what they cite move the way a cure would move it?"""

from __future__ import annotations

from typing import Literal

from analysis.types import Direction, Evidence
from evaluation.ear import Reasoning, cited_labels, hunks
from evaluation.types import Measured, Score
from optimizer.types import Expectation

Promise = Literal["kept", "missed", "reversed", "not_measured"]


def score(reasoning: Reasoning) -> Score:
    """Cited evidence that moved in its direction by more than noise, over cited evidence that was measured again.

    Chance: the same share among all offered evidence measured again, which is what citing labels at random expects.
    """
    cited = cited_labels(hunks(reasoning), reasoning.offered)
    changes = {item.label: change(item, reasoning.measured.get(item.label)) for item in reasoning.offered}
    offered = [item for item in reasoning.offered if changes[item.label] is not None]
    again = [item for item in offered if item.label in cited]
    right = [item for item in again if _moved(item, changes[item.label], reasoning)]
    right_by_chance = sum(_moved(item, changes[item.label], reasoning) for item in offered)
    return Score(
        name="direction",
        value=len(right) / len(again) if again else None,
        numerator=float(len(right)) if again else None,
        denominator=float(len(again)) if again else None,
        chance=right_by_chance / len(offered) if again else None,
        parts={
            "evidence": [_row(item, changes[item.label], reasoning) for item in reasoning.offered],
            "not_measured": sorted(cited - {item.label for item in again}),
            "promises": ledger(reasoning),
        },
        sentence=_sentence(len(right), len(again), len(cited)),
    )


def change(item: Evidence, measured: Measured | None) -> float | None:
    """The relative change of one metric, -0.5 for a halving; None when a side is missing.

    A metric that was 0 and is not any more has grown without bound: +inf.
    """
    if measured is None or measured.before is None or measured.after is None:
        return None
    if measured.before == 0.0:
        return 0.0 if measured.after == 0.0 else float("inf")
    return (measured.after - measured.before) / abs(measured.before)


def moved(relative: float, direction: Direction, noise: float) -> bool:
    """Whether a relative change goes in ``direction`` by more than ``noise``."""
    return (relative if direction == "up" else -relative) > noise


def ledger(reasoning: Reasoning) -> list[dict[str, object]]:
    """Every promise of the edits beside what was measured."""
    offered = {item.label: item for item in reasoning.offered}
    promises = [promise for edit in reasoning.edits for promise in edit.expect]
    return [_promise_row(promise, offered.get(promise.evidence), reasoning) for promise in promises]


def kept(promise: Expectation, relative: float | None, noise: float) -> Promise:
    """Kept: the change has the promised direction, exceeds noise, and falls short of the size by less than noise."""
    if relative is None:
        return "not_measured"
    other: Direction = "up" if promise.direction == "down" else "down"
    if moved(relative, other, noise):
        return "reversed"
    size = (promise.by_percent or 0.0) / 100.0
    return "kept" if moved(relative, promise.direction, max(noise, size - noise)) else "missed"


def noise_of(item: Evidence, measured: Measured | None) -> float:
    """The larger of the evidence's own floor and the spread of the repeats."""
    return max(item.noise, measured.noise if measured else 0.0)


def _moved(item: Evidence, relative: float | None, reasoning: Reasoning) -> bool:
    noise = noise_of(item, reasoning.measured.get(item.label))
    return relative is not None and moved(relative, item.direction, noise)


def _promise_row(promise: Expectation, item: Evidence | None, reasoning: Reasoning) -> dict[str, object]:
    measured = reasoning.measured.get(promise.evidence)
    relative = change(item, measured) if item else None
    outcome = kept(promise, relative, noise_of(item, measured)) if item else "not_measured"
    return {
        "evidence": promise.evidence,
        "direction": promise.direction,
        "by_percent": promise.by_percent,
        "measured_percent": _finite_percent(relative),
        "outcome": outcome,
    }


def _row(item: Evidence, relative: float | None, reasoning: Reasoning) -> dict[str, object]:
    measured = reasoning.measured.get(item.label)
    return {
        "label": item.label,
        "metric": item.metric,
        "unit": item.unit,
        "before": measured.before if measured else None,
        "after": measured.after if measured else None,
        "change_percent": _finite_percent(relative),
        "noise_percent": noise_of(item, measured) * 100.0,
        "expected": item.direction,
        "moved_as_expected": None if relative is None else _moved(item, relative, reasoning),
    }


def _finite_percent(relative: float | None) -> float | None:
    return None if relative is None or relative == float("inf") else relative * 100.0


def _sentence(right: int, again: int, cited: int) -> str:
    if not again:
        return "Nothing that the edits cite was measured again, so no direction is known."
    unmeasured = f"; {cited - again} cited were not measured again" if cited > again else ""
    return (
        f"{right} of {again} cited and re-measured metrics moved the way a cure would, by more than noise{unmeasured}."
    )
