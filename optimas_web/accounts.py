"""Accounts: the first one, invited ones, one's own; and the choice of light or dark."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model, login
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import SetPasswordForm, UserCreationForm
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from optimas_web.errors import UserError
from optimas_web.team import tabs
from projects.models import Invitation, Membership
from projects.services import accept_invitation, create_team, rename_user, samples_team

THEMES = ("light", "dark")
YEAR_S = 365 * 24 * 3600
FIRST_USER_LOCK = 0x0971A5  # any number, always the same


class FirstUserForm(UserCreationForm):
    team = forms.CharField(
        max_length=100, label="Name of your team", help_text="Projects belong to teams; you will be its owner."
    )
    field_order = ("username", "team", "password1", "password2")


def nobody_yet() -> bool:
    return not get_user_model().objects.exists()


@transaction.atomic
def make_first_user(form: FirstUserForm) -> User | None:
    """The first account with its team, or None when somebody else was faster."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [FIRST_USER_LOCK])
    if not nobody_yet():
        return None
    form.instance.is_staff = form.instance.is_superuser = True
    user = form.save()
    create_team(form.cleaned_data["team"], user)
    samples_team()
    return user


@sensitive_post_parameters()
def first_user(request: HttpRequest) -> HttpResponse:
    """Open only while there is no account at all."""
    if not nobody_yet():
        raise Http404
    form = FirstUserForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = make_first_user(form)
        if user is not None:
            login(request, user)
        return redirect("home")
    return render(request, "registration/first_user.html", {"form": form})


# --- an account that somebody else made -------------------------------------------------------


def must_choose(request: HttpRequest, user: User) -> bool:
    """Whether the password just typed is a one-time password; then ``choose_password`` is open to this browser."""
    if not Invitation.objects.filter(user=user).exists():
        return False
    request.session["choosing"] = [user.pk, user.get_session_auth_hash()]
    return True


def who_chooses(request: HttpRequest) -> User | None:
    """None when it was too long ago: a password was chosen, or another one-time password was made."""
    pk, proof = request.session.get("choosing", (None, ""))
    user = User.objects.filter(pk=pk, invitation__isnull=False, is_active=True).first()
    return user if user is not None and user.get_session_auth_hash() == proof else None


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def choose_password(request: HttpRequest) -> HttpResponse:
    """A password of one's own in place of the one-time password, which opens nothing else."""
    user = who_chooses(request)
    if user is None:
        return redirect("login")
    form: Any = SetPasswordForm(user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        accept_invitation(user)
        login(request, user)
        return redirect("home")
    return render(request, "registration/choose_password.html", {"form": form, "name": user.get_username()})


# --- one's own account ------------------------------------------------------------------------


class AccountForm(forms.Form):
    name = forms.CharField(
        max_length=150, validators=[User.username_validator], help_text="You sign in with it, and your teams see it."
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    user = get_object_or_404(User, pk=request.user.pk)  # the bar keeps showing the real name while a form is wrong
    form = AccountForm(request.POST or None, initial={"name": user.get_username()})
    if request.method == "POST" and form.is_valid():
        try:
            rename_user(user, form.cleaned_data["name"])
            messages.success(request, f"You are called {user.get_username()} from now on.")
            return redirect("settings:account")
        except UserError as error:
            form.add_error("name", str(error))
    mine = Membership.objects.visible_to(user).filter(user=user).select_related("team").order_by("team__name")
    context = {"form": form, "memberships": mine, "tabs": tabs(request, None)}
    return render(request, "optimas_web/account.html", context, status=422 if form.errors else 200)


# --- light or dark ----------------------------------------------------------------------------


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Light, dark or as the system, for browsers without script; static/js/theme.js does the same at once."""
    target = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = "/"
    response = redirect(target)
    chosen = request.POST.get("theme")
    if chosen in THEMES:
        response.set_cookie("theme", chosen, max_age=YEAR_S, samesite="Lax")
    else:
        response.delete_cookie("theme")
    return response
