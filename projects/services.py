"""One function a job: teams, projects, snapshots."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction

from optimas_web.errors import UserError
from projects.manifest import load
from projects.models import Invitation, Membership, Project, Role, Snapshot, SnapshotFile, Team, Workload
from projects.types import Manifest, Tree, WorkloadSpec

audit = logging.getLogger("optimas.audit")  # who changed who may do what

SAMPLES = "Samples"
SAMPLES_LOCK = 0x5A3B1E  # any number, always the same


@transaction.atomic
def create_team(name: str, owner: User) -> Team:
    team = Team.objects.create(name=name)
    Membership.objects.create(team=team, user=owner, role=Role.OWNER)
    audit.info("%s made team %s, %r", owner, team.pk, name)
    return team


@transaction.atomic
def samples_team() -> Team:
    """The team in which ``./optimas up`` runs the samples. While it has no members, who administers the site joins."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [SAMPLES_LOCK])
    team = Team.objects.filter(name=SAMPLES).order_by("pk").first() or Team.objects.create(name=SAMPLES)
    if not team.memberships.exists():
        owners = User.objects.filter(is_superuser=True)
        Membership.objects.bulk_create(Membership(team=team, user=user, role=Role.OWNER) for user in owners)
    return team


def rename_team(team: Team, name: str, by: Membership) -> None:
    audit.info("%s renamed team %s from %r to %r", by.user, team.pk, team.name, name)
    team.name = name
    team.save(update_fields=["name"])


def rename_user(user: User, name: str) -> None:
    """Raises UserError when somebody else has the name, whatever its case."""
    refuse_taken(name, besides=user)
    audit.info("user %s, %s, is called %s from now on", user.pk, user, name)
    user.username = name
    user.save(update_fields=["username"])


def refuse_taken(name: str, besides: User | None = None) -> None:
    others = User.objects.exclude(pk=besides.pk) if besides else User.objects.all()
    if others.filter(username__iexact=name).exists():
        raise UserError(f"There is an account called {name} already.", "Choose another name, or add that account.")


# --- members ----------------------------------------------------------------------------------


def add_member(team: Team, user: User, role: str, by: Membership) -> Membership:
    """Raises UserError when the user is in the team, or when only an owner may give this role."""
    refuse_if_owners_only(role, by)
    member, new = Membership.objects.get_or_create(team=team, user=user, defaults={"role": role})
    if not new:
        raise UserError(f"{user} is in the team already.", "Change the role in the table of members.")
    audit.info("%s added %s to team %s as %s", by.user, user, team.pk, role)
    return member


@transaction.atomic
def create_member(team: Team, name: str, role: str, by: Membership) -> tuple[User, str]:
    """A new account in the team, and its one-time password, kept nowhere. Raises UserError when the name is taken."""
    refuse_taken(name)
    password = secrets.token_urlsafe(12)
    user = User.objects.create_user(name, password=password)
    audit.info("%s made the account %s", by.user, user)
    Invitation.objects.create(team=team, user=user)
    add_member(team, user, role, by)
    return user, password


@transaction.atomic
def renew_password(invitation: Invitation, by: Membership) -> str:
    """Another one-time password for an account that nobody has used yet."""
    password = secrets.token_urlsafe(12)
    invitation.user.set_password(password)
    invitation.user.save(update_fields=["password"])
    audit.info("%s made a new one-time password for %s", by.user, invitation.user)
    return password


def accept_invitation(user: User) -> None:
    """The user has chosen a password."""
    Invitation.objects.filter(user=user).delete()
    audit.info("%s chose a password", user)


def change_role(member: Membership, role: str, by: Membership) -> None:
    """Raises UserError when only an owner may do this, or when no owner would be left."""
    refuse_if_owners_only(member.role, by)
    refuse_if_owners_only(role, by)
    with still_owned(member.team):
        audit.info("%s made %s %s of team %s, was %s", by.user, member.user, role, member.team_id, member.role)
        member.role = role
        member.save(update_fields=["role"])


def remove_member(member: Membership, by: Membership) -> None:
    """Take somebody, or oneself, out of the team. Raises UserError as ``change_role`` does."""
    refuse_if_owners_only(member.role, by)
    with still_owned(member.team):
        audit.info("%s took %s, %s, out of team %s", by.user, member.user, member.role, member.team_id)
        member.delete()


def refuse_if_owners_only(role: str, by: Membership) -> None:
    if role == Role.OWNER and by.role != Role.OWNER:
        raise UserError("Only an owner says who owns the team.", "Ask an owner.")


@contextmanager
def still_owned(team: Team) -> Iterator[None]:
    """What is done inside leaves the team with an owner, or is undone. Two who do so at once wait for each other."""
    with transaction.atomic():
        Team.objects.select_for_update().get(pk=team.pk)
        yield
        if not team.memberships.filter(role=Role.OWNER).exists():
            raise UserError("A team cannot be without an owner.", "Make somebody else an owner first.")


# --- projects and their sources ---------------------------------------------------------------


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
