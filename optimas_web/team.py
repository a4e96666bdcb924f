"""The settings of a team: its name, who is in it, and what they may do."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST, require_safe

from optimas_web.errors import UserError
from projects import services
from projects.models import Invitation, Membership, Role, Team

MAY = {
    Role.OWNER: "everything a lead may, and say who owns the team",
    Role.LEAD: "decide on changes, and say who is in the team",
    Role.ENGINEER: "make projects, start runs, paste answers",
    Role.EDUCATOR: "what an engineer may",
    Role.STUDENT: "look",
    Role.VIEWER: "look",
}


class TeamForm(forms.Form):
    name = forms.CharField(max_length=100, label="Name of the team")


class RoleForm(forms.Form):
    """``by`` gives no role that only an owner may give."""

    role = forms.ChoiceField(initial=Role.ENGINEER)

    def __init__(self, by: Membership, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["role"]
        field.choices = [choice for choice in Role.choices if by.role == Role.OWNER or choice[0] != Role.OWNER]


class AddForm(RoleForm):
    name = forms.CharField(max_length=150, help_text="As they sign in.")
    field_order = ("name", "role")

    def clean_name(self) -> User:
        name = self.cleaned_data["name"]
        user = User.objects.filter(username__iexact=name, is_active=True).first()
        if user is None:
            raise forms.ValidationError(f"There is no account called {name}.")
        return user


class NewAccountForm(RoleForm):
    name = forms.CharField(
        max_length=150,
        validators=[User.username_validator],
        help_text="They sign in with it: letters, digits and <code>@ . + - _</code>",
    )
    field_order = ("name", "role")


# --- looking ----------------------------------------------------------------------------------


@login_required
@require_safe
def team(request: HttpRequest, pk: int) -> HttpResponse:
    return show(request, entered(request, pk))


def entered(request: HttpRequest, pk: int) -> Membership:
    """The membership of whoever asks, in the team that is asked for."""
    mine = Membership.objects.visible_to(request.user).select_related("team", "user")
    return get_object_or_404(mine, team=pk, user=request.user.pk)


def leading(request: HttpRequest, pk: int) -> Membership:
    """404 to strangers, 403 to members who lead nothing."""
    me = entered(request, pk)
    if not me.is_lead:
        raise PermissionDenied
    return me


def show(request: HttpRequest, me: Membership, status: int = 200, **bound: forms.Form) -> HttpResponse:
    """The page. Forms that could not be taken are shown as they came, instead of empty ones."""
    members = me.team.memberships.select_related("user__invitation").order_by("user__username")
    context = {
        "me": me,
        "team": me.team,
        "tabs": tabs(request, me.team),
        "members": [(member, role_form(member, me)) for member in members],
        "may": [(role.label, MAY[role]) for role in Role],
        "name_form": TeamForm(initial={"name": me.team.name}, auto_id="team-%s"),
        "add_form": AddForm(me, auto_id="add-%s"),
        "new_form": NewAccountForm(me, auto_id="new-%s"),
        **bound,
    }
    return render(request, "optimas_web/team.html", context, status=status)


def role_form(member: Membership, by: Membership) -> RoleForm | None:
    """None where ``by`` may not change this member's role."""
    if not by.is_lead or (member.role == Role.OWNER and by.role != Role.OWNER):
        return None
    return RoleForm(by, initial={"role": member.role}, auto_id=f"role-{member.pk}-%s")


def tabs(request: HttpRequest, here: Team | None) -> list[tuple[str, str, None, bool]]:
    """The account, then every team of the user."""
    teams = Team.objects.visible_to(request.user).order_by("name", "pk")
    links = [(found.name, reverse("settings:team", args=[found.pk]), None, found == here) for found in teams]
    return [("My account", reverse("settings:account"), None, here is None), *links]


# --- changing ---------------------------------------------------------------------------------


@login_required
@require_POST
def rename(request: HttpRequest, pk: int) -> HttpResponse:
    me = leading(request, pk)
    form = TeamForm(request.POST, auto_id="team-%s")
    if not form.is_valid():
        return show(request, me, 422, name_form=form)
    services.rename_team(me.team, form.cleaned_data["name"], me)
    messages.success(request, f"The team is called {me.team.name} from now on.")
    return back(me)


@login_required
@require_POST
def add(request: HttpRequest, pk: int) -> HttpResponse:
    """Somebody who has an account joins the team."""
    me = leading(request, pk)
    form = AddForm(me, request.POST, auto_id="add-%s")
    try:
        if form.is_valid():
            member = services.add_member(me.team, form.cleaned_data["name"], form.cleaned_data["role"], me)
            messages.success(request, f"{member.user} is in the team as {member.get_role_display().lower()}.")
            return back(me)
    except UserError as error:
        form.add_error("name", str(error))
    return show(request, me, 422, add_form=form)


@login_required
@require_POST
@never_cache
@sensitive_variables("password")
def new_account(request: HttpRequest, pk: int) -> HttpResponse:
    """A new account. Its one-time password is on the answer's page, and nowhere else."""
    me = leading(request, pk)
    form = NewAccountForm(me, request.POST, auto_id="new-%s")
    try:
        if form.is_valid():
            user, password = services.create_member(me.team, form.cleaned_data["name"], form.cleaned_data["role"], me)
            return show_password(request, me, user, password)
    except UserError as error:
        form.add_error("name", str(error))
    return show(request, me, 422, new_form=form)


@login_required
@require_POST
@never_cache
@sensitive_variables("password")
def new_password(request: HttpRequest, pk: int, member: int) -> HttpResponse:
    """Another one-time password, for an account of this team that nobody has used yet."""
    me = leading(request, pk)
    user = one_of(me, member).user
    invitation = get_object_or_404(Invitation.objects.visible_to(me.user).filter(team=me.team), user=user)
    return show_password(request, me, user, services.renew_password(invitation, me))


def show_password(request: HttpRequest, me: Membership, user: User, password: str) -> HttpResponse:
    context = {"me": me, "team": me.team, "new_user": user, "password": password, "tabs": tabs(request, me.team)}
    return render(request, "optimas_web/one_time_password.html", context)


@login_required
@require_POST
def role(request: HttpRequest, pk: int, member: int) -> HttpResponse:
    me = leading(request, pk)
    found = one_of(me, member)
    form = RoleForm(me, request.POST)
    if not form.is_valid():
        messages.error(request, f"{found.user} keeps the role: there is no such role to give.")
        return back(me)
    try:
        services.change_role(found, form.cleaned_data["role"], me)
        messages.success(request, f"{found.user} is {found.get_role_display().lower()} from now on.")
    except UserError as error:
        messages.error(request, str(error))
    return back(me)


@login_required
@require_POST
def remove(request: HttpRequest, pk: int, member: int) -> HttpResponse:
    me = leading(request, pk)
    found = one_of(me, member)
    try:
        services.remove_member(found, me)
        messages.success(request, f"{found.user} is not in the team any more.")
    except UserError as error:
        messages.error(request, str(error))
    return back(me)


@login_required
@require_POST
def leave(request: HttpRequest, pk: int) -> HttpResponse:
    me = entered(request, pk)
    try:
        services.remove_member(me, me)
    except UserError as error:
        messages.error(request, str(error))
        return back(me)
    messages.success(request, f"You have left the team {me.team}.")
    return redirect("settings:account")


def one_of(me: Membership, member: int) -> Membership:
    return get_object_or_404(
        Membership.objects.visible_to(me.user).select_related("user", "team"), team=me.team, pk=member
    )


def back(me: Membership) -> HttpResponse:
    return redirect("settings:team", me.team_id)
