"""One run, live: its stages, what its jobs say, its attempts, and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Prefetch
from django.db.models.functions import Right
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from analysis.models import Kernel
from evaluation.models import Timing
from evaluation.run_page import SCOPES, AttemptLine, Measured, Progress, Work, headline, spent, stages, why_no_repair
from evaluation.services import PROFILE_KINDS, cancel_run, jobs_of, online_queues
from evaluation.views import can_edit, editors_only, load_run
from optimas_web.jobs import Job
from optimizer.backends import backend
from optimizer.models import Attempt, Gate, Run, RunStatus
from optimizer.rows import gate_of

TAIL_CHARACTERS = 6_000
STEPS = {
    **dict.fromkeys(PROFILE_KINDS, "profile"),
    "optimizer.propose": "propose",
    "evaluation.evaluate": "evaluate",
}
LOG_WORDS = {"profile": "Profiling", "propose": "Asking for edits", "evaluate": "Judging"}


@dataclass(frozen=True, slots=True)
class Told:
    """Everything about a run that changes while it works."""

    run: Run
    attempts: Sequence[Attempt]
    jobs: Sequence[Job]
    progress: Progress

    @property
    def newest(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None

    @property
    def best(self) -> Attempt | None:
        """The attempt that passed every gate with the largest speedup that is sure."""
        proved = [each for each in self.attempts if hasattr(each, "verdict") and each.verdict.verdict != "failed"]
        return max(proved, key=sure_speedup, default=None)

    @property
    def log(self) -> Job | None:
        """The job whose log is worth reading: one that works, else the last one."""
        return next((job for job in self.jobs if job.is_live), self.jobs[0] if self.jobs else None)


@login_required
@require_safe
def run(request: HttpRequest, pk: int) -> HttpResponse:
    row = load_run(request, pk)
    context = live_context(tell(row)) | {"editor": can_edit(request, row.snapshot.project.team)}
    context["here"] = f"Run {row.pk}"
    context["live"] = render_to_string("evaluation/run_live.html", context, request)
    context["seen"] = fingerprint(context["live"])
    return render(request, "evaluation/run.html", context)


@login_required
@require_safe
def live(request: HttpRequest, pk: int) -> HttpResponse:
    """What has changed: 204 while nothing has, 286 with the last of it."""
    row = load_run(request, pk)
    context = live_context(tell(row)) | {"editor": can_edit(request, row.snapshot.project.team)}
    text = render_to_string("evaluation/run_live.html", context, request)
    seen, ended = fingerprint(text), context["told"].progress.has_ended
    if seen == request.GET.get("seen") and not ended:
        return HttpResponse(status=204)
    context |= {"live": text, "seen": seen, "stage_is_new": context["said"] != request.GET.get("said", "")}
    return render(request, "evaluation/run_poll.html", context, status=286 if ended else 200)


@login_required
@require_safe
def log(request: HttpRequest, pk: int, job: int) -> HttpResponse:
    """The whole log of one of the run's jobs, as plain text."""
    found = get_object_or_404(jobs_of(load_run(request, pk)), pk=job)
    return HttpResponse(found.log, content_type="text/plain; charset=utf-8")


@login_required
@require_POST
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    row = load_run(request, pk)
    editors_only(request, row.snapshot.project.team)
    if row.has_ended:
        messages.info(request, f"Run {row.pk} had ended already: {row.get_status_display().lower()}.")
    else:
        cancel_run(row)
        messages.success(request, f"Run {row.pk} is cancelled. What was found until now is kept.")
    return redirect("evaluation:run", row.pk)


# --- what is told -----------------------------------------------------------------------------


def tell(row: Run) -> Told:
    attempts = attempts_of(row)
    jobs = list(jobs_of(row).defer("log").annotate(tail=Right("log", TAIL_CHARACTERS)))
    return Told(row, attempts, jobs, progress_of(row, attempts, jobs))


def attempts_of(row: Run) -> list[Attempt]:
    heavy = ("answer_text", "patch", "prompt__text", "completion__text", "verdict__document", "verdict__environment")
    rows = row.attempts.select_related("prompt", "completion", "verdict", "parent").defer(*heavy)
    return list(rows.prefetch_related(Prefetch("gates", Gate.objects.defer("log")), "timings"))


