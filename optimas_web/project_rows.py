"""What a project's page shows, as few queries: runs with their results, the best result, results over time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import AnonymousUser, User
from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from analysis.models import Origin, Profile
from evaluation.models import Timing, Verdict
from optimas_web.jobs import Job
from optimas_web.project_actions import jobs_of
from optimas_web.words import LOOKS
from optimizer.backends import BACKENDS
from optimizer.models import Attempt, Run, RunStatus
from projects.models import Project, SnapshotFile, Workload

Viewer = User | AnonymousUser
DECIDING = ("selected", "program")
"""The scopes that a verdict rests on: the selected kernels, else the program; descending by name."""
VERDICTS = ("faster", "no_difference", "slower", "same_machine_code", "cannot_tell", "impossible", "failed")
SORTS = {"run": "pk", "status": "status", "result": "result", "speedup": "speedup", "backend": "backend"}
PAGE = 25
LONG = (
    "attempt__answer_text",
    "attempt__hunks",
    "attempt__not_applied",
    "attempt__patch",
    "attempt__summary",
    "attempt__verdict__document",
    "attempt__verdict__environment",
)
"""What no list shows, and what can be long."""
DRAWN = 40  # results in the drawing; more of them would touch each other on a phone


class RunFilter(forms.Form):
    search = forms.CharField(required=False, help_text="")
    status = forms.ChoiceField(required=False, choices=[("", "Any status"), *RunStatus.choices])
    result = forms.ChoiceField(
        required=False, choices=[("", "Any result"), *((word, LOOKS[word].words) for word in VERDICTS)]
    )
    backend = forms.ChoiceField(required=False, choices=[("", "Any backend"), *((name, name) for name in BACKENDS)])


# --- runs -------------------------------------------------------------------------------------


def runs_of(project: Project, viewer: Viewer) -> QuerySet[Run]:
    return with_results(Run.objects.visible_to(viewer).filter(snapshot__project=project))


def with_results(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Runs with the attempt that stands for each: the newest that passed its gates, else the newest that was judged."""
    failed_last = Case(When(verdict__verdict="failed", then=Value(1)), default=Value(0))
    judged = Attempt.objects.filter(run=OuterRef("pk"), verdict__isnull=False).order_by(failed_last, "-number")
    timing = Timing.objects.filter(attempt=OuterRef("shown"), scope__in=DECIDING).order_by("-scope")
    return runs.annotate(
        shown=Subquery(judged.values("pk")[:1]), result=Subquery(judged.values("verdict__verdict")[:1])
    ).annotate(speedup=Subquery(timing.values("speedup")[:1]))


def with_timings(runs: Iterable[Any]) -> list[Any]:
    """Runs of ``with_results``, each with its deciding ``timing`` (or None), which knows the verdict."""
    found = list(runs)
    rows = Timing.objects.filter(deciding(), attempt__in=[run.shown for run in found])
    timings = {timing.attempt_id: timing for timing in rows.select_related("attempt__verdict").defer(*LONG)}
    for run in found:
        run.timing = timings.get(run.shown)
    return found


def filtered(runs: QuerySet[Run], form: RunFilter) -> QuerySet[Run]:
    """Only what the form asks for; a form that cannot be read asks for nothing."""
    if not form.is_valid():
        return runs.none()
    wanted = {name: form.cleaned_data[name] for name in ("status", "result", "backend") if form.cleaned_data[name]}
    text = form.cleaned_data["search"].strip()
    return runs.filter(matching(text), **wanted) if text else runs.filter(**wanted)


def matching(text: str) -> Q:
    kernels = Run.kernels.through.objects.filter(run_id=OuterRef("pk"), kernel__short_name__icontains=text)
    found = (
        Q(Exists(kernels))
        | Q(snapshot__sha256__startswith=text.lower())
        | Q(created_by__username__icontains=text)
        | Q(guidance__icontains=text)
    )
    return found | Q(pk=int(text)) if text.isdecimal() and len(text) < 18 else found


def sorted_by(runs: QuerySet[Run], asked: str) -> QuerySet[Run]:
    """By a column of ``SORTS``, "-" before it for descending; the newest first unless asked. Nothing comes last."""
    column = F(SORTS.get(asked.removeprefix("-"), "pk"))
    down = asked.startswith("-") or not asked
    order = column.desc(nulls_last=True) if down else column.asc(nulls_last=True)
    return runs.order_by(order, "-pk")


