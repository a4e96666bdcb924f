"""The first account, and the choice of light or dark."""

from __future__ import annotations

from django import forms
from django.contrib.auth import get_user_model, login
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from projects.models import Membership, Role, Team
from projects.services import create_team

SAMPLES = "Samples"  # the team that ./optimas up runs the samples in
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
    for samples in Team.objects.filter(name=SAMPLES):
        Membership.objects.create(team=samples, user=user, role=Role.OWNER)
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