def progress_of(row: Run, attempts: Sequence[Attempt], jobs: Sequence[Job]) -> Progress:
    newest = attempts[-1] if attempts else None
    mine = [job for job in jobs if job.kind in PROFILE_KINDS or (newest and job.target_id == newest.pk)]
    online = online_queues() if any(job.status == "queued" for job in mine) else set()
    works = {STEPS[job.kind]: work_of(job, online) for job in reversed(mine)}  # the newest comes last and stays
    return Progress(
        row.status,
        row.profile.state if row.profile else "",
        works,
        newest.outcome if newest else "",
        newest.message if newest else "",
        [plain_gate(gate) for gate in newest.gates.all()] if newest else (),
        row.seconds,
    )


def plain_gate(row: Gate) -> Any:
    row.log = ""  # left in the database
    return gate_of(row)


def work_of(job: Job, online: set[str]) -> Work:
    seconds = (timezone.now() - job.started).total_seconds() if job.started else None
    note = f"Waits for a worker of the queue {job.queue}."
    if job.queue not in online:
        note = f"Waits for a worker of the queue {job.queue}, and none is online: see Hosts."
    return Work(job.status, job.stage, job.progress, seconds, note)


def sure_speedup(attempt: Attempt) -> float:
    return max((timing.low or 0.0 for timing in attempt.timings.all()), default=0.0)


def live_context(told: Told) -> dict[str, Any]:
    row, broken = told.run, next((job for job in told.jobs if job.status == "errored"), None)
    costs = [each.completion.cost_usd for each in told.attempts if hasattr(each, "completion")]
    found = stages(told.progress)
    return {
        "run": row,
        "told": told,
        "kernels": list(row.kernels.only("short_name", "rank", "profile")),
        "backend": backend(row.backend),
        "attempts": [attempt_line(each, told) for each in told.attempts],
        "timing": deciding(told.best) if told.best else None,
        "measured": measured(told.best) if told.best else (),
        "ended": told.progress.has_ended,
        "stages": found,
        "said": next((stage.name for stage in found if stage.status == "running"), row.status),
        "headline": headline(told.progress),
        "reference": broken.reference if broken else "",
        "log_words": LOG_WORDS[STEPS[told.log.kind]] if told.log else "",
        "spent": spent(row.seconds),
        "spent_sum": sum(row.seconds.values()),
        "cost": sum(cost for cost in costs if cost is not None) if any(c is not None for c in costs) else None,
        "answers": len(costs),
        "stopped_at": failed_gate(told.newest) if row.has_ended else None,
        "why_no_repair": no_repair(told) if row.status == RunStatus.NEEDS_REVIEW else "",
    }


def attempt_line(attempt: Attempt, told: Told) -> AttemptLine:
    timing = deciding(attempt)
    return AttemptLine(
        attempt.number,
        reverse("reviews:attempt", args=[attempt.pk]),
        attempt.get_origin_display(),
        attempt.outcome or ("" if told.run.has_ended else told.run.status),
        attempt.message,
        [plain_gate(gate) for gate in attempt.gates.all()],
        attempt.verdict.verdict if hasattr(attempt, "verdict") else "",
        timing.speedup if timing else None,
        next((plain_gate(gate) for gate in [failed_gate(attempt)] if gate), None),
        attempt.parent.number if attempt.parent else None,
        attempt.completion.recorded if hasattr(attempt, "completion") else "",
        attempt == told.best,
    )


def deciding(attempt: Attempt) -> Timing | None:
    """The timing that the verdict rests on: of the selected kernels where they were timed, else of the program."""
    found = {timing.scope: timing for timing in attempt.timings.all()}
    return found.get("selected") or found.get("program")


def measured(attempt: Attempt) -> list[Measured]:
    """The attempt's timings, with kernels by the names that the profile has for them."""
    timings = list(attempt.timings.all())
    kernels = Kernel.objects.filter(profile=attempt.run.profile_id, mangled__in=[each.scope for each in timings])
    names = SCOPES | dict(kernels.values_list("mangled", "short_name"))
    return [Measured(names.get(t.scope, t.scope), t.speedup, t.low, t.high, t.verdict) for t in timings]


def failed_gate(attempt: Attempt | None) -> Gate | None:
    return next((gate for gate in attempt.gates.all() if gate.status == "failed"), None) if attempt else None


def no_repair(told: Told) -> str:
    used = sum(each.parent_id is not None for each in told.attempts)
    takes = backend(told.run.backend).REPAIRS
    return why_no_repair(takes_repairs=takes, allowed=told.run.repairs, used=used)


def fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
