"""One function a job: teams, projects, snapshots, uploads."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import connection, transaction
from django.db.models import QuerySet, Sum

from optimas_web.errors import UserError
from projects import bundle, manifest, snapshot, uploads
from projects.models import (
    EDITORS,
    Invitation,
    Membership,
    Project,
    Role,
    Snapshot,
    SnapshotFile,
    Team,
    Upload,
    UploadState,
    Workload,
    storable,
)
from projects.types import Manifest, Tree, WorkloadSpec
from projects.unpacking import PIECE
from projects.unpacking import size as for_people

# --- teams ------------------------------------------------------------------------------------

audit = logging.getLogger("optimas.audit")  # who changed who may do what

SAMPLES = "Samples"
SAMPLES_LOCK = 0x5A3B1E  # any number, always the same


@transaction.atomic
def create_team(name: str, owner: User) -> Team:
    team = Team.objects.create(name=name)
    Membership.objects.create(team=team, user=owner, role=Role.OWNER)
    audit.info("%s made team %s, %r", owner, team.pk, name)
    return team


def teams_to_edit(user: User | AnonymousUser) -> QuerySet[Team]:
    """The teams in which the user may make projects and change them."""
    if not user.is_authenticated:
        return Team.objects.none()
    return Team.objects.filter(memberships__user=user, memberships__role__in=EDITORS).order_by("name")


def may_edit(user: User | AnonymousUser, project: Project) -> bool:
    return teams_to_edit(user).filter(pk=project.team_id).exists()


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
def create_project(team: Team, name: str, tree: Tree, toml: str, user: User | None) -> Project:
    """A project and its first snapshot. The same files under the same name again are the same project.

    ``toml``: optimas.toml as a person corrected it; empty when nothing was. Raises UserError: the name is taken by
    another program, or the manifest does not hold.
    """
    tree = snapshot.with_file(tree, manifest.FILE, toml.encode()) if toml else tree
    project, new = Project.objects.get_or_create(team=team, name=name, defaults={"manifest": toml, "created_by": user})
    if not new and not project.snapshots.filter(sha256=tree.sha256).exists():
        raise UserError(
            f"The team {team} has another project called {name}.",
            "Choose another name, or add these files to that project as a new version.",
        )
    add_snapshot(project, tree, user)
    return project


@transaction.atomic
def add_snapshot(project: Project, tree: Tree, user: User | None) -> Snapshot:
    """Store one version of the sources; the same content twice is the same snapshot.

    The project's own optimas.toml joins files that bring none, so that the snapshot's hash covers how it is built.
    Raises UserError when the manifest does not hold.
    """
    if project.manifest and manifest.FILE not in tree.files:
        tree = snapshot.with_file(tree, manifest.FILE, project.manifest.encode())
    known = project.snapshots.filter(sha256=tree.sha256).first()
    if known:
        return known
    found = manifest.load(tree.files)
    row = Snapshot.objects.create(
        project=project, sha256=tree.sha256, manifest=asdict(found), skipped=list(tree.skipped), created_by=user
    )
    SnapshotFile.objects.bulk_create(
        SnapshotFile(snapshot=row, path=path, size=len(content), content=content)
        for path, content in tree.files.items()
    )
    Workload.objects.bulk_create(workload_row(row, position, spec) for position, spec in enumerate(found.workloads))
    return row


@transaction.atomic
def change_manifest(row: Snapshot, toml: str, user: User | None) -> Snapshot:
    """The same files, built and run as ``toml`` says: a new snapshot, and the way of later ones that bring no file."""
    project = row.project
    project.manifest = toml
    project.save(update_fields=["manifest"])
    return add_snapshot(project, snapshot.with_file(tree_of(row), manifest.FILE, toml.encode()), user)


def workload_row(row: Snapshot, position: int, spec: WorkloadSpec) -> Workload:
    return Workload(
        snapshot=row,
        position=position,
        name=spec.name,
        command=spec.command,
        outputs=list(spec.outputs),
        timeout_s=spec.timeout_s,
        declared_bytes=spec.bytes,
        declared_flops=spec.flops,
    )


def files_of(row: Snapshot) -> dict[str, bytes]:
    """Relative path -> content, byte for byte."""
    return {file.path: bytes(file.content) for file in row.files.all()}


def tree_of(row: Snapshot) -> Tree:
    return Tree(files_of(row), row.sha256, tuple(row.skipped))


def manifest_of(row: Snapshot) -> Manifest:
    stored = dict(row.manifest)
    workloads = tuple(WorkloadSpec(**{**spec, "outputs": tuple(spec["outputs"])}) for spec in stored.pop("workloads"))
    listed: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()}
    return Manifest(workloads=workloads, **listed)


# --- uploads ----------------------------------------------------------------------------------


def used_bytes(team: Team) -> int:
    """What the team's uploads take or will take."""
    return team.uploads.aggregate(sum=Sum("size"))["sum"] or 0


