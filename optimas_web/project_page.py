"""The pages of a project: its results and runs, its profiles, its versions."""

from __future__ import annotations

import secrets
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evaluation.models import Timing
from optimas_web import project_actions as actions
from optimas_web import project_rows as rows
from optimas_web.by_hand import by_hand
from optimas_web.errors import UserError
from optimas_web.history import History, Result, history
from projects.forms import FilesField, SourcesForm
from projects.models import Project, Snapshot
from projects.services import add_snapshot, manifest_of, may_edit, path_of, take_sources, teams_to_edit
from projects.snapshot import from_upload
from projects.views import SAMPLES, posted, project_to_edit, user_of, way_in

RECENT = 5


class ProfileForm(forms.Form):
    """A report, sent before by script (``upload``) or sent now, and the version that was profiled."""

    snapshot = forms.ModelChoiceField(
        queryset=Snapshot.objects.none(), empty_label=None, label="Version that was profiled"
    )
    upload = forms.IntegerField(required=False, widget=forms.HiddenInput)
    file = FilesField(required=False)

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["snapshot"]
        field.queryset = project.snapshots.order_by("-created")
        field.label_from_instance = lambda row: f"{row.sha256[:12]}, of {row.created:%Y-%m-%d %H:%M}"

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not self.errors and not data.get("upload") and len(data.get("file") or ()) != 1:
            self.add_error(None, "Drop or choose one report.")
        return data


# --- looking ----------------------------------------------------------------------------------


@login_required
@require_safe
def project(request: HttpRequest, pk: int) -> HttpResponse:
    """The best result, results over time, what there is, and every run."""
    found = seen(request, pk)
    results = rows.results_of(found, request.user)
    newest = rows.newest_of(results)
    form, page = rows.run_page(found, request.user, request.GET)
    shared = shell(request, found, "project")
    context = {
        **shared,
        "best": rows.best_of(found, request.user),
        "history": drawn(newest),
        "result_count": results.count() if newest else 0,
        "filter": form,
        "page": page,
        "profiles": profiles_part(request, found, RECENT, shared["may_edit"]),
    }
    return render(request, "optimas_web/project.html", context)


@login_required
@require_safe
def profiles(request: HttpRequest, pk: int) -> HttpResponse:
    """All profiles, and the three ways to get one more."""
    found = seen(request, pk)
    form = ProfileForm(found)
    return render(request, "optimas_web/project_profiles.html", profiles_context(request, found, form))


