"""The pages of a project: what they answer, to whom, and what can be started from them."""

from __future__ import annotations

import re
import shutil
from datetime import timedelta

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from analysis.models import Origin, Profile, ProfileState
from evaluation.models import Host, Worker
from evaluation.services import QUEUES
from optimas_web import project_actions as actions
from optimas_web.by_hand import by_hand
from optimas_web.jobs import Job, run_job
from projects.manifest import load
from projects.models import Project, Snapshot
from projects.services import add_snapshot, store_upload
from projects.snapshot import from_files
from tests import seeded
from tests.cast import make_cast
from tests.programs import files

pytestmark = pytest.mark.django_db
# A job's heartbeat looks from a connection of its own, which sees only what is committed.
COMMITTED = pytest.mark.django_db(transaction=True)
REPORT = settings.BASE_DIR / "tests" / "data" / "profiles" / "callgrind" / "callgrind.out.heat2d"


@pytest.fixture
def cast():
    return make_cast()


@pytest.fixture
def snapshot(cast) -> Snapshot:
    project = Project.objects.create(team=cast.team, name="columns", created_by=cast.ada)
    return add_snapshot(project, from_files(files()), cast.ada)


@pytest.fixture
def ada(cast, client):
    client.force_login(cast.ada)
    return client


def address(name: str, row: Snapshot, *more: int) -> str:
    return reverse(f"projects:{name}", args=[row.project_id, *more])


def text(response) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


def host_online(toolchain: str = "cpu") -> Host:
    names = {"cpu": ("g++", "valgrind"), "cuda": ("nvcc", "ncu", "GPU")}[toolchain]
    tools = [{"toolchain": toolchain, "name": name, "version": "1.0", "remedy": ""} for name in names]
    host = Host.objects.create(name="bench", tools=tools, last_seen=timezone.now())
    Worker.objects.create(host=host, name=f"{toolchain}@bench", queues=[QUEUES[toolchain]], last_seen=timezone.now())
    return host


# --- results and runs -------------------------------------------------------------------------


def test_the_best_proven_result_stands_on_top_with_its_interval_and_scope(ada, snapshot):
    seeded.runs(snapshot, 20)
    page = ada.get(address("project", snapshot))
    best = page.context["best"]
    assert (best.scope, best.attempt.verdict.verdict) == ("selected", "faster")
    assert best.speedup == max(timing.speedup for timing in page.context["best"].__class__.objects.all())
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


# --- profiles ---------------------------------------------------------------------------------


def upload_report(client, snapshot, content: bytes = REPORT.read_bytes(), **fields: object):
    sent = {"snapshot": snapshot.pk, "file": SimpleUploadedFile("callgrind.out.heat2d", content), **fields}
    return client.post(address("add_profile", snapshot), sent)


@COMMITTED
def test_an_uploaded_report_is_read_in_the_background_and_keeps_its_name(ada, snapshot, valkey):
    assert upload_report(ada, snapshot).status_code == 302
    run_job(Job.objects.get(kind="analysis.ingest").pk)
    profile = Profile.objects.get()
    assert (profile.state, profile.origin) == (ProfileState.READY, Origin.UPLOADED)
    assert profile.kernels.filter(short_name="spread", hot=True).exists()
    assert profile.columns == f"{profile.pk}/columns.npz"
    assert "callgrind.out.heat2d" in text(ada.get(address("profiles", snapshot)))


@COMMITTED
def test_a_file_that_is_no_report_fails_in_a_sentence_with_its_name(ada, snapshot, valkey):
    upload_report(ada, snapshot, b"time;value\n" * 50)
    run_job(Job.objects.get().pk)
    page = text(ada.get(address("profiles", snapshot)))
    assert "callgrind.out.heat2d is not a profile that can be read" in page


def test_an_upload_that_script_sent_before_becomes_a_profile_once(ada, cast, snapshot):
    upload = store_upload(cast.team, cast.ada, "a.ncu-rep", 3, [b"abc"])
    for _ in range(2):
        ada.post(address("add_profile", snapshot), {"snapshot": snapshot.pk, "upload": upload.pk})
    assert (Profile.objects.count(), Job.objects.count()) == (1, 1)


@pytest.mark.parametrize("fields", [{}, {"upload": 999999}])
def test_an_upload_that_is_not_there_is_told(ada, snapshot, fields):
    answer = ada.post(address("add_profile", snapshot), {"snapshot": snapshot.pk, **fields})
    assert answer.status_code == 422
    assert not Profile.objects.exists()


def test_a_profile_cannot_be_put_to_a_version_of_another_project(ada, cast, snapshot):
    other = add_snapshot(Project.objects.create(team=cast.team, name="other"), from_files(files()), cast.ada)
    assert ada.post(address("add_profile", snapshot), {"snapshot": other.pk}).status_code == 422


