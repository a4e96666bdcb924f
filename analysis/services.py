"""Read an uploaded report, and give back what was read of it."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings

from analysis import columns, formats, pipeline
from analysis.models import Origin, Profile, ProfileState
from analysis.rows import analysis_of, store
from analysis.types import Analysis
from optimas_web.errors import UserError
from optimas_web.jobs import RunningJob
from projects import snapshot as snapshots
from projects.models import Snapshot
from projects.services import files_of


def ingest(job: RunningJob) -> None:
    """Read the profile's file and store kernels, evidence and the columnar file."""
    row = Profile.objects.select_related("snapshot").get(pk=job.target_id)
    if row.state == ProfileState.READY:
        return
    job.stage("reading the report", 0.1)
    profile = formats.read(path_of(row))
    job.stage("finding what is slow", 0.5)
    analysis = pipeline.analyse(profile, source_texts(row))
    job.stage("writing it down", 0.9)
    columns_path = path_of(row).with_suffix(".npz")
    columns.write(profile, columns_path)
    with job.write():
        store(row, analysis, str(columns_path.relative_to(settings.PROFILE_ROOT)))


def add_profile(snapshot: Snapshot, report: Path) -> Profile:
    """A pending profile of the snapshot whose file is a copy of ``report``. Raises UserError when there is none."""
    if not report.is_file():
        raise UserError(f"{report} is no file.", "Give a profile: an .ncu-rep or a Callgrind output.")
    row = Profile.objects.create(snapshot=snapshot, origin=Origin.UPLOADED)
    row.file = f"{row.pk}/{report.name[:200]}"
    path_of(row).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(report, path_of(row))
    row.save(update_fields=["file"])
    return row


def path_of(row: Profile) -> Path:
    return Path(settings.PROFILE_ROOT) / row.file


def source_texts(row: Profile) -> dict[str, str]:
    """The snapshot's C, C++ and CUDA files as text; bytes that are no UTF-8 survive as surrogates."""
    return snapshots.source_texts(files_of(row.snapshot))


def stored_analysis(row: Profile) -> Analysis:
    return analysis_of(row, source_texts(row))