@login_required
@require_safe
def recent_profiles(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of the page that asks again while something is being read; status 286 ends the asking."""
    found = seen(request, pk)
    part = profiles_part(request, found, RECENT, may_edit(request.user, found))
    return render(
        request, "optimas_web/project_profile_list.html", {"profiles": part}, status=200 if part["live"] else 286
    )


@login_required
@require_safe
def versions(request: HttpRequest, pk: int) -> HttpResponse:
    """All snapshots, and the way to add one."""
    found = seen(request, pk)
    return render(request, "optimas_web/project_versions.html", versions_context(request, found, SourcesForm()))


def seen(request: HttpRequest, pk: int) -> Project:
    return get_object_or_404(Project.objects.visible_to(request.user).select_related("team"), pk=pk)


def shell(request: HttpRequest, found: Project, here: str) -> dict[str, Any]:
    """What the pages of a project share."""
    newest: Snapshot | None = found.snapshots.prefetch_related("workloads").order_by("-created").first()
    counts = {"project": None, "rules": None, "profiles": rows.profiles_of(found, request.user).count()}
    counts["versions"] = found.snapshots.count()
    words = {"project": "Results and runs", "profiles": "Profiles", "versions": "Versions", "rules": "Rules"}
    return {
        "project": found,
        "may_edit": may_edit(request.user, found),
        "snapshot": newest,
        "manifest": manifest_of(newest) if newest else None,
        "tabs": [
            (words[name], reverse(f"projects:{name}", args=[found.pk]), counts[name], name == here) for name in words
        ],
    }


def profiles_part(request: HttpRequest, found: Project, most: int, editor: bool) -> dict[str, Any]:
    lines = rows.profile_lines(list(rows.profiles_of(found, request.user)[:most]))
    return {"project": found, "lines": lines, "live": any(line.is_live for line in lines), "may_edit": editor}


def profiles_context(request: HttpRequest, found: Project, form: ProfileForm) -> dict[str, Any]:
    context = shell(request, found, "profiles")
    page = Paginator(rows.profiles_of(found, request.user), rows.PAGE).get_page(request.GET.get("page"))
    manifest = context["manifest"]
    return {
        **context,
        **way_in(found.team),
        "form": form,
        "page": page,
        "lines": rows.profile_lines(list(page)),
        "host": actions.profiling_host(manifest.toolchain) if manifest else None,
        "by_hand": by_hand(manifest) if manifest else None,
        "key": secrets.token_hex(8),
    }


def versions_context(request: HttpRequest, found: Project, form: SourcesForm) -> dict[str, Any]:
    page = Paginator(rows.versions_of(found), rows.PAGE).get_page(request.GET.get("page"))
    return {**shell(request, found, "versions"), **way_in(found.team), "form": form, "page": page}


def drawn(timings: list[Timing]) -> History:
    return history(
        Result(
            name=f"Run {timing.attempt.run_id}",
            url=reverse("reviews:attempt", args=[timing.attempt_id]),
            when=timing.attempt.verdict.created,
            speedup=timing.speedup or 0.0,
            low=timing.low,
            high=timing.high,
            verdict=timing.attempt.verdict.verdict,
            proven=timing.attempt.verdict.verdict == "faster",
        )
        for timing in timings
    )


# --- changing ---------------------------------------------------------------------------------


@login_required
@require_POST
def add_profile(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a report in, and read it in the background."""
    found = project_to_edit(request, pk)
    form = ProfileForm(found, *posted(request))
    if form.is_valid():
        try:
            upload = take_sources(found.team, user_of(request), form.cleaned_data)
            actions.read_upload(form.cleaned_data["snapshot"], upload, user_of(request))
            messages.success(request, f"{upload.name} is here (SHA-256 {upload.sha256[:12]}) and is being read.")
            return redirect("projects:profiles", found.pk)
        except UserError as error:
            form.add_error(None, str(error))
    return render(request, "optimas_web/project_profiles.html", profiles_context(request, found, form), status=422)


@login_required
@require_POST
def profile_here(request: HttpRequest, pk: int) -> HttpResponse:
    """Let a host take a profile of a snapshot. Two clicks on one form are one job."""
    found = project_to_edit(request, pk)
    key, asked = request.POST.get("key", ""), request.POST.get("snapshot", "")
    if not key or not asked.isdecimal():
        raise Http404
    snapshot = get_object_or_404(found.snapshots, pk=asked)
    if actions.profiling_host(manifest_of(snapshot).toolchain) is None:
        messages.error(
            request, "No host with the profiler is online any more. Take the profile by hand, and upload it."
        )
    else:
        actions.profile_on_host(snapshot, user_of(request), key[:64])
        messages.success(request, "A host builds and profiles this version.")
    return redirect("projects:profiles", found.pk)


@login_required
@require_POST
def cancel_profile(request: HttpRequest, pk: int, profile: int) -> HttpResponse:
    found = project_to_edit(request, pk)
    actions.cancel_profile(get_object_or_404(rows.profiles_of(found, request.user), pk=profile))
    return redirect("projects:profiles", found.pk)


@login_required
@require_http_methods(["POST"])
def add_version(request: HttpRequest, pk: int) -> HttpResponse:
    """Take in a new version of the sources."""
    found = project_to_edit(request, pk)
    form = SourcesForm(*posted(request))
    if form.is_valid():
        try:
            upload = take_sources(found.team, user_of(request), form.cleaned_data)
            snapshot = add_snapshot(found, from_upload(path_of(upload), upload.name), user_of(request))
            messages.success(request, f"Version {snapshot.sha256[:12]} is there. Check how it is built and run.")
            return redirect("projects:setup", found.pk)
        except UserError as error:
            form.add_error(None, str(error))
    return render(request, "optimas_web/project_versions.html", versions_context(request, found, form), status=422)


@login_required
@require_POST
def sample(request: HttpRequest) -> HttpResponse:
    """A sample program as a project of one of the person's teams."""
    name, asked = request.POST.get("name", ""), request.POST.get("team", "")
    if name not in [known for known, _, _ in SAMPLES] or not asked.isdecimal():
        raise Http404
    team = teams_to_edit(request.user).filter(pk=asked).first()
    if team is None:
        raise PermissionDenied
    return redirect("projects:project", actions.add_sample(team, name, user_of(request)).pk)