def test_a_host_that_is_online_can_be_asked_and_two_clicks_are_one_job(ada, snapshot):
    host_online()
    page = ada.get(address("profiles", snapshot))
    assert "Profile on bench" in text(page)
    asked = {"key": page.context["key"], "snapshot": snapshot.pk}
    for _ in range(2):
        assert ada.post(address("profile_here", snapshot), asked).status_code == 302
    job = Job.objects.get()
    assert (job.kind, job.queue, job.target_id) == ("evaluation.profile", "cpu", Profile.objects.get().pk)
    again = {"key": ada.get(address("profiles", snapshot)).context["key"], "snapshot": snapshot.pk}
    ada.post(address("profile_here", snapshot), again)
    assert Job.objects.count() == 2


@COMMITTED
@pytest.mark.slow
@pytest.mark.skipif(not all(map(shutil.which, ("g++", "valgrind"))), reason="needs g++ and valgrind")
def test_what_a_host_was_asked_for_becomes_a_profile_that_can_be_opened(ada, snapshot, valkey):
    host_online()
    ada.post(address("profile_here", snapshot), {"key": "once", "snapshot": snapshot.pk})
    run_job(Job.objects.get().pk)
    profile = Profile.objects.get()
    assert (profile.state, profile.problem) == (ProfileState.READY, "")
    assert profile.kernels.filter(short_name="fill", hot=True).exists()
    assert ada.get(reverse("analysis:profile", args=[profile.pk])).status_code == 200


@pytest.mark.parametrize(
    ("toml", "first", "last", "file"),
    [
        ("", "nvcc -O3 -arch=sm_90 -lineinfo -o a a.cu", "-f -o a ./a", "a.ncu-rep"),
        ("[kernels]\ninclude = ['k<1>']\n", "nvcc -O3", "-k 'regex:^(k<1>)$' -c 12 -f -o a ./a", "a.ncu-rep"),
        ("[build]\ncommand = 'make'\nbinary = 'a'\n", "export NVCC_APPEND_FLAGS=-lineinfo", "-o a ./a", "a.ncu-rep"),
        ("[profile]\ncommand = 'N=4 ./a 7'\n", "nvcc -O3", "N=4 ncu --set full", "a.ncu-rep"),
        ("[project]\nname = 'my program; rm'\n", "nvcc -O3", "-o my-program-rm ./a", "my-program-rm.ncu-rep"),
    ],
)
def test_the_lines_for_a_gpu_program_are_those_of_its_manifest(toml, first, last, file):
    found = by_hand(load({"a.cu": b"__global__ void k() {}\nint main() {}\n", "optimas.toml": toml.encode()}))
    assert found.lines[0].startswith(first)
    assert last in found.lines[-1]
    assert found.file == file


def test_without_a_host_the_lines_to_type_are_shown_and_nothing_can_be_started(ada, snapshot):
    page = ada.get(address("profiles", snapshot))
    lines = page.context["by_hand"]
    assert lines.lines[0] == "g++ -O1 -g -o columns columns.cpp"
    assert lines.lines[1].startswith("valgrind --tool=callgrind --cache-sim=yes")
    assert lines.lines[1].endswith("--callgrind-out-file=callgrind.out.columns ./columns 200 200")
    assert "Profile on" not in text(page)
    ada.post(address("profile_here", snapshot), {"key": "k", "snapshot": snapshot.pk})
    assert not Job.objects.exists()


@pytest.mark.parametrize("toolchain", ["cpu", "cuda"])
def test_a_host_takes_programs_of_its_own_kind(toolchain):
    host = host_online(toolchain)
    other = {"cpu": "cuda", "cuda": "cpu"}[toolchain]
    assert (actions.profiling_host(toolchain), actions.profiling_host(other)) == (host, None)


def test_a_host_that_is_silent_or_lacks_the_profiler_is_not_offered():
    host = host_online()
    worker = host.workers.get()
    host.workers.update(last_seen=timezone.now() - timedelta(minutes=10))
    assert actions.profiling_host("cpu") is None
    worker.save()
    assert actions.profiling_host("cpu") == host
    for tool in host.tools:
        tool["version"] = None
    host.save()
    assert actions.profiling_host("cpu") is None


@COMMITTED
def test_the_part_with_the_profiles_asks_until_nothing_is_left_to_wait_for(ada, snapshot, valkey):
    upload_report(ada, snapshot)
    waiting = ada.get(address("recent_profiles", snapshot))
    assert waiting.status_code == 200
    assert "data-poll" in text(waiting)
    run_job(Job.objects.get().pk)
    done = ada.get(address("recent_profiles", snapshot))
    assert done.status_code == 286
    assert "data-poll" not in text(done)


def test_waiting_for_a_profile_can_be_given_up(ada, snapshot):
    upload_report(ada, snapshot)
    ada.post(address("cancel_profile", snapshot, Profile.objects.get().pk))
    assert Job.objects.get().status == "cancelled"
    assert "Cancelled" in text(ada.get(address("profiles", snapshot)))


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
