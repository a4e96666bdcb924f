"""Read an uploaded report, and give back what was read of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from django.conf import settings

from analysis import columns, formats, pipeline
from analysis.combine import Report, combine
from analysis.models import Origin, Profile, ProfileState
from analysis.rows import analysis_of, store
from analysis.types import Analysis
from optimas_web.errors import UserError
from optimas_web.jobs import RunningJob
from projects import archive, snapshot
from projects.models import Snapshot
from projects.services import files_of
from projects.services import path_of as upload_path
from projects.types import SnapshotLimits
from projects.unpacking import Member

ZIP, TAR = b"PK\x03\x04", b"ustar"
REPORTS_ONLY = "Pack the reports of one program, at most 256 MiB each, and nothing else."
REPORTS = SnapshotLimits(
    files=50, file_bytes=256 * 1024**2, total_bytes=1024**3, entries=200, unpacked_bytes=1024**3, ratio=1000
)
"""Bounds of an archive of reports. They pack well: a database of launches to a tenth and less."""


def ingest(job: RunningJob) -> None:
    """Read the profile's file and store kernels, evidence and the columnar file."""
    row = Profile.objects.select_related("snapshot", "upload").get(pk=job.target_id)
    if row.state == ProfileState.READY:
        return
    job.stage("reading the report", 0.1)
    columns_file = f"{row.pk}/columns.npz"
    with named_report(row) as report, unpacked(report) as reports:
        profile = combine([Report(each.name, formats.read(each)) for each in reports])
        job.stage("finding what is slow", 0.5)
        analysis = pipeline.analyse(profile, source_texts(row))
        job.stage("writing it down", 0.9)
        columns_path = Path(settings.PROFILE_ROOT) / columns_file
        columns_path.parent.mkdir(parents=True, exist_ok=True)
        columns.write(profile, columns_path)
    with job.write():
        store(row, analysis, columns_file)


@contextmanager
def named_report(row: Profile) -> Iterator[Path]:
    """The report under the name that people know it by, since sentences about it name it. Uploads lie under a hash."""
    if row.upload is None:
        yield path_of(row)
        return
    with TemporaryDirectory(prefix="optimas-report-") as folder:
        report = Path(folder) / row.upload.name[-60:]
        report.symlink_to(path_of(row))
        yield report


@contextmanager
def unpacked(report: Path) -> Iterator[list[Path]]:
    """The reports to read: those in a zip or tar archive, which become one profile, else the one that there is.

    Raises UserError when the archive is damaged, holds no report, or unpacks to more than is allowed.
    """
    with TemporaryDirectory(prefix="optimas-reports-") as folder, report.open("rb") as file:
        head = file.read(512)
        if not head.startswith(ZIP) and head[257:262] != TAR:
            yield [report]
            return
        file.seek(0)
        try:
            found = list(_written(archive.members(file, REPORTS), Path(folder)))
        except UserError as error:
            raise UserError(error.message, REPORTS_ONLY) from error
        if not found:
            raise UserError(f"{report.name} holds no report.", REPORTS_ONLY)
        yield found


def _written(members: Iterator[Member], folder: Path) -> Iterator[Path]:
    """Files under their own name, each in a folder of its own."""
    for number, member in enumerate(members):
        name = PurePosixPath(member.path).name[-60:]
        if not member.left_out and not name.startswith("."):
            path = folder / f"{number}" / name
            path.parent.mkdir()
            path.write_bytes(member.read())
            yield path


def add_profile(snapshot: Snapshot, report: Path) -> Profile:
    """A pending profile of the snapshot whose file is a copy of ``report``. Raises UserError when there is none."""
    if not report.is_file():
        raise UserError(f"{report} is no file.", "Give a profile: docs/formats.md says which are read.")
    row = Profile.objects.create(snapshot=snapshot, origin=Origin.UPLOADED)
    row.file = f"{row.pk}/{report.name[:200]}"
    path_of(row).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(report, path_of(row))
    row.save(update_fields=["file"])
    return row


def path_of(row: Profile) -> Path:
    """The report: an upload, or what a host kept of its own."""
    return upload_path(row.upload) if row.upload else Path(settings.PROFILE_ROOT) / row.file


def source_texts(row: Profile) -> dict[str, str]:
    """The snapshot's C, C++ and CUDA files as text; bytes that are no UTF-8 survive as surrogates."""
    return snapshot.source_texts(files_of(row.snapshot))


def stored_analysis(row: Profile) -> Analysis:
    return analysis_of(row, source_texts(row))
