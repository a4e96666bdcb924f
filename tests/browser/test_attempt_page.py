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
