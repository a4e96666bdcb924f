"""Home and settings as people see them, and what their scripts do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse
from django.utils import timezone

from evaluation.models import Device, Host, Verdict, Worker
from optimas_web.jobs import Job
from optimizer.models import Attempt, Run, RunStatus, VendorAccess
from projects.models import Membership, Project, Role, Snapshot, Team
from projects.services import create_member, create_team
from tests import seeded

pytestmark = pytest.mark.django_db(transaction=True)
SIZES = [("light", 360), ("dark", 360), ("light", 1440), ("dark", 1440)]


@pytest.fixture
def team() -> Team:
    people = {name: get_user_model().objects.create_user(name, password="calipers") for name in ("lea", "ada", "vic")}
    made = create_team("Ponds", people["lea"])
    create_team("Stencils", people["lea"])
    for name, role in (("ada", Role.ENGINEER), ("vic", Role.VIEWER)):
        Membership.objects.create(team=made, user=people[name], role=role)
    create_member(made, "max", Role.STUDENT, made.memberships.get(role=Role.OWNER))
    return made


def busy_home(team: Team) -> Job:
    """Something in every part of Lea's home page; the job that runs."""
    now = timezone.now()
    ada = get_user_model().objects.get(username="ada")
    projects = [Project.objects.create(team=team, name=name) for name in ("ponds", "rowrank", "shallow-water-solver")]
    for at, project in enumerate(projects[:2]):
        snapshot = Snapshot.objects.create(project=project, sha256=f"{at:064}", manifest={"toolchain": "cuda"})
        for ago, run in enumerate(seeded.runs(snapshot, 5, ada)):
            Run.objects.filter(pk=run.pk).update(ended=now - timedelta(minutes=7 * ago))
    Verdict.objects.filter(verdict="faster").update(recorded="recorded on NVIDIA H200 on 2026-11-30")
    taken = seeded.profile(snapshot)
    values = {"snapshot": snapshot, "profile": taken, "backend": "paste", "created_by": ada}
    Run.objects.create(status=RunStatus.WAITING_FOR_ANSWER, **values)
    Run.objects.create(status=RunStatus.NEEDS_REVIEW, ended=now, problem="Gate build failed: line 12.", **values)
    Run.objects.create(status=RunStatus.FAILED, ended=now, problem="The original does not build.", **values)
    attempt = Attempt.objects.create(run=Run.objects.create(status="evaluating", **values), number=1, origin="person")
    job = {"team": team, "kind": "evaluation.evaluate", "target_id": attempt.pk, "queue": "gpu"}
    running = Job.objects.create(status="running", started=now, stage="timing, pair 13", progress=0.4, **job)
    queued = seeded.profile(snapshot, state="pending")
    Job.objects.create(team=team, kind="evaluation.profile", target_id=queued.pk, queue="gpu", status="queued")
    host = Host.objects.create(name="bench-4", last_seen=now)
    Worker.objects.create(host=host, name="gpu@bench-4", queues=["gpu"], last_seen=now)
    Device.objects.create(host=host, uuid="GPU-1", name="NVIDIA H200")
    Host.objects.create(name="bench-5", last_seen=now - timedelta(days=1))
    return running


@pytest.mark.parametrize(("theme", "width"), SIZES)
def test_a_busy_home_has_no_axe_findings_and_fits(theme, width, team, browser_page, sign_in, axe, overflow, shoot):
    busy_home(team)
    page = browser_page(theme=theme, width=width)
    sign_in(page, get_user_model().objects.get(username="lea"))
    page.goto("/")
    page.get_by_text("This installation").click()
    page.evaluate("scrollTo(0, 0)")
    shoot(page, f"home-busy-{theme}-{width}")
    assert axe(page) == []
    assert overflow(page) == []


@pytest.mark.parametrize(("theme", "width"), SIZES[1:3])
def test_an_empty_home_has_no_axe_findings_and_fits(theme, width, team, browser_page, sign_in, axe, overflow, shoot):
    page = browser_page(theme=theme, width=width)
    for name in ("lea", "vic"):
        sign_in(page, get_user_model().objects.get(username=name))
        page.goto("/")
        shoot(page, f"home-empty-{name}-{theme}-{width}")
        assert axe(page) == []
        assert overflow(page) == []


