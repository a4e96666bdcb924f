"""The attempt page in a real browser: looks, and evidence, lines and changes that lead to each other."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests import attempts

pytestmark = pytest.mark.django_db(transaction=True)
LOOKS = [("light", 360), ("dark", 360), ("light", 1440), ("dark", 1440), ("light", 1920)]


@pytest.fixture
def ada(django_user_model):
    return django_user_model.objects.create_user("ada", password="calipers and gauges")


@pytest.mark.parametrize(("theme", "width"), LOOKS)
@pytest.mark.parametrize("made", [attempts.judged, attempts.recorded], ids=["cpu", "gpu"])
def test_the_page_has_no_axe_findings_and_fits(made, theme, width, browser_page, sign_in, ada, axe, overflow, shoot):
    page = browser_page(theme=theme, width=width)
    sign_in(page, ada)
    page.goto(reverse("reviews:attempt", args=[made(ada).pk]))
    shoot(page, f"attempt-{made.__name__}-{theme}-{width}")
    assert axe(page) == []
    assert overflow(page) == []


def lit(page) -> list[str]:
    """What stands out, by what it is: evidence by its label, lines by their numbers, changes by theirs."""
    return page.evaluate(
        """() => [...document.querySelectorAll("[data-attempt].lit .on")].map((e) => e.dataset.item
        ?? (e.matches(".diff-cell") ? e.id : e.matches(".change-note") ? e.id : "")).filter(Boolean)"""
    )


@pytest.fixture
def gpu(browser_page, sign_in, ada):
    """The GPU sample's attempt; ``open(hash)`` opens it."""
    attempt = attempts.recorded(ada)

    def open_page(mark: str = "", **how):
        page = browser_page(**how)
        sign_in(page, ada)
        page.goto(reverse("reviews:attempt", args=[attempt.pk]) + mark)
        return page

    return open_page


def in_sight(page, selector: str) -> bool:
    return page.evaluate(
        """s => { const box = document.querySelector(s).getBoundingClientRect();
        return box.top >= 0 && box.bottom <= innerHeight }""",
        selector,
    )


def test_evidence_leads_to_its_lines_and_changes_and_a_chip_leads_back(gpu):
    page = gpu()
    assert lit(page) == []
    page.locator("#S1 .item-says").click()
    assert lit(page) == ["S1", "change-2", "f0-L57"]
    assert page.url.endswith("#S1")
    assert in_sight(page, "#f0-L57")
    page.locator("#change-1 a.chip", has_text="S7").first.click()
    assert page.url.endswith("#S7")
    assert lit(page) == ["S7", "change-1", "f0-L39"]
    assert in_sight(page, "#S7")
    assert page.evaluate("document.activeElement.closest('[data-item]').id") == "S7"
    page.go_back()
    assert lit(page) == ["S1", "change-2", "f0-L57"]


def test_an_address_with_a_label_opens_exactly_that_view(gpu):
    page = gpu("#S1")
    assert lit(page) == ["S1", "change-2", "f0-L57"]
    assert in_sight(page, "#f0-L57")
    assert in_sight(page, "#S1")
    assert page.locator("#S1 .chip").first.get_attribute("aria-current") == "true"


def test_the_keyboard_lights_evidence_and_escape_shows_everything(gpu):
    page = gpu()
    page.locator("#R1 .chip").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert lit(page)[0] == "R1"
    assert page.url.endswith("#R1")
    page.keyboard.press("Enter")
    assert "change-2" in lit(page)
    assert page.locator("[data-told]").inner_text() == "R1: 0 lines, 1 change."
    page.keyboard.press("Escape")
    assert lit(page) == []
    assert "#" not in page.url


def test_pointing_shows_for_a_moment_and_leaves_what_was_kept(gpu):
    page = gpu("#S1")
    page.locator("#S2").hover()
    assert lit(page)[0] == "S2"
    assert page.url.endswith("#S1")
    page.locator("h1").hover()
    assert lit(page)[0] == "S1"


def test_pointing_at_a_change_lights_its_evidence_and_no_other_change(gpu):
    page = gpu()
    page.locator("#change-1 > p").hover()
    found = lit(page)
    assert [name for name in found if name.startswith("change")] == ["change-1"]
    assert {name for name in found if name[0] in "RSHN"} == {"R2", "S6", "S7", "S8", "S9"}


def test_what_is_dimmed_can_still_be_read(gpu, axe):
    assert axe(gpu("#S7", theme="dark")) == []
    assert axe(gpu("#S7")) == []


def test_without_a_script_the_anchors_jump(gpu):
    page = gpu(script=False)
    page.locator("#change-1 a.chip", has_text="S7").first.click()
    assert page.url.endswith("#S7")
    page.locator("#S7 a.mono").click()
    assert page.url.endswith("#f0-L39")
    assert page.locator("#f0-L39 code").is_visible()


def test_a_phone_shows_one_column_with_the_new_lines_below_the_old(gpu):
    page = gpu(width=360)
    block = page.locator(".diff-block.change").first
    assert block.evaluate("e => getComputedStyle(e).flexDirection") == "column"
    page.locator("#S7 .chip").first.click()
    assert lit(page) == ["S7", "change-1", "f0-L39"]
    page.locator("#S7 a.mono").click()
    assert in_sight(page, "#f0-L39")
    assert lit(page) == ["S7", "change-1", "f0-L39"]


def test_a_page_that_waits_loads_itself_again_when_the_next_gate_is_there(browser_page, sign_in, ada):
    attempt = attempts.answered("heat2d", ada)
    page = browser_page()
    sign_in(page, ada)
    page.goto(reverse("reviews:attempt", args=[attempt.pk]))
    page.get_by_text("3 of 9 gates so far.").wait_for()
    attempt.gates.create(position=3, name="build", status="passed", reason="Both sides built.", seconds=1.0)
    page.get_by_text("4 of 9 gates so far.").wait_for()


def test_patch_and_receipt_are_downloads(gpu):
    page = gpu()
    for name, start in (("Patch", "--- a/rowrank.cu"), ("Receipt", "{")):
        with page.expect_download() as waiting:
            page.get_by_role("link", name=name).click()
        assert waiting.value.path().read_text().startswith(start)
