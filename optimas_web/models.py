"""The Job row: the truth about work that runs in the background."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from projects.models import SafeTextField, TeamRow


class JobStatus(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    ERRORED = "errored", "Errored"
    CANCELLED = "cancelled", "Cancelled"


LIVE = (JobStatus.QUEUED, JobStatus.RUNNING)


class Job(TeamRow):
    """One piece of background work on one row (``target_id`` of the kind's model).

    *failed* is an end with a sentence for the user; *errored* is a bug, with a reference to the trace in ``log``.
    Whoever holds ``lease_token`` until ``lease_until`` is the only one whose writes count.
    """

    team_path = "team"
    team = models.ForeignKey("projects.Team", models.CASCADE, null=True, related_name="jobs")
    kind = models.CharField(max_length=50)
    target_id = models.BigIntegerField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="jobs")
    queue = models.CharField(max_length=20)
    status = models.CharField(max_length=20, choices=JobStatus.choices, default=JobStatus.QUEUED)
    stage = models.CharField(max_length=200, blank=True)
    progress = models.FloatField(default=0.0, help_text="0 to 1")
    try_no = models.PositiveSmallIntegerField(default=0)
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    sent = models.DateTimeField(null=True, help_text="when the broker was last told")
    not_before = models.DateTimeField(null=True, help_text="a queued job that waits for somebody else until then")
    waits = models.PositiveSmallIntegerField(default=0, help_text="how often it did so")
    cancel_requested = models.BooleanField(default=False)
    error = SafeTextField(blank=True)
    hint = SafeTextField(blank=True)
    reference = models.CharField(max_length=20, blank=True)
    log = SafeTextField(blank=True)
    idempotency_key = models.CharField(max_length=200, unique=True, null=True)  # noqa: DJ001 - unique, so none is null
    created = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True)
    ended = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created"]
        indexes = [models.Index(fields=["status", "lease_until"]), models.Index(fields=["kind", "target_id"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.target_id}"

    @property
    def is_live(self) -> bool:
        return self.status in LIVE
