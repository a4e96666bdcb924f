"""What the home page shows, as a fixed number of queries: live work, what waits for whom, results, projects, hosts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, Exists, Max, OuterRef, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone

from analysis.models import Profile
from evaluation.models import Host, Timing
from evaluation.services import PROFILE_KINDS
from optimas_web.jobs import LIVE, Job
from optimas_web.project_rows import deciding, with_results, with_timings
from optimizer.models import Attempt, Run, RunStatus
from projects.models import EDITORS, LEADS, Project
from reviews.models import Decision

SHOWN = 6
PROJECTS = 12
HOST_FORGOTTEN_AFTER = timedelta(days=7)
DOES = {
    "analysis.ingest": "profiling",
    "evaluation.profile": "profiling",
    "optimizer.propose": "proposing",
    "evaluation.evaluate": "evaluating",
}
"""What a job is doing while it runs, in the words of a run's status."""
SNAPSHOT_BULK = ("snapshot__manifest", "snapshot__skipped")
WAITS = (RunStatus.WAITING_FOR_ANSWER, RunStatus.NEEDS_REVIEW)
OVER = (RunStatus.DONE, RunStatus.FAILED, RunStatus.CANCELLED)


# --- running ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LiveLine:
    """A job that is running or queued: of a run, or of a profile that no run asked for."""

    job: Job
    title: str
    project: str
    url: str

    @property
    def status(self) -> str:
        return DOES[self.job.kind] if self.job.status == "running" else self.job.status


@dataclass(frozen=True, slots=True)
class Live:
    """The first few jobs, and how many there are in all."""

    lines: list[LiveLine]
    running: int
    queued: int

    @property
    def more(self) -> int:
        return self.running + self.queued - len(self.lines)

    @property
    def state(self) -> str:
        """Changes when there is something else to see."""
        seen = [(line.job.pk, line.job.status, line.job.stage, line.job.progress) for line in self.lines]
        return sha256(repr((seen, self.running, self.queued)).encode()).hexdigest()[:16]


def live(user: User) -> Live:
    jobs = Job.objects.visible_to(user).filter(status__in=LIVE)
    counts = dict(jobs.order_by().values_list("status").annotate(Count("pk")))
    first = list(jobs.order_by("-status", "created").defer("log")[:SHOWN])
    places = places_of(first)
    lines = [LiveLine(job, *places[job.pk]) for job in first if job.pk in places]
    return Live(lines, counts.get("running", 0), counts.get("queued", 0))


Place = tuple[str, str, str]
"""Title, name of the project, address."""


def places_of(jobs: list[Job]) -> dict[int, Place]:
    """Where each job belongs; a job whose row is gone has no place."""
    of_profiles = {job.target_id for job in jobs if job.kind in PROFILE_KINDS}
    of_attempts = {job.target_id for job in jobs if job.kind not in PROFILE_KINDS}
    profiles = profile_places(of_profiles)
    attempts = attempt_places(of_attempts)
    found = {job.pk: (profiles if job.kind in PROFILE_KINDS else attempts).get(job.target_id) for job in jobs}
    return {pk: place for pk, place in found.items() if place}


def attempt_places(attempts: Iterable[int]) -> dict[int, Place]:
    rows = Attempt.objects.filter(pk__in=attempts).values_list("pk", "run_id", "run__snapshot__project__name")
    return {pk: (f"Run {run}", name, reverse("evaluation:run", args=[run])) for pk, run, name in rows}


def profile_places(profiles: Iterable[int]) -> dict[int, Place]:
    """A profile is shown as the run that waits for it, if one does."""
    rows = Profile.objects.filter(pk__in=profiles).annotate(run=Max("runs", filter=Q(runs__ended__isnull=True)))
    return {
        pk: (f"Run {run}", name, reverse("evaluation:run", args=[run]))
        if run
        else ("A profile", name, reverse("analysis:profile", args=[pk]))
        for pk, run, name in rows.values_list("pk", "run", "snapshot__project__name")
    }


# --- waiting for a person ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Listed:
    """The first few rows, and how many there are in all."""

    rows: list[Any]
    count: int

    @property
    def more(self) -> int:
        return self.count - len(self.rows)


def listed(rows: QuerySet[Any]) -> Listed:
    return Listed(list(rows[:SHOWN]), rows.count())


