"""The looks of every page that stands without data: no axe finding, no sideways scroll, nothing in the console."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.django_db(transaction=True)
SIZES = [("light", 360), ("dark", 360), ("light", 1440), ("dark", 1440)]


@pytest.fixture
def ada(django_user_model):
    return django_user_model.objects.create_user("ada", password="calipers and gauges")


@pytest.mark.parametrize(("theme", "width"), SIZES)
@pytest.mark.parametrize("path", ["/style/", "/", "/password/", "/nowhere/"])
def test_a_page_has_no_axe_findings_and_fits(path, theme, width, browser_page, sign_in, ada, axe, overflow, shoot):
    page = browser_page(theme=theme, width=width)
    sign_in(page, ada)
    page.goto(path)
    shoot(page, f"{path.strip('/') or 'home'}-{theme}-{width}")
    assert axe(page) == []
    assert overflow(page) == []


@pytest.mark.parametrize(("theme", "width"), SIZES)
def test_signing_in_has_no_axe_findings_and_fits(theme, width, browser_page, ada, valkey, axe, overflow, shoot):
    page = browser_page(theme=theme, width=width)
    page.goto("/sign-in/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").wait_for()
    shoot(page, f"sign-in-{theme}-{width}")
    assert axe(page) == []
    assert overflow(page) == []


@pytest.mark.parametrize(("theme", "width"), SIZES)
def test_making_the_first_account_has_no_axe_findings_and_fits(theme, width, browser_page, axe, overflow, shoot):
    page = browser_page(theme=theme, width=width)
    page.goto("/")
    page.get_by_role("button", name="Make the account").wait_for()
    shoot(page, f"first-user-{theme}-{width}")
    assert axe(page) == []
    assert overflow(page) == []
