"""Home and settings as people see them, and what their scripts do."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from projects.models import Membership, Role, Team
from projects.services import create_member, create_team

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


@pytest.mark.parametrize(("theme", "width"), SIZES)
def test_settings_have_no_axe_findings_and_fit(theme, width, team, browser_page, sign_in, axe, overflow, shoot):
    page = browser_page(theme=theme, width=width)
    for name, address in (
        ("account", reverse("settings:account")),
        ("team", reverse("settings:team", args=[team.pk])),
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
