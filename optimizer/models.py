"""Runs, their attempts, and everything a model was asked and answered."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from analysis.models import Evidence, Kernel, Profile
from optimizer.types import GATES
from projects.models import Project, SafeJSONField, SafeTextField, Snapshot, Team, TeamRow


class RunStatus(models.TextChoices):
    QUEUED = "queued", "Queued"
    PROFILING = "profiling", "Profiling"
    PROPOSING = "proposing", "Proposing"
    WAITING_FOR_ANSWER = "waiting_for_answer", "Waiting for an answer"
    EVALUATING = "evaluating", "Evaluating"
    DONE = "done", "Done"
    NEEDS_REVIEW = "needs_review", "Needs review"
    CANCELLED = "cancelled", "Cancelled"
    FAILED = "failed", "Failed"


ENDED = (RunStatus.DONE, RunStatus.NEEDS_REVIEW, RunStatus.CANCELLED, RunStatus.FAILED)


class Run(TeamRow):
    """``seconds``: where the time went (profile, summarise, infer, build, validate, re_profile)."""

    team_path = "snapshot__project__team"
    snapshot = models.ForeignKey(Snapshot, models.CASCADE, related_name="runs")
    profile = models.ForeignKey(Profile, models.SET_NULL, null=True, blank=True, related_name="runs")
    kernels = models.ManyToManyField(Kernel, blank=True, related_name="runs", help_text="empty: the hot set")
    sources = SafeJSONField(default=list, help_text="evidence kinds offered; empty: code only")
    backend = models.CharField(max_length=50)
    options = SafeJSONField(default=dict, blank=True)
    guidance = SafeTextField(blank=True)
    repairs = models.PositiveSmallIntegerField(default=3)
    budget_usd = models.DecimalField(max_digits=10, decimal_places=2, null=True, blank=True)
    status = models.CharField(max_length=20, choices=RunStatus.choices, default=RunStatus.QUEUED)
    problem = SafeTextField(blank=True)
    hint = SafeTextField(blank=True)
    seconds = SafeJSONField(default=dict, blank=True)
    idempotency_key = models.CharField(max_length=100, unique=True, null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="runs")
    created = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.snapshot}"

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED


class AttemptOrigin(models.TextChoices):
    MODEL = "model", "A model"
    RECORDED = "recorded", "Recorded answer"
    PERSON = "person", "A person"
    HUNKS = "hunks", "Some hunks of another attempt"


class Attempt(TeamRow):
    """``outcome`` is the answer reader's; ``patch`` is what the edits amount to, as a unified diff."""

    team_path = "run__snapshot__project__team"
    run = models.ForeignKey(Run, models.CASCADE, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    parent = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="repairs")
    origin = models.CharField(max_length=20, choices=AttemptOrigin.choices)
    hunks = SafeJSONField(null=True, blank=True)
    answer_text = models.BinaryField(null=True, help_text="a pasted answer, before it is read")
    outcome = models.CharField(max_length=20, blank=True)
    message = SafeTextField(blank=True)
    summary = SafeTextField(blank=True)
    not_applied = SafeJSONField(default=list, blank=True)
    patch = SafeTextField(blank=True)
    patch_sha256 = models.CharField(max_length=64, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="one_attempt_of_a_number")]
        ordering = ["number"]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.run}"


class Prompt(TeamRow):
    """The exact bytes a model was sent."""

    team_path = "attempt__run__snapshot__project__team"
    attempt = models.OneToOneField(Attempt, models.CASCADE, related_name="prompt")
    text = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    version = models.CharField(max_length=20)
    tokens_estimated = models.PositiveIntegerField()
    labels = SafeJSONField(default=list)
    regions = SafeJSONField(default=list)
    dropped = SafeJSONField(default=list, blank=True)

    def __str__(self) -> str:
        return f"prompt of {self.attempt}"


