"""Experiments over many runs, and the corpus that comes of them."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from optimizer.models import Attempt, Run
from projects.models import SafeJSONField, SafeTextField, Team, TeamRow


class Study(TeamRow):
    """``matrix``: the axes (projects, backends, evidence subsets, repeats)."""

    team_path = "team"
    team = models.ForeignKey(Team, models.CASCADE, related_name="studies")
    name = models.CharField(max_length=200)
    matrix = SafeJSONField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.name


class Cell(TeamRow):
    """One combination of the matrix and the run that fills it."""

    team_path = "study__team"
    study = models.ForeignKey(Study, models.CASCADE, related_name="cells")
    key = models.CharField(max_length=300)
    run = models.ForeignKey(Run, models.SET_NULL, null=True, blank=True, related_name="cells")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "key"], name="one_cell_of_a_key")]

    def __str__(self) -> str:
        return self.key


class CorpusRecord(TeamRow):
    """What one attempt teaches: symptom, edit, outcome; failures too."""

    team_path = "team"
    team = models.ForeignKey(Team, models.CASCADE, related_name="corpus")
    attempt = models.OneToOneField(Attempt, models.CASCADE, related_name="corpus_record")
    symptom = SafeTextField()
    record = SafeJSONField()
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.symptom[:60]
