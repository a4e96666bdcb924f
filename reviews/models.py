"""What people say about an attempt, and what they may take away."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from analysis.models import Evidence
from optimizer.models import Attempt
from projects.models import SafeJSONField, SafeTextField, Team, TeamRow


class Thread(TeamRow):
    """Anchored to a line of either side, to an evidence item, or to the attempt as a whole."""

    team_path = "attempt__run__snapshot__project__team"
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="threads")
    side = models.CharField(max_length=10, blank=True)
    file = SafeTextField(blank=True)
    line = models.PositiveIntegerField(null=True, blank=True)
    evidence = models.ForeignKey(Evidence, models.SET_NULL, null=True, blank=True, related_name="threads")
    resolved = models.BooleanField(default=False)
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"thread on {self.attempt}"


class Comment(TeamRow):
    team_path = "thread__attempt__run__snapshot__project__team"
    thread = models.ForeignKey(Thread, models.CASCADE, related_name="comments")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    text = SafeTextField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created"]

    def __str__(self) -> str:
        return self.text[:60]


class Decision(TeamRow):
    """Bound to ``hashes`` of source, patch, build, inputs, rule and measurement: anything new reopens it."""

    class Choice(models.TextChoices):
        APPROVED = "approved", "Approved"
        CHANGES_REQUESTED = "changes_requested", "Changes requested"
        REJECTED = "rejected", "Rejected"

    team_path = "attempt__run__snapshot__project__team"
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="decisions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    verdict = models.CharField(max_length=20, choices=Choice.choices)
    reason = SafeTextField()
    hashes = SafeJSONField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"{self.verdict}: {self.attempt}"


class Receipt(TeamRow):
    """A signed document (schema optimas.receipt/1) that stands on its own."""

    team_path = "attempt__run__snapshot__project__team"
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="receipts")
    document = SafeJSONField()
    sha256 = models.CharField(max_length=64)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"receipt {self.sha256[:12]}"


class ShareLink(TeamRow):
    team_path = "attempt__run__snapshot__project__team"
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="share_links")
    token_sha256 = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    expires = models.DateTimeField()

    def __str__(self) -> str:
        return f"link to {self.attempt}"


class Lesson(TeamRow):
    """``steps``: an ordered pick of attempts with questions."""

    team_path = "team"
    team = models.ForeignKey(Team, models.CASCADE, related_name="lessons")
    title = models.CharField(max_length=200)
    steps = SafeJSONField(default=list)
    join_code = models.CharField(max_length=20, unique=True, null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")

    def __str__(self) -> str:
        return self.title


class Response(TeamRow):
    """A student's answer to one step; students need no account."""

    team_path = "lesson__team"
    lesson = models.ForeignKey(Lesson, models.CASCADE, related_name="responses")
    student = models.CharField(max_length=100)
    step = models.PositiveSmallIntegerField()
    answer = SafeJSONField()
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.student}, step {self.step}"
