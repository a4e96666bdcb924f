"""Background work: enqueue a job, claim it, keep its lease, record how it ended.

The truth is the Job row in Postgres; the broker only wakes workers. A worker claims a queued row with a fresh
lease token and renews the lease by heartbeat; everything it writes is written under that token
(``RunningJob.write``), so a second delivery, a worker thought dead, or a late result has no effect.
The sweeper (``sweep``) re-queues expired leases and reminds the broker of jobs that it forgot.
"""

from __future__ import annotations

import logging
import threading
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection, transaction
from django.db.models import F, Q, TextField, Value
from django.db.models.functions import Concat, Right
from django.utils import timezone
from django.utils.module_loading import import_string
from kombu.exceptions import OperationalError

from optimas_web.errors import UserError
from optimas_web.models import LIVE, Job, JobStatus

logger = logging.getLogger("optimas.jobs")

Service = Callable[["RunningJob"], None]

KINDS: dict[str, tuple[str, str]] = {
    # kind: (service, queue)
    "analysis.ingest": ("analysis.services.ingest", "default"),
    "optimizer.propose": ("optimizer.services.propose", "llm"),
    "evaluation.profile": ("evaluation.tasks.take_profile", "cpu"),
    "evaluation.evaluate": ("evaluation.tasks.evaluate", "cpu"),
}
"""Literal, so that an earlier room can ask for work of a later one without importing it."""

LEASE = timedelta(seconds=settings.JOB_LEASE_S)
HEARTBEAT_S = settings.JOB_LEASE_S / 10
FORGOTTEN_AFTER = 1.5 * LEASE
MAX_TRIES = 3
LOG_CHARACTERS = 200_000


class Cancelled(Exception):
    """Somebody pressed Cancel."""


class Postponed(Exception):
    """Somebody else has to be waited for: the job is queued again and nobody is held up by it meanwhile."""

    def __init__(self, seconds: float, why: str) -> None:
        super().__init__(why)
        self.seconds = seconds
        self.why = why


class LeaseLost(Exception):
    """Another worker has this job now: nothing may be written any more."""


# --- asking for work --------------------------------------------------------------------------


def enqueue(
    kind: str, target_id: int, *, team: Any = None, user: Any = None, queue: str = "", idempotency_key: str = ""
) -> Job:
    """Record a job and wake a worker once the transaction commits. The same key twice returns the first job.

    Without a key there is one job of a kind for a row, ever: work that is to be done anew gets a row of its own.
    """
    service_queue = KINDS[kind][1]
    key = idempotency_key or f"{kind}:{target_id}"
    job, created = Job.objects.get_or_create(
        idempotency_key=key,
        defaults={"kind": kind, "target_id": target_id, "team": team, "user": user, "queue": queue or service_queue},
    )
    if created:
        transaction.on_commit(lambda: send(job))
    return job


def send(job: Job, in_seconds: float = 0.0) -> None:
    """Tell the broker. If it cannot be told, the sweeper does so later."""
    from optimas_web.tasks import work

    Job.objects.filter(pk=job.pk).update(sent=timezone.now())
    try:
        work.apply_async((job.pk,), queue=job.queue, retry=False, countdown=in_seconds or None)
    except OperationalError as error:
        logger.warning("broker did not take job %s, the sweeper will: %s", job.pk, error)


def request_cancel(job: Job) -> None:
    """A queued job ends now, and its owner is told; a running one ends at its next look (at most two seconds).

    Call it without a lock on the owner: a worker whose job ends holds the job and waits for its owner.
    """
    ended = {"status": JobStatus.CANCELLED, "ended": timezone.now(), "stage": "cancelled"}
    with transaction.atomic():
        row = Job.objects.select_for_update().get(pk=job.pk)
        if row.status == JobStatus.RUNNING:
            Job.objects.filter(pk=row.pk).update(cancel_requested=True)
        elif row.status == JobStatus.QUEUED:
            append_log(Job.objects.filter(pk=row.pk), "cancelled before it began")
            Job.objects.filter(pk=row.pk).update(cancel_requested=True, **ended)
            tell_owner(row, JobStatus.CANCELLED, "", "")


