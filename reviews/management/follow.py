"""Follow a run from a terminal: what happens now on standard error, the result at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from django.db import connection

from evaluation.models import Verdict
from evaluation.services import cancel_run, live_jobs
from optimas_web.errors import UserError
from optimas_web.jobs import Job, JobStatus, run_job
from optimizer.models import Attempt, Run, RunStatus

LOOK_EVERY_S = 0.3


def follow(run: Run, tell: Callable[[str], None], *, work_here: bool) -> Attempt:
    """Wait until the run has ended and return its judged attempt; a run that is interrupted is cancelled.

    ``work_here``: do queued jobs in this process, for a shell without workers (a worker that is there may be faster;
    a job is done once either way). Raises UserError with the run's own sentence when it ended without one.
    """
    with ThreadPoolExecutor(1) as hands:
        try:
            _wait(run, tell, hands if work_here else None)
        except (KeyboardInterrupt, SystemExit):
            connection.close()  # it may have come in the middle of a statement
            cancel_run(run)
            raise
    return result(run)


def _wait(run: Run, tell: Callable[[str], None], hands: ThreadPoolExecutor | None) -> None:
    """Tell each new stage until the run has ended. ``hands`` do its jobs meanwhile."""
    told = ""
    doing: Future[None] | None = None
    while not run.has_ended:
        job = live_jobs(run).order_by("created").first()
        if job is not None and job.stage and (line := f"{job.kind}: {job.stage}") != told:
            told = line
            tell(line)
        if doing and doing.done():
            doing = doing.result()  # raises what the job's thread could not record
        if hands and not doing and job is not None and job.status == JobStatus.QUEUED:
            doing = hands.submit(_do, job)
        time.sleep(LOOK_EVERY_S)
        run.refresh_from_db()
        if run.status == RunStatus.WAITING_FOR_ANSWER:
            raise UserError(f"Run {run.pk} waits for an answer.", "Paste it on the run's page.")


def _do(job: Job) -> None:
    try:
        run_job(job.pk)
    finally:
        connection.close()


def result(run: Run) -> Attempt:
    """The last attempt, if it was judged or refused."""
    attempt = run.attempts.order_by("-number").first()
    refused = attempt is not None and attempt.gates.filter(status="failed").exists()
    if attempt is None or not (refused or Verdict.objects.filter(attempt=attempt).exists()):
        raise UserError(run.problem or f"Run {run.pk} ended {run.get_status_display().lower()}.", run.hint)
    return attempt
