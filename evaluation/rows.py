"""Evaluations as values and as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evaluation import types as t
from evaluation.documents import WHOLE_SCOPES
from evaluation.models import Baseline, Build, Host, OutputCheck, Sample, Score, Timing, Verdict
from optimizer.models import Attempt
from optimizer.rows import store_gate
from optimizer.types import Gate
from projects.models import Snapshot

Row = Mapping[str, Any]


def store_evaluation(attempt: Attempt, evaluation: t.Evaluation, document: Row, host: Host) -> None:
    """Everything that came out of gates 4-9, replacing what an earlier try left."""
    for gate in evaluation.gates:
        store_gate(attempt, gate)
    attempt.builds.all().delete()
    Build.objects.bulk_create(
        build_row(attempt.run.snapshot, built, attempt, attempt.patch_sha256 if side == "candidate" else "")
        for side, built in evaluation.builds.items()
    )
    attempt.baselines.all().delete()
    store_baselines(attempt, evaluation)
    store_document(attempt, document, host)


def store_recorded(attempt: Attempt, document: Row, said: str) -> None:
    """An evaluation that was made elsewhere; ``said`` says where and when, and is shown with every figure."""
    for row in document["gates"][3:]:
        store_gate(attempt, Gate(row["name"], row["status"], row["reason"], row["seconds"], f"{said}\n"))
    store_document(attempt, document, None, said)


def store_document(attempt: Attempt, document: Row, host: Host | None, recorded: str = "") -> None:
    """Outputs, timings, samples, scores and the verdict, from the evaluation's document."""
    for rows in (attempt.output_checks, attempt.samples, attempt.timings, attempt.scores):
        rows.all().delete()
    OutputCheck.objects.bulk_create(
        OutputCheck(
            attempt=attempt, **{name: row[name] for name in ("workload", "same", "compared_bytes", "differences")}
        )
        for row in document["outputs"]
    )
    store_timings(attempt, document)
    Score.objects.bulk_create(Score(attempt=attempt, name=name, **row) for name, row in (document["ear"] or {}).items())
    Verdict.objects.create(
        attempt=attempt,
        verdict=document["verdict"],
        host=host,
        environment=document["environment"],
        document=dict(document),
        recorded=recorded,
    )


def build_row(snapshot: Snapshot, built: t.Built, attempt: Attempt | None = None, patch_sha256: str = "") -> Build:
    return Build(
        snapshot=snapshot,
        attempt=attempt,
        patch_sha256=patch_sha256,
        arch=built.arch,
        flags=built.flags,
        ok=built.ok,
        log=built.log,
        symbols=[asdict(symbol) for symbol in built.symbols],
        binary_sha256=built.binary_sha256 or "",
        seconds=built.seconds,
    )


def builds_of_original(snapshot: Snapshot) -> Any:
    """Builds of the snapshot as it is, made for no attempt, whose workloads ran well."""
    return Build.objects.filter(snapshot=snapshot, attempt=None, ok=True)


def store_baselines(attempt: Attempt, evaluation: t.Evaluation) -> None:
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


def store_timings(attempt: Attempt, document: Row) -> None:
    timing, samples = document["timing"], document["samples"]
    rows = [*timing["kernels"], *(timing[scope] for scope in WHOLE_SCOPES if timing[scope])]
    Timing.objects.bulk_create(
        Timing(attempt=attempt, workload=document["workload"], method=samples["method"], seed=samples["seed"], **row)
        for row in rows
    )
    Sample.objects.bulk_create(
        sample_row(attempt, document["workload"], scope, pair, side)
        for scope, pairs in samples["pairs"].items()
        for pair in pairs
        for side in ("original", "candidate")
    )


def sample_row(attempt: Attempt, workload: str, scope: str, pair: Row, side: str) -> Sample:
    return Sample(
        attempt=attempt,
        workload=workload,
        scope=scope,
        side=side,
        pair=pair["index"],
        first=pair["first"] == side,
        ns=pair[f"{side}_ns"],
        excluded_reason=pair["tainted"],
    )
