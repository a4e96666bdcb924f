"""The settings: one's own account, and who may do what in a team."""

from __future__ import annotations

import logging
import re

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from projects.models import Invitation, Membership, Role, Team
from projects.services import create_team

pytestmark = pytest.mark.django_db
NEW_PASSWORD = {"new_password1": "moths and relays", "new_password2": "moths and relays"}


@pytest.fixture
def olga() -> User:
    return get_user_model().objects.create_user("olga", password="calipers")


@pytest.fixture
def team(olga) -> Team:
    """Olga owns it, Lea leads it, Ada works in it, Vic looks."""
    made = create_team("Ponds", olga)
    for name, role in (("lea", Role.LEAD), ("ada", Role.ENGINEER), ("vic", Role.VIEWER)):
        Membership.objects.create(team=made, user=get_user_model().objects.create_user(name), role=role)
    return made


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.get(username=name))
    return client


def roles(team: Team) -> dict[str, str]:
    return dict(team.memberships.values_list("user__username", "role"))


def post(by: str, view: str, team: Team, data: dict[str, str] | None = None, member: str = ""):
    """What the page answers, after redirects."""
    of_whom = [team.memberships.get(user__username=member).pk] if member else []
    return signed_in(by).post(reverse(f"settings:{view}", args=[team.pk, *of_whom]), data or {}, follow=True)


def text(page) -> str:
    return page.content.decode()


# --- seeing -----------------------------------------------------------------------------------


def test_every_member_sees_who_is_in_the_team(team):
    for name in ("olga", "lea", "ada", "vic"):
        page = text(signed_in(name).get(reverse("settings:team", args=[team.pk])))
        assert all(member in page for member in ("olga", "lea", "ada", "vic"))


def test_only_owners_and_leads_are_shown_what_changes_the_team(team):
    for name, sees in (("olga", True), ("lea", True), ("ada", False), ("vic", False)):
        page = text(signed_in(name).get(reverse("settings:team", args=[team.pk])))
        assert ("Make the account" in page) == sees
        assert (reverse("settings:rename_team", args=[team.pk]) in page) == sees


def test_a_person_of_several_teams_finds_each(team, olga):
    other = create_team("Stencils", olga)
    page = text(signed_in("olga").get(reverse("settings:account")))
    assert all(reverse("settings:team", args=[one.pk]) in page for one in (team, other))


def test_a_person_of_no_team_reads_what_to_do():
    get_user_model().objects.create_user("zoe")
    assert "You are in no team" in text(signed_in("zoe").get(reverse("settings:account")))


def test_the_page_asks_the_database_as_often_for_many_members(team, django_assert_max_num_queries):
    people = get_user_model().objects.bulk_create(get_user_model()(username=f"p{n}") for n in range(50))
    Membership.objects.bulk_create(Membership(team=team, user=person, role=Role.STUDENT) for person in people)
    client = signed_in("olga")
    with django_assert_max_num_queries(6):
        client.get(reverse("settings:team", args=[team.pk]))


# --- changing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["ada", "vic"])
def test_whoever_leads_nothing_changes_nothing(team, by):
    before = roles(team)
    for view, member, data in [
        ("rename_team", "", {"name": "Mine"}),
        ("add_member", "", {"name": "zoe", "role": "lead"}),
        ("new_account", "", {"name": "max", "role": "lead"}),
        ("role", by, {"role": "owner"}),
        ("remove_member", "lea", {}),
    ]:
        assert post(by, view, team, data, member).status_code == 403
    team.refresh_from_db()
    assert (team.name, roles(team)) == ("Ponds", before)


@pytest.mark.parametrize("by", ["olga", "lea"])
def test_owners_and_leads_rename_the_team_and_change_roles(team, by):
    assert "Marshes" in text(post(by, "rename_team", team, {"name": "Marshes"}))
    assert "ada is educator from now on" in text(post(by, "role", team, {"role": "educator"}, "ada"))
    assert roles(team)["ada"] == Role.EDUCATOR


def test_a_lead_neither_makes_nor_unmakes_owners(team):
    post("lea", "role", team, {"role": "owner"}, "ada")
    post("lea", "role", team, {"role": "viewer"}, "olga")
    assert "Only an owner says who owns the team" in text(post("lea", "remove_member", team, {}, "olga"))
    post("lea", "add_member", team, {"name": "vic", "role": "owner"})
    assert roles(team) == {"olga": "owner", "lea": "lead", "ada": "engineer", "vic": "viewer"}


def test_a_role_that_does_not_exist_is_not_given(team):
    assert "no such role" in text(post("olga", "role", team, {"role": "emperor"}, "ada"))
    assert roles(team)["ada"] == Role.ENGINEER


def test_the_last_owner_neither_leaves_nor_steps_down(team):
    for view, member, data in (("leave_team", "", {}), ("role", "olga", {"role": "lead"})):
        assert "A team cannot be without an owner" in text(post("olga", view, team, data, member))
    assert roles(team)["olga"] == Role.OWNER
    post("olga", "role", team, {"role": "owner"}, "lea")
    assert "You have left the team Ponds" in text(post("olga", "leave_team", team))
    assert "olga" not in roles(team)


def test_anybody_may_leave(team):
    post("vic", "leave_team", team)
    assert "vic" not in roles(team)


def test_who_was_taken_out_sees_nothing_any_more(team):
    assert "ada is not in the team any more" in text(post("lea", "remove_member", team, {}, "ada"))
    assert signed_in("ada").get(reverse("settings:team", args=[team.pk])).status_code == 404


