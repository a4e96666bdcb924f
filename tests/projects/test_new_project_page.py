"""A new project: what is brought, what is found in it, what a person corrects."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from projects.forms import Review
from projects.models import Project, Upload
from projects.services import manifest_of, store_upload
from projects.snapshot import from_files
from tests.cast import make_cast
from tests.pages import text
from tests.programs import COLUMNS, files
from tests.projects.packing import tarred, zipped

pytestmark = pytest.mark.django_db
NEW = "/projects/new/"


@pytest.fixture
def cast():
    return make_cast()


@pytest.fixture
def ada(cast, client):
    client.force_login(cast.ada)
    return client


def bring(client, cast, *brought: tuple[str, bytes], follow: bool = True, **fields: str):
    sent = [SimpleUploadedFile(name, content) for name, content in brought]
    return client.post(NEW, {"team": cast.team.pk, "file": sent, **fields}, follow=follow)


def form_values(response) -> dict[str, object]:
    """What a browser would send back of the page's forms."""
    review = response.context["review"]
    bound = [response.context["name"], review.fields, review.workloads.management_form, *review.workloads]
    fields = {field.html_name: field.value() for form in bound for field in form}
    return {name: value for name, value in fields.items() if value not in (None, False)}


# --- bringing ---------------------------------------------------------------------------------


def test_an_archive_is_looked_into_and_what_was_guessed_is_marked(ada, cast):
    page = bring(ada, cast, ("columns.zip", zipped(("columns/columns.cpp", COLUMNS.encode()))))
    assert page.redirect_chain[0][0] == reverse("projects:review", args=[Upload.objects.get().pk])
    assert form_values(page)["build_command"] == "g++ -O2 {flags} -o columns columns.cpp"
    assert page.content.decode().count('<span class="tag">detected</span>') == 5
    assert "Everything lay in the folder &#x27;columns&#x27;" in text(page)


def test_a_single_source_needs_no_archive(ada, cast):
    page = bring(ada, cast, ("columns.cpp", COLUMNS.encode()))
    assert list(page.context["review"].tree.files) == ["columns.cpp"]


def test_several_files_are_one_program(ada, cast):
    page = bring(ada, cast, *files().items())
    assert sorted(page.context["review"].tree.files) == ["columns.cpp", "optimas.toml"]
    assert page.context["review"].found.detected == ()
    assert Upload.objects.get().name == "2 files.tar"


def test_a_source_can_be_pasted(ada, cast):
    page = bring(ada, cast, paste=COLUMNS.replace("\n", "\r\n"), paste_name="columns.cpp")
    assert page.context["review"].tree.files == {"columns.cpp": COLUMNS.encode()}


def test_what_is_left_out_is_told_with_the_reason(ada, cast):
    entries = [("columns.cpp", COLUMNS.encode()), (".git/config", b""), ("columns.o", b"x"), ("a.ncu-rep", b"x")]
    page = text(bring(ada, cast, ("columns.tar", tarred(*entries))))
    for line in (".git: version control", "columns.o: a build product", "a.ncu-rep: a profile, uploaded on its own"):
        assert line in page


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.zip", b"PK\x03\x04" + b"junk" * 50, "The archive is damaged or cut off"),
        ("a.tar", tarred(("../etc/passwd", b"x")), "leads out of its folder"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c" + bytes(600), "a 7z archive, which is not read here"),
    ],
)
def test_files_that_cannot_be_taken_are_refused_in_a_sentence(ada, cast, name, content, sentence):
    page = bring(ada, cast, (name, content))
    assert page.status_code == 422
    assert sentence in text(page)
    assert "What to do:" in text(page)


def test_nothing_at_all_is_told_on_the_page(ada, cast):
    page = bring(ada, cast)
    assert "Drop or choose the program" in text(page)
    assert Upload.objects.count() == 0


def test_a_file_over_the_limit_is_refused_before_it_is_kept(ada, cast, settings):
    settings.UPLOAD_LIMIT_BYTES = 1000
    page = bring(ada, cast, ("columns.cpp", COLUMNS.encode() * 9))
    assert "A file may have up to 1000 bytes" in text(page)
    assert Upload.objects.count() == 0


def test_a_team_has_a_quota_that_is_told_before(ada, cast, settings):
    settings.TEAM_QUOTA_BYTES = 1500
    assert "Your team uses 0 bytes of 1.465 KiB" in text(ada.get(NEW))
    bring(ada, cast, ("columns.cpp", COLUMNS.encode()))
    page = bring(ada, cast, ("again.cpp", COLUMNS.encode()))
    assert "the team Ponds has" in text(page)
    assert Upload.objects.count() == 1


# --- correcting -------------------------------------------------------------------------------


def test_taken_as_found_nothing_is_written_down_so_that_later_versions_are_detected_anew(ada, cast):
    page = bring(ada, cast, ("columns.cpp", COLUMNS.encode()))
    made = ada.post(page.wsgi_request.path, form_values(page))
    project = Project.objects.get()
    assert made.url == reverse("projects:project", args=[project.pk])
    assert (project.name, project.manifest, project.created_by) == ("columns", "", cast.ada)
    assert "optimas.toml" not in {file.path for file in project.snapshots.get().files.all()}


