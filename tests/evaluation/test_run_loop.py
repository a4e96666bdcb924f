"""A run from its start to its end, on real builds: repairs, what goes wrong on the way, and Cancel at every stage."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest
from django.db import connection

from analysis.services import add_profile
from evaluation import toolchains
from evaluation.services import cancel_run, live_jobs, paste_answer, start_run
from optimas_web.jobs import run_job
from optimas_web.models import Job, JobStatus
from optimizer.models import Run, RunStatus
from optimizer.rows import as_text
from tests.programs import COLUMNS, ROWS_FIRST, snapshot, swap_loops, work_off

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not all(map(shutil.which, ("g++", "valgrind", "objdump"))), reason="needs the CPU toolchain"),
]
BROKEN = swap_loops(new_text=ROWS_FIRST.replace("int row", "int_ row"))


def waiting_run(repairs: int) -> Run:
    """A run that waits for an answer to a prompt without evidence: nothing is measured again, which is quicker."""
    run = work_off(start_run(Run(snapshot=snapshot(), backend="paste", sources=[], repairs=repairs)))
    assert run.status == RunStatus.WAITING_FOR_ANSWER
    return run


def answer(run: Run, text: str) -> Run:
    paste_answer(run, text)
    return work_off(run)


def prompts(run: Run) -> list[str]:
    return [as_text(attempt.prompt.text) for attempt in run.attempts.all()]


def test_a_build_that_fails_is_sent_back_until_the_repairs_are_used_up(valkey: object) -> None:
    run = waiting_run(repairs=2)
    for _ in range(2):
        assert answer(run, BROKEN).status == RunStatus.WAITING_FOR_ANSWER
    assert answer(run, BROKEN).status == RunStatus.NEEDS_REVIEW
    first, second, third = prompts(run)
    assert "int_" not in first
    for repair in (second, third):
        assert "columns.cpp:7" in repair
        assert "int_" in repair and "error" in repair
    assert [attempt.parent and attempt.parent.number for attempt in run.attempts.all()] == [None, 1, 2]
    assert run.ended is not None
    assert run.seconds["build"] > 0


def test_a_repair_that_builds_ends_the_run_well(valkey: object) -> None:
    run = waiting_run(repairs=1)
    assert answer(run, "I'd rather not.").status == RunStatus.WAITING_FOR_ANSWER
    assert answer(run, swap_loops()).status == RunStatus.DONE
    one, two = run.attempts.all()
    assert (one.outcome, two.outcome) == ("unreadable", "edits")
    assert two.verdict.verdict != "failed"
    assert [gate.status for gate in two.gates.all()][3:8] == ["passed"] * 5


def test_without_a_recording_the_run_fails_and_says_what_is_recorded(valkey: object) -> None:
    run = work_off(start_run(Run(snapshot=snapshot(), backend="replay", sources=[])))
    assert run.status == RunStatus.FAILED
    assert "No answer is recorded for" in run.problem
    assert "Choose what was recorded: snapshot" in run.hint


def test_a_report_that_cannot_be_read_ends_the_run_with_its_sentence(valkey: object, tmp_path: Path) -> None:
    (tmp_path / "x.ncu-rep").write_bytes(b"no report")
    program = snapshot()
    profile = add_profile(program, tmp_path / "x.ncu-rep")
    run = work_off(start_run(Run(snapshot=program, profile=profile, backend="paste", sources=[])))
    assert run.status == RunStatus.FAILED
    assert "x.ncu-rep" in run.problem
    again = start_run(Run(snapshot=program, profile=profile, backend="paste", sources=[]))
    assert (again.status, "x.ncu-rep" in again.problem) == (RunStatus.FAILED, True)


def test_an_original_that_fails_ends_the_run_and_blames_no_answer(valkey: object) -> None:
    program = snapshot(columns_cpp=COLUMNS.replace("return 0;", 'std::puts("FAILED"); return 0;'))
    run = work_off(start_run(Run(snapshot=program, backend="paste", sources=[], repairs=2)))
    assert run.status == RunStatus.FAILED
    assert "says that it failed" in run.problem
    assert not run.attempts.exists()


@pytest.mark.parametrize("stage", ["profiling the program", "outputs", "timing"])
def test_cancel_stops_what_runs_at_every_stage(stage: str, valkey: object) -> None:
    run = start_run(Run(snapshot=snapshot(), backend="paste", sources=[]))
    if stage != "profiling the program":
        work_off(run)
        paste_answer(run, swap_loops())
        work_off(run, leave="evaluation.evaluate")
    job = live_jobs(run).get()
    worker = threading.Thread(target=lambda: (run_job(job.pk), connection.close()))
    worker.start()
    wait_for_stage(job, stage)
    asked = time.monotonic()
    cancel_run(run)
    worker.join(timeout=20)
    assert not worker.is_alive()
    assert time.monotonic() - asked < 10
    run.refresh_from_db()
    job.refresh_from_db()
    assert (run.status, job.status) == (RunStatus.CANCELLED, JobStatus.CANCELLED)
    assert "cancelled" in job.log.splitlines()[-1]


def wait_for_stage(job: Job, stage: str) -> None:
    end = time.monotonic() + 60
    while not Job.objects.filter(pk=job.pk, log__contains=f" {stage}\n").exists():
        assert time.monotonic() < end, Job.objects.get(pk=job.pk).log
        time.sleep(0.05)


def test_a_worker_without_a_profiler_says_so(valkey: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchains.load("cpu"), "_CALLGRIND", "no-such-valgrind")
    run = work_off(start_run(Run(snapshot=snapshot(), backend="paste", sources=[])))
    assert run.status == RunStatus.FAILED
    assert "columns cannot be profiled" in run.problem
    assert "no-such-valgrind" in Job.objects.get().log