def test_a_member_of_another_team_cannot_be_reached_through_ones_own(team, olga):
    zoe = get_user_model().objects.create_user("zoe")
    hers = create_team("Hers", zoe).memberships.get()
    for view in ("role", "remove_member", "new_password"):
        url = reverse(f"settings:{view}", args=[team.pk, hers.pk])
        assert signed_in("olga").post(url, {"role": "viewer"}).status_code == 404


# --- adding -----------------------------------------------------------------------------------


def test_an_account_is_added_by_its_name_whatever_the_case(team):
    get_user_model().objects.create_user("Zoe")
    assert "Zoe is in the team as viewer" in text(post("lea", "add_member", team, {"name": "zoe", "role": "viewer"}))


@pytest.mark.parametrize(
    ("name", "why"), [("nobody", "There is no account called nobody"), ("ada", "ada is in the team already")]
)
def test_who_cannot_be_added_is_told_beside_the_field(team, name, why):
    page = post("lea", "add_member", team, {"name": name, "role": "viewer"})
    assert page.status_code == 422
    assert why in text(page)
    assert roles(team)["ada"] == Role.ENGINEER


@pytest.mark.parametrize(
    ("name", "why"), [("ADA", "There is an account called ADA already"), ("a b", "Enter a valid username")]
)
def test_an_account_with_a_bad_name_is_not_made(team, name, why):
    page = post("lea", "new_account", team, {"name": name, "role": "engineer"})
    assert page.status_code == 422
    assert why in text(page)


def new_account(team: Team) -> str:
    """Max's one-time password."""
    page = post("lea", "new_account", team, {"name": "max", "role": "engineer"})
    assert "no-store" in page.headers["Cache-Control"]
    return password_on(page)


def password_on(page) -> str:
    (password,) = re.findall(r'id="one-time-password">([\w-]+)<', text(page))
    return password


def sign_in(client: Client, password: str):
    return client.post(reverse("login"), {"username": "max", "password": password})


def test_a_one_time_password_opens_nothing_but_the_choice_of_a_password(team, client, valkey):
    password = new_account(team)
    assert roles(team)["max"] == Role.ENGINEER
    assert sign_in(client, password).headers["Location"] == reverse("choose_password")
    assert client.get("/").status_code == 302
    assert client.get(reverse("choose_password")).status_code == 200

    assert client.post(reverse("choose_password"), NEW_PASSWORD).headers["Location"] == "/"
    assert client.get("/").status_code == 200
    assert not Invitation.objects.exists()
    assert sign_in(Client(), password).status_code == 200
    assert sign_in(Client(), "moths and relays").headers["Location"] == "/"


def test_the_password_is_on_one_page_only(team, client, valkey):
    password = new_account(team)
    page = text(signed_in("lea").get(reverse("settings:team", args=[team.pk])))
    assert password not in page
    assert "has not chosen a password" in page


def test_a_lost_one_time_password_is_renewed_and_the_old_one_closed(team, client, valkey):
    old = new_account(team)
    sign_in(client, old)
    new = password_on(post("olga", "new_password", team, {}, "max"))
    assert client.get(reverse("choose_password")).status_code == 302
    assert client.post(reverse("choose_password"), NEW_PASSWORD).headers["Location"] == reverse("login")
    assert sign_in(Client(), old).status_code == 200
    assert sign_in(Client(), new).headers["Location"] == reverse("choose_password")


def test_nobody_makes_a_password_for_an_account_that_is_in_use(team):
    assert post("olga", "new_password", team, {}, "ada").status_code == 404


def test_a_lead_of_another_team_makes_no_password_for_an_invited_account(team, olga):
    new_account(team)
    mal = get_user_model().objects.create_user("mal")
    other = create_team("Other", mal)
    post("mal", "add_member", other, {"name": "max", "role": "viewer"})
    assert post("mal", "new_password", other, {}, "max").status_code == 404


def test_choosing_a_password_is_closed_to_everybody_else(client):
    assert client.get(reverse("choose_password")).headers["Location"] == reverse("login")


# --- one's own account ------------------------------------------------------------------------


def test_a_person_takes_another_name(team):
    page = signed_in("ada").post(reverse("settings:account"), {"name": "ada.l"}, follow=True)
    assert "You are called ada.l from now on" in text(page)
    assert "ada.l" in roles(team)


def test_the_name_of_somebody_else_is_not_to_be_had(team):
    page = signed_in("ada").post(reverse("settings:account"), {"name": "LEA"})
    assert page.status_code == 422
    assert "There is an account called LEA already" in text(page)
    assert "ada" in roles(team)


# --- the log ----------------------------------------------------------------------------------


def test_every_change_of_who_may_do_what_is_in_the_log(team, caplog):
    caplog.set_level(logging.INFO, "optimas.audit")
    get_user_model().objects.create_user("zoe")
    post("olga", "rename_team", team, {"name": "Mar\nshes"})
    post("olga", "add_member", team, {"name": "zoe", "role": "viewer"})
    post("olga", "role", team, {"role": "lead"}, "zoe")
    post("olga", "remove_member", team, {}, "zoe")
    new_account(team)
    lines = [record.getMessage() for record in caplog.records if record.name == "optimas.audit"]
    assert lines == [
        f"olga renamed team {team.pk} from 'Ponds' to 'Mar\\nshes'",
        f"olga added zoe to team {team.pk} as viewer",
        f"olga made zoe lead of team {team.pk}, was viewer",
        f"olga took zoe, lead, out of team {team.pk}",
        "lea made the account max",
        f"lea added max to team {team.pk} as engineer",
    ]
