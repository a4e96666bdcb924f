"""The rules of a project: everybody in the team sees them, leads set them, and the next prompt and check know."""

from __future__ import annotations

from html import unescape

import pytest
from django.test import Client

from optimizer import guards
from projects.models import Project
from tests.cast import Cast
from tests.pages import address, text

pytestmark = pytest.mark.django_db


def as_posted(**chosen: str) -> dict[str, str]:
    return {rule: guards.guard(rule).DEFAULT for rule in guards.GUARDS} | chosen


@pytest.fixture
def lea(cast: Cast) -> Client:
    client = Client()
    client.force_login(cast.lea)
    return client


@pytest.fixture
def zoe(cast: Cast) -> Client:
    client = Client()
    client.force_login(cast.zoe)
    return client


def test_the_page_says_every_rule_and_what_breaking_it_does(ada, snapshot):
    page = ada.get(address("rules", snapshot))
    words = unescape(text(page))
    assert all(rule in words for rule in guards.GUARDS)
    assert "launch configurations (<<<...>>>)" in words
    assert b"<<<" not in page.content
    assert "Warns: the answer goes on" in words


def test_a_lead_sets_them_and_only_what_differs_is_kept(lea, snapshot):
    answer = lea.post(address("set_rules", snapshot), as_posted(no_op="warn", launch_bounds="block"))
    assert answer.url == address("rules", snapshot)
    project = Project.objects.get(pk=snapshot.project_id)
    assert project.rules == {"no_op": "warn", "launch_bounds": "block"}
    assert guards.severity("no_op", project.rules) == "warn"
    page = text(lea.get(address("rules", snapshot)))
    assert "The rules are set." in page
    lea.post(address("set_rules", snapshot), as_posted())
    assert Project.objects.get(pk=snapshot.project_id).rules == {}


@pytest.mark.parametrize("wrong", [{"region": "sometimes"}, {"escape": ""}])
def test_what_is_no_choice_is_refused(lea, snapshot, wrong):
    answer = lea.post(address("set_rules", snapshot), as_posted() | wrong)
    assert answer.status_code == 422
    assert Project.objects.get(pk=snapshot.project_id).rules == {}


def test_who_does_not_lead_sets_nothing(ada, zoe, snapshot):
    assert ada.post(address("set_rules", snapshot), as_posted(region="off")).status_code == 403
    assert zoe.post(address("set_rules", snapshot), as_posted(region="off")).status_code == 404
    assert Project.objects.get(pk=snapshot.project_id).rules == {}
    assert "Owners and leads" in text(ada.get(address("rules", snapshot)))
