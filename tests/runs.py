"""Runs of the samples as rows, made by the product's own jobs from reports that lie in the repository."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings

from analysis.models import Origin, Profile
from analysis.types import SOURCE_KINDS
from evaluation.models import Build
from evaluation.services import start_run
from optimas_web.jobs import enqueue, run_job
from optimizer.models import Run
from projects.models import Snapshot
from projects.services import add_snapshot
from projects.snapshot import from_folder
from tests.cast import Cast
from tests.programs import work_off
from tests.repository import ROOT

REPORTS = {
    "heat2d": ROOT / "tests" / "data" / "profiles" / "callgrind" / "callgrind.out.heat2d",
    "rowrank": ROOT / "samples" / "rowrank" / "rowrank.ncu-rep",
}


def sample(cast: Cast, name: str) -> Snapshot:
    project = cast.team.projects.create(name=name, created_by=cast.ada)
    return add_snapshot(project, from_folder(ROOT / "samples" / name), cast.ada)


def profiled(snapshot: Snapshot) -> Profile:
    """The sample's stored report, uploaded and read; its program counts as built and run here, which takes a while."""
    report = REPORTS[snapshot.project.name]
    row = Profile.objects.create(snapshot=snapshot, origin=Origin.UPLOADED)
    row.file = f"{row.pk}/{report.name}"
    target = Path(settings.PROFILE_ROOT) / row.file
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(report, target)
    row.save()
    run_job(enqueue("analysis.ingest", row.pk, team=snapshot.project.team).pk)
    row.refresh_from_db()
    assert row.state == "ready", row.problem
    Build.objects.create(snapshot=snapshot, ok=True, seconds=1.0)
    return row


def started(profile: Profile, backend: str = "replay", **more: object) -> Run:
    values = {"snapshot": profile.snapshot, "profile": profile, "backend": backend, "sources": list(SOURCE_KINDS)}
    return start_run(Run(created_by=profile.snapshot.created_by, **(values | more)))


def asked(profile: Profile, **more: object) -> Run:
    """A run that waits for somebody to paste an answer."""
    return work_off(started(profile, "paste", **more))