def run_page(project: Project, viewer: Viewer, query: Any) -> tuple[RunFilter, Page[Any]]:
    """One page of the table, each run with ``timing`` (or None) and ``names`` of its kernels."""
    form = RunFilter(query)
    runs = sorted_by(filtered(runs_of(project, viewer), form), query.get("sort", ""))
    rows = runs.select_related("snapshot", "created_by", "profile").prefetch_related("kernels")
    page: Page[Any] = Paginator(rows, PAGE).get_page(query.get("page"))
    for run in with_timings(page):
        run.names = [kernel.short_name for kernel in run.kernels.all()]
    return form, page


# --- results ----------------------------------------------------------------------------------


def deciding() -> Q:
    """Of an attempt's timings the one that its verdict rests on."""
    selected = Timing.objects.filter(attempt=OuterRef("attempt"), scope="selected")
    return Q(scope="selected") | Q(~Exists(selected), scope="program")


def results_of(project: Project, viewer: Viewer) -> QuerySet[Verdict]:
    """Judged attempts that passed their gates."""
    judged = Verdict.objects.visible_to(viewer).filter(attempt__run__snapshot__project=project)
    rows = judged.exclude(verdict="failed").select_related("attempt")
    return rows.only("attempt__run", "verdict", "created")


def newest_of(results: QuerySet[Verdict]) -> list[Timing]:
    """The deciding timings of the newest results, the oldest of them first. What was not timed is not among them."""
    verdicts = {verdict.attempt_id: verdict for verdict in results.order_by("-created", "-pk")[:DRAWN]}
    timings = list(Timing.objects.filter(deciding(), attempt__in=verdicts, speedup__isnull=False))
    for timing in timings:
        timing.attempt = verdicts[timing.attempt_id].attempt
    return sorted(timings, key=lambda timing: (timing.attempt.verdict.created, timing.pk))


def best_of(project: Project, viewer: Viewer) -> Timing | None:
    """The largest speedup that is proven: every gate passed, and the interval says faster."""
    own = Timing.objects.visible_to(viewer).filter(deciding(), attempt__run__snapshot__project=project)
    proven = own.filter(attempt__verdict__verdict="faster").order_by("-speedup", "pk").values("pk")[:1]
    shown = Timing.objects.select_related("attempt__verdict__host", "attempt__run__snapshot", "attempt__run__profile")
    return shown.defer(*LONG, "attempt__run__profile__doctor").filter(pk__in=proven).first()


# --- profiles and versions --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """A profile and its newest job. ``status``: the profile's, or the job's while it tells more."""

    profile: Profile
    job: Job | None

    @property
    def status(self) -> str:
        told_by_job = self.job and (self.profile.state == "pending" or self.job.status == "cancelled")
        return self.job.status if self.job and told_by_job else self.profile.state

    @property
    def is_live(self) -> bool:
        return self.job is not None and self.job.is_live


def profiles_of(project: Project, viewer: Viewer) -> QuerySet[Profile]:
    """What was uploaded or taken for the project; not what the judge measures again for an attempt."""
    rows = Profile.objects.visible_to(viewer).filter(snapshot__project=project).exclude(origin=Origin.RE_PROFILE)
    return rows.select_related("snapshot", "upload").defer("device", "doctor", "warnings")


def profile_lines(profiles: list[Profile]) -> list[ProfileLine]:
    jobs = {job.target_id: job for job in jobs_of(profiles).order_by("created").defer("log")}
    return [ProfileLine(profile, jobs.get(profile.pk)) for profile in profiles]


def versions_of(project: Project) -> QuerySet[Any]:
    """Snapshots, the newest first, with how much hangs on each."""
    rows = project.snapshots.select_related("created_by").order_by("-created")
    return rows.annotate(file_count=counted(SnapshotFile), run_count=counted(Run), workload_count=counted(Workload))


def counted(model: Any) -> Coalesce:
    """How many rows of a model a snapshot has; joins would multiply files by runs."""
    rows = model.objects.filter(snapshot=OuterRef("pk")).order_by().values("snapshot")
    return Coalesce(Subquery(rows.annotate(n=Count("pk")).values("n")), 0)