# --- doing it ---------------------------------------------------------------------------------


class RunningJob:
    """What a service holds while it works: progress, log, cancel, and the right to write."""

    def __init__(self, row: Job) -> None:
        self.row = row
        self.token = row.lease_token
        self._cancelled = threading.Event()
        self._lost = threading.Event()

    @property
    def target_id(self) -> int:
        return self.row.target_id

    def cancelled(self) -> bool:
        """For loops and subprocesses: stop soon, whatever the reason."""
        return self._cancelled.is_set() or self._lost.is_set()

    def check(self) -> None:
        """Raise Cancelled or LeaseLost if this work should stop."""
        if self._lost.is_set():
            raise LeaseLost
        if self._cancelled.is_set():
            raise Cancelled

    def stage(self, name: str, progress: float | None = None) -> None:
        changes: dict[str, Any] = {"stage": name[:200]}
        if progress is not None:
            changes["progress"] = min(max(progress, 0.0), 1.0)
        self._update(**changes)
        self.log(name)
        self.check()

    def log(self, text: str) -> None:
        append_log(self._mine(), text)

    @contextmanager
    def write(self) -> Iterator[None]:
        """A transaction that commits only if this worker still holds the job. Raises LeaseLost, Cancelled."""
        self.check()
        with transaction.atomic():
            mine = self._mine().select_for_update().first()
            if mine is None:
                self._lost.set()
                raise LeaseLost
            if mine.cancel_requested:  # between two heartbeats
                self._cancelled.set()
                raise Cancelled
            yield

    def beat(self) -> None:
        """Renew the lease and look whether to stop."""
        if not self._update(lease_until=timezone.now() + LEASE):
            self._lost.set()
        elif self._mine().filter(cancel_requested=True).exists():
            self._cancelled.set()

    def finish(self, status: JobStatus, error: str = "", hint: str = "", reference: str = "") -> None:
        """Record the end and tell the owner, both or neither. Nothing happens when the lease is lost."""
        self.log(f"{status.label.lower()} {error} {hint}".rstrip())
        texts = {"error": error, "hint": hint, "reference": reference, "stage": status.label.lower()}
        with transaction.atomic():
            if self._update(status=status, ended=timezone.now(), lease_until=None, lease_token=None, **texts):
                tell_owner(self.row, status, error, hint)

    def postpone(self, seconds: float, why: str) -> None:
        """Back into the queue for ``seconds``; a wait is no try."""
        until = timezone.now() + timedelta(seconds=seconds)
        self.log(f"waits for {seconds:.0f} s: {why}")
        released = {"status": JobStatus.QUEUED, "lease_token": None, "lease_until": None}
        stage = f"waits until {until:%H:%M:%S} UTC: {why}"[:200]
        if self._update(**released, stage=stage, not_before=until, waits=F("waits") + 1, try_no=F("try_no") - 1):
            send(self.row, seconds)

    def _mine(self) -> Any:
        return Job.objects.filter(pk=self.row.pk, status=JobStatus.RUNNING, lease_token=self.token)

    def _update(self, **changes: Any) -> int:
        return self._mine().update(**changes)


def run_job(job_id: int) -> None:
    """Claim the job and do it. Returns quietly when somebody else has it or it has ended.

    This is the only broad ``except`` of the product.
    """
    row = claim(job_id)
    if row is None:
        logger.info("job %s is not to be had: claimed, ended or gone", job_id)
        return
    job = RunningJob(row)
    job.log(f"try {row.try_no}")
    with heartbeat(job):
        try:
            service: Service = import_string(KINDS[row.kind][0])
            service(job)
            job.finish(JobStatus.DONE)
        except Postponed as pause:
            job.postpone(pause.seconds, pause.why)
        except UserError as error:
            job.finish(JobStatus.FAILED, error=error.message, hint=error.hint)
        except Cancelled:
            job.finish(JobStatus.CANCELLED)
        except LeaseLost:
            logger.warning("job %s: the lease went to another worker, nothing was written", job_id)
        except Exception:
            reference = uuid.uuid4().hex[:10]
            logger.exception("job %s errored, reference %s", job_id, reference)
            job.log(traceback.format_exc())
            message = f"Something went wrong that is our fault, reference {reference}."
            job.finish(JobStatus.ERRORED, error=message, hint="The trace is in the job's log.", reference=reference)


