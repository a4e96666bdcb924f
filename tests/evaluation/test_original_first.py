"""Nobody is asked for edits of a program that cannot be judged on this host."""

import shutil
from pathlib import Path

import pytest

from analysis.services import add_profile
from evaluation import toolchains
from evaluation.rows import builds_of_original
from evaluation.services import cancel_run, jobs_of, live_jobs, start_run
from evaluation.types import Tool
from optimizer.models import Run
from projects.models import Snapshot
from tests.programs import COLUMNS, MANIFEST, snapshot, work_off

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.usefixtures("valkey", "no_heartbeat"),
    pytest.mark.skipif(not all(map(shutil.which, ("g++", "objdump"))), reason="needs the CPU toolchain"),
]

PROFILE = """version: 1
creator: callgrind-3.19.0
positions: line
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw

fl=(1) columns.cpp
fn=(1) fill(std::vector<double>&, int, int)
9 9000 4000 1000 1 900 0 0 90 0
totals: 9000 4000 1000 1 900 0 0 90 0
"""


def uploaded_run(tmp_path: Path, program: Snapshot) -> Run:
    report = tmp_path / "callgrind.out"
    report.write_text(PROFILE)
    return start_run(Run(snapshot=program, profile=add_profile(program, report), backend="paste", sources=["stalls"]))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"optimas_toml": MANIFEST.replace("g++ -O1", "nocompiler -O1")}, "there is no nocompiler on this host"),
        ({"columns_cpp": COLUMNS.replace("int main", "int mine")}, "The original program does not build"),
        ({"columns_cpp": COLUMNS.replace("return 0;", "return 3;")}, "run 1 of the original ended with status 3"),
        ({"columns_cpp": COLUMNS.replace('"%.6f\\n", sum', '"FAILED\\n"')}, "says that it failed: line 1, 'FAILED'"),
    ],
)
def test_a_program_that_cannot_be_judged_ends_the_run_before_a_prompt_is_written(tmp_path, changes, sentence):
    run = work_off(uploaded_run(tmp_path, snapshot(**changes)))
    assert (run.status, run.attempts.count()) == ("failed", 0)
    assert sentence in run.problem
    assert run.profile.state == "ready"
    assert not jobs_of(run).filter(kind="optimizer.propose").exists()


def test_a_program_is_proven_once_and_its_build_is_kept(tmp_path):
    program = snapshot()
    first = work_off(uploaded_run(tmp_path, program))
    assert (first.status, builds_of_original(program).get().ok) == ("waiting_for_answer", True)
    second = work_off(start_run(Run(snapshot=program, profile=first.profile, backend="paste", sources=["stalls"])))
    assert second.status == "waiting_for_answer"
    assert builds_of_original(program).count() == 1


def test_what_the_compiler_said_is_in_the_log(tmp_path):
    run = work_off(uploaded_run(tmp_path, snapshot(columns_cpp="int main() { return tide; }\n")))
    assert "was not declared in this scope" in jobs_of(run).get(kind="evaluation.profile").log


def test_a_host_without_the_compiler_leaves_it_to_others(tmp_path, monkeypatch):
    monkeypatch.setattr(toolchains.load("cpu"), "tools", lambda: (Tool("g++", None, "Install it."),))
    program = snapshot()
    run = work_off(uploaded_run(tmp_path, program))
    assert run.status == "waiting_for_answer"
    assert not builds_of_original(program).exists()


def test_a_cancel_stops_the_proof_and_not_the_reading_of_the_report(tmp_path):
    run = uploaded_run(tmp_path, snapshot())
    cancel_run(run)
    assert live_jobs(run).get().kind == "analysis.ingest"
    other = start_run(Run(snapshot=run.snapshot, profile=run.profile, backend="paste", sources=[]))
    work_off(other, leave="evaluation.profile")
    assert live_jobs(other).get().kind == "evaluation.profile"
    cancel_run(other)
    assert not live_jobs(other).exists()
