"""A real Chromium against the live site, on loopback only.

``browser_page(theme=..., width=...)`` opens a page of a fresh context; ``sign_in(page, user)`` puts a session into it;
``shoot(page, name)`` keeps a picture in ``$OPTIMAS_SHOTS`` (nothing without it); ``axe(page)`` returns what axe-core
finds, one sentence each. A test that used ``browser_page`` fails when the page wrote an error to its console, which a
breach of the content policy and a missing file do too; ``expected`` holds words of errors that belong to the test.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.sessions.backends.db import SessionStore

PATHS = ("chromium", "chromium-browser", "google-chrome")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
]
HEIGHT = 900


def chromium_path() -> str | None:
    return os.environ.get("OPTIMAS_CHROMIUM") or next(filter(None, map(shutil.which, PATHS)), None)


@pytest.fixture(scope="session")
def chromium():
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium found: apt-get install chromium, or name one in OPTIMAS_CHROMIUM")
    from playwright.sync_api import sync_playwright

    # Playwright's event loop runs in this thread until the session ends; Django would refuse its database beside one.
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


def trouble(page, line, expected: Sequence[str]) -> list[str]:
    """An error in the console, unless it is that the page itself was refused, as strangers' pages are, or expected."""
    refused = re.search(r"status of 4\d\d", line.text) and line.location["url"] == page.url
    fine = refused or any(words in line.text for words in expected)
    return [f"{page.url}: {line.text}"] if line.type == "error" and not fine else []


@pytest.fixture
def browser_page(chromium, live_server) -> Iterator[Callable]:
    troubles: list[str] = []
    contexts = []

    def open_page(*, theme: str = "light", width: int = 1440, script: bool = True, expected: Sequence[str] = ()):
        context = chromium.new_context(
            base_url=live_server.url,
            color_scheme=theme,
            viewport={"width": width, "height": HEIGHT},
            java_script_enabled=script,
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda line: troubles.extend(trouble(page, line, expected)))
        page.on("pageerror", lambda error: troubles.append(f"{page.url}: {error}"))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture
def sign_in(live_server) -> Callable:
    def put_session(page, user: AbstractBaseUser) -> None:
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.save()
        page.context.add_cookies([{"name": "sessionid", "value": session.session_key, "url": live_server.url}])

    return put_session


@pytest.fixture
def shoot() -> Callable:
    def keep(page, name: str) -> None:
        if folder := os.environ.get("OPTIMAS_SHOTS"):
            page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)

    return keep


@pytest.fixture(scope="session")
def axe() -> Callable:
    from axe_playwright_python.sync_playwright import Axe

    def find(page) -> list[str]:
        found = Axe().run(page).response["violations"]
        return [f"{v['id']}: {node['html'][:160]} ({node['failureSummary']})" for v in found for node in v["nodes"]]

    return find


@pytest.fixture
def overflow() -> Callable:
    """Elements that stick out of the page to the right; none, or the page scrolls sideways."""

    def find(page) -> list[str]:
        return page.evaluate(
            """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("body *")]
            .filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 8)
            .map((e) => `${e.tagName}.${e.getAttribute("class")} ${Math.round(e.getBoundingClientRect().right)}`)
            .concat(`page is ${document.documentElement.scrollWidth} wide`)"""
        )

    return find
