"""Getting a profile for a project: uploaded, taken by a host, or by hand."""

from __future__ import annotations

import io
import shutil
import zipfile
from datetime import timedelta
from pathlib import Path

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
from projects.models import Project
from projects.services import add_snapshot, store_upload
from projects.snapshot import from_files
from tests.analysis.nsys_writer import Export, Ran
from tests.pages import address, text
from tests.programs import files

pytestmark = pytest.mark.django_db
# A job's heartbeat looks from a connection of its own, which sees only what is committed.
COMMITTED = pytest.mark.django_db(transaction=True)
SAMPLE = settings.BASE_DIR / "samples" / "rowrank" / "rowrank.ncu-rep"
REPORT = settings.BASE_DIR / "tests" / "data" / "profiles" / "callgrind" / "callgrind.out.heat2d"


def host_online(toolchain: str = "cpu") -> Host:
    names = {"cpu": ("g++", "valgrind"), "cuda": ("nvcc", "ncu", "GPU")}[toolchain]
    tools = [{"toolchain": toolchain, "name": name, "version": "1.0", "remedy": ""} for name in names]
    host = Host.objects.create(name="bench", tools=tools, last_seen=timezone.now())
    Worker.objects.create(host=host, name=f"{toolchain}@bench", queues=[QUEUES[toolchain]], last_seen=timezone.now())
    return host


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


def packed(*reports: Path) -> bytes:
    with io.BytesIO() as archive:
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as to:
            for report in reports:
                to.write(report, f"reports/{report.name}")
        return archive.getvalue()


@COMMITTED
def test_several_reports_in_an_archive_become_one_profile(ada, snapshot, valkey, tmp_path):
    launches = [Ran("rank_rows(const float*, const int*, int*, int, int)", 0, 9000)] * 7
    run = Export(launches=launches).write(tmp_path / "run.sqlite")
    upload_report(ada, snapshot, packed(run, SAMPLE))
    run_job(Job.objects.get(kind="analysis.ingest").pk)
    profile = Profile.objects.get()
    assert (profile.state, profile.launch_count, profile.whole_run) == (ProfileState.READY, 7, True)
    kernel = profile.kernels.get(rank=1)
    assert (kernel.short_name, kernel.launch_count, kernel.share) == ("rank_rows", 7, 1.0)
    page = text(ada.get(reverse("analysis:profile", args=[profile.pk])))
    assert "Shares of the captured GPU time" in page
    assert "times and shares are from run.sqlite (Nsight Systems 2025.3.1)" in page
    assert "Measured in 3 of its 7 launches." in page


@COMMITTED
def test_a_time_line_alone_has_a_page(ada, snapshot, valkey, tmp_path):
    run = Export(launches=[Ran("rows(float*)", 0, 9000)] * 7).write(tmp_path / "run.sqlite")
    upload_report(ada, snapshot, run.read_bytes())
    run_job(Job.objects.get(kind="analysis.ingest").pk)
    page = text(ada.get(reverse("analysis:profile", args=[Profile.objects.get().pk])))
    assert "7 launches" in page
    assert "regex:^(rows)$" in page


@COMMITTED
def test_an_archive_without_a_report_fails_in_a_sentence(ada, snapshot, valkey, tmp_path):
    (tmp_path / ".hidden").write_text("no report")
    upload_report(ada, snapshot, packed(tmp_path / ".hidden"))
    run_job(Job.objects.get().pk)
    assert Job.objects.get().error == "callgrind.out.heat2d holds no report."


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