def test_home_follows_what_runs_and_stops_asking_when_it_has_ended(team, browser_page, sign_in):
    job = busy_home(team)
    Job.objects.exclude(pk=job.pk).delete()
    page = browser_page()
    sign_in(page, get_user_model().objects.get(username="lea"))
    page.goto("/")
    page.get_by_text("Timing, pair 13").wait_for()
    Job.objects.filter(pk=job.pk).update(stage="re-profile")
    page.get_by_text("Re-profile").wait_for()

    run = Run.objects.get(attempts=job.target_id)
    Job.objects.filter(pk=job.pk).update(status="done")
    Run.objects.filter(pk=run.pk).update(status="done", ended=timezone.now())
    page.get_by_role("region", name="Finished since yesterday").get_by_text(f"Run {run.pk}").wait_for()
    assert page.locator("#running").get_attribute("hx-get") is None


@pytest.mark.parametrize(("theme", "width"), SIZES)
def test_settings_have_no_axe_findings_and_fit(theme, width, team, browser_page, sign_in, axe, overflow, shoot):
    project = Project.objects.create(team=team, name="shallow-water-solver", local_only=True)
    asked = {"team": team, "tested": timezone.now(), "sealed_key": b"x"}
    VendorAccess.objects.create(backend="openai", listed=["gpt-5"], **asked)
    VendorAccess.objects.create(backend="ollama", problem="Ollama cannot be reached. Check the address.", **asked)
    page = browser_page(theme=theme, width=width)
    for name, address in (
        ("account", reverse("settings:account")),
        ("team", reverse("settings:team", args=[team.pk])),
        ("models", reverse("settings:models", args=[team.pk])),
        ("project-models", reverse("settings:project_models", args=[project.pk])),
    ):
        sign_in(page, get_user_model().objects.get(username="lea"))
        page.goto(address)
        shoot(page, f"settings-{name}-{theme}-{width}")
        assert axe(page) == []
        assert overflow(page) == []


@pytest.mark.parametrize(("theme", "width"), SIZES[1:3])
def test_a_one_time_password_is_shown_and_used(theme, width, team, valkey, browser_page, sign_in, axe, overflow, shoot):
    page = browser_page(theme=theme, width=width)
    sign_in(page, get_user_model().objects.get(username="lea"))
    page.goto(reverse("settings:team", args=[team.pk]))
    form = page.get_by_role("region", name="Make an account")
    form.get_by_label("Name").fill("zoe")
    form.get_by_role("button").click()
    password = page.locator("#one-time-password").inner_text()
    shoot(page, f"settings-password-{theme}-{width}")
    assert axe(page) == []
    assert overflow(page) == []

    page = browser_page(theme=theme, width=width)
    page.goto(reverse("login"))
    page.get_by_label("Username").fill("zoe")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("New password", exact=True).fill("moths and relays")
    shoot(page, f"choose-password-{theme}-{width}")
    assert axe(page) == []
    page.get_by_label("New password confirmation").fill("moths and relays")
    page.get_by_role("button", name="Keep it and go on").click()
    page.get_by_role("heading", name="Home").wait_for()


def test_somebody_is_taken_out_after_a_question(team, browser_page, sign_in):
    page = browser_page()
    sign_in(page, get_user_model().objects.get(username="lea"))
    page.goto(reverse("settings:team", args=[team.pk]))
    page.get_by_role("button", name="Take out vic").click()
    dialog = page.get_by_role("dialog", name="Take vic out of the team?")
    dialog.get_by_role("button", name="Take out").click()
    page.locator("[data-toasts]").get_by_text("vic is not in the team any more").wait_for()
    assert not team.memberships.filter(user__username="vic").exists()


def test_both_switches_between_light_and_dark_show_the_choice(team, browser_page, sign_in):
    page = browser_page()
    sign_in(page, get_user_model().objects.get(username="lea"))
    page.goto(reverse("settings:account"))
    page.get_by_role("main").get_by_role("button", name="Dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.locator("[name=theme][value=dark][aria-pressed=true]").count() == 2
