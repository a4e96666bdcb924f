"""The looks of the pages about runs, in each state that people meet: no axe finding, no sideways scroll."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.urls import reverse

from evaluation.services import cancel_run, paste_answer, worker_is_here
from tests import runs
from tests.cast import Cast, make_cast
from tests.programs import work_off
from tests.repository import ROOT

pytestmark = pytest.mark.django_db(transaction=True)
SIZES = [("light", 360), ("dark", 360), ("light", 1440), ("dark", 1440)]


def new_run(cast: Cast) -> str:
    profile = runs.profiled(runs.sample(cast, "heat2d"))
    return reverse("evaluation:new_run", args=[profile.snapshot.project_id])


def new_run_of_kernels(cast: Cast) -> str:
    profile = runs.profiled(runs.sample(cast, "rowrank"))
    return (
        reverse("evaluation:new_run", args=[profile.snapshot.project_id]) + "?backend=paste&guidance=Use shared memory."
    )


def new_run_without_profile(cast: Cast) -> str:
    return reverse("evaluation:new_run", args=[runs.sample(cast, "rowrank").project_id])


def waiting_for_a_worker(cast: Cast) -> str:
    return reverse("evaluation:run", args=[runs.started(runs.profiled(runs.sample(cast, "heat2d"))).pk])


def waiting_for_an_answer(cast: Cast) -> str:
    return reverse("evaluation:run", args=[runs.asked(runs.profiled(runs.sample(cast, "heat2d"))).pk])


def done(cast: Cast) -> str:
    return reverse("evaluation:run", args=[work_off(runs.started(runs.profiled(runs.sample(cast, "rowrank")))).pk])


def judging(cast: Cast) -> str:
    run = work_off(runs.started(runs.profiled(runs.sample(cast, "heat2d"))), leave="evaluation.evaluate")
    return reverse("evaluation:run", args=[run.pk])


def needs_review(cast: Cast) -> str:
    run = runs.asked(runs.profiled(runs.sample(cast, "heat2d")), repairs=0, guidance="Keep it short.\nAnd plain.")
    paste_answer(run, "I cannot help with that.")
    return reverse("evaluation:run", args=[work_off(run).pk])


def failed(cast: Cast) -> str:
    profile = runs.profiled(runs.sample(cast, "heat2d"))
    return reverse("evaluation:run", args=[work_off(runs.started(profile, sources=["stalls"])).pk])


def cancelled(cast: Cast) -> str:
    run = runs.asked(runs.profiled(runs.sample(cast, "heat2d")))
    cancel_run(run)
    return reverse("evaluation:run", args=[run.pk])


def paste(cast: Cast) -> str:
    return reverse("evaluation:paste", args=[runs.asked(runs.profiled(runs.sample(cast, "heat2d"))).pk])


def paste_too_late(cast: Cast) -> str:
    return reverse("evaluation:paste", args=[work_off(runs.started(runs.profiled(runs.sample(cast, "rowrank")))).pk])


def hosts(cast: Cast) -> str:
    worker_is_here("cpu-worker@bench", ["cpu"])
    worker_is_here("worker@bench", ["default", "llm"])
    return reverse("evaluation:hosts")


def no_hosts(cast: Cast) -> str:
    return reverse("evaluation:hosts")


PAGES = [
    new_run, new_run_of_kernels, new_run_without_profile, waiting_for_a_worker, waiting_for_an_answer, judging, done,
    needs_review, failed, cancelled, paste, paste_too_late, hosts, no_hosts,
]  # fmt: skip


@pytest.mark.parametrize("make", PAGES, ids=lambda make: make.__name__)
def test_a_page_has_no_axe_findings_and_fits(make: Callable, browser_page, sign_in, axe, overflow, shoot, valkey):
    cast = make_cast()
    address = make(cast)
    for theme, width in SIZES:
        page = browser_page(theme=theme, width=width)
        sign_in(page, cast.ada)
        page.goto(address)
        shoot(page, f"{make.__name__}-{theme}-{width}")
        assert axe(page) == []
        assert overflow(page) == []


def test_what_was_understood_has_no_axe_findings_and_fits(browser_page, sign_in, axe, overflow, shoot, valkey):
    """An answer with a citation that was never offered, and one that breaks a rule."""
    cast = make_cast()
    address = paste(cast)
    lines = (ROOT / "samples" / "heat2d" / "heat2d.cpp").read_text().split("\n")
    number = next(n for n, line in enumerate(lines, 1) if "int main" in line)
    for theme, width in SIZES:
        page = browser_page(theme=theme, width=width)
        sign_in(page, cast.ada)
        page.goto(address)
        for name, first, labels in (("unknown", 39, ["S1", "H9"]), ("forbidden", number + 1, ["S2"])):
            edit = {"file": "heat2d.cpp", "start_line": first, "end_line": first, "original_text": lines[first - 1]}
            edit |= {"new_text": f"{lines[first - 1]} // {'long ' * 30}", "evidence": labels, "rationale": "for a look"}
            page.get_by_label("The answer, whole").fill(json.dumps({"summary": name, "edits": [edit]}))
            page.locator("#understood p", has_text=name).first.wait_for()
            shoot(page, f"understood-{name}-{theme}-{width}")
            assert axe(page) == []
            assert overflow(page) == []
