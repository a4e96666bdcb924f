"""The page of a run: what it says in each state, what polling brings, Cancel, logs, and who sees it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, reverse

from analysis.models import Profile
from evaluation import urls
from evaluation.services import cancel_run, jobs_of, paste_answer, worker_is_here
from optimas_web.models import Job, JobStatus
from optimizer.models import Completion, Run
from tests import runs
from tests.cast import Cast, make_cast
from tests.programs import work_off

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey", "no_heartbeat")]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def profile(cast: Cast) -> Profile:
    return runs.profiled(runs.sample(cast, "heat2d"))


@pytest.fixture
def waiting(profile: Profile) -> Run:
    return runs.asked(profile)


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def shown(client: Client, run: Run, name: str = "run", **query: str) -> str:
    response = client.get(reverse(f"evaluation:{name}", args=[run.pk]), query)
    assert response.status_code in (200, 286)
    return response.content.decode()


# --- states -----------------------------------------------------------------------------------


def test_a_queued_run_says_that_nobody_works(cast: Cast, profile: Profile) -> None:
    run = runs.started(profile)
    page = shown(signed_in(cast.ada), run)
    assert "Waits for a worker of the queue llm, and none is online: see Hosts." in page
    worker_is_here("worker@bench", ["llm"])
    assert "Waits for a worker of the queue llm." in shown(signed_in(cast.ada), run)


def test_a_run_that_waits_leads_to_the_paste_page(cast: Cast, waiting: Run) -> None:
    page = shown(signed_in(cast.ada), waiting)
    assert reverse("evaluation:paste", args=[waiting.pk]) in page
    assert "Paste the answer" in page
    assert "nothing was asked yet" in page


def test_a_finished_run_opens_its_best_attempt_and_says_where_it_was_measured(cast: Cast) -> None:
    run = work_off(runs.started(runs.profiled(runs.sample(cast, "rowrank"))))
    page = shown(signed_in(cast.ada), run)
    assert "Every gate passed." in page
    assert "Recorded on NVIDIA H200 on 2026-12-01" in page
    assert "Recorded on 2026-12-01: a language model" in page
    assert "4.70×" in page
    assert "rank_rows" in page
    assert "_Z9rank_rows" not in page
    assert f"Open attempt {run.attempts.get().number}" in page
    assert "no cost was reported" in page
    assert "hx-get" not in page


def test_a_failed_gate_is_explained_with_what_to_do(cast: Cast, profile: Profile) -> None:
    run = runs.asked(profile, repairs=0)
    paste_answer(run, "I cannot help with that.")
    page = shown(signed_in(cast.ada), work_off(run))
    assert "Attempt 1 failed the gate <strong>Answer read</strong>" in page
    assert "No repairs were allowed." in page
    assert "start another run" in page


def test_a_repair_is_a_second_attempt_that_names_the_first(cast: Cast, profile: Profile) -> None:
    run = runs.asked(profile, repairs=1)
    paste_answer(run, "I cannot help with that.")
    page = shown(signed_in(cast.ada), work_off(run))
    assert run.status == "waiting_for_answer"
    assert "repairs attempt 1" in page
    assert "Stages of attempt 2" in page


def test_a_run_that_failed_says_why_and_what_to_do(cast: Cast, profile: Profile) -> None:
    page = shown(signed_in(cast.ada), work_off(runs.started(profile, sources=["stalls"])))
    assert "No answer is recorded for" in page
    assert "<strong>What to do:</strong> Choose what was recorded" in page


def test_a_bug_of_ours_has_its_reference_on_the_page(cast: Cast, waiting: Run) -> None:
    values = {"status": JobStatus.ERRORED, "reference": "7f3k20q", "error": "Something went wrong that is our fault."}
    jobs_of(waiting).update(**values)
    Run.objects.update(status="failed", problem=values["error"])
    assert "<code>7f3k20q</code>" in shown(signed_in(cast.ada), waiting)


def test_cost_and_tokens_are_added_up_when_they_were_reported(cast: Cast, profile: Profile) -> None:
    run = runs.asked(profile, repairs=1)
    for text in ("no", "no again"):
        paste_answer(run, text)
        work_off(run)
    Completion.objects.update(cost_usd="0.0125")
    assert "0.0250 USD" in shown(signed_in(cast.ada), run)


def test_text_of_models_and_people_is_text(cast: Cast, profile: Profile) -> None:
    run = runs.asked(profile, repairs=0, guidance="<script>alert(1)</script>")
    paste_answer(run, "<script>alert(2)</script>")
    page = shown(signed_in(cast.ada), work_off(run))
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page


# --- live -------------------------------------------------------------------------------------


def poll_address(page: str) -> str:
    found = re.search(r'hx-get="([^"]+)" hx-trigger="every 2s, resume"', page)
    assert found
    return found[1].replace("&amp;", "&")


def test_polling_brings_nothing_until_something_has_changed(cast: Cast, waiting: Run) -> None:
    client = signed_in(cast.ada)
    address = poll_address(shown(client, waiting))
    assert client.get(address).status_code == 204
    paste_answer(waiting, "I cannot help with that.")
    changed = client.get(address)
    assert changed.status_code == 200
    assert "Waits for a worker of the queue llm" in changed.content.decode()
    assert 'id="run-actions" hx-swap-oob' in changed.content.decode()


def test_polling_ends_with_the_run(cast: Cast, waiting: Run) -> None:
    client = signed_in(cast.ada)
    address = poll_address(shown(client, waiting))
    cancel_run(waiting)
    last = client.get(address)
    assert last.status_code == 286
    assert "hx-get" not in last.content.decode()
    assert "Another run" in last.content.decode()


def test_a_cancelled_run_is_watched_until_its_job_has_stopped(cast: Cast, profile: Profile) -> None:
    run = runs.started(profile)
    Job.objects.filter(kind="optimizer.propose").update(status=JobStatus.RUNNING)
    cancel_run(run)
    client = signed_in(cast.ada)
    page = shown(client, run)
    assert "It is being stopped." in page
    Job.objects.filter(kind="optimizer.propose").update(status=JobStatus.CANCELLED)
    assert client.get(poll_address(page)).status_code == 286


# --- acting -----------------------------------------------------------------------------------


def test_cancel_ends_the_run_and_a_second_press_says_so(cast: Cast, waiting: Run) -> None:
    client = signed_in(cast.ada)
    url = reverse("evaluation:cancel", args=[waiting.pk])
    assert "is cancelled" in client.post(url, follow=True).content.decode()
    waiting.refresh_from_db()
    assert waiting.status == "cancelled"
    assert "had ended already: cancelled" in client.post(url, follow=True).content.decode()
    assert client.get(url).status_code == 405


def test_who_may_only_look_cannot_cancel(cast: Cast, waiting: Run) -> None:
    client = signed_in(cast.vic)
    assert "Cancel the run" not in shown(client, waiting)
    assert client.post(reverse("evaluation:cancel", args=[waiting.pk])).status_code == 403
    waiting.refresh_from_db()
    assert waiting.status == "waiting_for_answer"


def test_a_log_is_plain_text_and_only_of_this_run(cast: Cast, waiting: Run, profile: Profile) -> None:
    client = signed_in(cast.lea)
    job = jobs_of(waiting).get(kind="optimizer.propose")
    response = client.get(reverse("evaluation:log", args=[waiting.pk, job.pk]))
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert "writing the prompt" in response.content.decode()
    other = runs.asked(profile)
    assert client.get(reverse("evaluation:log", args=[other.pk, job.pk])).status_code == 404


# --- who sees it ------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", urls.urlpatterns, ids=lambda pattern: pattern.name)
def test_a_stranger_finds_no_page_of_a_teams_run(pattern: URLPattern, cast: Cast, waiting: Run) -> None:
    """Every address of this room but the hosts, which anybody who is signed in may see."""
    if pattern.name == "hosts":
        assert signed_in(cast.zoe).get(reverse("evaluation:hosts")).status_code == 200
        return
    known = {"pk": waiting.pk, "project_id": waiting.snapshot.project_id, "job": jobs_of(waiting)[0].pk}
    converters = pattern.pattern.converters
    url = reverse(f"evaluation:{pattern.name}", kwargs={name: known[name] for name in converters})
    for method in ("get", "post"):
        assert getattr(signed_in(cast.zoe), method)(url).status_code in (404, 405)
        assert getattr(Client(), method)(url).status_code in (302, 405)
    statuses = {getattr(signed_in(cast.zoe), method)(url).status_code for method in ("get", "post")}
    assert 404 in statuses


def test_the_number_of_queries_does_not_grow_with_attempts(cast: Cast, profile: Profile) -> None:
    run = runs.asked(profile, repairs=5)
    client = signed_in(cast.ada)

    def queries(name: str) -> int:
        with CaptureQueriesContext(connection) as asked:
            client.get(reverse(f"evaluation:{name}", args=[run.pk]))
        return len(asked)

    def answer() -> None:
        paste_answer(run, "no")
        work_off(run)

    answer()
    queries("run")
    before = queries("run"), queries("live")
    answer()
    answer()
    assert (queries("run"), queries("live")) == before
