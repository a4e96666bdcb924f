"""Teams and their programs. Every row of every room is reached through ``objects.visible_to(user)``."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import models

# Postgres stores no NUL and no lone surrogate (a byte that was no UTF-8) in text: people see a symbol for each.
UNSTORABLE = {0: "\u2400", **dict.fromkeys(range(0xD800, 0xE000), "\ufffd")}


def storable(value: Any) -> Any:
    """``value`` as Postgres and browsers can hold it: bad characters become symbols, NaN and infinity null."""
    if isinstance(value, str):
        return value.translate(UNSTORABLE)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {storable(str(key)): storable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(item) for item in value]
    return value


def as_literal(value: str) -> Any:
    """A column with choices, as the Literal type that lists the same words."""
    return value


class SafeTextField(models.TextField):
    """Text from files, tools and models, which may hold anything."""

    def get_prep_value(self, value: Any) -> Any:
        return super().get_prep_value(storable(value))


class SafeJSONField(models.JSONField):
    def get_prep_value(self, value: Any) -> Any:
        return super().get_prep_value(storable(value))

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return super().get_db_prep_value(storable(value), connection, prepared)


class VisibleQuerySet(models.QuerySet):
    """Rows that belong to a team. The model says how in ``team_path``."""

    def visible_to(self, user: User | AnonymousUser) -> Self:
        if not user.is_authenticated:
            return self.none()
        path: str = getattr(self.model, "team_path")  # noqa: B009 - every TeamRow has it, the plain Model has not
        return self.filter(**{f"{path}__memberships__user" if path else "memberships__user": user})


class TeamRow(models.Model):
    """Base of every row that a team owns."""

    team_path: ClassVar[str]
    objects = VisibleQuerySet.as_manager()

    class Meta:
        abstract = True


class Role(models.TextChoices):
    OWNER = "owner", "Owner"
    LEAD = "lead", "Lead"
    ENGINEER = "engineer", "Engineer"
    EDUCATOR = "educator", "Educator"
    STUDENT = "student", "Student"
    VIEWER = "viewer", "Viewer"


LEADS = (Role.OWNER, Role.LEAD)
EDITORS = (*LEADS, Role.ENGINEER, Role.EDUCATOR)


class Team(TeamRow):
    team_path = ""
    name = models.CharField(max_length=100)
    budget_usd = models.DecimalField(
        max_digits=10, decimal_places=2, null=True, blank=True, help_text="for models, in a calendar month"
    )
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name

    def membership(self, user: User) -> Membership | None:
        return self.memberships.filter(user=user).first()


class Membership(TeamRow):
    team_path = "team"
    team = models.ForeignKey(Team, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role.choices, default=Role.ENGINEER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_role_per_team")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}: {self.role}"

    @property
    def is_lead(self) -> bool:
        return self.role in LEADS

    @property
    def can_edit(self) -> bool:
        return self.role in EDITORS


class Invitation(TeamRow):
    """An account that a lead made: whoever has it must choose a password before anything else."""

    team_path = "team"
    team = models.ForeignKey(Team, models.CASCADE, related_name="invitations")
    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="invitation")
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.user}, invited to {self.team}"


class Project(TeamRow):
    team_path = "team"
    team = models.ForeignKey(Team, models.CASCADE, related_name="projects")
    name = models.CharField(max_length=100)
    manifest = SafeTextField(blank=True, help_text="optimas.toml for snapshots that bring none")
    rules = SafeJSONField(default=dict, blank=True, help_text="guard name -> block, warn or off; set by a lead")
    budget_usd = models.DecimalField(max_digits=10, decimal_places=2, null=True, blank=True)
    vendors_allowed = SafeJSONField(default=list, blank=True, help_text="backend names; empty allows all")
    local_only = models.BooleanField(default=False, help_text="nothing leaves the private network")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="one_project_of_a_name_per_team")]

    def __str__(self) -> str:
        return self.name


class Snapshot(TeamRow):
    """One version of the sources. ``manifest`` is what was declared and detected, as ``projects.types.Manifest``."""

    team_path = "project__team"
    project = models.ForeignKey(Project, models.CASCADE, related_name="snapshots")
    sha256 = models.CharField(max_length=64)
    manifest = SafeJSONField()
    skipped = SafeJSONField(default=list, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "sha256"], name="one_snapshot_of_a_content")]
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"{self.project} {self.sha256[:12]}"


class SnapshotFile(TeamRow):
    """One file, byte for byte."""

    team_path = "snapshot__project__team"
    snapshot = models.ForeignKey(Snapshot, models.CASCADE, related_name="files")
    path = models.CharField(max_length=4096)
    size = models.PositiveBigIntegerField()
    content = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["snapshot", "path"], name="one_file_of_a_path")]
        ordering = ["path"]

    def __str__(self) -> str:
        return self.path


class Workload(TeamRow):
    team_path = "snapshot__project__team"
    snapshot = models.ForeignKey(Snapshot, models.CASCADE, related_name="workloads")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=100)
    command = SafeTextField()
    outputs = SafeJSONField(default=list, blank=True)
    timeout_s = models.FloatField()
    declared_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    declared_flops = models.PositiveBigIntegerField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["snapshot", "name"], name="one_workload_of_a_name")]
        ordering = ["position"]

    def __str__(self) -> str:
        return self.name


class UploadState(models.TextChoices):
    RECEIVING = "receiving", "Receiving"
    COMPLETE = "complete", "Complete"


class Upload(TeamRow):
    """A file on its way in, or here. ``name`` has no folders; ``path`` is relative to the upload root."""

    team_path = "team"
    team = models.ForeignKey(Team, models.CASCADE, related_name="uploads")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="uploads")
    name = models.CharField(max_length=255)
    size = models.PositiveBigIntegerField()
    received = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    path = models.CharField(max_length=255, blank=True)
    state = models.CharField(max_length=20, choices=UploadState.choices, default=UploadState.RECEIVING)
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name
