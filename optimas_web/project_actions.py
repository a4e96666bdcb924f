"""What people start from a project's page: profiles, and the samples as projects."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from analysis.models import Origin, Profile, ProfileState
from analysis.services import add_profile as keep_report
from evaluation.models import Host
from evaluation.services import PROFILE_KINDS, QUEUES
from optimas_web.jobs import LIVE, Job, enqueue, request_cancel
from projects.models import Project, Snapshot, Team, Upload
from projects.services import add_snapshot, manifest_of
from projects.snapshot import from_folder

PROFILERS = {"cpu": {"valgrind"}, "cuda": {"nvcc", "ncu", "GPU"}}
"""What a host must have to profile programs of a toolchain."""


@transaction.atomic
def read_upload(snapshot: Snapshot, upload: Upload, user: User) -> Profile:
    """A report that somebody uploaded, to be read. The same report for the same snapshot again is the same profile."""
    locked(snapshot)
    same = snapshot.profiles.filter(origin=Origin.UPLOADED, upload__sha256=upload.sha256)
    known = same.exclude(state=ProfileState.FAILED).first()
    if known:
        return known
    row = Profile.objects.create(snapshot=snapshot, upload=upload, origin=Origin.UPLOADED)
    enqueue("analysis.ingest", row.pk, team=snapshot.project.team, user=user)
    return row


@transaction.atomic
def profile_on_host(snapshot: Snapshot, user: User, key: str) -> Profile:
    """Ask a host to build and profile the snapshot. The same ``key`` (of one form) again is the same profile."""
    locked(snapshot)
    key = f"evaluation.profile:{snapshot.pk}:{key}"
    job = Job.objects.filter(idempotency_key=key).first()
    if job:
        return Profile.objects.get(pk=job.target_id)
    row = Profile.objects.create(snapshot=snapshot, origin=Origin.HOST)
    queue = QUEUES[manifest_of(snapshot).toolchain]
    enqueue("evaluation.profile", row.pk, team=snapshot.project.team, user=user, queue=queue, idempotency_key=key)
    return row


def locked(snapshot: Snapshot) -> None:
    """Two clicks wait for each other here, so that the second one finds what the first has made."""
    Snapshot.objects.select_for_update().get(pk=snapshot.pk)


def cancel_profile(profile: Profile) -> None:
    for job in jobs_of([profile]).filter(status__in=LIVE):
        request_cancel(job)


def jobs_of(profiles: list[Profile]) -> QuerySet[Job]:
    return Job.objects.filter(kind__in=PROFILE_KINDS, target_id__in=[profile.pk for profile in profiles])


def profiling_host(toolchain: str) -> Host | None:
    """A host that is online, takes such jobs and has the tools for them."""
    return next((host for host in Host.objects.prefetch_related("workers") if can_profile(host, toolchain)), None)


def can_profile(host: Host, toolchain: str) -> bool:
    """Whether a worker of the host takes such jobs now, and finds the profiler there."""
    found = {tool["name"] for tool in host.tools_of(toolchain) if tool["version"]}
    return QUEUES[toolchain] in host.queues and PROFILERS[toolchain] <= found


@transaction.atomic
def add_sample(team: Team, name: str, user: User) -> Project:
    """A sample program as a project of the team, with its report if it brings one. Again: the same project."""
    folder = Path(settings.BASE_DIR) / "samples" / name
    project, _ = Project.objects.get_or_create(team=team, name=name, defaults={"created_by": user})
    snapshot = add_snapshot(project, from_folder(folder), user)
    for report in folder.glob("*.ncu-rep"):
        if not snapshot.profiles.filter(origin=Origin.UPLOADED).exists():
            enqueue("analysis.ingest", keep_report(snapshot, report).pk, team=team, user=user)
    return project
