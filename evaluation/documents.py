"""The document that ``evaluate`` prints: schema ``optimas.evaluation/1`` (docs/schemas/evaluation.schema.json)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from evaluation.timing import LOOKS, SAME_BAND, SHARES, lag1, overall
from evaluation.types import Baseline, Comparison, Evaluation, Pair, Score, Timing
from optimizer.types import GATES, Gate

SCHEMA = "optimas.evaluation/1"
WHOLE_SCOPES = ("selected", "gpu", "program")
METHOD = "paired-order-statistics/1"
"""Names the rules of `evaluation.timing`; a change to them is a new number, so that old receipts stay checkable."""


def evaluation_document(evaluation: Evaluation) -> dict[str, object]:
    """Everything of one evaluation in JSON types; a number that is not finite becomes null."""
    document: dict[str, object] = {
        "schema": SCHEMA,
        "verdict": verdict(evaluation),
        "workload": evaluation.workload,
        "gates": [gate_row(gate) for gate in evaluation.gates],
        "timing": timing_rows(evaluation.timings),
        "outputs": output_rows(evaluation.comparisons, evaluation.baselines),
        "proof": {
            "proved": evaluation.proved,
            "workloads_agreeing": sum(comparison.same for comparison in evaluation.comparisons),
            "different_data": evaluation.different_data,
            "enough_for_approval": evaluation.proved and evaluation.different_data >= 2,
        },
        "ear": ear_rows(evaluation.scores),
        "environment": dict(evaluation.environment),
        "samples": samples(evaluation),
    }
    finite = jsonable(document)
    assert isinstance(finite, dict)
    return finite


def refused_document(workload: str, gates: Sequence[Gate]) -> dict[str, object]:
    """The document of an attempt that failed one of ``gates`` and was judged no further."""
    failed = next(gate.name for gate in gates if gate.status == "failed")
    rest = [Gate(name, "not_run", f"The gate {failed} failed before it.", 0.0) for name in GATES[len(gates) :]]
    return evaluation_document(Evaluation(workload, (*gates, *rest), (), {}, {}, (), {}))


def verdict(evaluation: Evaluation) -> str:
    """``failed`` when a gate failed, else what the timings say together."""
    verdicts = {scope: timing.verdict for scope, timing in evaluation.timings.items()}
    return "failed" if evaluation.failed else overall(verdicts)


def gate_row(gate: Gate) -> dict[str, object]:
    return {"name": gate.name, "status": gate.status, "reason": gate.reason, "seconds": round(gate.seconds, 3)}


def timing_rows(timings: Mapping[str, Timing]) -> dict[str, object]:
    """The whole scopes by name, null where nothing was measured; the others are kernels."""
    kernels = [timing_row(timing) for scope, timing in timings.items() if scope not in WHOLE_SCOPES]
    whole = {scope: timing_row(timings[scope]) if scope in timings else None for scope in WHOLE_SCOPES}
    return {"kernels": kernels, **whole}


def timing_row(timing: Timing) -> dict[str, object]:
    return {
        "scope": timing.scope,
        "speedup": timing.speedup,
        "time_saved": timing.time_saved,
        "low": timing.low,
        "high": timing.high,
        "pairs": timing.pairs,
        "verdict": timing.verdict,
        "confidence": timing.confidence,
        "smallest_effect": timing.smallest_effect,
        "reason": timing.reason,
    }


def output_rows(comparisons: Sequence[Comparison], baselines: Sequence[Baseline]) -> list[dict[str, object]]:
    """One row a workload that was compared, with what was masked and how stable the original was."""
    known = {baseline.workload: baseline for baseline in baselines}
    return [_output_row(comparison, known.get(comparison.workload)) for comparison in comparisons]


def ear_rows(scores: Iterable[Score]) -> dict[str, object] | None:
    """Scores by name; null when there are none."""
    rows: dict[str, object] = {
        score.name: {
            "value": score.value,
            "numerator": score.numerator,
            "denominator": score.denominator,
            "chance": score.chance,
            "parts": dict(score.parts),
            "sentence": score.sentence,
        }
        for score in scores
    }
    return rows or None


def samples(evaluation: Evaluation) -> dict[str, object]:
    """All that the timing verdicts were made from, tainted pairs included, so that anyone can make them again."""
    ceilings = evaluation.ceilings
    return {
        "method": METHOD,
        "looks": list(LOOKS),
        "shares": list(SHARES),
        "same_band": SAME_BAND,
        "seed": evaluation.seed,
        "pairs": {scope: [_pair_row(pair) for pair in pairs] for scope, pairs in evaluation.pairs.items()},
        "lag1": {scope: lag1(pairs) for scope, pairs in evaluation.pairs.items()},
        "declared": {"bytes": evaluation.declared_bytes, "flops": evaluation.declared_flops},
        "ceilings": ceilings and {"bytes_per_s": ceilings.bytes_per_s, "flop_per_s": ceilings.flop_per_s},
    }


def jsonable(value: object) -> object:
    """Tuples as lists, numbers that are not finite as null, text without lone surrogates."""
    if isinstance(value, Mapping):
        return {str(key): jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _output_row(comparison: Comparison, baseline: Baseline | None) -> dict[str, object]:
    return {
        "workload": comparison.workload,
        "same": comparison.same,
        "compared_bytes": comparison.compared_bytes,
        "differences": list(comparison.differences),
        "stable": baseline.stable if baseline else None,
        "masks": [
            {"stream": mask.stream, "pattern": mask.pattern, "origin": mask.origin, "example": mask.example}
            for mask in (baseline.masks if baseline else ())
        ],
    }


def _pair_row(pair: Pair) -> dict[str, object]:
    return {
        "index": pair.index,
        "first": pair.first,
        "original_ns": pair.original_ns,
        "candidate_ns": pair.candidate_ns,
        "tainted": pair.tainted,
    }