class Completion(TeamRow):
    """The exact bytes that came back. Tokens and cost are null when the vendor does not say."""

    team_path = "attempt__run__snapshot__project__team"
    attempt = models.OneToOneField(Attempt, models.CASCADE, related_name="completion")
    text = models.BinaryField()
    stop = models.CharField(max_length=20)
    model = models.CharField(max_length=200)
    recorded = SafeTextField(blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cost_usd = models.DecimalField(max_digits=10, decimal_places=4, null=True)
    seconds = models.FloatField()
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"answer to {self.attempt}"


class Edit(TeamRow):
    """Numbers refer to the snapshot's file. Texts are bytes, since a source may hold anything."""

    team_path = "attempt__run__snapshot__project__team"
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="edits")
    position = models.PositiveSmallIntegerField()
    file = SafeTextField()
    start_line = models.PositiveIntegerField()
    end_line = models.PositiveIntegerField()
    original_text = models.BinaryField()
    new_text = models.BinaryField()
    rationale = SafeTextField(blank=True)
    anchored = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "position"], name="one_edit_of_a_position")]
        ordering = ["position"]

    def __str__(self) -> str:
        return f"{self.file}:{self.start_line}-{self.end_line}"


class Citation(TeamRow):
    """``evidence`` is null when the label was never offered."""

    team_path = "edit__attempt__run__snapshot__project__team"
    edit = models.ForeignKey(Edit, models.CASCADE, related_name="citations")
    label = models.CharField(max_length=50)
    evidence = models.ForeignKey(Evidence, models.SET_NULL, null=True, related_name="citations")

    def __str__(self) -> str:
        return self.label


class Prediction(TeamRow):
    team_path = "edit__attempt__run__snapshot__project__team"
    edit = models.ForeignKey(Edit, models.CASCADE, related_name="predictions")
    label = models.CharField(max_length=50)
    direction = models.CharField(max_length=4)
    by_percent = models.FloatField(null=True)

    def __str__(self) -> str:
        return f"{self.label} {self.direction}"


class Violation(TeamRow):
    team_path = "attempt__run__snapshot__project__team"
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="violations")
    rule = models.CharField(max_length=50)
    severity = models.CharField(max_length=10)
    file = SafeTextField(blank=True)
    line = models.PositiveIntegerField()
    message = SafeTextField()
    cannot_check = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.rule} at {self.file}:{self.line}"


class Gate(TeamRow):
    """Gates 1-3 are written here, 4-9 by the evaluation."""

    team_path = "attempt__run__snapshot__project__team"
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="gates")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=20, choices=[(name, name) for name in GATES])
    status = models.CharField(max_length=20)
    reason = SafeTextField(blank=True)
    seconds = models.FloatField()
    log = SafeTextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "name"], name="one_gate_of_a_name")]
        ordering = ["position"]

    def __str__(self) -> str:
        return f"{self.name}: {self.status}"


class VendorAccess(TeamRow):
    """How a team reaches a vendor. The key is encrypted, and no page shows it again.

    ``listed``: the models that the vendor named when it was asked last; ``problem``: why it did not.
    """

    team_path = "team"
    team = models.ForeignKey(Team, models.CASCADE, related_name="vendors")
    backend = models.CharField(max_length=50)
    base_url = models.CharField(max_length=500, blank=True, help_text="empty: the vendor's own address")
    sealed_key = models.BinaryField(default=b"")
    listed = SafeJSONField(default=list, blank=True)
    problem = SafeTextField(blank=True)
    tested = models.DateTimeField(null=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    changed = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "backend"], name="one_access_to_a_vendor")]
        ordering = ["backend"]

    def __str__(self) -> str:
        return f"{self.backend} for {self.team}"

    @property
    def has_key(self) -> bool:
        return bool(self.sealed_key)


class Charge(TeamRow):
    """One request to a vendor: what it may cost at most, and what it did cost once the vendor has said so.

    It outlives the attempt, so that what was spent in a month stays known.
    """

    team_path = "team"
    team = models.ForeignKey(Team, models.CASCADE, related_name="charges")
    project = models.ForeignKey(Project, models.SET_NULL, null=True, related_name="charges")
    attempt = models.ForeignKey(Attempt, models.SET_NULL, null=True, related_name="charges")
    most_usd = models.DecimalField(max_digits=10, decimal_places=4)
    cost_usd = models.DecimalField(max_digits=10, decimal_places=4, null=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["team", "created"])]

    def __str__(self) -> str:
        return f"charge of {self.attempt}"
