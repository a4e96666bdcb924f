"""What workers do for a run: take a profile on this host, and judge an attempt."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from analysis.models import Profile, ProfileState
from analysis.services import ingest, source_texts
from evaluation import documents, original, recorded, toolchains, workspace
from evaluation.judge import Cancelled as JudgeCancelled
from evaluation.judge import Case, judge
from evaluation.models import Verdict
from evaluation.recorded import RecordedEvaluation
from evaluation.rows import build_row, builds_of_original, store_evaluation, store_recorded
from evaluation.services import this_host
from evaluation.steps import build
from optimas_web.errors import UserError
from optimas_web.jobs import Cancelled, RunningJob
from optimizer.models import Attempt, Run
from optimizer.rows import checked_of, store_gate
from optimizer.services import book, offered_evidence, profile_of, run_kernels
from optimizer.types import GATES, Gate, Region
from projects.models import Snapshot
from projects.services import files_of, manifest_of

STAGES = {"build": "build", "re_profile": "re_profile"}  # every other gate is validation


def take_profile(job: RunningJob) -> None:
    """Prove that the program builds and runs here; then profile it and read the report, unless one was uploaded."""
    row = Profile.objects.select_related("snapshot").get(pk=job.target_id)
    started = time.monotonic()
    prove_original(job, row.snapshot)
    if row.state == ProfileState.READY:
        return
    manifest = manifest_of(row.snapshot)
    job.stage("profiling the program", 0.05)
    with workspace.opened(files_of(row.snapshot)) as folder:
        profiled = toolchains.load(manifest.toolchain).profile(folder, manifest, cancelled=job.cancelled)
        job.check()
        if profiled.path is None:
            job.log(profiled.log)
            raise UserError(f"{manifest.name} cannot be profiled: {profiled.reason}.", "The log has the whole output.")
        file = keep_report(row, profiled.path)
    with job.write():
        row.file = file
        row.save(update_fields=["file"])
        for run in row.runs.all():
            book(run, "profile", time.monotonic() - started)
    ingest(job)


def prove_original(job: RunningJob, snapshot: Snapshot) -> None:
    """Build and run the snapshot as it is, once. Raises UserError when that goes wrong: no model is asked then.

    Nothing is done on a host without the compiler, which is the first of a toolchain's tools.
    """
    manifest = manifest_of(snapshot)
    toolchain = toolchains.load(manifest.toolchain)
    if builds_of_original(snapshot).exists() or toolchain.tools()[0].version is None:
        return
    with stopping(job):
        built = original.prove(files_of(snapshot), manifest, toolchain, job.stage, job.cancelled)
    if not built.ok:
        job.log(built.log)
        raise build.original_does_not_build(built)
    with job.write():
        build_row(snapshot, built).save()


def keep_report(row: Profile, report: Path) -> str:
    """Copy the report out of the job folder; its name in the store says whose it is."""
    file = f"{row.pk}/{report.name}"
    target = Path(settings.PROFILE_ROOT) / file
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(report, target)
    return file


def evaluate(job: RunningJob) -> None:
    """Gates 4-9 of one attempt, each stored as it comes; then everything else in one transaction."""
    attempt = Attempt.objects.select_related("run__snapshot", "run__profile").get(pk=job.target_id)
    if Verdict.objects.filter(attempt=attempt).exists():
        return
    if elsewhere := measured_elsewhere(attempt):
        with job.write():
            store_recorded(attempt, elsewhere.document, elsewhere.said)
        return

    with job.write():
        attempt.gates.filter(name__in=GATES[3:]).delete()  # an earlier try may have left some

    def on_gate(gate: Gate) -> None:
        with job.write():
            store_gate(attempt, gate)

    started = time.monotonic()
    with stopping(job):
        evaluation = judge(case_of(attempt), progress=job.stage, cancelled=job.cancelled, on_gate=on_gate)
    with job.write():
        store_evaluation(attempt, evaluation, documents.evaluation_document(evaluation), this_host())
        book_gates(attempt.run, evaluation.gates, time.monotonic() - started)


@contextmanager
def stopping(job: RunningJob) -> Iterator[None]:
    """The judge's way to stop as the job's."""
    try:
        yield
    except JudgeCancelled:
        job.check()
        raise Cancelled from None


def measured_elsewhere(attempt: Attempt) -> RecordedEvaluation | None:
    """A recorded evaluation of exactly this patch, where this host lacks what it takes to measure it."""
    snapshot = attempt.run.snapshot
    tools = toolchains.load(snapshot.manifest["toolchain"]).tools()
    if all(tool.version is not None for tool in tools):
        return None
    return recorded.find(settings.RECORDINGS, snapshot.sha256, attempt.patch_sha256)


def case_of(attempt: Attempt) -> Case:
    """What the judge needs to know of an attempt."""
    snapshot = attempt.run.snapshot
    original = files_of(snapshot)
    checked = checked_of(attempt, source_texts(profile_of(attempt.run)))
    manifest = manifest_of(snapshot)
    return Case(
        original=original,
        candidate=workspace.apply(original, checked.after),
        manifest=manifest,
        toolchain=toolchains.load(manifest.toolchain),
        checked=checked,
        seed=attempt.pk,
        kernels=tuple(kernel.mangled for kernel in run_kernels(attempt.run)),
        regions=tuple(Region(**region) for region in attempt.prompt.regions),
        offered=offered_evidence(attempt),
    )


def book_gates(run: Run, gates: Sequence[Gate], whole: float) -> None:
    """Where the time of a judgement went: building, re-profiling, and all the rest as validation."""
    spent = {stage: sum(gate.seconds for gate in gates if gate.name == name) for name, stage in STAGES.items()}
    for what, seconds in {**spent, "validate": whole - sum(spent.values())}.items():
        book(run, what, seconds)
