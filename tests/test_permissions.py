"""Who reaches what: every address that the URL resolver knows, for everybody.

An address with a parameter that is not in ``FILLED`` fails here, so that nobody adds a page without saying whose it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client, override_settings
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from optimas_web.jobs import Job
from optimizer.models import Attempt
from projects.models import Membership, Role, Team, Upload
from projects.services import store_upload
from tests import attempts

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]

# Addresses that need no account, and why.
PUBLIC = {
    "login": "signs in",
    "logout": "changes nothing for who is signed out",
    "first_user": "is open while there is no account",
    "choose_password": "is open to who has typed a one-time password",
    "healthz": "is asked by supervisors",
    "theme": "is chosen on the sign-in page too",
}
# Files on their way in belong to the one who sends them.
PERSONAL = {"projects:review", "projects:upload", "projects:upload_finish"}
# What everybody may change: only ever something of one's own.
OWN = {"logout", "theme", "password_change", "settings:account", "settings:leave_team", "style"}
# What a viewer may send, since it only shows something.
SHOWS = {"evaluation:new_run_preview"}
METHODS = ("get", "post", "put", "patch", "delete")
NOT_COMPARED = {
    "django_session": "every signed-in request may write there",
    "reviews_receipt": "a receipt is signed when somebody takes it for the first time",
}


@dataclass(frozen=True)
class World:
    """Ada, an engineer, made everything; Lea leads the team; Vic may look; Zoe is in a team of her own."""

    team: Team
    member: Membership
    attempt: Attempt
    upload: Upload
    job: Job
    ada: User
    lea: User
    vic: User
    zoe: User


FILLED: dict[str, Callable[[World], Any]] = {
    "attempts/<int:pk>": lambda world: world.attempt.pk,
    "profiles/<int:pk>": lambda world: world.attempt.run.profile_id,
    "profiles/<int:pk>/evidence/<str:label>": lambda world: world.attempt.run.profile.evidence.all()[0].label,
    "projects/<int:pk>": lambda world: world.attempt.run.snapshot.project_id,
    "projects/<int:pk>/profiles/<int:profile>": lambda world: world.attempt.run.profile_id,
    "projects/new/<int:pk>": lambda world: world.upload.pk,
    "projects/uploads/<int:pk>": lambda world: world.upload.pk,
    "projects/<int:project_id>": lambda world: world.attempt.run.snapshot.project_id,
    "runs/<int:pk>": lambda world: world.attempt.run_id,
    "runs/<int:pk>/logs/<int:job>": lambda world: world.job.pk,
    "settings/projects/<int:pk>": lambda world: world.attempt.run.snapshot.project_id,
    "settings/teams/<int:pk>": lambda world: world.team.pk,
    "settings/teams/<int:pk>/members/<int:member>": lambda world: world.member.pk,
    "settings/teams/<int:pk>/models/of/<str:backend>": lambda world: "openai",
}
"""An address up to and with a parameter -> what to put there."""

SENT: dict[str, Callable[[World], dict[str, Any]]] = {
    "projects:upload_begin": lambda world: {"team": world.team.pk, "name": "ponds.cu", "size": 5},
    "projects:sample": lambda world: {"team": world.team.pk, "name": "heat2d"},
}
"""Forms that name the row which they are about: what is sent with a POST."""


@dataclass(frozen=True)
class Address:
    route: str
    name: str
    view: Any

    @property
    def parameters(self) -> list[str]:
        """The route up to and with each parameter."""
        return [self.route[: match.end()] for match in re.finditer(r"<[^>]+>", self.route)]

    def url(self, value: Callable[[str], Any]) -> str:
        """The route with ``value`` of each parameter in its place."""
        pieces = iter(self.parameters)
        return "/" + re.sub(r"<[^>]+>", lambda match: str(value(next(pieces))), self.route)


def walk(entries: list[URLPattern | URLResolver], before: str = "", space: str = "") -> Iterator[Address]:
    for entry in entries:
        route = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            inside = ":".join(filter(None, [space, entry.namespace]))
            yield from walk(entry.url_patterns, route, inside)
        else:
            yield Address(route, ":".join(filter(None, [space, entry.name])), entry.callback)


EVERY = list(walk(get_resolver().url_patterns))
ADMIN = [address for address in EVERY if address.route.startswith("admin/")]
PAGES = [address for address in EVERY if address not in ADMIN]
OBJECTS = [address for address in PAGES if address.parameters]


def each(addresses: list[Address]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("address", addresses, ids=[address.route or "home" for address in addresses])


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any) -> Iterator[World]:
    """Made once, in a transaction that is never committed; what a test changes is undone after it."""
    files = override_settings(UPLOAD_ROOT=tmp_path_factory.mktemp("uploads"))
    with django_db_blocker.unblock(), transaction.atomic(), files:
        yield make_world()
        transaction.set_rollback(True)


def make_world() -> World:
    people = {name: get_user_model().objects.create_user(name) for name in ("ada", "lea", "vic", "zoe")}
    attempt = attempts.judged(people["ada"])
    team = attempt.run.snapshot.project.team
    team.memberships.all().delete()
    roles = {"ada": Role.ENGINEER, "lea": Role.LEAD, "vic": Role.VIEWER}
    members = {name: Membership.objects.create(team=team, user=people[name], role=role) for name, role in roles.items()}
    Membership.objects.create(team=Team.objects.create(name="Elsewhere"), user=people["zoe"], role=Role.OWNER)
    source = attempts.sample("heat2d")["heat2d.cpp"]
    upload = store_upload(team, people["ada"], "heat2d.cpp", len(source), [source])
    job = Job.objects.create(team=team, kind="evaluation.evaluate", target_id=attempt.pk, queue="cpu", status="done")
    return World(team=team, member=members["ada"], attempt=attempt, upload=upload, job=job, **people)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def filled(address: Address, world: World) -> str:
    return address.url(lambda piece: FILLED[piece](world))


def rows() -> dict[str, str]:
    """A hash of the rows of each table."""
    tables = [name for name in connection.introspection.table_names() if name not in NOT_COMPARED]
    with connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(
                f"SELECT '{table}', md5(string_agg(t::text, '' ORDER BY t::text)) FROM \"{table}\" t"  # noqa: S608
                for table in tables
            )
        )
        return dict(cursor.fetchall())


# --- the walk itself --------------------------------------------------------------------------


def test_the_walk_finds_the_pages_that_we_know_of():
    names = {address.name for address in EVERY}
    assert {"home", "settings:team", "reviews:attempt", "admin:index"} <= names
    assert len(OBJECTS) > 10


def test_every_parameter_of_an_address_is_filled_and_nothing_else_is_listed():
    needed = {piece for address in PAGES for piece in address.parameters}
    assert needed == set(FILLED), "say in FILLED which row belongs into a new address"
    assert set(PUBLIC) | OWN | PERSONAL | SHOWS <= {address.name for address in PAGES}
    assert all(address.name for address in PAGES)


def test_an_address_that_cannot_be_filled_is_noticed():
    new = Address("lessons/<int:pk>/steps/<int:step>/", "lesson", None)
    assert new.parameters == ["lessons/<int:pk>", "lessons/<int:pk>/steps/<int:step>"]
    with pytest.raises(KeyError):
        filled(new, None)


def test_no_view_takes_forms_from_other_sites():
    assert [address.route for address in PAGES if getattr(address.view, "csrf_exempt", False)] == []


# --- everybody --------------------------------------------------------------------------------


@each([address for address in PAGES if address.name not in PUBLIC])
@pytest.mark.parametrize("method", METHODS)
def test_who_is_not_signed_in_is_led_to_the_sign_in(address, method, world):
    answer = getattr(Client(), method)(filled(address, world))
    if not (address.name == "home" and answer.status_code == 405):
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith(reverse("login"))


@each(OBJECTS)
def test_a_stranger_is_told_what_everybody_is_told_of_what_does_not_exist(address, world):
    client = signed_in(world.zoe)
    before = rows()
    found = {method: getattr(client, method)(filled(address, world)).status_code for method in METHODS}
    absent = {method: getattr(client, method)(address.url(lambda _: 999_999_999)).status_code for method in METHODS}
    assert found == absent
    assert set(found.values()) <= {404, 405}
    assert 404 in found.values()
    assert rows() == before


@each([address for address in PAGES if address.name in SENT])
def test_a_stranger_names_no_row_of_others_in_a_form(address, world):
    client = signed_in(world.zoe)
    before = rows()
    answer = client.post(filled(address, world), SENT[address.name](world))
    assert answer.status_code in (403, 404)
    assert rows() == before


@each(PAGES)
def test_a_viewer_changes_nothing(address, world):
    client = signed_in(world.vic)
    before = rows()
    looked = client.get(filled(address, world))
    assert looked.status_code < 400 or looked.status_code in (403, 405) or address.name in PERSONAL | set(PUBLIC)
    assert rows() == before
    for method in METHODS[1:]:
        sent = SENT[address.name](world) if method == "post" and address.name in SENT else None
        answer = getattr(client, method)(filled(address, world), sent)
        if address.name not in OWN | set(PUBLIC):
            shown = answer.status_code == 200 and address.name in SHOWS
            assert shown or answer.status_code in (403, 404, 405), f"{method} was answered {answer.status_code}"
            assert rows() == before


@each(OBJECTS)
def test_a_lead_sees_everything_that_an_engineer_made(address, world):
    """405: an address for changes. 403: only leads may."""
    engineer, lead = (signed_in(user).get(filled(address, world)).status_code for user in (world.ada, world.lea))
    assert engineer < 400 or engineer == 405
    assert lead == (404 if address.name in PERSONAL and engineer != 405 else engineer)


# --- the administration -----------------------------------------------------------------------

ADMIN_FILLED = {"app_label": "auth", "object_id": "1", "content_type_id": "1", "id": "1", "url": "x"}


@each(ADMIN)
@pytest.mark.parametrize("who", ["nobody", "lea"])
def test_the_administration_is_for_those_who_look_after_the_site(address, who, world):
    client = Client() if who == "nobody" else signed_in(world.lea)
    names = re.findall(r"<(?:\w+:)?(\w+)>", address.route)
    plain = re.sub(r"\(\?P(<\w+>)[^)]*\)|\\Z|[$^]", r"\1", address.route)
    parts = iter(names)
    url = "/" + re.sub(r"<[^>]+>", lambda _: ADMIN_FILLED[next(parts)], plain)
    for method in METHODS:
        answer = getattr(client, method)(url)
        assert answer.status_code in (302, 404, 405) or address.name in ("admin:login", "admin:jsi18n", "admin:logout")
