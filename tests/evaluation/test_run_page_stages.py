"""What the page of a run says about its progress, as values."""

from __future__ import annotations

import pytest

from evaluation.run_page import (
    QUESTIONS,
    SPENT,
    Estimate,
    Progress,
    Stage,
    Work,
    estimate,
    spent,
    stages,
    why_no_repair,
)
from optimizer.models import RunStatus
from optimizer.types import GATES, Gate
from tests.repository import read


def by_name(now: Progress) -> dict[str, Stage]:
    return {stage.name: stage for stage in stages(now)}


ANSWERED = tuple(Gate(name, "passed", f"{name} is fine.", 0.5) for name in GATES[:3])


def test_every_gate_asks_something():
    assert tuple(QUESTIONS) == GATES
    assert all(question.endswith("?") for question in QUESTIONS.values())


def test_every_kind_of_time_that_services_book_has_words():
    booked = read("evaluation/tasks.py") + read("optimizer/services.py")
    assert [key for key in SPENT if f'"{key}"' not in booked] == []


def test_a_new_run_has_everything_before_it():
    found = stages(Progress("queued"))
    assert {stage.status for stage in found} == {"queued"}
    assert [stage.name for stage in found][:3] == ["Profile", "Ask for edits", "parse"]


def test_a_running_profile_tells_what_it_does_for_how_long():
    work = Work("running", "profiling the program", 0.05, 12.0)
    stage = by_name(Progress("profiling", "pending", {"profile": work}))["Profile"]
    assert stage == Stage("Profile", "running", 12.0, "Profiling the program", 0.05)


def test_a_job_that_waits_says_for_whom():
    work = Work("queued", note="No worker of the queue gpu is online.")
    stage = by_name(Progress("profiling", "pending", {"profile": work}))["Profile"]
    assert stage == Stage("Profile", "queued", note="No worker of the queue gpu is online.")


def test_a_profile_that_was_there_took_no_time():
    assert by_name(Progress("proposing", "ready"))["Profile"].note == "The profile was there already."


def test_waiting_for_a_person_is_a_stage_of_its_own():
    done = {"propose": Work("done")}
    assert by_name(Progress("waiting_for_answer", "ready", done))["Ask for edits"].status == "waiting_for_answer"


@pytest.mark.parametrize(("outcome", "status"), [("edits", "done"), ("declined", "declined"), ("cut_off", "cut_off")])
def test_an_answer_without_edits_is_not_told_as_done(outcome, status):
    spent = {"summarise": 1.0, "infer": 2.0}
    now = Progress("needs_review", "ready", outcome=outcome, message="So it is.", spent=spent)
    assert by_name(now)["Ask for edits"] == Stage("Ask for edits", status, 3.0, "So it is.")


def test_the_first_gate_that_is_not_known_runs_and_has_only_its_own_time():
    gates = (*ANSWERED, Gate("build", "passed", "Both build.", 4.0))
    work = Work("running", "building the candidate", 0.5, 10.0)
    found = by_name(Progress("evaluating", "ready", {"evaluate": work}, "edits", "", gates))
    assert found["build"] == Stage("build", "passed", 4.0, "Both build.")
    assert found["symbols"] == Stage("symbols", "running", 6.0, "Building the candidate", 0.5)
    assert found["outputs"].status == "queued"
    assert found["outputs"].note == QUESTIONS["outputs"]


def test_gates_behind_a_failed_one_were_not_run():
    gates = (*ANSWERED[:2], Gate("guardrails", "failed", "harness: main was changed.", 0.1))
    found = by_name(Progress("needs_review", "ready", {}, "edits", "", gates))
    assert found["guardrails"].status == "failed"
    assert {found[name].status for name in ("build", "timing", "re_profile")} == {"not_run"}


def test_cancelling_shows_that_it_stops_and_then_that_it_has():
    work = Work("running", "timing, pair 3", 0.1, 9.0)
    stopping = Progress("cancelled", "ready", {"evaluate": work}, "edits", "", ANSWERED)
    assert by_name(stopping)["build"] == Stage("build", "cancelled", note="It is being stopped.")
    assert not stopping.has_ended
    stopped = Progress("cancelled", "ready", {"evaluate": Work("cancelled")}, "edits", "", ANSWERED)
    assert by_name(stopped)["build"].status == "cancelled"
    assert stopped.has_ended


@pytest.mark.parametrize("status", ["failed", "errored"])
def test_a_job_that_broke_marks_its_stage(status):
    now = Progress("failed", "failed", {"profile": Work(status)})
    found = by_name(now)
    assert found["Profile"].status == status
    assert found["Ask for edits"].status == "not_run"


@pytest.mark.parametrize("status", RunStatus.values)
def test_every_status_of_a_run_can_be_drawn(status):
    assert len(stages(Progress(status))) == 11


def test_the_time_spent_keeps_its_order_and_leaves_out_what_took_none():
    assert list(spent({"validate": 6.0, "build": 2.0, "infer": 0.0}).items()) == [
        ("Build", 2.0),
        ("Compare, check and time", 6.0),
    ]


def test_an_estimate_comes_from_earlier_runs_or_there_is_none():
    earlier = [{"profile": 5.0, "build": 2.0}, {"build": 4.0}, {}]
    assert estimate(earlier, has_profile=True) == Estimate(2, 3.0, 2.0, 4.0)
    assert estimate(earlier, has_profile=False) == Estimate(2, 5.5, 4.0, 7.0)
    assert estimate([{}], has_profile=True) is None


@pytest.mark.parametrize(
    ("takes", "allowed", "used", "words"),
    [
        (False, 3, 0, "A recorded answer cannot be sent back for repair."),
        (True, 0, 0, "No repairs were allowed."),
        (True, 2, 2, "All 2 repairs are used."),
        (True, 2, 1, ""),
    ],
)
def test_why_a_person_has_to_look(takes, allowed, used, words):
    assert why_no_repair(takes_repairs=takes, allowed=allowed, used=used) == words
