from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client, RequestFactory
from django.views.defaults import bad_request, permission_denied, server_error


@pytest.mark.parametrize(
    ("view", "status"),
    [
        (lambda request: bad_request(request, ValueError()), 400),
        (lambda request: server_error(request), 500),
    ],
)
def test_pages_for_broken_requests_need_neither_user_nor_database(view, status):
    response = view(RequestFactory().get("/"))
    assert response.status_code == status
    assert "css/tokens.css" in response.content.decode()
    assert 'href="/"' in response.content.decode()


@pytest.mark.django_db
def test_a_missing_page_says_what_may_have_happened(client):
    page = client.get("/nowhere/")
    assert page.status_code == 404
    assert "belongs to a team that you are not in" in page.content.decode()


@pytest.mark.django_db
def test_a_forbidden_page_says_whom_to_ask(rf):
    request = rf.get("/")
    request.session, request.user = {}, AnonymousUser()
    page = permission_denied(request, ValueError())
    assert page.status_code == 403
    assert "Ask a lead of the team" in page.content.decode()


@pytest.mark.django_db
def test_a_form_without_its_token_gets_the_page_about_expired_forms():
    page = Client(enforce_csrf_checks=True).post("/sign-in/", {"username": "ada"})
    assert page.status_code == 403
    assert "This form has expired" in page.content.decode()
