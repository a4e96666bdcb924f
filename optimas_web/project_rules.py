"""The rules of a project: what an edit may not do, and whether that blocks, warns or is not looked at."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.html import escape
from django.views.decorators.http import require_POST, require_safe

from optimas_web.project_page import seen, shell
from optimizer import guards
from projects.models import LEADS, Membership, Project

SEVERITIES = {
    "block": "Blocks: an answer that breaks it is refused",
    "warn": "Warns: the answer goes on, and a reviewer reads it",
    "off": "Off: not looked at, and not in the prompt",
}


class RulesForm(forms.Form):
    """One choice a rule."""

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for rule in guards.GUARDS:
            default = guards.guard(rule).DEFAULT
            choices = [(each, f"{words} (default)" if each == default else words) for each, words in SEVERITIES.items()]
            self.fields[rule] = forms.ChoiceField(
                choices=choices,
                initial=guards.severity(rule, project.rules),
                label=rule,
                help_text=escape(guards.guard(rule).WORDS.format(targets="the selected functions")),
            )

    def chosen(self) -> dict[str, str]:
        """What differs from the defaults, so that a default that changes one day reaches every project."""
        return {rule: each for rule, each in self.cleaned_data.items() if each != guards.guard(rule).DEFAULT}


@login_required
@require_safe
def rules(request: HttpRequest, pk: int) -> HttpResponse:
    """All rules, their words and what breaking one does."""
    found = seen(request, pk)
    return show(request, found, RulesForm(found))


@login_required
@require_POST
def set_rules(request: HttpRequest, pk: int) -> HttpResponse:
    """Only leads: what a rule lets through, everybody in the team has to review."""
    found = seen(request, pk)
    if not leads(request, found):
        raise PermissionDenied
    form = RulesForm(found, request.POST)
    if not form.is_valid():
        return show(request, found, form, status=422)
    found.rules = form.chosen()
    found.save(update_fields=["rules"])
    messages.success(request, "The rules are set. They hold for every answer that is checked from now on.")
    return redirect("projects:rules", found.pk)


def leads(request: HttpRequest, project: Project) -> bool:
    mine = Membership.objects.visible_to(request.user).filter(team=project.team_id, user=request.user.pk)
    return mine.filter(role__in=LEADS).exists()


def show(request: HttpRequest, found: Project, form: RulesForm, status: int = 200) -> HttpResponse:
    context = {**shell(request, found, "rules"), "form": form, "may_set": leads(request, found)}
    context["rules"] = [(field, SEVERITIES.get(str(field.value()), "")) for field in form]
    return render(request, "optimas_web/project_rules.html", context, status=status)
