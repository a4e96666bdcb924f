"""The people of the page tests: Ada, an engineer; Lea, who leads her team; Vic, who may only look; Zoe, a stranger."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from projects.models import Membership, Role, Team


@dataclass(frozen=True)
class Cast:
    team: Team
    ada: User
    lea: User
    vic: User
    zoe: User


def make_cast() -> Cast:
    team = Team.objects.create(name="Ponds")
    people = {name: get_user_model().objects.create_user(name) for name in ("ada", "lea", "vic", "zoe")}
    for name, role in (("ada", Role.ENGINEER), ("lea", Role.LEAD), ("vic", Role.VIEWER)):
        Membership.objects.create(team=team, user=people[name], role=role)
    return Cast(team, **people)
