"""kill -9 of a worker and of the broker, in the middle of a judgement: recorded once, by someone, and said so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
import redis

from evaluation.models import Verdict
from optimas_web.jobs import enqueue, sweep
from optimas_web.models import Job, JobStatus
from tests.programs import answered_run

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

Start = Callable[[], subprocess.Popen[bytes]]


@pytest.fixture
def start_worker(site_environment: dict[str, str]) -> Iterator[Start]:
    """Starts Celery workers of their own process group; all are gone after the test."""
    environment = {**site_environment, "OPTIMAS_JOB_LEASE_S": "3"}
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "optimas_web",
        "worker",
        "-Q",
        "cpu",
        "-c",
        "1",
        "--without-mingle",
    ]
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(command, env=environment, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def wait_for(what: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"not within {seconds} s"
        sweep()
        time.sleep(0.3)


def test_a_killed_workers_judgement_is_taken_over_and_recorded_once(start_worker: Start) -> None:
    attempt = answered_run(sources=())
    job = enqueue("evaluation.evaluate", attempt.pk)
    rows = Job.objects.filter(pk=job.pk)
    first = start_worker()
    wait_for(lambda: attempt.gates.filter(name="build").exists(), 60)
    kill(first)
    start_worker()
    wait_for(lambda: rows.filter(status=JobStatus.DONE).exists(), 90)
    job.refresh_from_db()
    assert job.try_no == 2
    assert "the worker of try 1 went silent" in job.log
    assert Verdict.objects.filter(attempt=attempt).count() == 1
    assert attempt.gates.count() == 9


def test_a_broker_that_forgot_everything_loses_no_work(start_worker: Start, valkey: redis.Redis) -> None:
    attempt = answered_run(sources=())
    job = enqueue("evaluation.evaluate", attempt.pk)
    valkey.flushall()  # what a kill -9 leaves of a store that keeps nothing on disk
    start_worker()
    rows = Job.objects.filter(pk=job.pk)
    wait_for(lambda: rows.filter(status=JobStatus.DONE).exists(), 120)
    job.refresh_from_db()
    assert job.try_no == 1
    assert "the broker was told again" in job.log
    assert Verdict.objects.filter(attempt=attempt).count() == 1