@transaction.atomic
def begin_upload(team: Team, user: User, name: str, size: int) -> Upload:
    """Make room for a file of ``size`` bytes. Raises UserError, before the first byte, when it cannot be taken."""
    if size < 1:
        raise UserError(f"{name} is empty.", "Choose another file.")
    Team.objects.select_for_update().get(pk=team.pk)  # two uploads at once must not both take the last free room
    uploads.refuse_size(size, settings.UPLOAD_LIMIT_BYTES, root())
    free = settings.TEAM_QUOTA_BYTES - used_bytes(team)
    if size > free:
        raise UserError(
            f"The file has {for_people(size)}, and the team {team} has {for_people(max(free, 0))} of its "
            f"{for_people(settings.TEAM_QUOTA_BYTES)} left.",
            "Delete uploads that nobody needs, or ask who runs the server for more.",
        )
    plain = storable(name.replace("\\", "/").rpartition("/")[2])[-255:]
    return Upload.objects.create(
        team=team, user=user, name=plain or "upload", size=size, path=f"partial/{secrets.token_hex(16)}"
    )


def offset_of(upload: Upload) -> int:
    """How many bytes have arrived. The file knows best: a request may have been cut off before the row was written."""
    return upload.size if upload.state == UploadState.COMPLETE else uploads.offset(root(), key_of(upload))


def receive(upload: Upload, start: int, piece: bytes) -> int:
    """Append bytes at ``start``; the new offset. Raises UserError when that is not where the next piece must start."""
    with locked(upload) as row:
        if row.state == UploadState.COMPLETE:
            raise UserError("This upload is complete.", "Begin another one.")
        row.received = uploads.append(root(), key_of(row), start, [piece], row.size)
        row.save(update_fields=["received"])
    return row.received


def finish_upload(upload: Upload, sha256: str = "") -> Upload:
    """Check that all has come as it was sent, and put the file in its place; a second call changes nothing.

    Raises UserError when bytes are missing or the checksum differs (then it has to be sent again).
    """
    with locked(upload) as row:
        if row.state == UploadState.COMPLETE:
            return row
        return settle(row, uploads.finish(root(), key_of(row), row.size, sha256))


def store_upload(team: Team, user: User, name: str, size: int, chunks: Iterable[bytes]) -> Upload:
    """Take a whole file at once: the way of browsers without script."""
    row = begin_upload(team, user, name, size)
    return settle(row, uploads.store(root(), key_of(row), chunks, row.size))


def take_sources(team: Team, user: User, data: Mapping[str, Any]) -> Upload:
    """What ``projects.forms.SourcesForm`` holds, as one upload. Raises UserError when it cannot be taken."""
    if data.get("upload"):
        mine = Upload.objects.visible_to(user).filter(user=user, team=team, state=UploadState.COMPLETE)
        found = mine.filter(pk=data["upload"]).first()
        if found is None:
            raise UserError("The upload is not there any more.", "Choose the files again.")
        return found
    if not data.get("file"):
        content = data["paste"].replace("\r\n", "\n").encode()
        return store_upload(team, user, data["paste_name"], len(content), [content])
    if len(data["file"]) == 1:
        (file,) = data["file"]
        return store_upload(team, user, file.name, file.size, file.chunks())
    with TemporaryFile() as packed:
        bundle.write(packed, ((file.name, file.size, file.file) for file in data["file"]))
        size = packed.tell()
        packed.seek(0)
        name = f"{len(data['file'])} files.tar"
        return store_upload(team, user, name, size, iter(lambda: packed.read(PIECE), b""))


def settle(row: Upload, stored: uploads.Stored) -> Upload:
    row.sha256, row.path, row.received, row.state = stored.sha256, stored.path, stored.size, UploadState.COMPLETE
    row.save(update_fields=["sha256", "path", "received", "state"])
    return row


@transaction.atomic
def delete_upload(upload: Upload) -> None:
    """Forget an upload, and its file when no other upload has the same content."""
    path, complete = root() / upload.path, upload.state == UploadState.COMPLETE
    upload.delete()
    if not (complete and Upload.objects.filter(path=upload.path).exists()):
        transaction.on_commit(lambda: path.unlink(missing_ok=True))


@contextmanager
def locked(upload: Upload) -> Iterator[Upload]:
    with transaction.atomic():
        yield Upload.objects.select_for_update().get(pk=upload.pk)


def root() -> Path:
    return Path(settings.UPLOAD_ROOT)


def path_of(upload: Upload) -> Path:
    return root() / upload.path


def key_of(upload: Upload) -> str:
    """What the partial file is called: made up, so that a number used before a restore meets no old file."""
    return Path(upload.path).name
