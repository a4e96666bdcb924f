"""The home page: what runs, what waits for whom, what came of it, and the state of the installation."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis.models import Origin
from evaluation.models import Device, Host, Verdict, Worker
from optimas_web.jobs import Job, JobStatus
from optimizer.models import Attempt, AttemptOrigin, Run, RunStatus
from projects.models import Project, Snapshot
from projects.services import add_snapshot
from projects.snapshot import from_files
from reviews.models import Decision
from tests import seeded
from tests.cast import Cast, make_cast
from tests.programs import files

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def snapshot(cast) -> Snapshot:
    project = Project.objects.create(team=cast.team, name="columns", created_by=cast.ada)
    return add_snapshot(project, from_files(files()), cast.ada)


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def section(page, name: str) -> str:
    """A part of the page, as a person reads it."""
    found = re.search(rf'<section[^>]*id="{name}".*?</section>', page.content.decode(), re.DOTALL)
    assert found, f"there is no part called {name}"
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", found[0])).split())


def run_of(snapshot: Snapshot, status: str, by=None, **values: object) -> Run:
    ended = timezone.now() if status in ("done", "failed", "cancelled", "needs_review") else None
    profile = seeded.profile(snapshot)
    values = {"ended": ended, "profile": profile, "backend": "replay", **values}
    return Run.objects.create(snapshot=snapshot, status=status, created_by=by, **values)


def attempt_of(run: Run) -> Attempt:
    return Attempt.objects.create(run=run, number=1, origin=AttemptOrigin.RECORDED, outcome="edits")


def judged(run: Run, verdict: str = "faster", recorded: str = "") -> Attempt:
    attempt = attempt_of(run)
    Verdict.objects.create(attempt=attempt, verdict=verdict, document={}, recorded=recorded)
    if verdict != "failed":
        seeded.timing(attempt, verdict, 0, "program").save()
    return attempt


def job_of(cast: Cast, kind: str, target: int, status: str = "running", **values: object) -> Job:
    started = timezone.now() if status == "running" else None
    return Job.objects.create(
        team=cast.team, kind=kind, target_id=target, status=status, queue="cpu", started=started, **values
    )


# --- running ----------------------------------------------------------------------------------


def test_live_jobs_are_shown_with_their_run_and_stage(cast, snapshot):
    run = run_of(snapshot, RunStatus.EVALUATING)
    job_of(cast, "evaluation.evaluate", attempt_of(run).pk, stage="timing, pair 13", progress=0.4)
    text = section(signed_in(cast.ada).get("/"), "running")
    assert f"Run {run.pk} of columns" in text
    assert "1 running, 0 queued" in text
    assert "Evaluating Timing, pair 13" in text


def test_a_queued_job_says_for_which_queue_it_waits(cast, snapshot):
    run = run_of(snapshot, RunStatus.EVALUATING)
    job_of(cast, "evaluation.evaluate", attempt_of(run).pk, "queued")
    assert "Waits for a worker of the queue cpu" in section(signed_in(cast.ada).get("/"), "running")


def test_a_profile_is_shown_as_its_run_or_as_itself(cast, snapshot):
    run = run_of(snapshot, RunStatus.PROFILING)
    job_of(cast, "evaluation.profile", run.profile_id)
    job_of(cast, "analysis.ingest", seeded.profile(snapshot, origin=Origin.UPLOADED).pk)
    text = section(signed_in(cast.ada).get("/"), "running")
    assert f"Run {run.pk} of columns" in text
    assert "A profile of columns" in text


def test_what_is_left_out_is_counted(cast, snapshot):
    for _ in range(9):
        job_of(cast, "analysis.ingest", seeded.profile(snapshot).pk, "queued")
    assert "and 3 more" in section(signed_in(cast.ada).get("/"), "running")


def test_the_running_part_asks_again_only_while_something_runs(cast, snapshot):
    client = signed_in(cast.ada)
    assert "hx-get" not in section_source(client.get("/"), "running")
    job = job_of(cast, "analysis.ingest", seeded.profile(snapshot).pk)
    page = client.get("/")
    (asked,) = re.findall(r'hx-get="([^"]+)"', section_source(page, "running"))
    assert client.get(asked).status_code == 204

    Job.objects.filter(pk=job.pk).update(progress=0.5)
    changed = client.get(asked)
    assert (changed.status_code, "hx-get" in section_source(changed, "running")) == (200, True)

    Job.objects.filter(pk=job.pk).update(status=JobStatus.DONE)
    ended = client.get(asked)
    assert (ended.status_code, "hx-get" in section_source(ended, "running")) == (286, False)


def test_what_has_ended_appears_without_a_new_page(cast, snapshot):
    run = run_of(snapshot, RunStatus.DONE)
    judged(run)
    answer = signed_in(cast.ada).get(reverse("running"))
    assert f"Run {run.pk} of columns just now Faster" in section(answer, "finished")
    assert 'hx-swap-oob="true"' in section_source(answer, "finished")


def section_source(page, name: str) -> str:
    (found,) = re.findall(rf'<section[^>]*id="{name}"[^>]*>', page.content.decode())
    return found


# --- waiting ----------------------------------------------------------------------------------


def test_runs_wait_for_those_who_may_go_on_with_them(cast, snapshot):
    waiting = run_of(snapshot, RunStatus.WAITING_FOR_ANSWER, backend="paste")
    stuck = run_of(snapshot, RunStatus.NEEDS_REVIEW, problem="Gate build failed.")
    for person in (cast.ada, cast.lea):
        text = section(signed_in(person).get("/"), "waiting")
        assert f"Run {waiting.pk} of columns just now Waiting for an answer" in text
        assert f"Run {stuck.pk} of columns just now Needs review Gate build failed." in text
    assert "nothing" in section(signed_in(cast.vic).get("/"), "waiting")


def test_ones_own_runs_come_first(cast, snapshot):
    mine = run_of(snapshot, RunStatus.WAITING_FOR_ANSWER, cast.ada)
    other = run_of(snapshot, RunStatus.WAITING_FOR_ANSWER, cast.lea)
    text = section(signed_in(cast.ada).get("/"), "waiting")
    assert text.index(f"Run {mine.pk} ") < text.index(f"Run {other.pk} ")


def test_a_proven_result_waits_for_a_lead_until_somebody_has_decided(cast, snapshot):
    attempt = judged(run_of(snapshot, RunStatus.DONE))
    title = f"Attempt 1 of run {attempt.run_id} of columns"
    assert title not in section(signed_in(cast.ada).get("/"), "waiting")
    assert title in section(signed_in(cast.lea).get("/"), "waiting")
    Decision.objects.create(attempt=attempt, user=cast.lea, verdict="approved", reason="", hashes={})
    assert title not in section(signed_in(cast.lea).get("/"), "waiting")


def test_a_result_that_is_not_faster_waits_for_nobody(cast, snapshot):
    judged(run_of(snapshot, RunStatus.DONE), "no_difference")
    assert "nothing" in section(signed_in(cast.lea).get("/"), "waiting")


# --- finished ---------------------------------------------------------------------------------


def test_results_since_yesterday_are_shown_with_verdict_interval_and_where_they_were_recorded(cast, snapshot):
    run = run_of(snapshot, RunStatus.DONE)
    judged(run, recorded="recorded on NVIDIA H200 on 2026-11-30")
    old = run_of(snapshot, RunStatus.DONE, ended=timezone.now() - timedelta(days=3))
    text = section(signed_in(cast.vic).get("/"), "finished")
    assert f"Run {run.pk} of columns just now Faster 1.02× between 1.004× and 1.05×" in text
    assert "Recorded on NVIDIA H200 on 2026-11-30" in text
    assert f"Run {old.pk} " not in text


def test_a_failed_run_says_why(cast, snapshot):
    run_of(snapshot, RunStatus.FAILED, problem="The original does not build.")
    assert "Failed The original does not build." in section(signed_in(cast.ada).get("/"), "finished")


# --- projects and hosts -----------------------------------------------------------------------


def test_projects_are_shown_with_their_best_proven_result_and_last_run(cast, snapshot):
    Project.objects.create(team=cast.team, name="untouched")
    seeded.runs(snapshot, 20)
    text = section(signed_in(cast.ada).get("/"), "projects")
    assert "columns Ponds 1.34× faster 1.31× to 1.37× 20 Done just now" in text
    assert "untouched Ponds none yet 0 no runs yet" in text
    assert text.index("columns") < text.index("untouched")


def test_a_large_speedup_that_was_not_proven_is_no_best_result(cast, snapshot):
    attempt = judged(run_of(snapshot, RunStatus.DONE), "cannot_tell")
    attempt.timings.update(speedup=9.0)
    assert "none yet" in section(signed_in(cast.ada).get("/"), "projects")


def test_hosts_are_shown_with_their_gpus_those_online_first(cast, snapshot):
    now = timezone.now()
    away = Host.objects.create(name="away", last_seen=now - timedelta(days=1))
    here = Host.objects.create(name="here", last_seen=now)
    Worker.objects.create(host=here, name="gpu@here", queues=["gpu"], last_seen=now)
    Device.objects.create(host=here, uuid="GPU-1", name="NVIDIA H200")
    text = section(signed_in(cast.vic).get("/"), "hosts")
    assert re.search(rf"{here} Online NVIDIA H200.*{away} Offline No GPU, seen yesterday", text)


# --- nothing yet ------------------------------------------------------------------------------


def test_an_engineer_without_projects_is_offered_the_next_step_and_the_samples(cast):
    page = signed_in(cast.ada).get("/").content.decode()
    assert "No projects yet" in page
    assert reverse("projects:new") in page
    assert page.count(f'action="{reverse("projects:sample")}"') == 2


def test_a_viewer_without_projects_is_told_whom_to_ask(cast):
    page = signed_in(cast.vic).get("/").content.decode()
    assert "Nothing to see yet" in page
    assert reverse("projects:new") not in page


def test_a_stranger_sees_nothing_of_it(cast, snapshot):
    run = run_of(snapshot, RunStatus.NEEDS_REVIEW)
    job_of(cast, "analysis.ingest", run.profile_id)
    assert "columns" not in signed_in(cast.zoe).get("/").content.decode()
    assert "columns" not in signed_in(cast.zoe).get(reverse("running")).content.decode()


# --- the installation -------------------------------------------------------------------------


def test_a_lost_broker_is_told_at_the_top(cast, settings, tmp_path):
    client = signed_in(cast.ada)
    assert "The broker does not answer" not in client.get("/").content.decode()
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock?db=0"
    assert "The broker does not answer" in client.get("/").content.decode()


def test_healthz_is_ok_while_both_stores_answer(client):
    response = client.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {"postgres": True, "redis": True}


def test_healthz_names_the_store_that_is_away(client, settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock?db=0"
    response = client.get("/healthz")
    assert response.status_code == 503
    assert response.json() == {"postgres": True, "redis": False}


# --- how often the database is asked ----------------------------------------------------------


def test_the_number_of_queries_does_not_grow_with_the_rows(cast, snapshot, django_assert_max_num_queries):
    client = signed_in(cast.lea)
    counts = []
    for rows in (5, 50):
        fill(cast, rows)
        with django_assert_max_num_queries(40) as seen:
            client.get("/")
        counts.append(len(seen))
    assert counts[0] == counts[1]


def fill(cast: Cast, rows: int) -> None:
    for at in range(rows):
        project = Project.objects.create(team=cast.team, name=f"{rows} {at}")
        snapshot = Snapshot.objects.create(project=project, sha256=f"{at:064}", manifest={})
        for run in seeded.runs(snapshot, 5):
            Run.objects.filter(pk=run.pk).update(ended=timezone.now())
        run_of(snapshot, RunStatus.NEEDS_REVIEW)
        job_of(cast, "evaluation.evaluate", attempt_of(run_of(snapshot, RunStatus.EVALUATING)).pk)
        job_of(cast, "evaluation.profile", run_of(snapshot, RunStatus.PROFILING).profile_id)
        host = Host.objects.create(name=f"{rows} {at}", last_seen=timezone.now())
        Worker.objects.create(host=host, name=f"cpu@{rows} {at}", queues=["cpu"], last_seen=timezone.now())
        Device.objects.create(host=host, uuid=f"GPU-{rows}-{at}", name="NVIDIA H200")
