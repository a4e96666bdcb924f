from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

from optimas_web.style import GROUPS

pytestmark = pytest.mark.django_db
NAMES = [name for names in GROUPS.values() for name in names]


@pytest.fixture
def page(admin_client) -> str:
    return admin_client.get("/style/").content.decode()


def test_the_style_page_shows_every_specimen_file_with_its_source(page):
    assert sorted(NAMES) == sorted(path.stem for path in (settings.BASE_DIR / "templates/style").glob("*.html"))
    for name in NAMES:
        assert f'id="{name}"' in page
        assert f'id="{name}-source"' in page


def test_every_part_is_on_the_style_page_or_in_the_shell_of_all_pages():
    parts = {path.name for path in (settings.BASE_DIR / "templates/parts").glob("*.html")}
    used = re.findall(r'parts/(\w+\.html)"', all_templates_and_tags())
    assert parts == set(used)


def all_templates_and_tags() -> str:
    files = [*(settings.BASE_DIR / "templates").rglob("*.html"), *Path(settings.BASE_DIR).glob("optimas_web/**/*.py")]
    return "\n".join(file.read_text() for file in files)


def test_no_template_holds_inline_script_or_style():
    source = "\n".join(path.read_text() for path in (settings.BASE_DIR / "templates").rglob("*.html"))
    assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", source)


def test_every_icon_asked_for_is_drawn_and_shown(page):
    drawn = re.findall(r'<symbol id="([\w-]+)"', (settings.BASE_DIR / "static/icons.svg").read_text())
    assert all(f'icons.svg#{name}"' in page for name in drawn)
    assert set(re.findall(r'{% icon "([\w-]+)"', all_templates_and_tags())) <= set(drawn)


def test_the_style_page_is_for_those_who_are_signed_in(client):
    assert client.get("/style/").status_code == 302


def test_a_polled_part_ends_with_status_286_and_asks_no_more(admin_client):
    asks = [admin_client.get(f"/style/poll/?step={step}") for step in range(3)]
    assert [answer.status_code for answer in asks] == [200, 200, 286]
    assert ["hx-get" in answer.content.decode() for answer in asks] == [True, True, False]
