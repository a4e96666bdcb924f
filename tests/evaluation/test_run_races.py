"""People and workers who act on one run at the same moment: nobody waits for ever, nothing is lost or told twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from evaluation import tasks
from evaluation.services import advance, cancel_run, live_jobs, paste_answer, start_run
from optimas_web import jobs
from optimas_web.errors import UserError
from optimas_web.jobs import RunningJob, claim
from optimas_web.models import Job, JobStatus
from optimizer.models import Attempt, Run, RunStatus
from tests.programs import snapshot, swap_loops, work_off

pytestmark = pytest.mark.django_db(transaction=True)


def together(*actions: Callable[[], object]) -> list[object]:
    """Do all of them at once, each on a connection of its own; what they returned or raised."""
    start = threading.Barrier(len(actions))

    def one(action: Callable[[], object]) -> object:
        start.wait()
        try:
            return action()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(one, actions))


def started(**options: object) -> Run:
    return start_run(Run(snapshot=snapshot(), backend="paste", sources=[], **options))


def running_job(run: Run) -> RunningJob:
    row = claim(live_jobs(run).get().pk)
    assert row is not None
    return RunningJob(row)


def test_a_job_that_ends_while_its_run_is_cancelled_ends_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker holds the job and wants the run, who cancels holds the run and wants the job."""
    run = started()
    job = running_job(run)
    tell_owner = jobs.tell_owner

    def slowly(*arguments: object) -> None:
        time.sleep(1.0)
        tell_owner(*arguments)

    monkeypatch.setattr(jobs, "tell_owner", slowly)

    def cancel() -> None:
        time.sleep(0.5)
        cancel_run(run)

    assert together(lambda: job.finish(JobStatus.DONE), cancel) == [None, None]
    run.refresh_from_db()
    job.row.refresh_from_db()
    assert (run.status, job.row.status) == (RunStatus.CANCELLED, JobStatus.DONE)
    assert not live_jobs(run).exists()


def test_a_result_is_not_lost_to_a_cancel_at_the_same_moment() -> None:
    run = started()
    job = running_job(run)
    assert together(lambda: job.finish(JobStatus.FAILED, "no g++"), lambda: cancel_run(run)) == [None, None]
    run.refresh_from_db()
    assert (run.status, run.problem) in ((RunStatus.CANCELLED, ""), (RunStatus.FAILED, "no g++"))


def test_a_second_click_starts_no_second_run() -> None:
    program = snapshot()
    runs = [Run(snapshot=program, backend="paste", sources=[], idempotency_key="form-1") for _ in range(4)]
    found = together(*(lambda run=run: start_run(run) for run in runs))  # type: ignore[misc]
    assert [each.pk for each in found] == [Run.objects.get().pk] * 4  # type: ignore[attr-defined]
    assert Job.objects.count() == 1


def test_whoever_advances_a_run_asks_once() -> None:
    run = work_off(started())
    assert run.status == RunStatus.WAITING_FOR_ANSWER
    answers = together(
        lambda: paste_answer(run, swap_loops()),
        lambda: paste_answer(run, "no"),
        *[lambda: advance(run.pk)] * 3,
        lambda: cancel_run(run),
    )
    refused = [each for each in answers if isinstance(each, Exception)]
    assert all(isinstance(each, UserError) for each in refused)
    assert len(refused) in (1, 2)
    run.refresh_from_db()
    assert run.status == RunStatus.CANCELLED
    assert Attempt.objects.filter(run=run).count() == 1
    assert not live_jobs(run).exists()


@pytest.mark.parametrize("begun", [False, True])
def test_a_cancelled_run_leaves_others_their_profile(begun: bool) -> None:
    first = started()
    second = start_run(Run(snapshot=first.snapshot, profile=first.profile, backend="paste", sources=[]))
    job = running_job(first) if begun else None
    cancel_run(first)
    if job:
        job.beat()
        assert not job.cancelled()
        tasks.take_profile(job)
        job.finish(JobStatus.DONE)
    assert work_off(second).status == RunStatus.WAITING_FOR_ANSWER


@pytest.mark.parametrize("begun", [False, True])
def test_a_cancelled_profile_ends_all_that_wait_for_it_and_is_not_waited_for_again(begun: bool) -> None:
    run = started()
    job = running_job(run) if begun else None
    jobs.request_cancel(live_jobs(run).get())
    if job:
        job.finish(JobStatus.CANCELLED)
    run.refresh_from_db()
    assert run.status == RunStatus.CANCELLED
    late = start_run(Run(snapshot=run.snapshot, profile=run.profile, backend="paste", sources=[]))
    assert (late.status, late.problem) == (RunStatus.FAILED, "It was cancelled before it was read.")


def test_a_profile_that_somebody_asked_for_is_taken_once() -> None:
    run = started()
    Job.objects.update(idempotency_key="evaluation.profile:the project's page")
    start_run(Run(snapshot=run.snapshot, profile=run.profile, backend="paste", sources=[]))
    assert Job.objects.count() == 1
