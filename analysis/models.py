"""Profiles and what was read out of them. Launches and their metrics lie in the columnar file beside the upload."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from analysis.types import SOURCE_KINDS
from projects.models import SafeJSONField, SafeTextField, Snapshot, TeamRow, Upload


class Origin(models.TextChoices):
    UPLOADED = "uploaded", "Uploaded"
    HOST = "host", "Taken by a host"
    RE_PROFILE = "re_profile", "Taken again to judge an attempt"


class ProfileState(models.TextChoices):
    PENDING = "pending", "Not read yet"
    READY = "ready", "Ready"
    FAILED = "failed", "Could not be read"


class Profile(TeamRow):
    """``command`` is for the team's eyes only. ``file`` (empty for an upload) and ``columns``: in the profile root."""

    team_path = "snapshot__project__team"
    snapshot = models.ForeignKey(Snapshot, models.CASCADE, related_name="profiles")
    upload = models.ForeignKey(Upload, models.SET_NULL, null=True, blank=True, related_name="profiles")
    origin = models.CharField(max_length=20, choices=Origin.choices)
    state = models.CharField(max_length=20, choices=ProfileState.choices, default=ProfileState.PENDING)
    problem = SafeTextField(blank=True)
    file = models.CharField(max_length=255, blank=True)
    columns = models.CharField(max_length=255, blank=True)
    format = models.CharField(max_length=50, blank=True)
    tool = models.CharField(max_length=200, blank=True)
    device_name = models.CharField(max_length=200, blank=True)
    device = SafeJSONField(default=dict, blank=True)
    clocks_locked = models.BooleanField(null=True)
    cost_unit = models.CharField(max_length=10, blank=True)
    whole_run = models.BooleanField(default=False)
    binary_sha256 = models.CharField(max_length=64, blank=True)
    launch_count = models.PositiveIntegerField(default=0)
    command = SafeTextField(blank=True)
    warnings = SafeJSONField(default=list, blank=True)
    doctor = SafeJSONField(default=list, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"{self.tool or 'profile'} of {self.snapshot}"


class Kernel(TeamRow):
    """``total_cost`` and ``median_cost`` are in the profile's ``cost_unit``."""

    team_path = "profile__snapshot__project__team"
    profile = models.ForeignKey(Profile, models.CASCADE, related_name="kernels")
    mangled = SafeTextField()
    name = SafeTextField()
    short_name = SafeTextField()
    launch_count = models.PositiveIntegerField()
    total_cost = models.FloatField(null=True)
    median_cost = models.FloatField(null=True)
    share = models.FloatField(null=True)
    rank = models.PositiveIntegerField()
    hot = models.BooleanField()
    roofline = SafeJSONField(null=True)
    stalls = SafeJSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["profile", "rank"], name="one_kernel_of_a_rank")]
        ordering = ["rank"]

    def __str__(self) -> str:
        return self.short_name


class Evidence(TeamRow):
    """Numbered once, over all kernels by rank; a subset keeps its labels."""

    team_path = "profile__snapshot__project__team"
    profile = models.ForeignKey(Profile, models.CASCADE, related_name="evidence")
    kernel = models.ForeignKey(Kernel, models.CASCADE, related_name="evidence")
    position = models.PositiveIntegerField()
    label = models.CharField(max_length=10)
    kind = models.CharField(max_length=20, choices=[(kind, kind) for kind in SOURCE_KINDS])
    statement = SafeTextField()
    metric = models.CharField(max_length=300)
    value = models.FloatField(null=True)
    unit = models.CharField(max_length=50, blank=True)
    noise = models.FloatField()
    direction = models.CharField(max_length=4, choices=[("down", "down"), ("up", "up")])
    weight = models.FloatField()
    file = SafeTextField(blank=True)
    lines = ArrayField(models.PositiveIntegerField(), size=2, null=True, help_text="first and last line")
    text = SafeTextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["profile", "label"], name="one_evidence_of_a_label")]
        ordering = ["position"]
        verbose_name_plural = "evidence"

    def __str__(self) -> str:
        return f"{self.label}: {self.statement}"
