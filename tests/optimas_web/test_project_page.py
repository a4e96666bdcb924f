"""The pages of a project: what they answer, to whom, and what can be started from them."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from analysis.models import Profile, ProfileState
from evaluation.models import Timing
from optimas_web.jobs import Job, run_job
from projects.models import Project
from projects.services import add_snapshot
from projects.snapshot import from_files
from tests import seeded
from tests.pages import address, text
from tests.programs import files

pytestmark = pytest.mark.django_db
# A job's heartbeat looks from a connection of its own, which sees only what is committed.
COMMITTED = pytest.mark.django_db(transaction=True)


# --- results and runs -------------------------------------------------------------------------


def test_the_best_proven_result_stands_on_top_with_its_interval_and_scope(ada, snapshot):
    seeded.runs(snapshot, 20)
    page = ada.get(address("project", snapshot))
    best = page.context["best"]
    assert (best.scope, best.attempt.verdict.verdict) == ("selected", "faster")
    assert best.speedup == Timing.objects.order_by("-speedup")[0].speedup
    assert "All gates passed." in text(page)


def test_a_large_speedup_of_an_attempt_that_failed_or_cannot_be_told_is_not_the_best(ada, snapshot):
    made = seeded.runs(snapshot, 10)
    for run in made:
        attempt = run.attempts.get()
        if attempt.verdict.verdict == "cannot_tell":
            attempt.timings.update(speedup=9.0, high=20.0)
    assert ada.get(address("project", snapshot)).context["best"].speedup < 2


def test_without_a_proven_result_the_page_says_so(ada, snapshot):
    seeded.runs(snapshot, 2)[0].attempts.all().delete()
    assert "of 1 result none is proven to be faster" in text(ada.get(address("project", snapshot)))


def test_results_are_drawn_from_the_oldest_to_the_newest_and_no_more_than_fit(ada, snapshot):
    seeded.runs(snapshot, 100)
    page = ada.get(address("project", snapshot))
    marks = page.context["history"].marks
    assert len(marks) == 40
    assert [mark.result.when for mark in marks] == sorted(mark.result.when for mark in marks)
    assert "the newest 40 of 80 results" in text(page)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", 25),
        ("page=2", 5),
        ("result=faster", 6),
        ("result=failed", 6),
        ("status=failed", 0),
        ("backend=paste", 0),
        ("search=ada", 25),
        ("search=nobody", 0),
        ("page=nonsense&sort=nonsense", 25),
        ("status=nonsense", 0),
    ],
)
def test_runs_can_be_filtered_searched_and_paged(ada, cast, snapshot, query, shown):
    seeded.runs(snapshot, 30, cast.ada)
    page = ada.get(f"{address('project', snapshot)}?{query}")
    assert len(page.context["page"].object_list) == shown


def test_a_search_finds_a_run_by_its_number_and_by_its_version(ada, snapshot):
    run = seeded.runs(snapshot, 30)[3]
    by_number = ada.get(f"{address('project', snapshot)}?search={run.pk}")
    assert [found.pk for found in by_number.context["page"]] == [run.pk]
    by_version = ada.get(f"{address('project', snapshot)}?search={snapshot.sha256[:8]}")
    assert by_version.context["page"].paginator.count == 30


def test_runs_are_sorted_by_speedup_and_those_without_one_come_last(ada, snapshot):
    seeded.runs(snapshot, 10)
    for sort in ("speedup", "-speedup"):
        page = ada.get(f"{address('project', snapshot)}?sort={sort}")
        speedups = [run.speedup for run in page.context["page"]]
        known = [speedup for speedup in speedups if speedup is not None]
        assert known == sorted(known, reverse=sort.startswith("-"))
        assert speedups[len(known) :] == [None, None]


def test_the_attempt_that_stands_for_a_run_is_the_newest_that_passed(ada, snapshot):
    run = seeded.runs(snapshot, 3)[2]  # failed
    passed, _ = (seeded.runs(snapshot, 1)[0].attempts.get() for _ in range(2))
    passed.run, passed.number = run, 2
    passed.save()
    found = {row.pk: row for row in ada.get(address("project", snapshot)).context["page"]}
    assert (found[run.pk].shown, found[run.pk].result) == (passed.pk, "faster")


def test_an_empty_project_says_what_to_do_next(ada, cast):
    project = Project.objects.create(team=cast.team, name="empty")
    assert "Add a version" in text(ada.get(reverse("projects:project", args=[project.pk])))
    add_snapshot(project, from_files(files()), cast.ada)
    assert "Get a profile" in text(ada.get(reverse("projects:project", args=[project.pk])))


def test_who_may_only_look_is_asked_for_nothing_in_an_empty_project(client, cast):
    project = Project.objects.create(team=cast.team, name="empty")
    client.force_login(cast.vic)
    for name in ("project", "profiles", "versions"):
        shown = text(client.get(reverse(f"projects:{name}", args=[project.pk])))
        assert "Add a version" not in shown and "Add one" not in shown


@pytest.mark.parametrize("name", ["project", "profiles", "versions", "recent_profiles"])
def test_the_number_of_queries_does_not_grow_with_the_rows(ada, cast, snapshot, name, django_assert_max_num_queries):
    counts = []
    for _ in range(2):
        seeded.runs(snapshot, 12, cast.ada)
        seeded.profile(snapshot, state=ProfileState.PENDING)
        add_snapshot(snapshot.project, from_files(files(x_h=f"{len(counts)}")), cast.ada)
        ada.get(address(name, snapshot))
        with django_assert_max_num_queries(40) as seen:
            ada.get(address(name, snapshot))
        counts.append(len(seen))
    assert counts[0] == counts[1] <= 25


# --- versions ---------------------------------------------------------------------------------


def test_a_new_version_is_added_and_its_build_is_shown_for_correction(ada, snapshot):
    changed = files(columns_cpp="int main() { return 0; }\n")
    sent = [SimpleUploadedFile(name, content) for name, content in changed.items()]
    answer = ada.post(address("add_version", snapshot), {"file": sent})
    assert answer.url == address("setup", snapshot)
    assert snapshot.project.snapshots.count() == 2
    assert snapshot.project.snapshots.first().sha256[:12] in text(ada.get(address("versions", snapshot)))


def test_a_version_that_cannot_be_read_is_told_on_the_page(ada, snapshot):
    sent = [SimpleUploadedFile("optimas.toml", b"[build]\ncommand = 3\n"), SimpleUploadedFile("a.c", b"int main(){}")]
    answer = ada.post(address("add_version", snapshot), {"file": sent})
    assert answer.status_code == 422
    assert "optimas.toml line 2" in text(answer)


def test_changing_how_it_is_built_makes_a_version_of_the_same_files(ada, snapshot):
    review = ada.get(address("setup", snapshot)).context["review"]
    forms = [review.fields, review.workloads.management_form, *review.workloads]
    values = {field.html_name: field.value() for form in forms for field in form}
    values = {name: value for name, value in values.items() if value not in (None, False)}
    ada.post(address("setup", snapshot), values)
    assert snapshot.project.snapshots.count() == 1
    ada.post(address("setup", snapshot), values | {"build_command": "g++ -O3 {flags} -o columns columns.cpp"})
    newest = snapshot.project.snapshots.first()
    assert newest.pk != snapshot.pk
    assert newest.manifest["build_command"] == "g++ -O3 {flags} -o columns columns.cpp"
    assert bytes(newest.files.get(path="columns.cpp").content) == files()["columns.cpp"]


# --- samples ----------------------------------------------------------------------------------


@COMMITTED
def test_a_sample_is_one_click_away_and_two_clicks_are_one_project(ada, cast, valkey):
    for _ in range(2):
        answer = ada.post("/projects/samples/", {"name": "rowrank", "team": cast.team.pk})
    project = Project.objects.get()
    assert answer.url == reverse("projects:project", args=[project.pk])
    run_job(Job.objects.get(kind="analysis.ingest").pk)
    assert "H200" in Profile.objects.get().device_name


def test_other_names_are_no_samples(ada, cast):
    assert ada.post("/projects/samples/", {"name": "../tests", "team": cast.team.pk}).status_code == 404


# --- who may ----------------------------------------------------------------------------------

PAGES = ("project", "profiles", "versions", "recent_profiles")
CHANGES = ("add_profile", "profile_here", "add_version", "setup")


def test_a_viewer_of_the_team_sees_everything_and_changes_nothing(client, cast, snapshot):
    seeded.runs(snapshot, 3)
    waiting = seeded.profile(snapshot, state=ProfileState.PENDING)
    client.force_login(cast.vic)
    for name in PAGES:
        page = client.get(address(name, snapshot))
        assert page.status_code in (200, 286)
        shown = text(page).partition("<main")[2]
        assert 'method="post"' not in shown and "New run" not in shown
    for name in CHANGES:
        assert client.post(address(name, snapshot), {}).status_code == 403
    assert client.post(address("cancel_profile", snapshot, waiting.pk)).status_code == 403
    assert client.get(address("setup", snapshot)).status_code == 403
    assert client.post("/projects/samples/", {"name": "heat2d", "team": cast.team.pk}).status_code == 403


def test_a_stranger_finds_nothing(client, cast, snapshot):
    profile = seeded.profile(snapshot)
    client.force_login(cast.zoe)
    for name in (*PAGES, "setup"):
        assert client.get(address(name, snapshot)).status_code == 404
    for name in CHANGES:
        assert client.post(address(name, snapshot), {}).status_code == 404
    assert client.post(address("cancel_profile", snapshot, profile.pk)).status_code == 404


def test_who_is_not_signed_in_is_asked_to(client, snapshot):
    for name in PAGES:
        assert client.get(address(name, snapshot)).url.startswith("/sign-in/")
