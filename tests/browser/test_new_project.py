"""An engineer brings a program and its profile, in a real browser."""

from __future__ import annotations

import hashlib
import tarfile

import pytest
from django.conf import settings
from django.utils import timezone

from analysis.models import Profile
from evaluation.models import Host, Worker
from optimas_web import project_actions as actions
from optimas_web.jobs import Job, run_job
from projects.models import Project, Upload
from projects.services import add_snapshot, path_of, store_upload
from projects.snapshot import from_files
from tests import seeded
from tests.cast import make_cast
from tests.programs import files

pytestmark = pytest.mark.django_db(transaction=True)
HEAT2D = settings.BASE_DIR / "samples" / "heat2d"
REPORT = settings.BASE_DIR / "tests" / "data" / "profiles" / "callgrind" / "callgrind.out.heat2d"
SIZES = [("light", 360), ("dark", 360), ("light", 1440), ("dark", 1440)]


@pytest.fixture
def cast():
    return make_cast()


@pytest.fixture
def visit(browser_page, sign_in, cast):
    def open_page(path: str, **options):
        page = browser_page(**options)
        sign_in(page, cast.ada)
        page.goto(path)
        return page

    return open_page


@pytest.fixture
def snapshot(cast):
    project = Project.objects.create(team=cast.team, name="columns", created_by=cast.ada)
    return add_snapshot(project, from_files(files()), cast.ada)


def work() -> None:
    for job in Job.objects.filter(status="queued"):
        run_job(job.pk)


def test_a_folder_and_its_profile_become_a_project_with_kernels(visit, axe, overflow, shoot, valkey):
    page = visit("/projects/new/")
    page.locator("#sources-folder").set_input_files(HEAT2D)
    page.get_by_text("3 files in all").wait_for()
    page.get_by_role("button", name="See what is in it").click()
    page.get_by_role("heading", name="What was found").wait_for()
    assert page.get_by_label("Build command").input_value() == "g++ -O2 {flags} -o heat2d heat2d.cpp"
    page.get_by_label("Name of the project").fill("Plate")
    page.get_by_label("Command", exact=True).first.fill("./heat2d 800 800 12")
    page.get_by_role("button", name="Make the project").click()
    page.get_by_role("heading", name="Plate").wait_for()
    assert page.get_by_text("./heat2d 800 800 12").is_visible()

    page.get_by_role("link", name="Get a profile").click()
    page.locator("#report").set_input_files(REPORT)
    page.get_by_role("button", name="Upload and read it").click()
    page.get_by_role("rowheader", name="callgrind.out.heat2d").wait_for()
    page.goto(f"/projects/{Project.objects.get().pk}/")
    page.get_by_text("Queued").wait_for()
    work()
    page.locator("#profiles").get_by_text("Ready").wait_for()
    assert Profile.objects.get().kernels.filter(hot=True, short_name="spread").exists()


def test_large_uploads_go_in_pieces_survive_a_lost_connection_and_arrive_whole(visit, snapshot, settings, cast):
    settings.UPLOAD_PIECE_BYTES = 100_000
    content = bytes(range(256)) * 4000 + b"the end"
    page = visit(f"/projects/{snapshot.project_id}/profiles/", expected=["ERR_CONNECTION_RESET"])
    sent: list[str] = []
    page.on("request", lambda request: request.method == "PATCH" and sent.append(request.headers["upload-offset"]))
    page.route("**/uploads/*/", lose_every_third())
    page.locator("#report").set_input_files({"name": "a.ncu-rep", "mimeType": "", "buffer": content})
    page.get_by_role("button", name="Upload and read it").click()
    page.get_by_role("rowheader", name="a.ncu-rep").wait_for(timeout=60_000)
    upload = Upload.objects.get()
    assert upload.sha256 == hashlib.sha256(content).hexdigest()
    assert path_of(upload).read_bytes() == content
    assert len(set(sent)) == 11 < len(sent)


def lose_every_third():
    """Every third piece is lost on its way: the browser sees a broken connection."""
    count = 0

    def handle(route) -> None:
        nonlocal count
        count += route.request.method == "PATCH"
        lost = route.request.method == "PATCH" and count % 3 == 0
        route.abort("connectionreset") if lost else route.continue_()

    return handle


def test_an_upload_can_be_paused_and_goes_on_after_the_page_was_closed(visit, snapshot, settings, cast):
    settings.UPLOAD_PIECE_BYTES = 100_000
    content = bytes(range(256)) * 4000
    report = {"name": "b.ncu-rep", "mimeType": "", "buffer": content}
    page = visit(f"/projects/{snapshot.project_id}/profiles/")
    page.route("**/uploads/*/", hold_after(300_000))
    page.locator("#report").set_input_files(report)
    page.get_by_role("button", name="Upload and read it").click()
    page.get_by_text("of 1.02 MB").wait_for()
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("Paused").first.wait_for()
    begun = Upload.objects.get()
    page.reload()
    page.unroute_all(behavior="ignoreErrors")
    sent: list[str] = []
    page.on("request", lambda request: request.method == "PATCH" and sent.append(request.headers["upload-offset"]))
    page.locator("#report").set_input_files(report)
    page.get_by_role("button", name="Upload and read it").click()
    page.get_by_role("rowheader", name="b.ncu-rep").wait_for(timeout=60_000)
    assert Upload.objects.get().pk == begun.pk
    assert "0" not in sent
    assert path_of(Upload.objects.get()).read_bytes() == content


