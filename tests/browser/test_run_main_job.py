"""The main job in a browser with a real worker: start, watch, paste, see what is understood, watch it pass, cancel."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import expect

from evaluation.services import paste_answer, start_run
from optimas_web.models import Job
from optimizer.models import Run
from projects.models import Snapshot
from projects.services import add_snapshot
from projects.snapshot import from_files
from tests import programs, runs, workers
from tests.cast import Cast, make_cast

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not all(map(shutil.which, ("g++", "valgrind", "objdump"))), reason="needs g++ and valgrind"),
]
LONG_MS = 240_000
ENDLESS = "columns-that-never-end"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def columns(cast: Cast, owner: User, **changes: str) -> Snapshot:
    project = cast.team.projects.create(name="columns", created_by=owner)
    return add_snapshot(project, from_files(programs.files(**changes)), owner)


def test_an_engineer_starts_a_run_brings_an_answer_and_watches_it_pass(
    cast: Cast, browser_page, sign_in, axe, shoot, site_environment
):
    snapshot = columns(cast, cast.ada)
    with workers.worker(site_environment, "default,llm,cpu"):
        page = browser_page()
        sign_in(page, cast.ada)
        page.goto(reverse("evaluation:new_run", args=[snapshot.project_id]))
        page.get_by_label("Paste an answer").check()
        page.get_by_label("Repairs").fill("0")
        page.get_by_role("button", name="Start the run").click()
        page.wait_for_url(re.compile(r"/runs/\d+/$"))
        page.get_by_role("link", name="Paste the answer").wait_for(timeout=LONG_MS)  # no page was loaded meanwhile
        assert axe(page) == []
        page.get_by_role("link", name="Paste the answer").click()

        label = page.locator(".evidence-list li", has_text="columns.cpp").first.get_attribute("id")
        page.get_by_label("The answer, whole").fill(f"Here you are:\n{programs.swap_loops(label)}")
        understood = page.locator("#understood")
        understood.get_by_text("columns.cpp:7-8").first.wait_for()
        assert understood.get_by_text("All rules kept.").count() == 1
        assert understood.locator(".diff").count() == 1
        assert axe(page) == []
        shoot(page, "understood-light-1440")
        page.get_by_role("button", name="Judge this answer").click()

        page.locator(".stages .tone-ok", has_text="Built").wait_for(timeout=LONG_MS)
        shoot(page, "judging-live-light-1440")
        page.get_by_text("Every gate passed.", exact=True).wait_for(timeout=LONG_MS)
        assert page.locator(".stages > li.tone-ok").count() == 11
        assert axe(page) == []
        shoot(page, "passed-light-1440")
        page.get_by_role("link", name="Open attempt 1").click()
        page.wait_for_url(re.compile("/attempts/"))
    assert Run.objects.get().status == "done"


def test_cancel_in_the_middle_of_judging_ends_the_run_and_its_processes(
    cast: Cast, browser_page, sign_in, site_environment
):
    endless = programs.ROWS_FIRST.replace("++row", "row += 0").rstrip("\n")
    manifest = programs.MANIFEST.replace('"./columns 700 700"', f'"./columns 70 70 {ENDLESS}"')
    manifest = manifest.replace("timeout_s = 20", "timeout_s = 600")
    snapshot = columns(cast, cast.ada, optimas_toml=manifest)
    run = start_run(Run(snapshot=snapshot, backend="paste", sources=[], repairs=0, created_by=cast.ada))
    programs.work_off(run)
    paste_answer(run, programs.swap_loops(new_text=endless))
    with workers.worker(site_environment, "llm,cpu"):
        page = browser_page()
        sign_in(page, cast.ada)
        page.goto(reverse("evaluation:run", args=[run.pk]))
        page.locator(".stages .tone-busy", has_text="Same outputs").wait_for(timeout=LONG_MS)
        workers.wait_for(lambda: running(ENDLESS), 60)
        page.get_by_role("button", name="Cancel the run").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
        page.locator(".badge", has_text="Cancelled").first.wait_for()
        page.locator("#run-live:not([data-poll])").wait_for(timeout=30_000)
        workers.wait_for(lambda: not running(ENDLESS), 30)
    run.refresh_from_db()
    assert run.status == "cancelled"
    assert Job.objects.get(kind="evaluation.evaluate").status == "cancelled"
    assert page.get_by_role("button", name="Cancel the run").count() == 0
    assert page.get_by_role("link", name="Another run").count() == 1


def running(mark: str) -> list[int]:
    """Processes of this machine with ``mark`` in their command lines."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def test_two_clicks_start_one_run(cast: Cast, browser_page, sign_in, valkey):
    profile = runs.profiled(runs.sample(cast, "heat2d"))
    page = browser_page()
    sign_in(page, cast.ada)
    page.goto(reverse("evaluation:new_run", args=[profile.snapshot.project_id]))
    page.get_by_role("button", name="Start the run").dblclick()
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    assert Run.objects.count() == 1


def test_the_prompt_follows_the_choices_and_can_be_copied(cast: Cast, browser_page, sign_in, valkey):
    snapshot = runs.sample(cast, "heat2d")
    other = runs.profiled(snapshot)
    runs.profiled(snapshot)  # the newest is the first choice
    page = browser_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    sign_in(page, cast.ada)
    page.goto(reverse("evaluation:new_run", args=[snapshot.project_id]))
    page.get_by_label("Guidance").press_sequentially("Walk along rows.")
    page.locator("#prompt-text", has_text="Walk along rows.").wait_for()
    page.get_by_label("Stalls: which source lines wait").uncheck()
    expect(page.locator("#plan .chip")).to_have_count(0)
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#prompt-text").text_content()
    page.get_by_label("warmth").check()
    page.locator("#prompt-text", has_text="spread, light, warmth").wait_for()
    page.get_by_label("Profile", exact=True).select_option(str(other.pk))
    page.locator(f'input[name="shown"][value="{other.pk}"]').wait_for(state="attached")
    assert not page.get_by_label("warmth").is_checked()
    assert page.get_by_label("Guidance").input_value() == "Walk along rows."


def test_without_a_script_everything_can_still_be_done(cast: Cast, browser_page, sign_in, valkey):
    profile = runs.profiled(runs.sample(cast, "heat2d"))
    page = browser_page(script=False)
    sign_in(page, cast.ada)
    page.goto(reverse("evaluation:new_run", args=[profile.snapshot.project_id]))
    page.get_by_label("Guidance").fill("Walk along rows.")
    page.get_by_role("button", name="Show the prompt for these choices").click()
    assert "Walk along rows." in page.locator("#prompt-text").text_content()
    page.get_by_role("button", name="Start the run").click()
    run = programs.work_off(Run.objects.get())
    page.get_by_role("link", name="Refresh").click()
    page.get_by_role("link", name="Paste the answer").click()
    page.get_by_label("The answer, whole").fill("I cannot help with that.")
    page.get_by_role("button", name="See what is understood").click()
    assert page.locator("#understood .badge", has_text="Declined").count() == 1
    page.goto(reverse("evaluation:run", args=[run.pk]))
    page.get_by_role("button", name="Cancel the run").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
    run.refresh_from_db()
    assert run.status == "cancelled"
