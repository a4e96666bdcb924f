"""Which models a team may ask: keys and addresses, what may be spent, and where a project's sources may go."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from optimas_web.errors import UserError
from optimas_web.team import entered, leading, tabs
from optimizer import services
from optimizer.backends import BACKENDS, Vendor, backend, vendor
from optimizer.models import VendorAccess
from projects.models import Membership, Project

VENDORS = tuple(name for name in BACKENDS if backend(name).ORIGIN == "model")
DOLLARS: dict[str, Any] = {"min_value": Decimal("0.01"), "max_digits": 10, "decimal_places": 2, "required": False}


class AccessForm(forms.Form):
    """The key is never sent back to a browser: an empty field keeps the one that is there."""

    base_url = forms.CharField(required=False, max_length=500, label="Address")
    key = forms.CharField(
        required=False,
        max_length=500,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, name: str, row: VendorAccess | None, data: QueryDict | None = None) -> None:
        super().__init__(data, initial={"base_url": row.base_url if row else ""}, auto_id=f"{name}-%s")
        found = vendor(name)
        has_key = row is not None and row.has_key
        self.fields["key"].help_text = "Empty keeps the one that is there." if has_key else ""
        self.fields["base_url"].widget.attrs["placeholder"] = found.ADDRESS or "https://models.example.com/v1"
        self.fields["base_url"].required = not found.ADDRESS
        self.fields["key"].required = found.NEEDS_KEY and not has_key


class BudgetForm(forms.Form):
    budget_usd = forms.DecimalField(label="USD in a calendar month", help_text="Empty: no limit.", **DOLLARS)


class ProjectForm(forms.Form):
    local_only = forms.BooleanField(
        required=False, label="Local only", help_text="Prompts go to addresses of the private network and nowhere else."
    )
    vendors_allowed = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Who may answer",
        choices=[(name, backend(name).TITLE) for name in BACKENDS],
        help_text="None ticked: everybody.",
    )
    budget_usd = forms.DecimalField(label="USD in all", help_text="Empty: no limit.", **DOLLARS)


@dataclass(frozen=True, slots=True)
class Reached:
    """One vendor on the page. ``form`` is None for who may only look."""

    name: str
    vendor: Vendor
    row: VendorAccess | None
    form: AccessForm | None


# --- looking ----------------------------------------------------------------------------------


@login_required
@require_safe
def team_models(request: HttpRequest, pk: int) -> HttpResponse:
    return show(request, entered(request, pk))


def show(request: HttpRequest, me: Membership, status: int = 200, **bound: forms.Form) -> HttpResponse:
    """The page. ``bound``: forms that could not be taken, by the name of the vendor, or ``budget``."""
    rows = {row.backend: row for row in me.team.vendors.all()}
    context = {
        "me": me,
        "team": me.team,
        "tabs": tabs(request, me.team),
        "reached": [reached(name, rows.get(name), me, bound.get(name)) for name in VENDORS],
        "budget_form": bound.get("budget") or BudgetForm(initial={"budget_usd": me.team.budget_usd}, auto_id="team-%s"),
        "spent": services.caps(me.team)[0].spent_usd,
        "projects": me.team.projects.order_by("name"),
    }
    return render(request, "optimas_web/team_models.html", context, status=status)


def reached(name: str, row: VendorAccess | None, me: Membership, bound: Any) -> Reached:
    return Reached(name, vendor(name), row, (bound or AccessForm(name, row)) if me.is_lead else None)


# --- changing ---------------------------------------------------------------------------------


@login_required
@require_POST
@sensitive_post_parameters("key")
def save(request: HttpRequest, pk: int, backend: str) -> HttpResponse:
    """Keep address and key, and test both."""
    me, row = of_lead(request, pk, backend)
    form = AccessForm(backend, row, request.POST)
    try:
        if form.is_valid():
            values = form.cleaned_data
            kept = services.save_access(me.team, backend, values["base_url"], values["key"].strip(), me.user)
            return told(request, kept)
    except UserError as error:
        form.add_error("base_url", str(error))
    return show(request, me, 422, **{backend: form})


@login_required
@require_POST
def test(request: HttpRequest, pk: int, backend: str) -> HttpResponse:
    _, row = of_lead(request, pk, backend)
    return told(request, services.test_access(present(row)))


@login_required
@require_POST
def forget(request: HttpRequest, pk: int, backend: str) -> HttpResponse:
    me, row = of_lead(request, pk, backend)
    services.forget_access(present(row), me.user)
    messages.success(request, f"Key and address of {vendor(backend).TITLE} are gone.")
    return redirect("settings:models", pk)


@login_required
@require_POST
def budget(request: HttpRequest, pk: int) -> HttpResponse:
    me = leading(request, pk)
    form = BudgetForm(request.POST, auto_id="team-%s")
    if not form.is_valid():
        return show(request, me, 422, budget=form)
    services.set_budget(me.team, form.cleaned_data["budget_usd"], me.user)
    messages.success(request, "What the team may spend is kept.")
    return redirect("settings:models", pk)


def of_lead(request: HttpRequest, pk: int, backend: str) -> tuple[Membership, VendorAccess | None]:
    me = leading(request, pk)
    if backend not in VENDORS:
        raise Http404
    return me, VendorAccess.objects.visible_to(me.user).filter(team=me.team, backend=backend).first()


def present(row: VendorAccess | None) -> VendorAccess:
    if row is None:
        raise Http404
    return row


def told(request: HttpRequest, row: VendorAccess) -> HttpResponse:
    """Back to the page, with what came of the test."""
    title = vendor(row.backend).TITLE
    if row.problem:
        messages.error(request, f"It is kept, but the test failed. {row.problem}")
    else:
        many = "1 model" if len(row.listed) == 1 else f"{len(row.listed)} models"
        messages.success(request, f"{title} answers, and has {many} for you.")
    return redirect("settings:models", row.team_id)


# --- one project ------------------------------------------------------------------------------


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def project(request: HttpRequest, pk: int) -> HttpResponse:
    """Where the project's sources may go, and what may be spent on it. Members look, leads change."""
    row = get_object_or_404(Project.objects.visible_to(request.user).select_related("team"), pk=pk)
    me = entered(request, row.team_id)
    known = {name: getattr(row, name) for name in ("local_only", "vendors_allowed", "budget_usd")}
    form = ProjectForm(request.POST or None, initial=known)
    if request.method == "POST" and not me.is_lead:
        raise PermissionDenied
    if request.method == "POST" and form.is_valid():
        services.set_limits(row, by=me.user, **form.cleaned_data)
        messages.success(request, f"What {row} allows is kept.")
        return redirect("settings:models", row.team_id)
    context = {
        "me": me,
        "project": row,
        "tabs": tabs(request, row.team),
        "form": form,
        "titles": [backend(name).TITLE for name in row.vendors_allowed if name in BACKENDS],
        "spent": services.caps(row.team, row)[1].spent_usd,
    }
    return render(request, "optimas_web/project_models.html", context, status=422 if form.errors else 200)
