"""What the small scripts do, and what goes without them."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def style_page(browser_page, sign_in, django_user_model):
    def visit(**options):
        page = browser_page(**options)
        sign_in(page, django_user_model.objects.create_user("grace"))
        page.goto("/style/")
        return page

    return visit


def theme_of(page) -> str | None:
    return page.evaluate("document.documentElement.dataset.theme ?? null")


def background(page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_the_chosen_theme_stays_and_can_be_given_back_to_the_system(style_page):
    page = style_page(theme="light")
    light = background(page)
    page.get_by_label("Light or dark").click()
    page.get_by_role("button", name="Dark").click()
    page.locator("html[data-theme=dark]").wait_for()
    page.reload()
    assert theme_of(page) == "dark"
    assert background(page) != light
    page.get_by_label("Light or dark").click()
    page.get_by_role("button", name="As the system").click()
    page.locator("html:not([data-theme])").wait_for()
    assert (theme_of(page), background(page)) == (None, light)


def test_without_script_the_theme_menus_and_sources_work_too(style_page):
    page = style_page(script=False, width=360)
    page.locator("summary[aria-label=Pages]").click()
    assert page.locator(".bar-fold a", has_text="Home").is_visible()
    page.locator("summary[aria-label=Pages]").click()
    page.get_by_label("Light or dark").click()
    page.get_by_role("button", name="Dark").click()
    page.wait_for_url("**/style/")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.locator("#buttons-source summary").click()
    assert page.locator("#buttons-source pre").is_visible()
    assert page.locator("[data-copy]").first.is_hidden()


def test_where_a_number_came_from_opens_by_keyboard_and_by_mouse_and_closes_by_escape(style_page):
    page = style_page()
    number = page.locator("#where-from .why")
    paper = page.get_by_text("gpu__time_duration.sum").first
    number.focus()
    page.keyboard.press("Enter")
    assert paper.is_visible()
    page.keyboard.press("Escape")
    assert paper.is_hidden()
    number.hover()
    assert paper.is_visible()
    number.click()
    page.mouse.move(5, 5)
    assert paper.is_visible()
    page.keyboard.press("Escape")
    assert paper.is_hidden()


def test_messages_show_as_toasts_can_be_dismissed_and_read_again(style_page):
    page = style_page()
    page.get_by_role("button", name="Show messages").click()
    trouble = page.locator(".toasts .notice", has_text="does not build")
    trouble.get_by_role("button", name="Dismiss").click()
    assert trouble.count() == 0
    page.get_by_label("Messages (3)").click()
    assert page.get_by_role("listitem").filter(has_text="does not build").is_visible()


def test_a_dialog_asks_first_and_escape_keeps_everything(style_page, axe):
    page = style_page()
    opener = page.locator("#dialog button").first
    opener.click()
    dialog = page.get_by_role("dialog", name="Cancel this run?")
    assert dialog.is_visible()
    assert axe(page) == []
    dialog.get_by_role("button", name="Keep it").click()
    assert dialog.is_hidden()
    opener.click()
    page.keyboard.press("Escape")
    assert dialog.is_hidden()


def test_a_polled_part_asks_until_it_is_told_to_stop_and_not_while_the_tab_is_hidden(style_page):
    page = style_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/style/poll/" in request.url else None)
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    page.wait_for_timeout(2500)
    assert asked == []
    page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    page.get_by_text("Done: nobody asks any more.").wait_for()
    page.wait_for_timeout(2500)
    assert len(asked) == 3


def test_dropped_files_are_listed_with_their_sizes_before_they_are_sent(style_page):
    page = style_page()
    files = [{"name": f"{name}.cu", "mimeType": "text/plain", "buffer": b"x" * 1640} for name in ("<i>ponds", "rain")]
    page.locator("#program").set_input_files(files)
    assert page.locator("[data-drop-files] li").all_inner_texts() == [
        "<i>ponds.cu\n1.64 kB",
        "rain.cu\n1.64 kB",
        "2 files in all\n3.28 kB",
    ]


def test_the_keyboard_can_skip_to_the_content(style_page):
    page = style_page()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