ON_END = "evaluation.services.job_ended"
"""Called with (job, status, error, hint) when a job ends: one service decides what comes next for its run."""


def tell_owner(job: Job, status: JobStatus, error: str, hint: str) -> None:
    import_string(ON_END)(job, status, error, hint)


def claim(job_id: int) -> Job | None:
    """Make the job this worker's, if it is queued and waits for nobody."""
    now = timezone.now()
    due = Q(not_before=None) | Q(not_before__lte=now)
    claimed = Job.objects.filter(due, pk=job_id, status=JobStatus.QUEUED).update(
        status=JobStatus.RUNNING,
        lease_token=uuid.uuid4(),
        lease_until=now + LEASE,
        started=now,
        try_no=F("try_no") + 1,
    )
    return Job.objects.get(pk=job_id) if claimed else None


@contextmanager
def heartbeat(job: RunningJob) -> Iterator[None]:
    """Renew the lease from a thread of its own, so that a busy service does not lose it."""
    stop = threading.Event()

    def beat() -> None:
        try:
            while not stop.wait(HEARTBEAT_S):
                try:
                    job.beat()
                except DatabaseError:  # a lost connection: the next beat tries again, or the lease expires
                    logger.exception("heartbeat of job %s", job.row.pk)
                    connection.close()
        finally:
            connection.close()

    thread = threading.Thread(target=beat, name=f"heartbeat-{job.row.pk}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


# --- watching over it -------------------------------------------------------------------------


def sweep() -> int:
    """Re-queue jobs whose worker went silent and remind the broker of jobs it forgot. Returns how many."""
    now = timezone.now()
    expired = Job.objects.filter(status=JobStatus.RUNNING, lease_until__lt=now)
    due = Q(not_before=None) | Q(not_before__lte=now - LEASE)
    forgotten = Job.objects.filter(due, status=JobStatus.QUEUED, created__lt=now - FORGOTTEN_AFTER).exclude(
        sent__gt=now - FORGOTTEN_AFTER
    )
    return sum(release(job) for job in expired) + sum(remind(job) for job in forgotten)


def release(job: Job) -> int:
    """Take an expired job from its silent worker: queued again, or errored after the last try."""
    mine = Job.objects.filter(pk=job.pk, status=JobStatus.RUNNING, lease_token=job.lease_token)
    with transaction.atomic():
        if job.try_no < MAX_TRIES:
            changed = mine.update(status=JobStatus.QUEUED, lease_token=None, lease_until=None, stage="queued again")
        else:
            error = f"The worker went silent {MAX_TRIES} times while doing this."
            changed = mine.update(
                status=JobStatus.ERRORED, lease_token=None, lease_until=None, ended=timezone.now(), error=error
            )
            if changed:
                tell_owner(job, JobStatus.ERRORED, error, "")
    if changed:
        append_log(Job.objects.filter(pk=job.pk), f"the worker of try {job.try_no} went silent: its lease expired")
        logger.warning("job %s: lease expired on try %s", job.pk, job.try_no)
        job.refresh_from_db()
        if job.status == JobStatus.QUEUED:
            send(job)
    return changed


def remind(job: Job) -> int:
    append_log(Job.objects.filter(pk=job.pk), "the broker was told again")
    send(job)
    return 1


def append_log(rows: Any, text: str) -> None:
    """Add one time-stamped entry; only the newest characters are kept."""
    stamp = timezone.now().strftime("%H:%M:%S")
    entry = Value(f"{stamp} {text.rstrip()}\n".replace("\x00", ""), output_field=TextField())
    rows.update(log=Right(Concat(F("log"), entry, output_field=TextField()), LOG_CHARACTERS))


__all__ = [
    "LIVE", "Cancelled", "Job", "JobStatus", "LeaseLost", "Postponed", "RunningJob", "enqueue", "request_cancel",
    "run_job", "sweep",
]  # fmt: skip
