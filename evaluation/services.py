"""Who works on this host, what comes next for a run, and what people ask of it. What workers do is in tasks.py."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from analysis.models import Origin, Profile, ProfileState
from evaluation import toolchains
from evaluation.models import Device, Host, Verdict, Worker
from evaluation.rows import builds_of_original
from evaluation.toolchains import gpus
from optimas_web.errors import UserError
from optimas_web.jobs import LIVE, Job, JobStatus, enqueue, request_cancel
from optimizer.backends import backend
from optimizer.models import ENDED, Attempt, AttemptOrigin, Run, RunStatus
from optimizer.services import profile_of

QUEUES = {"cpu": "cpu", "cuda": "gpu"}
PROVE = "evaluation.profile"
PROFILE_KINDS = ("analysis.ingest", PROVE)


# --- who works here ---------------------------------------------------------------------------


def this_host() -> Host:
    """The row of the machine that this process runs on, with its tools and GPUs as they are now."""
    tools = [
        {"toolchain": name, **asdict(tool)} for name in toolchains.TOOLCHAINS for tool in toolchains.load(name).tools()
    ]
    values = {"tools": tools, "last_seen": timezone.now()}
    host: Host = Host.objects.update_or_create(name=socket.gethostname(), defaults=values)[0]
    found = gpus.gpus()
    for gpu in found:
        Device.objects.update_or_create(uuid=gpu.uuid, defaults={"host": host, "name": gpu.model})
    host.devices.exclude(uuid__in=[gpu.uuid for gpu in found]).delete()
    return host


def worker_is_here(name: str, queues: Sequence[str], started: bool = False) -> None:
    """Told by every worker of itself, again and again. Tools are looked for when it has ``started``, as timings may run
    beside it later."""
    now = timezone.now()
    if not started and Worker.objects.filter(name=name, queues=list(queues)).update(last_seen=now):
        Host.objects.filter(workers__name=name).update(last_seen=now)
        return
    values = {"host": this_host(), "queues": list(queues), "last_seen": now}
    Worker.objects.update_or_create(name=name, defaults=values)


def worker_is_gone(name: str) -> None:
    Worker.objects.filter(name=name).delete()


def online_queues() -> set[str]:
    """The queues that some worker takes jobs from at the moment."""
    return {queue for worker in Worker.objects.all() if worker.is_online for queue in worker.queues}


# --- what comes next --------------------------------------------------------------------------


@transaction.atomic
def advance(run_id: int) -> None:
    """Look at what is there and ask for the next piece of work. Safe to call at any time, any number of times."""
    run = Run.objects.select_for_update().select_related("snapshot__project__team").get(pk=run_id)
    if run.has_ended:
        return
    if run.profile is None or run.profile.state != ProfileState.READY:
        need_profile(run)
        return
    attempt = run.attempts.order_by("-number").first()
    if attempt is None and not original_is_proven(run):
        set_status(run, RunStatus.PROFILING)
        ask(run, PROVE, run.profile.pk, queue=queue_for(run), idempotency_key=proof_key(run))
        return
    attempt = attempt or new_attempt(run, None)
    if not attempt.outcome:
        need_answer(run, attempt)
    elif attempt.gates.filter(status="failed").exists():
        repair_or_review(run, attempt)
    elif not Verdict.objects.filter(attempt=attempt).exists():
        set_status(run, RunStatus.EVALUATING)
        ask(run, "evaluation.evaluate", attempt.pk, queue=queue_for(run))
    else:
        set_status(run, RunStatus.DONE)


def need_profile(run: Run) -> None:
    if run.profile is None:
        run.profile = Profile.objects.create(snapshot=run.snapshot, origin=Origin.HOST)
        run.save(update_fields=["profile"])
    if run.profile.state == ProfileState.FAILED:
        set_status(run, RunStatus.FAILED, run.profile.problem)
        return
    set_status(run, RunStatus.PROFILING)
    if live_jobs(run).exists():  # asked for already, by another run or by somebody on the project's page
        return
    if run.profile.origin == Origin.HOST:
        ask(run, PROVE, run.profile.pk, queue=queue_for(run))
    else:
        ask(run, "analysis.ingest", run.profile.pk)


def original_is_proven(run: Run) -> bool:
    """Whether a host has seen the program build and run (who profiles it has), or had no compiler to try it with."""
    if profile_of(run).origin == Origin.HOST or builds_of_original(run.snapshot).exists():
        return True
    return Job.objects.filter(idempotency_key=proof_key(run), status=JobStatus.DONE).exists()


def proof_key(run: Run) -> str:
    return f"{PROVE}:run {run.pk}"


def need_answer(run: Run, attempt: Attempt) -> None:
    """Ask the backend; a person's answer is waited for, once the prompt that it answers is there."""
    waiting = backend(run.backend).ORIGIN == "person" and attempt.answer_text is None
    if waiting and hasattr(attempt, "prompt"):
        set_status(run, RunStatus.WAITING_FOR_ANSWER)
        return
    set_status(run, RunStatus.PROPOSING)
    stage = "prompt" if waiting else "answer"
    ask(run, "optimizer.propose", attempt.pk, idempotency_key=f"optimizer.propose:{attempt.pk}:{stage}")


