"""Jobs: one claim, one result, whatever happens to workers and broker."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from optimas_web import jobs
from optimas_web.errors import UserError
from optimas_web.jobs import LeaseLost, RunningJob
from optimas_web.models import Job, JobStatus

pytestmark = pytest.mark.django_db

calls: list[int] = []
ends: list[tuple[int, str, str]] = []


def succeed(job: RunningJob) -> None:
    calls.append(job.target_id)
    job.stage("working", 0.5)


def refuse(job: RunningJob) -> None:
    raise UserError("ponds.cu, line 3: no kernel.", "Upload the file that holds it.")


def crash(job: RunningJob) -> None:
    raise ZeroDivisionError("a bug")


def cancel_itself(job: RunningJob) -> None:
    jobs.request_cancel(job.row)
    job.beat()
    job.check()


def lose_the_lease(job: RunningJob) -> None:
    Job.objects.filter(pk=job.row.pk).update(lease_token=None, status=JobStatus.QUEUED)
    with job.write():
        calls.append(-1)


def note_end(job: Job, status: JobStatus, error: str, hint: str) -> None:
    ends.append((job.target_id, status, error))


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    calls.clear()
    ends.clear()
    here = __name__
    names = ("succeed", "refuse", "crash", "cancel_itself", "lose_the_lease")
    monkeypatch.setattr(jobs, "KINDS", {name: (f"{here}.{name}", "default") for name in names})
    monkeypatch.setattr(jobs, "ON_END", f"{here}.note_end")


def run(kind: str) -> Job:
    job = jobs.enqueue(kind, 7)
    jobs.run_job(job.pk)
    job.refresh_from_db()
    return job


def test_a_job_that_succeeds_is_done_and_its_owner_is_told() -> None:
    job = run("succeed")
    assert (job.status, job.try_no, calls) == (JobStatus.DONE, 1, [7])
    assert ends == [(7, JobStatus.DONE, "")]
    assert "working" in job.log


def test_a_second_delivery_has_no_effect() -> None:
    job = run("succeed")
    jobs.run_job(job.pk)
    assert calls == [7]


def test_the_same_key_twice_is_one_job() -> None:
    assert jobs.enqueue("succeed", 7) == jobs.enqueue("succeed", 7)
    assert jobs.enqueue("succeed", 8, idempotency_key="a") == jobs.enqueue("succeed", 9, idempotency_key="a")
    assert Job.objects.count() == 2


def test_a_user_error_ends_failed_with_its_sentence_and_hint() -> None:
    job = run("refuse")
    assert (job.status, job.error) == (JobStatus.FAILED, "ponds.cu, line 3: no kernel.")
    assert job.hint == "Upload the file that holds it."
    assert not job.reference


def test_a_bug_ends_errored_with_a_reference_and_the_trace_in_the_log() -> None:
    job = run("crash")
    assert job.status == JobStatus.ERRORED
    assert job.reference and job.reference in job.error
    assert "ZeroDivisionError: a bug" in job.log
    assert "ZeroDivisionError" not in job.error


def test_a_running_job_stops_at_its_next_look_after_cancel() -> None:
    assert run("cancel_itself").status == JobStatus.CANCELLED
    assert ends == [(7, JobStatus.CANCELLED, "")]


def test_a_queued_job_is_cancelled_at_once() -> None:
    job = jobs.enqueue("succeed", 7)
    jobs.request_cancel(job)
    jobs.run_job(job.pk)
    job.refresh_from_db()
    assert (job.status, calls) == (JobStatus.CANCELLED, [])


def test_a_worker_that_lost_its_lease_writes_nothing() -> None:
    job = run("lose_the_lease")
    assert (job.status, calls, ends) == (JobStatus.QUEUED, [], [])


def test_the_heartbeat_renews_the_lease_and_notices_its_loss() -> None:
    job = jobs.enqueue("succeed", 7)
    row = jobs.claim(job.pk)
    assert row is not None
    running = RunningJob(row)
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now())
    running.beat()
    job.refresh_from_db()
    assert job.lease_until is not None
    assert job.lease_until > timezone.now() + jobs.LEASE / 2
    Job.objects.filter(pk=job.pk).update(lease_token="00000000-0000-0000-0000-000000000000")
    running.beat()
    with pytest.raises(LeaseLost):
        running.check()


def test_two_claims_give_one_owner() -> None:
    job = jobs.enqueue("succeed", 7)
    assert jobs.claim(job.pk) is not None
    assert jobs.claim(job.pk) is None


def expire(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_an_expired_lease_is_queued_again_and_the_log_says_so() -> None:
    job = jobs.enqueue("succeed", 7)
    jobs.claim(job.pk)
    assert jobs.sweep() == 0
    expire(job)
    assert jobs.sweep() == 1
    job.refresh_from_db()
    assert (job.status, job.lease_token) == (JobStatus.QUEUED, None)
    assert "the worker of try 1 went silent" in job.log
    jobs.run_job(job.pk)
    job.refresh_from_db()
    assert (job.status, job.try_no, calls) == (JobStatus.DONE, 2, [7])


def test_a_worker_thought_dead_cannot_record_its_late_result() -> None:
    job = jobs.enqueue("succeed", 7)
    late = jobs.claim(job.pk)
    assert late is not None
    expire(job)
    jobs.sweep()
    jobs.run_job(job.pk)
    RunningJob(late).finish(JobStatus.FAILED, "too late")
    job.refresh_from_db()
    assert (job.status, job.error) == (JobStatus.DONE, "")
    assert ends == [(7, JobStatus.DONE, "")]


def test_after_the_last_try_the_job_errors_and_its_owner_is_told() -> None:
    job = jobs.enqueue("succeed", 7)
    for _ in range(jobs.MAX_TRIES):
        jobs.claim(job.pk)
        expire(job)
        jobs.sweep()
    job.refresh_from_db()
    assert job.status == JobStatus.ERRORED
    assert ends[-1][1] == JobStatus.ERRORED


def test_the_broker_is_reminded_of_a_job_it_forgot() -> None:
    job = jobs.enqueue("succeed", 7)
    assert jobs.sweep() == 0
    long_ago = timezone.now() - 2 * jobs.FORGOTTEN_AFTER
    Job.objects.filter(pk=job.pk).update(created=long_ago, sent=long_ago)
    assert jobs.sweep() == 1
    assert jobs.sweep() == 0


def test_the_log_keeps_its_newest_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "LOG_CHARACTERS", 50)
    job = jobs.enqueue("succeed", 7)
    rows = Job.objects.filter(pk=job.pk)
    for number in range(20):
        jobs.append_log(rows, f"line {number}\x00")
    job.refresh_from_db()
    assert len(job.log) == 50
    assert job.log.endswith("line 19\n")
