"""The settings of models: keys that are written and never read, limits, and what a project allows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from optimizer.models import Charge, VendorAccess
from projects.models import Project
from tests.cast import Cast, make_cast
from tests.optimizer.asking import error
from tests.optimizer.vendors import DIALECTS, serving

pytestmark = pytest.mark.django_db
KEY = "sk-local-0123456789"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def address(cast: Cast, view: str = "models", *more: object) -> str:
    return reverse(f"settings:{view}", args=[cast.team.pk, *more])


def keep(client: Client, cast: Cast, name: str = "openai", **values: str) -> Any:
    return client.post(address(cast, "save_vendor", name), {"base_url": "", "key": ""} | values, follow=True)


def test_a_key_is_kept_tested_and_never_shown_again(cast: Cast):
    client = signed_in(cast.lea)
    with serving(DIALECTS["openai"].models) as vendor:
        page = keep(client, cast, base_url=f"{vendor.address}/v1", key=KEY)
    assert "OpenAI answers, and has 1 model for you." in page.content.decode()
    assert "a key is kept" in page.content.decode()
    assert KEY not in page.content.decode()
    row = VendorAccess.objects.get()
    assert (row.changed_by, row.listed) == (cast.lea, ["m-1"])
    assert KEY.encode() not in bytes(row.sealed_key)


def test_a_key_that_was_sent_wrong_is_not_sent_back(cast: Cast):
    page = keep(signed_in(cast.lea), cast, base_url="nonsense", key=KEY)
    assert page.status_code == 422
    assert "nonsense is no address." in page.content.decode()
    assert KEY not in page.content.decode()
    assert not VendorAccess.objects.exists()


def test_what_is_needed_is_asked_for(cast: Cast):
    client = signed_in(cast.lea)
    assert keep(client, cast).status_code == 422  # OpenAI wants a key
    assert keep(client, cast, "openai_compatible").status_code == 422  # and nobody knows where this one is
    assert client.post(address(cast, "save_vendor", "replay"), {"key": KEY}).status_code == 404


def test_a_test_that_fails_says_why_and_one_button_tries_again(cast: Cast):
    client = signed_in(cast.lea)
    with serving(error(401), DIALECTS["ollama"].models) as vendor:
        assert "refuses the key" in keep(client, cast, "ollama", base_url=vendor.address).content.decode()
        page = client.post(address(cast, "test_vendor", "ollama"), follow=True).content.decode()
    assert "Ollama answers, and has 1 model for you." in page
    assert VendorAccess.objects.get().problem == ""


def test_a_key_can_be_forgotten(cast: Cast):
    VendorAccess.objects.create(team=cast.team, backend="openai", sealed_key=b"x")
    client = signed_in(cast.lea)
    client.post(address(cast, "forget_vendor", "openai"))
    assert not VendorAccess.objects.exists()
    assert client.post(address(cast, "forget_vendor", "openai")).status_code == 404


def test_who_does_not_lead_sees_how_it_is_and_changes_nothing(cast: Cast):
    VendorAccess.objects.create(team=cast.team, backend="openai", sealed_key=b"x")
    project = Project.objects.create(team=cast.team, name="ponds")
    client = signed_in(cast.ada)
    page = client.get(address(cast)).content.decode()
    assert "a key is kept" in page
    assert 'type="password"' not in page
    for view in ("save_vendor", "test_vendor", "forget_vendor"):
        assert client.post(address(cast, view, "openai"), {"key": KEY}).status_code == 403
    assert client.post(address(cast, "team_budget"), {"budget_usd": "5"}).status_code == 403
    own = reverse("settings:project_models", args=[project.pk])
    assert "everybody" in client.get(own).content.decode()
    assert client.post(own, {"local_only": "on"}).status_code == 403


def test_a_lead_sets_what_the_team_may_spend(cast: Cast):
    client = signed_in(cast.lea)
    Charge.objects.create(team=cast.team, most_usd=Decimal("3.5"), cost_usd=Decimal("1.25"))
    page = client.post(address(cast, "team_budget"), {"budget_usd": "20"}, follow=True).content.decode()
    assert "1.25 USD" in page and "20.00 USD" in page
    assert client.post(address(cast, "team_budget"), {"budget_usd": "-1"}).status_code == 422
    client.post(address(cast, "team_budget"), {"budget_usd": ""})
    cast.team.refresh_from_db()
    assert cast.team.budget_usd is None


def test_a_lead_says_what_a_project_allows(cast: Cast):
    project = Project.objects.create(team=cast.team, name="ponds")
    client, own = signed_in(cast.lea), reverse("settings:project_models", args=[project.pk])
    sent = {"local_only": "on", "vendors_allowed": ["ollama", "paste"], "budget_usd": "2.50"}
    assert client.post(own, sent).status_code == 302
    project.refresh_from_db()
    assert (project.local_only, project.vendors_allowed, project.budget_usd) == (
        True,
        ["ollama", "paste"],
        Decimal("2.5"),
    )
    assert client.post(own, {"vendors_allowed": ["nobody"]}).status_code == 422