def waiting_runs(user: User) -> Listed:
    """Runs that go on only when a person does something, where the user may: one's own first."""
    teams = user.memberships.filter(role__in=EDITORS).values("team")
    own_first = Case(When(created_by=user, then=Value(0)), default=Value(1))
    rows = Run.objects.visible_to(user).filter(status__in=WAITS, snapshot__project__team__in=teams)
    shown = rows.select_related("snapshot__project").defer(*SNAPSHOT_BULK)
    return listed(shown.order_by(own_first, "-created"))


def undecided(user: User) -> Listed:
    """Attempts that are proven to be faster and that nobody has decided on, where the user leads."""
    teams = user.memberships.filter(role__in=LEADS).values("team")
    rows = Attempt.objects.visible_to(user).filter(
        ~Exists(Decision.objects.filter(attempt=OuterRef("pk"))),
        run__snapshot__project__team__in=teams,
        run__status=RunStatus.DONE,
        verdict__verdict="faster",
    )
    found = listed(
        rows.select_related("run__snapshot__project", "verdict")
        .only("number", "run__snapshot__project__name", "verdict__recorded", "verdict__created")
        .order_by("-verdict__created")
    )
    timings = {timing.attempt_id: timing for timing in Timing.objects.filter(deciding(), attempt__in=found.rows)}
    for attempt in found.rows:
        attempt.timing = timings.get(attempt.pk)
    return found


# --- results ----------------------------------------------------------------------------------


def since_yesterday() -> datetime:
    """The beginning of yesterday."""
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=1)


def finished(user: User) -> Listed:
    """Runs that ended since yesterday, with what came of them: ``result``, ``shown`` and ``timing``."""
    rows = Run.objects.visible_to(user).filter(ended__gte=since_yesterday(), status__in=OVER)
    newest = with_results(rows).select_related("snapshot__project").defer(*SNAPSHOT_BULK).order_by("-ended")
    return Listed(with_timings(newest[:SHOWN]), rows.count())


# --- projects ---------------------------------------------------------------------------------


def project_page(user: User, number: Any) -> Page[Any]:
    """Projects, the last active first, with ``best`` (a timing or None), ``last`` (a run or None), ``run_count``."""
    last = Max("snapshots__runs__created")
    rows = Project.objects.visible_to(user).annotate(
        active=Coalesce(last, "created"), run_count=Count("snapshots__runs")
    )
    page: Page[Any] = Paginator(rows.select_related("team").order_by("-active", "pk"), PROJECTS).get_page(number)
    best, latest = best_of(list(page)), last_of(list(page))
    for project in page:
        project.best, project.last = best.get(project.pk), latest.get(project.pk)
    return page


def best_of(projects: list[Project]) -> dict[int, Timing]:
    """Project -> the deciding timing of its best proven result."""
    proven = {"attempt__verdict__verdict": "faster", "attempt__run__snapshot__project__in": projects}
    rows = Timing.objects.filter(deciding(), speedup__isnull=False, **proven)
    return {
        timing.attempt.run.snapshot.project_id: timing
        for timing in rows.select_related("attempt__verdict", "attempt__run__snapshot")
        .only(*OF_BEST)
        .order_by("attempt__run__snapshot__project", "-speedup", "pk")
        .distinct("attempt__run__snapshot__project")
    }


OF_BEST = (
    *("speedup", "low", "high", "scope", "workload", "pairs", "reason", "attempt__number"),
    *("attempt__verdict__recorded", "attempt__run__status", "attempt__run__snapshot__project_id"),
)


def last_of(projects: list[Project]) -> dict[int, Run]:
    runs = Run.objects.filter(snapshot__project__in=projects).select_related("snapshot")
    newest = runs.order_by("snapshot__project", "-created").distinct("snapshot__project")
    return {run.snapshot.project_id: run for run in newest.only("status", "created", "snapshot__project_id")}


# --- hosts ------------------------------------------------------------------------------------


def hosts() -> list[Host]:
    """Machines seen in the last days, those that are there first."""
    rows = Host.objects.filter(last_seen__gt=timezone.now() - HOST_FORGOTTEN_AFTER)
    return sorted(rows.prefetch_related("workers", "devices"), key=lambda host: not host.is_online)