def repair_or_review(run: Run, attempt: Attempt) -> None:
    """A failed gate goes back to the model while repairs are left, then to a person."""
    repairs_used = run.attempts.filter(parent__isnull=False).count()
    if backend(run.backend).REPAIRS and repairs_used < run.repairs and worth_repairing(run, attempt):
        need_answer(run, new_attempt(run, attempt))
    else:
        set_status(run, RunStatus.NEEDS_REVIEW)


def worth_repairing(run: Run, attempt: Attempt) -> bool:
    """Who declines a prompt, or whose filter stops it, does so again; an empty answer is given one more chance."""
    if attempt.origin != AttemptOrigin.MODEL:
        return True
    empty_again = attempt.outcome == "empty" and run.attempts.filter(outcome="empty").count() > 1
    return attempt.outcome not in ("declined", "filtered") and not empty_again


def new_attempt(run: Run, parent: Attempt | None) -> Attempt:
    origin = AttemptOrigin(backend(run.backend).ORIGIN)
    return Attempt.objects.create(run=run, number=run.attempts.count() + 1, parent=parent, origin=origin)


def queue_for(run: Run) -> str:
    """Where a program of this toolchain can run; while no GPU worker is online, a CPU worker does what needs none."""
    queue = QUEUES[run.snapshot.manifest["toolchain"]]
    return queue if queue in online_queues() else "cpu"


def ask(run: Run, kind: str, target_id: int, **options: Any) -> None:
    enqueue(kind, target_id, team=run.snapshot.project.team, user=run.created_by, **options)


def set_status(run: Run, status: RunStatus, problem: str = "", hint: str = "") -> None:
    run.status, run.problem, run.hint = status, problem, hint
    if run.has_ended:
        run.ended = timezone.now()
    run.save(update_fields=["status", "problem", "hint", "ended"])


def job_ended(job: Job, status: JobStatus, error: str, hint: str) -> None:
    """Called in the transaction in which a job ends, however it ends."""
    if status != JobStatus.DONE and job.kind in PROFILE_KINDS:
        problem = f"{error} {hint}".strip() or "It was cancelled before it was read."
        waiting = Profile.objects.filter(pk=job.target_id, state=ProfileState.PENDING)
        waiting.update(state=ProfileState.FAILED, problem=problem)
    for run in runs_of(job):
        if status == JobStatus.DONE:
            advance(run.pk)
        elif not run.has_ended:
            set_status(run, end_of_run(run, job, status), error, hint)


def end_of_run(run: Run, job: Job, status: JobStatus) -> RunStatus:
    if status == JobStatus.CANCELLED:
        return RunStatus.CANCELLED
    answered = job.kind == "optimizer.propose" and run.attempts.exclude(outcome="").exists()
    return RunStatus.NEEDS_REVIEW if answered else RunStatus.FAILED


def runs_of(job: Job) -> list[Run]:
    """The runs that the job was done for, locked: whoever cancels one now waits until it knows of the job's end."""
    runs = Run.objects.select_for_update(of=("self",)).order_by("pk")
    if job.kind in PROFILE_KINDS:
        return list(runs.filter(profile_id=job.target_id))
    return list(runs.filter(attempts=job.target_id))


# --- what people ask for ----------------------------------------------------------------------


def start_run(run: Run, kernels: Any = ()) -> Run:
    """Save a prepared run and set it going. The same idempotency key twice is the same run."""
    try:
        with transaction.atomic():
            run.save(force_insert=True)
            run.kernels.set(kernels)
            advance(run.pk)
    except IntegrityError:
        known = Run.objects.filter(idempotency_key=run.idempotency_key).first() if run.idempotency_key else None
        if known is None:
            raise
        return known
    run.refresh_from_db()
    return run


def paste_answer(run: Run, text: str) -> Attempt:
    """Take a person's answer. Raises UserError when the run waits for none."""
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run.pk)
        if run.status != RunStatus.WAITING_FOR_ANSWER:
            raise UserError(f"Run {run.pk} waits for no answer: it is {run.get_status_display().lower()}.")
        attempt = run.attempts.order_by("-number")[0]
        attempt.answer_text = text.encode()
        attempt.save(update_fields=["answer_text"])
        advance(run.pk)
    return attempt


def cancel_run(run: Run) -> None:
    """Stop whatever the run is doing; what it has stays."""
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run.pk)
        if run.has_ended:
            return
        set_status(run, RunStatus.CANCELLED)
    # Nothing new is asked for from here on. Not under the lock: see request_cancel.
    for job in live_jobs(run).exclude(kind__in=shared_kinds(run)):
        request_cancel(job)


def shared_kinds(run: Run) -> tuple[str, ...]:
    """The kinds of jobs that go on without the run: another run waits for its profile too, or a report is read that
    somebody uploaded."""
    if Run.objects.filter(profile=run.profile_id).exclude(status__in=ENDED).exists():
        return PROFILE_KINDS
    return () if run.profile is not None and run.profile.origin == Origin.HOST else ("analysis.ingest",)


def live_jobs(run: Run) -> Any:
    return jobs_of(run).filter(status__in=LIVE)


def jobs_of(run: Run) -> Any:
    """Everything that was done for the run, the newest first; its profile may have been taken for another one."""
    attempts = list(run.attempts.values_list("pk", flat=True))
    of_attempts = Job.objects.filter(kind__in=("optimizer.propose", "evaluation.evaluate"), target_id__in=attempts)
    of_profile = Job.objects.filter(kind__in=PROFILE_KINDS, target_id=run.profile_id or 0)
    return of_attempts | of_profile
