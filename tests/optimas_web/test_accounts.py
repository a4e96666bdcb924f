from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from projects.models import Membership, Role, Team

pytestmark = pytest.mark.django_db
FIRST = {"username": "ada", "team": "Stencils", "password1": "calipers and gauges", "password2": "calipers and gauges"}


def test_an_empty_installation_leads_to_the_first_account(client):
    assert client.get("/").headers["Location"] == reverse("first_user")
    assert client.get(reverse("first_user")).status_code == 200


def test_the_first_account_owns_a_new_team_joins_the_samples_and_is_signed_in(client, django_user_model):
    samples = Team.objects.create(name="Samples")
    assert client.post(reverse("first_user"), FIRST).headers["Location"] == "/"
    ada = django_user_model.objects.get()
    roles = dict(Membership.objects.filter(user=ada).values_list("team__name", "role"))
    assert roles == {"Stencils": Role.OWNER, samples.name: Role.OWNER}
    assert client.get("/").status_code == 200


def test_there_is_one_first_account_only(client, django_user_model):
    django_user_model.objects.create_user("grace")
    assert client.get(reverse("first_user")).status_code == 404
    assert client.post(reverse("first_user"), FIRST).status_code == 404
    assert get_user_model().objects.count() == 1


def test_a_weak_password_is_told_beside_its_field(client):
    page = client.post(reverse("first_user"), FIRST | {"password1": "12345678", "password2": "12345678"})
    assert "too common" in page.content.decode()
    assert not get_user_model().objects.exists()


def test_strangers_are_led_to_sign_in(client, django_user_model):
    django_user_model.objects.create_user("grace")
    assert client.get("/").headers["Location"] == reverse("login")


def test_signing_in_and_out(client, django_user_model, valkey):
    django_user_model.objects.create_user("grace", password="moths and relays")
    answer = client.post(reverse("login"), {"username": "grace", "password": "moths and relays"})
    assert answer.headers["Location"] == "/"
    assert client.post(reverse("logout")).status_code == 302
    assert client.get("/").status_code == 302


@pytest.mark.parametrize(("chosen", "kept"), [("dark", "dark"), ("light", "light"), ("system", ""), ("<b>", "")])
def test_the_theme_is_kept_in_a_cookie_and_written_into_the_page(client, chosen, kept):
    answer = client.post(reverse("theme"), {"theme": chosen, "next": "/first-user/"})
    assert answer.headers["Location"] == "/first-user/"
    assert answer.cookies["theme"].value == kept
    page = client.get("/first-user/").content.decode()
    assert ("data-theme=" in page) == bool(kept)


def test_choosing_a_theme_does_not_lead_to_other_sites(client):
    assert client.post(reverse("theme"), {"next": "https://example.org/"}).headers["Location"] == "/"
