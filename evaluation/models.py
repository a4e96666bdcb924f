"""What was built, run, compared, timed and scored."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from analysis.models import Profile
from optimizer.models import Attempt
from projects.models import SafeJSONField, SafeTextField, Snapshot, TeamRow, Workload

SILENT_AFTER = timedelta(seconds=150)
"""A worker tells of itself every minute; one that has missed two turns is taken for gone."""


class Host(models.Model):
    """A machine that runs workers. Everybody who is signed in may see which tools are online.

    ``tools``: toolchain, name, version (null: missing) and remedy of each, as found when a worker started or judged.
    """

    name = models.CharField(max_length=100, unique=True)
    tools = SafeJSONField(default=list)
    last_seen = models.DateTimeField()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_online(self) -> bool:
        return any(worker.is_online for worker in self.workers.all())

    @property
    def queues(self) -> set[str]:
        """What the workers that are there take jobs from."""
        return {queue for worker in self.workers.all() if worker.is_online for queue in worker.queues}

    def tools_of(self, toolchain: str) -> list[dict[str, Any]]:
        return [tool for tool in self.tools if tool["toolchain"] == toolchain]

    def missing(self, toolchain: str) -> list[dict[str, Any]]:
        return [tool for tool in self.tools_of(toolchain) if tool["version"] is None]


class Worker(models.Model):
    """A process of a host that takes jobs from its queues, by the name that Celery gives it."""

    host = models.ForeignKey(Host, models.CASCADE, related_name="workers")
    name = models.CharField(max_length=200, unique=True)
    queues = SafeJSONField(default=list)
    last_seen = models.DateTimeField()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_online(self) -> bool:
        return timezone.now() - self.last_seen < SILENT_AFTER


class Device(models.Model):
    """``ceilings``: measured on this device, base units, with the date and the method."""

    host = models.ForeignKey(Host, models.CASCADE, related_name="devices")
    uuid = models.CharField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    ceilings = SafeJSONField(default=dict, blank=True)

    def __str__(self) -> str:
        return self.name


class Build(TeamRow):
    """One build of a snapshot with a patch (empty hash: the original)."""

    team_path = "snapshot__project__team"
    snapshot = models.ForeignKey(Snapshot, models.CASCADE, related_name="builds")
    attempt = models.ForeignKey(Attempt, models.CASCADE, null=True, blank=True, related_name="builds")
    patch_sha256 = models.CharField(max_length=64, blank=True)
    arch = models.CharField(max_length=50, blank=True)
    flags = SafeTextField(blank=True)
    ok = models.BooleanField()
    log = SafeTextField(blank=True)
    symbols = SafeJSONField(default=list)
    binary_sha256 = models.CharField(max_length=64, blank=True)
    seconds = models.FloatField()

    def __str__(self) -> str:
        return f"build of {self.snapshot}"


class Baseline(TeamRow):
    """Three runs of the original on one workload, for one attempt's judgement."""

    team_path = "workload__snapshot__project__team"
    workload = models.ForeignKey(Workload, models.CASCADE, related_name="baselines")
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="baselines")
    masks = SafeJSONField(default=list)
    stable = models.BooleanField()
    comparable_bytes = models.PositiveBigIntegerField()
    problem = SafeTextField(blank=True)

    def __str__(self) -> str:
        return f"baseline of {self.workload}"


class OutputCheck(TeamRow):
    """The candidate's outputs against the original's, on one workload."""

    team_path = "attempt__run__snapshot__project__team"
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="output_checks")
    workload = models.CharField(max_length=100)
    same = models.BooleanField()
    compared_bytes = models.PositiveBigIntegerField()
    differences = SafeJSONField(default=list)

    def __str__(self) -> str:
        return f"{self.workload}: {'same' if self.same else 'different'}"


class ReProfile(TeamRow):
    """``metrics``: evidence label -> value of this repeat, in the evidence's own unit."""

    team_path = "attempt__run__snapshot__project__team"
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="re_profiles")
    side = models.CharField(max_length=10)
    repeat = models.PositiveSmallIntegerField()
    profile = models.ForeignKey(Profile, models.SET_NULL, null=True, related_name="+")
    metrics = SafeJSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.side} {self.repeat} of {self.attempt}"


class Sample(TeamRow):
    """One side of one pair. ``kernel_ns``: kernel -> median launch duration, where it was measured."""

    team_path = "attempt__run__snapshot__project__team"
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="samples")
    workload = models.CharField(max_length=100)
    scope = models.CharField(max_length=300)
    side = models.CharField(max_length=10)
    pair = models.PositiveSmallIntegerField()
    first = models.BooleanField(help_text="this side ran first in its pair")
    ns = models.FloatField()
    nvml = SafeJSONField(default=dict, blank=True)
    excluded_reason = SafeTextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["attempt", "workload", "scope", "side", "pair"], name="one_sample_a_side")
        ]
        ordering = ["pair", "side"]

    def __str__(self) -> str:
        return f"{self.scope} {self.side} {self.pair}: {self.ns} ns"


class Timing(TeamRow):
    team_path = "attempt__run__snapshot__project__team"
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="timings")
    scope = models.CharField(max_length=300, help_text="program, gpu, selected, or kernel:NAME")
    workload = models.CharField(max_length=100)
    speedup = models.FloatField(null=True)
    time_saved = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    pairs = models.PositiveSmallIntegerField()
    verdict = models.CharField(max_length=20)
    confidence = models.FloatField()
    smallest_effect = models.FloatField(null=True)
    reason = SafeTextField()
    method = models.CharField(max_length=50, default="paired order statistics")
    seed = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "scope", "workload"], name="one_timing_a_scope")]

    def __str__(self) -> str:
        return f"{self.scope}: {self.verdict}"


class Score(TeamRow):
    team_path = "attempt__run__snapshot__project__team"
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="scores")
    name = models.CharField(max_length=20)
    value = models.FloatField(null=True)
    numerator = models.FloatField(null=True)
    denominator = models.FloatField(null=True)
    chance = models.FloatField(null=True)
    parts = SafeJSONField(default=dict)
    sentence = SafeTextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "name"], name="one_score_of_a_name")]

    def __str__(self) -> str:
        return f"{self.name}: {self.value}"


class Verdict(TeamRow):
    """What came of an attempt as a whole: ``failed`` or the timing verdict, with the document it rests on."""

    team_path = "attempt__run__snapshot__project__team"
    attempt = models.OneToOneField(Attempt, models.CASCADE, related_name="verdict")
    verdict = models.CharField(max_length=20)
    host = models.ForeignKey(Host, models.SET_NULL, null=True, related_name="+")
    environment = SafeJSONField(default=dict)
    document = SafeJSONField()
    recorded = SafeTextField(blank=True, help_text="where and when, if it was not measured by this site")
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.verdict} ({self.attempt})"


class OutputRule(TeamRow):
    """A tolerance that a lead signed for one workload that is not bitwise stable."""

    class Kind(models.TextChoices):
        ULP = "ulp", "Units in the last place"
        RELATIVE = "relative", "Relative error"
        SET = "set", "Same set in any order"

    team_path = "workload__snapshot__project__team"
    workload = models.ForeignKey(Workload, models.CASCADE, related_name="output_rules")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    bound = models.FloatField(null=True)
    reason = SafeTextField()
    signed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    signed = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.kind} on {self.workload}"
