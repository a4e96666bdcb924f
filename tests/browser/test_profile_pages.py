"""The profile and its source in a real browser: looks, keyboard, hover text, and reading without a script."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from django.urls import reverse

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))
from profile_rows import heat2d, rowrank  # noqa: E402

from analysis.models import Kernel  # noqa: E402

pytestmark = pytest.mark.django_db(transaction=True)
SIZES = [("light", 360), ("dark", 360), ("light", 1440), ("dark", 1440)]


@pytest.fixture
def ada(django_user_model):
    return django_user_model.objects.create_user("ada", password="calipers and gauges")


@pytest.fixture
def opened(browser_page, sign_in, ada):
    """Opens a page of a profile: ``opened("source", profile, "?kernel=2#L40", width=360)``."""

    def open_page(name, profile, rest="", **how):
        page = browser_page(**how)
        sign_in(page, ada)
        # A cold cache and a busy machine: the chart script alone is 5 MB.
        page.goto(reverse(f"analysis:{name}", args=[profile.pk]) + rest, timeout=30_000)
        return page

    return open_page


@pytest.mark.parametrize(("theme", "width"), SIZES)
@pytest.mark.parametrize("make", [rowrank, heat2d], ids=["gpu", "cpu"])
@pytest.mark.parametrize("name", ["profile", "source"])
def test_a_page_has_no_axe_findings_and_fits(name, make, theme, width, opened, ada, axe, overflow, shoot):
    page = opened(name, make(ada), theme=theme, width=width)
    if name == "profile" and make is rowrank:
        page.locator(".main-svg").first.wait_for()
    shoot(page, f"{name}-{make.__name__}-{theme}-{width}")
    assert axe(page) == []
    assert overflow(page) == []


def test_the_keyboard_goes_from_hot_line_to_hot_line(opened, ada):
    page = opened("source", rowrank(ada))
    here = page.locator(".code li.here")
    assert here.get_attribute("data-line") == "57"  # the costliest
    page.get_by_role("button", name="Next hot line").focus()
    page.keyboard.press("n")
    assert here.get_attribute("data-line") == "58"
    assert page.evaluate("document.activeElement.textContent") == "58"
    assert page.url.endswith("#L58")
    assert page.locator(".line-note:visible h2").inner_text() == "Line 58"
    page.keyboard.press("p")
    page.keyboard.press("p")
    assert here.get_attribute("data-line") == "56"
    page.get_by_role("button", name="Next hot line").click()
    assert here.get_attribute("data-line") == "57"


def test_any_line_with_a_share_tells_its_reasons(opened, ada):
    page = opened("source", rowrank(ada))
    page.locator("#L44 code").click()
    assert "Line 44: 0.1" in page.locator("[data-line-told]").inner_text()
    page.locator("#L65 a").click()
    assert page.locator("[data-line-told]").is_hidden()
    assert "barrier" in page.locator(".line-note:visible").inner_text()


def test_an_address_with_a_line_or_an_evidence_id_opens_it(opened, ada):
    profile = rowrank(ada)
    page = opened("source", profile, "?kernel=1#L58")
    assert page.locator(".code li.here").get_attribute("data-line") == "58"
    page = opened("source", profile, "?kernel=1#S3")
    assert page.locator(".code li.here").get_attribute("data-line") == "59"


def test_a_chip_leads_to_its_line_and_back(opened, ada):
    page = opened("profile", rowrank(ada))
    page.locator("#S1 a.chip").click()
    page.wait_for_url("**/source/**#L57")
    page.locator(".line-note:visible a.chip", has_text="S1").click()
    page.wait_for_url("**#S1")
    assert page.locator("#S1").evaluate("(item) => item.matches(':target')")


def test_only_hot_lines_can_be_shown(opened, ada):
    page = opened("source", rowrank(ada))
    page.get_by_label("Show only hot").check()
    shown = page.locator(".code li:visible").evaluate_all("(lines) => lines.map((line) => line.id)")
    assert shown == ["L53", "L56", "L57", "L58", "L59", "L65"][-len(shown) :]
    assert len(shown) >= 5


def test_both_pages_can_be_read_without_a_script(opened, ada):
    profile = rowrank(ada)
    page = opened("source", profile, script=False)
    assert page.locator(".line-note").count() >= 5
    assert page.get_by_role("button", name="Next hot line").is_hidden()
    page = opened("profile", profile, script=False)
    assert page.get_by_text("This chart is drawn by a script.").is_visible()
    page.get_by_text("The numbers as a table").click()
    assert page.get_by_role("cell", name="415 Gflop/s").is_visible()


NAME = "void applyAll<Halve<float>, float>(T2 *, int) & row<br> sum<b>(int) &lt; %{x}"


def test_hover_text_shows_every_character_of_a_name(opened, ada):
    profile = rowrank(ada)
    Kernel.objects.filter(profile=profile, rank=2).update(name=NAME)
    page = opened("profile", profile)
    page.locator(".points path").first.wait_for()
    page.locator(".chart-draw").scroll_into_view_if_needed()
    box = page.locator(".points path").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    label = page.locator(".hoverlayer .hovertext")
    label.wait_for()
    lines = label.locator("text.nums tspan.line").evaluate_all("(lines) => lines.map((line) => line.textContent)")
    assert "".join(lines).startswith(NAME)
    assert page.locator(".chart .legend").inner_text().strip() == NAME


def test_a_chart_follows_the_width_and_the_theme(opened, ada):
    page = opened("profile", rowrank(ada))
    drawn = page.locator(".chart-draw .main-svg").first
    drawn.wait_for()
    page.set_viewport_size({"width": 700, "height": 900})
    box = page.locator(".chart-draw")
    until(page, lambda: drawn.bounding_box()["width"] < 660)
    until(page, lambda: abs(drawn.bounding_box()["width"] - box.bounding_box()["width"]) < 2)
    tick = page.locator(".xtick text").first
    light = tick.evaluate("(tick) => getComputedStyle(tick).fill")
    page.emulate_media(color_scheme="dark")
    until(page, lambda: tick.evaluate("(tick) => getComputedStyle(tick).fill") != light)


def until(page, check) -> None:
    """Wait for something that only a script of the page brings about; its policy lets us put none into it."""
    for _ in range(100):
        if check():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it never came")
