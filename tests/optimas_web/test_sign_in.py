from __future__ import annotations

import pytest
from django.urls import reverse

from optimas_web import sign_in

pytestmark = pytest.mark.django_db
PASSWORD = "moths and relays"


@pytest.fixture
def attempt(client, django_user_model, valkey):
    for name in ("grace", "ada"):
        django_user_model.objects.create_user(name, password=PASSWORD)

    def sign_in_as(name: str, password: str, **headers: str):
        return client.post(reverse("login"), {"username": name, "password": password}, **headers)

    return sign_in_as


def fail(attempt, times: int, name: str = "grace", **headers: str) -> None:
    for _ in range(times):
        assert attempt(name, "wrong", **headers).status_code == 200


def test_after_five_wrong_passwords_the_right_one_waits_too(attempt):
    fail(attempt, sign_in.WRONG_PER_NAME)
    refused = attempt("Grace", PASSWORD)
    assert refused.status_code == 200
    assert "Too many wrong passwords" in refused.content.decode()


def test_a_lock_out_holds_one_name_from_one_address(attempt):
    fail(attempt, sign_in.WRONG_PER_NAME)
    assert attempt("grace", PASSWORD, REMOTE_ADDR="192.0.2.7").status_code == 302
    assert attempt("ada", PASSWORD).status_code == 302


def test_one_address_may_not_guess_many_names(attempt, monkeypatch):
    monkeypatch.setattr(sign_in, "WRONG_PER_ADDRESS", 3)
    for name in ("a", "b", "c"):
        fail(attempt, 1, name)
    assert attempt("grace", PASSWORD).status_code == 200


def test_the_right_password_clears_the_count(attempt, client):
    fail(attempt, sign_in.WRONG_PER_NAME - 1)
    assert attempt("grace", PASSWORD).status_code == 302
    client.logout()
    fail(attempt, 1)
    assert "Too many" not in attempt("grace", "wrong").content.decode()


def test_the_count_is_forgotten_after_a_while(attempt, valkey):
    fail(attempt, 1)
    lives = [valkey.ttl(key) for key in valkey.scan_iter("*sign-in*")]
    assert len(lives) == 2
    assert all(0 < life <= sign_in.WINDOW_S for life in lives)


def test_addresses_are_taken_from_a_proxy_only_behind_one(rf, settings):
    request = rf.get("/", headers={"X-Forwarded-For": "198.51.100.1, 203.0.113.9"}, REMOTE_ADDR="10.0.0.2")
    assert sign_in.client_address(request) == "10.0.0.2"
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert sign_in.client_address(request) == "203.0.113.9"
