"""What the gates, the timings and the scores say, ready to be shown. Read from the evaluation document: what stands
on the page is what a receipt signs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.documents import WHOLE_SCOPES
from evaluation.run_page import SCOPES
from optimizer.types import GATES, Gate
from reviews.types import Document, Headline, Known, PairRow, Scope, ScoreRow

ORDER = ("selected", "gpu", "program")
ENDED = ("done", "needs_review", "cancelled", "failed")
"""Statuses in which nothing of a run goes on any more."""


def headline(known: Known) -> Headline:
    failed = next((gate for gate in known.gates if gate.status == "failed"), None)
    if known.document is not None:
        return judged(known, known.document, failed)
    if failed is not None:
        return refused(known, failed)
    if known.run_status in ENDED:
        status = known.run_status if known.run_status in ("cancelled", "failed") else "not_run"
        return Headline(status, known.run_problem or "The run ended before this attempt was judged.")
    passed = sum(gate.status in ("passed", "not_applicable") for gate in known.gates)
    return Headline(known.run_status, f"{passed} of {len(GATES)} gates so far.", live=True)


def judged(known: Known, document: Document, failed: Gate | None) -> Headline:
    proof, outputs = document.get("proof") or {}, document.get("outputs") or ()
    scopes = timings(document, known.names)
    agreeing = [row for row in outputs if row["same"]]
    return Headline(
        status=document["verdict"],
        reason=failed.reason if failed else deciding(scopes),
        gate=failed,
        gate_number=number_of(failed),
        proved=proof.get("proved"),
        approvable=proof.get("enough_for_approval"),
        scopes=tuple(scope for scope in scopes if scope.key in WHOLE_SCOPES),
        workloads=len(agreeing),
        compared_bytes=sum(row["compared_bytes"] for row in agreeing),
    )


def deciding(scopes: tuple[Scope, ...]) -> str:
    """The reason of the timing that the verdict rests on: the selected kernels', else the program's."""
    reasons = {scope.key: scope.reason for scope in scopes}
    return reasons.get("selected") or reasons.get("program") or ""


def refused(known: Known, failed: Gate) -> Headline:
    """Stopped at gates 1-3, or judged by a worker that has not finished writing. No edits is a result of its own."""
    no_edits = failed.name == "parse" and known.outcome not in ("", "edits")
    return Headline(
        status=known.outcome if no_edits else "failed",
        reason=known.message if no_edits and known.message else failed.reason,
        gate=failed,
        gate_number=number_of(failed),
        proved=False,
        approvable=False,
    )


def number_of(gate: Gate | None) -> int:
    return GATES.index(gate.name) + 1 if gate else 0


def all_gates(known: Known) -> tuple[Gate, ...]:
    """All nine, in order: rows where there are any, else what the document says, else not run yet."""
    found: dict[str, Gate] = {row["name"]: Gate(**row) for row in (known.document or {}).get("gates", ())}
    found.update({gate.name: gate for gate in known.gates})
    return tuple(found.get(name) or Gate(name, "not_run", "", 0.0) for name in GATES)


# --- timings ----------------------------------------------------------------------------------


def timings(document: Document, names: Mapping[str, str]) -> tuple[Scope, ...]:
    """Every scope that was timed: each kernel, all of them, the GPU, the program."""
    timed = document["timing"]
    kernels = [scope(row, names.get(row["scope"], row["scope"])) for row in timed["kernels"]]
    return (*kernels, *(scope(timed[key], SCOPES[key]) for key in ORDER if timed[key]))


def scope(row: Mapping[str, Any], words: str) -> Scope:
    return Scope(
        scope=words,
        key=row["scope"],
        verdict=row["verdict"],
        speedup=row["speedup"],
        low=row["low"],
        high=row["high"],
        time_saved=row["time_saved"],
        saved_low=saved(row["low"]),
        saved_high=saved(row["high"]),
        pairs=row["pairs"],
        confidence=row["confidence"],
        smallest_effect=row["smallest_effect"],
        reason=row["reason"],
    )


def saved(speedup: float | None) -> float | None:
    """Time saved, 0..1: 1 - t_after / t_before."""
    return 1 - 1 / speedup if speedup else None


def raw_pairs(document: Document, names: Mapping[str, str]) -> Mapping[str, tuple[PairRow, ...]]:
    """Scope in words -> its pairs in the order in which they ran; scopes as in `timings`."""
    found = document["samples"]["pairs"]
    return {each.scope: tuple(map(pair, found[each.key])) for each in timings(document, names) if found.get(each.key)}


def pair(row: Mapping[str, Any]) -> PairRow:
    original, candidate = row["original_ns"], row["candidate_ns"]
    ratio = original / candidate if original and candidate else None
    return PairRow(row["index"] + 1, row["first"], original, candidate, ratio, row["tainted"])


# --- scores -----------------------------------------------------------------------------------


def scores(document: Document) -> tuple[ScoreRow, ...]:
    return tuple(score(name, row) for name, row in (document.get("ear") or {}).items())


def score(name: str, row: Mapping[str, Any]) -> ScoreRow:
    value, chance, numerator, denominator = (
        None if row[key] is None else round(row[key], 9)  # a sum of weights that is all of them is told as all
        for key in ("value", "chance", "numerator", "denominator")
    )
    return ScoreRow(
        name=name,
        value=value,
        numerator=numerator,
        denominator=denominator,
        chance=chance,
        lift=value / chance if value is not None and chance else None,
        parts=row["parts"],
        sentence=row["sentence"],
    )
