"""Evaluations as values and as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evaluation import types as t
from evaluation.models import Baseline, Build, Host, OutputCheck, Sample, Score, Timing, Verdict
from optimizer.models import Attempt
from optimizer.rows import store_gate


def store_evaluation(attempt: Attempt, evaluation: t.Evaluation, document: Mapping[str, Any], host: Host) -> None:
    """Everything that came out of gates 4-9, replacing what an earlier try left."""
    for rows in (
        attempt.builds,
        attempt.baselines,
        attempt.output_checks,
        attempt.samples,
        attempt.timings,
        attempt.scores,
    ):
        rows.all().delete()
    for gate in evaluation.gates:
        store_gate(attempt, gate)
    Build.objects.bulk_create(build_row(attempt, side, built) for side, built in evaluation.builds.items())
    store_outputs(attempt, evaluation)
    store_timings(attempt, evaluation)
    Score.objects.bulk_create(Score(attempt=attempt, **asdict(score)) for score in evaluation.scores)
    Verdict.objects.create(
        attempt=attempt,
        verdict=document["verdict"],
        host=host,
        environment=dict(evaluation.environment),
        document=dict(document),
    )


def build_row(attempt: Attempt, side: str, built: t.Built) -> Build:
    return Build(
        snapshot=attempt.run.snapshot,
        attempt=attempt,
        patch_sha256=attempt.patch_sha256 if side == "candidate" else "",
        arch=built.arch,
        flags=built.flags,
        ok=built.ok,
        log=built.log,
        symbols=[asdict(symbol) for symbol in built.symbols],
        binary_sha256=built.binary_sha256 or "",
        seconds=built.seconds,
    )


def store_outputs(attempt: Attempt, evaluation: t.Evaluation) -> None:
    workloads = {row.name: row for row in attempt.run.snapshot.workloads.all()}
    Baseline.objects.bulk_create(
        Baseline(
            attempt=attempt,
            workload=workloads[item.workload],
            masks=[asdict(mask) for mask in item.masks],
            stable=item.stable,
            comparable_bytes=item.comparable_bytes,
            problem=item.problem,
        )
        for item in evaluation.baselines
    )
    OutputCheck.objects.bulk_create(
        OutputCheck(
            attempt=attempt,
            workload=item.workload,
            same=item.same,
            compared_bytes=item.compared_bytes,
            differences=list(item.differences),
        )
        for item in evaluation.comparisons
    )


def store_timings(attempt: Attempt, evaluation: t.Evaluation) -> None:
    Timing.objects.bulk_create(
        Timing(attempt=attempt, workload=evaluation.workload, **asdict(timing))
        for timing in evaluation.timings.values()
    )
    Sample.objects.bulk_create(
        sample_row(attempt, evaluation.workload, scope, pair, side)
        for scope, pairs in evaluation.pairs.items()
        for pair in pairs
        for side in ("original", "candidate")
    )


def sample_row(attempt: Attempt, workload: str, scope: str, pair: t.Pair, side: str) -> Sample:
    return Sample(
        attempt=attempt,
        workload=workload,
        scope=scope,
        side=side,
        pair=pair.index,
        first=pair.first == side,
        ns=pair.original_ns if side == "original" else pair.candidate_ns,
        excluded_reason=pair.tainted,
    )
