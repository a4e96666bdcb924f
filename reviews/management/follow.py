"""Follow a run from a terminal: what happens now on standard error, the result at the end."""

from __future__ import annotations

import time
from collections.abc import Callable

from evaluation.services import live_jobs
from optimas_web.errors import UserError
from optimas_web.jobs import JobStatus, run_job
from optimizer.models import Attempt, Run, RunStatus

LOOK_EVERY_S = 0.3


def follow(run: Run, tell: Callable[[str], None], *, work_here: bool) -> Attempt:
    """Wait until the run has ended and return its judged attempt.

    ``work_here``: do queued jobs in this process, for a shell without workers (a worker that is there may be faster;
    a job is done once either way). Raises UserError with the run's own sentence when it ended without one.
    """
    told = ""
    while not run.has_ended:
        job = live_jobs(run).order_by("created").first()
        if job is not None and job.stage and (line := f"{job.kind}: {job.stage}") != told:
            told = line
            tell(line)
        if work_here and job is not None and job.status == JobStatus.QUEUED:
            run_job(job.pk)
        else:
            time.sleep(LOOK_EVERY_S)
        run.refresh_from_db()
        if run.status == RunStatus.WAITING_FOR_ANSWER:
            raise UserError(f"Run {run.pk} waits for an answer.", "Paste it on the run's page.")
    return result(run)


def result(run: Run) -> Attempt:
    """The last attempt, if gates were stored for it."""
    attempt = run.attempts.order_by("-number").first()
    if attempt is None or not attempt.gates.exists():
        raise UserError(run.problem or f"Run {run.pk} ended {run.get_status_display().lower()}.", run.hint)
    return attempt
