"""New run: who may be asked, what it may cost, and a look at the prompt before it leaves."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from analysis.models import Profile
from optimizer.models import Charge, Run, VendorAccess
from optimizer.sealed import seal
from tests import runs
from tests.cast import Cast, make_cast
from tests.evaluation.test_new_run_page import address, filled, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey", "no_heartbeat")]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def profile(cast: Cast) -> Profile:
    return runs.profiled(runs.sample(cast, "heat2d"))


def access(cast: Cast, name: str = "openai", **values: Any) -> VendorAccess:
    known = {"sealed_key": seal("sk-1", settings.SECRET_KEY), "tested": timezone.now(), "listed": ["gpt-5"]}
    return VendorAccess.objects.create(team=cast.team, backend=name, **(known | values))


def shown(client: Client, profile: Profile, **changes: Any) -> str:
    page: str = client.post(address(profile, "new_run_preview"), filled(client, profile, **changes)).content.decode()
    return page


def choice(page: str, name: str) -> str:
    found = re.search(rf'value="{re.escape(name)}"(.*?)</label>', page, re.DOTALL)
    assert found, f"{name} is not offered"
    return found[1]


def test_who_cannot_be_asked_is_shown_with_the_reason(cast: Cast, profile: Profile) -> None:
    access(cast, "gemini", problem="Google Gemini refuses the key.", listed=[])
    access(cast, "anthropic", listed=["another-model"])
    access(cast, "ollama", tested=None)
    page = signed_in(cast.ada).get(address(profile)).content.decode()
    for name, why in (
        ("openai:gpt-5", "The team has no key for OpenAI."),
        ("gemini:gemini-2.5-pro", "Its last test failed. Google Gemini refuses the key."),
        ("anthropic:claude-sonnet-4-6", "It does not offer claude-sonnet-4-6 with this key."),
        ("ollama:llama3.1:70b", "Nobody has tested it yet."),
        ("openai_compatible:", "The team has no address of a model server."),
    ):
        assert "disabled" in choice(page, name)
        assert why in choice(page, name)
    assert "disabled" not in choice(page, "paste")


def test_who_is_closed_is_not_asked_by_a_crafted_form(cast: Cast, profile: Profile) -> None:
    client = signed_in(cast.ada)
    assert client.post(address(profile), filled(client, profile, backend="openai:gpt-5")).status_code == 200
    assert not Run.objects.exists()


def test_a_model_is_chosen_with_what_leaves_and_what_it_may_cost(cast: Cast, profile: Profile) -> None:
    access(cast)
    client = signed_in(cast.ada)
    page = shown(client, profile, backend="openai:gpt-5")
    assert "The prompt leaves this server for OpenAI" in page
    assert re.search(r"At most 0\.3\d USD an answer, and again for each repair", page)
    client.post(address(profile), filled(client, profile, backend="openai:gpt-5", budget_usd="2.50"))
    run = Run.objects.get()
    assert (run.backend, run.options, run.budget_usd) == ("openai", {"model": "gpt-5"}, Decimal("2.50"))


def test_models_of_an_own_server_are_offered_and_send_no_bill(cast: Cast, profile: Profile) -> None:
    access(cast, "ollama", base_url="http://127.0.0.1:11434", listed=["llama3.1:70b", "small-coder:7b"])
    page = shown(signed_in(cast.ada), profile, backend="ollama:small-coder:7b")
    assert "small-coder:7b answers at http://127.0.0.1:11434" in page
    assert "No bill: it runs on an address of yours." in page


def test_a_project_that_stays_local_closes_who_is_elsewhere(cast: Cast, profile: Profile) -> None:
    access(cast, base_url="https://8.8.8.8/v1")
    access(cast, "ollama", base_url="http://127.0.0.1:11434", listed=["llama3.1:70b"])
    cast.team.projects.update(local_only=True)
    page = signed_in(cast.ada).get(address(profile)).content.decode()
    assert "stays on the private network" in choice(page, "openai:gpt-5")
    assert "disabled" not in choice(page, "ollama:llama3.1:70b")


def test_a_cap_that_the_first_request_could_break_stops_the_run(cast: Cast, profile: Profile) -> None:
    access(cast)
    client = signed_in(cast.ada)
    values = filled(client, profile, backend="openai:gpt-5")
    tight = client.post(address(profile), values | {"budget_usd": "0.05"}).content.decode()
    assert "of the 0.05 USD of the run 0.05 USD are left" in tight
    cast.team.budget_usd = Decimal(1)
    cast.team.save()
    Charge.objects.create(team=cast.team, most_usd=Decimal("0.9"))
    assert "of the team for this month 0.10 USD are left" in client.post(address(profile), values).content.decode()
    assert not Run.objects.exists()


def test_a_prompt_with_personal_data_leaves_only_when_somebody_has_said_so(cast: Cast, profile: Profile) -> None:
    access(cast)
    client = signed_in(cast.ada)
    values = filled(client, profile, backend="openai:gpt-5", guidance="Ask ada@engines.co.uk if in doubt.")
    page = client.post(address(profile), values).content.decode()
    assert "mail address" in page and "ada@\u2026" in page
    assert "looks like secrets or personal data" in page
    assert not Run.objects.exists()
    tick = re.search(r'name="send_anyway" value="(\w{64})"', page)
    assert tick
    other = values | {"guidance": "Ask bob@engines.co.uk if in doubt.", "send_anyway": tick[1]}
    client.post(address(profile), other)
    assert not Run.objects.exists()  # it was said of another prompt
    assert client.post(address(profile), values | {"send_anyway": tick[1]}).status_code == 302
    assert Run.objects.count() == 1


def test_what_stays_here_needs_no_tick(cast: Cast, profile: Profile) -> None:
    client = signed_in(cast.ada)
    values = filled(client, profile, backend="paste", guidance="Ask ada@engines.co.uk if in doubt.")
    assert client.post(address(profile), values).status_code == 302
