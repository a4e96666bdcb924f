"""One function a job: teams, projects, snapshots."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from projects.manifest import load
from projects.models import Membership, Project, Role, Snapshot, SnapshotFile, Team, Workload
from projects.types import Manifest, Tree, WorkloadSpec


@transaction.atomic
def create_team(name: str, owner: User) -> Team:
    team = Team.objects.create(name=name)
    Membership.objects.create(team=team, user=owner, role=Role.OWNER)
    return team


@transaction.atomic
def add_snapshot(project: Project, tree: Tree, user: User | None) -> Snapshot:
    """Store one version of the sources; the same content twice is the same snapshot.

    Raises UserError when the manifest does not hold.
    """
    known = project.snapshots.filter(sha256=tree.sha256).first()
    if known:
        return known
    manifest = load(with_manifest(tree.files, project.manifest))
    snapshot = Snapshot.objects.create(
        project=project, sha256=tree.sha256, manifest=asdict(manifest), skipped=list(tree.skipped), created_by=user
    )
    SnapshotFile.objects.bulk_create(
        SnapshotFile(snapshot=snapshot, path=path, size=len(content), content=content)
        for path, content in tree.files.items()
    )
    Workload.objects.bulk_create(
        workload_row(snapshot, position, spec) for position, spec in enumerate(manifest.workloads)
    )
    return snapshot


def with_manifest(files: Any, toml: str) -> dict[str, bytes]:
    """The files, with the project's own optimas.toml where the snapshot brings none."""
    return {"optimas.toml": toml.encode(), **files} if toml else dict(files)


def workload_row(snapshot: Snapshot, position: int, spec: WorkloadSpec) -> Workload:
    return Workload(
        snapshot=snapshot,
        position=position,
        name=spec.name,
        command=spec.command,
        outputs=list(spec.outputs),
        timeout_s=spec.timeout_s,
        declared_bytes=spec.bytes,
        declared_flops=spec.flops,
    )


def files_of(snapshot: Snapshot) -> dict[str, bytes]:
    """Relative path -> content, byte for byte."""
    return {file.path: bytes(file.content) for file in snapshot.files.all()}


def manifest_of(snapshot: Snapshot) -> Manifest:
    stored = dict(snapshot.manifest)
    workloads = tuple(WorkloadSpec(**{**spec, "outputs": tuple(spec["outputs"])}) for spec in stored.pop("workloads"))
    listed: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()}
    return Manifest(workloads=workloads, **listed)