def test_what_is_corrected_becomes_an_optimas_toml_of_the_project_and_of_the_snapshot(ada, cast):
    page = bring(ada, cast, ("columns.cpp", COLUMNS.encode()))
    values = form_values(page) | {"name": "Ponds", "workload-0-command": "./columns 300 300", "masks": "took .* s"}
    ada.post(page.wsgi_request.path, values)
    project = Project.objects.get()
    snapshot = project.snapshots.get()
    manifest = manifest_of(snapshot)
    assert project.name == "Ponds"
    assert "[build]" not in project.manifest and "./columns 300 300" in project.manifest
    assert bytes(snapshot.files.get(path="optimas.toml").content).decode() == project.manifest
    assert manifest.workloads[0].command == manifest.profile_command == "./columns 300 300"
    assert manifest.masks == ("took .* s",)
    assert "build_command" in manifest.detected and "workloads" not in manifest.detected


def test_a_workload_can_be_added_and_one_removed(ada, cast):
    page = bring(ada, cast, *files().items())
    values = form_values(page) | {
        "workload-0-DELETE": "on",
        "workload-2-name": "large",
        "workload-2-command": "./columns 2000 2000",
        "workload-2-outputs": "cells.bin",
    }
    ada.post(page.wsgi_request.path, values)
    names = [row.name for row in Project.objects.get().snapshots.get().workloads.all()]
    assert names == ["odd", "large"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"workload-0-timeout_s": "0"}, "greater than or equal to 0.1"),
        ({"workload-0-name": "a b"}, "Use up to 64 letters"),
        ({"masks": ".*"}, "which fits even nothing"),
        ({"binary": "../main"}, "must stay inside the program"),
        ({"name": ""}, "This field is required"),
    ],
)
def test_bad_corrections_are_refused_and_nothing_is_made(ada, cast, change, sentence):
    page = bring(ada, cast, ("columns.cpp", COLUMNS.encode()))
    answer = ada.post(page.wsgi_request.path, form_values(page) | change)
    assert sentence in text(answer)
    assert not Project.objects.exists()


def test_a_broken_optimas_toml_is_told_with_its_line_and_can_be_mended_in_place(ada, cast):
    broken = files(optimas_toml="[build]\ncommand = 3\n")
    page = bring(ada, cast, *broken.items())
    assert "optimas.toml line 2: command in [build] must be text, not 3." in text(page)
    mended = {"name": "columns", "toml": '[build]\r\ncommand = "g++ {flags} -o columns columns.cpp"\r\n'}
    ada.post(page.wsgi_request.path, mended)
    manifest = manifest_of(Project.objects.get().snapshots.get())
    assert manifest.build_command == "g++ {flags} -o columns columns.cpp"


def test_two_programs_in_one_folder_ask_which_one_is_meant(ada, cast):
    page = bring(ada, cast, ("a.cpp", COLUMNS.encode()), ("b.cpp", COLUMNS.encode()))
    assert "More than one file has a function main: a.cpp, b.cpp." in text(page)
    assert 'name="toml"' in text(page)


def test_sending_the_form_twice_makes_one_project(ada, cast):
    page = bring(ada, cast, ("columns.cpp", COLUMNS.encode()))
    first, second = (ada.post(page.wsgi_request.path, form_values(page)) for _ in range(2))
    assert first.url == second.url
    assert Project.objects.count() == 1


def test_a_name_that_is_taken_by_another_program_is_told(ada, cast):
    Project.objects.create(team=cast.team, name="columns")
    page = bring(ada, cast, ("columns.cpp", COLUMNS.encode()))
    assert "has another project called columns" in text(ada.post(page.wsgi_request.path, form_values(page)))


def test_the_form_of_files_that_say_everything_is_the_file_itself():
    review = Review(from_files(files()))
    values = {field.html_name: field.value() for form in [review.fields, *review.workloads] for field in form}
    values |= {field.html_name: field.value() for field in review.workloads.management_form}
    sent = Review(from_files(files()), {name: value for name, value in values.items() if value is not None})
    assert sent.is_valid() and sent.declared == ""


def test_what_the_form_of_a_sample_says_is_what_its_file_says():
    folder = settings.BASE_DIR / "samples" / "rowrank"
    tree = from_files({path.name: path.read_bytes() for path in folder.iterdir()})
    review = Review(tree)
    assert review.workloads.forms[0].initial["bytes"] == 10_737_418_240


# --- who may ----------------------------------------------------------------------------------


def test_who_may_only_look_gets_403_and_who_is_not_signed_in_is_asked_to(client, cast):
    assert client.get(NEW).status_code == 302
    client.force_login(cast.vic)
    assert client.get(NEW).status_code == 403
    assert client.post(NEW, {"team": cast.team.pk, "paste": COLUMNS, "paste_name": "a.cpp"}).status_code == 403


def test_nobody_else_sees_what_somebody_brought(client, cast):
    upload = store_upload(cast.team, cast.ada, "columns.cpp", len(COLUMNS), [COLUMNS.encode()])
    for person in (cast.lea, cast.vic, cast.zoe):
        client.force_login(person)
        assert client.get(reverse("projects:review", args=[upload.pk])).status_code == 404


def test_a_project_cannot_be_made_in_a_team_of_others(client, cast):
    other = make_team_of(cast.zoe)
    client.force_login(cast.ada)
    page = client.post(NEW, {"team": other.pk, "paste": COLUMNS, "paste_name": "a.cpp"})
    assert page.status_code == 200
    assert Upload.objects.count() == 0


def make_team_of(person):
    from projects.services import create_team

    return create_team("Other", person)
