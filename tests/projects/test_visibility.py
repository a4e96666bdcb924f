"""Permission is loading: who sees which rows."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import models

from projects.models import Membership, Project, Role, Snapshot, Team, TeamRow

ROOMS = ("optimas_web", "projects", "analysis", "optimizer", "evaluation", "reviews", "studies")
SEEN_BY_ALL = {"Host", "Worker", "Device"}  # machines and their tools: anybody who is signed in

pytestmark = pytest.mark.django_db


def all_models() -> list[type[models.Model]]:
    return [model for room in ROOMS for model in apps.get_app_config(room).get_models()]


def user(name: str) -> models.Model:
    return get_user_model().objects.create_user(name)


@pytest.mark.parametrize("model", all_models(), ids=lambda model: model.__name__)
def test_every_row_belongs_to_a_team_and_its_path_there_holds(model: type[models.Model]) -> None:
    if model.__name__ in SEEN_BY_ALL:
        return
    assert issubclass(model, TeamRow)
    assert list(model.objects.visible_to(user("zoe"))) == []
    assert list(model.objects.visible_to(AnonymousUser())) == []


def test_members_of_every_role_see_their_teams_rows_and_nobody_elses() -> None:
    mine, other = Team.objects.create(name="mine"), Team.objects.create(name="other")
    snapshots = [
        Snapshot.objects.create(project=Project.objects.create(team=team, name="ponds"), sha256="0" * 64, manifest={})
        for team in (mine, other)
    ]
    for role in Role:
        member = user(role)
        Membership.objects.create(team=mine, user=member, role=role)
        assert list(Snapshot.objects.visible_to(member)) == [snapshots[0]]
    assert list(Snapshot.objects.visible_to(user("stranger"))) == []


def test_a_superuser_who_is_no_member_is_a_stranger() -> None:
    team = Team.objects.create(name="mine")
    root = get_user_model().objects.create_superuser("root")
    assert team not in Team.objects.visible_to(root)


@pytest.mark.parametrize("role", list(Role))
def test_roles_say_who_leads_and_who_edits(role: Role) -> None:
    member = Membership(team=Team(name="mine"), role=role)
    assert member.is_lead == (role in ("owner", "lead"))
    assert member.can_edit == (role in ("owner", "lead", "engineer", "educator"))


def test_what_no_database_can_hold_is_stored_as_something_that_can_be_shown() -> None:
    team = Team.objects.create(name="mine")
    rules = {"nan": float("nan"), "inf": [float("inf"), 1.5], "nul": "a\x00b", "byte": "\udc80"}
    project = Project.objects.create(team=team, name="ponds", rules=rules, manifest="x\x00y")
    project.refresh_from_db()
    assert project.rules == {"nan": None, "inf": [None, 1.5], "nul": "a\u2400b", "byte": "\ufffd"}
    assert project.manifest == "x\u2400y"