def hold_after(offset: int):
    """Pieces from ``offset`` on stay on their way."""

    def handle(route) -> None:
        if int(route.request.headers.get("upload-offset", 0)) < offset:
            route.continue_()

    return handle


def test_what_the_server_refuses_is_told_and_another_file_can_be_tried(visit, snapshot, settings):
    settings.UPLOAD_LIMIT_BYTES = 1000
    page = visit(f"/projects/{snapshot.project_id}/profiles/", expected=["status of 409"])
    page.locator("#report").set_input_files({"name": "a.ncu-rep", "mimeType": "", "buffer": bytes(2000)})
    page.get_by_role("button", name="Upload and read it").click()
    page.get_by_role("alert").get_by_text("A file may have up to 1000 bytes").wait_for()
    assert page.get_by_role("button", name="Upload and read it").is_enabled()


def test_a_dropped_folder_is_sent_without_what_would_be_left_out(visit, tmp_path):
    make_folder(tmp_path / "plate")
    page = visit("/projects/new/")
    page.locator("#sources-folder").set_input_files(tmp_path / "plate")
    page.get_by_role("button", name="See what is in it").click()
    page.get_by_role("heading", name="What was found").wait_for()
    left_out = page.get_by_label("Files left out").inner_text()
    assert ".git: version control" in left_out
    assert "plate.o: a build product" in left_out
    assert page.get_by_label("Files", exact=True).inner_text().split("\n")[0] == "häder/naïve name.h"
    assert Upload.objects.get().size < 10_000


def make_folder(folder) -> None:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "pack").write_bytes(bytes(1_000_000))
    (folder / "häder").mkdir()
    (folder / "häder" / "naïve name.h").write_text("#define N 1\n")
    (folder / "plate.cpp").write_text("int main() { return 0; }\n")
    (folder / "plate.o").write_bytes(bytes(100_000))


def test_the_scripts_hash_is_sha256(visit):
    page = visit("/style/")
    lengths = [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000]
    found = page.evaluate(
        """async (lengths) => {
            const { Sha256 } = await import("/static/js/sha256.js");
            return lengths.map((length) => {
                const hash = new Sha256();
                const bytes = Uint8Array.from({ length }, (_, i) => i % 251);
                for (let at = 0; at < length; at += 37) hash.update(bytes.subarray(at, at + 37));
                return hash.hex();
            });
        }""",
        lengths,
    )
    assert found == [hashlib.sha256(bytes(i % 251 for i in range(length))).hexdigest() for length in lengths]


def test_without_script_one_archive_is_enough(visit, tmp_path):
    packed = tmp_path / "heat2d.tar"
    with tarfile.open(packed, "w") as archive:
        archive.add(HEAT2D, "heat2d")
    page = visit("/projects/new/", script=False)
    page.locator("#sources").set_input_files(packed)
    page.get_by_role("button", name="See what is in it").click()
    page.get_by_role("button", name="Make the project").click()
    page.get_by_role("heading", name="heat2d").wait_for()
    assert Project.objects.get().snapshots.get().files.count() == 3


@pytest.mark.parametrize(("theme", "width"), SIZES)
def test_the_pages_have_no_axe_findings_and_fit(theme, width, visit, cast, snapshot, axe, overflow, shoot):
    fill(snapshot, cast)
    broken = store_upload(cast.team, cast.ada, "broken.zip", 8, [b"PK\x03\x04junk"])
    loose = store_upload(cast.team, cast.ada, "plate.cpp", 27, [b"int main() { return 0; }\n\n\n"])
    empty = Project.objects.create(team=cast.team, name="empty")
    pages = {
        "new-project": "/projects/new/",
        "review": f"/projects/new/{loose.pk}/",
        "unreadable": f"/projects/new/{broken.pk}/",
        "project": f"/projects/{snapshot.project_id}/",
        "project-filtered": f"/projects/{snapshot.project_id}/?search=nobody",
        "project-empty": f"/projects/{empty.pk}/",
        "profiles": f"/projects/{snapshot.project_id}/profiles/",
        "versions": f"/projects/{snapshot.project_id}/versions/",
        "setup": f"/projects/{snapshot.project_id}/setup/",
    }
    page = visit("/projects/new/", theme=theme, width=width)
    found = []
    for name, path in pages.items():
        page.goto(path)
        shoot(page, f"{name}-{theme}-{width}")
        found += [f"{name}: {finding}" for finding in (*axe(page), *overflow(page))]
    assert found == []


def fill(snapshot, cast) -> None:
    """Runs, profiles in every state, a host that is there."""
    seeded.runs(snapshot, 40, cast.ada)
    upload = store_upload(cast.team, cast.ada, "callgrind.out.columns", 4, [b"abcd"])
    actions.read_upload(snapshot, upload, cast.ada)
    failed = "heat.ncu-rep is not a readable Nsight Compute report: it is cut off. Profile again."
    seeded.profile(snapshot, state="failed", problem=failed, origin="uploaded")
    seeded.profile(snapshot, device_name="NVIDIA H200", tool="Nsight Compute 2025.3.1", launch_count=84, cost_unit="ns")
    host = Host.objects.create(name="bench-2", last_seen=timezone.now(), tools=[TOOL])
    Worker.objects.create(host=host, name="cpu@bench-2", queues=["cpu"], last_seen=timezone.now())


TOOL = {"toolchain": "cpu", "name": "valgrind", "version": "3.19.0", "remedy": ""}
