"""New projects, and the way in for files."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from optimas_web.errors import UserError
from projects import services, snapshot
from projects.forms import NameForm, NewProjectForm, Review
from projects.models import Project, Snapshot, Team, Upload, UploadState
from projects.unpacking import size as for_people

SAMPLES = (
    ("heat2d", "C++", "Heat over a plate: loops the wrong way round. Runs wherever there is a compiler."),
    ("rowrank", "CUDA", "The rank of a label in every row, with a real Nsight Compute report of an H200."),
)


# --- a new project ----------------------------------------------------------------------------


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Where the program comes from. What is in it is shown on the next page."""
    if not services.teams_to_edit(request.user).exists():
        raise PermissionDenied
    form = NewProjectForm(request.user, *posted(request))
    problem = None
    if form.is_valid():
        try:
            upload = services.take_sources(form.cleaned_data["team"], user_of(request), form.cleaned_data)
            return redirect("projects:review", upload.pk)
        except UserError as error:
            problem = error
    context = {"form": form, "problem": problem, "samples": SAMPLES, **way_in(form.fields["team"].initial)}
    return render(request, "projects/new.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def review(request: HttpRequest, pk: int) -> HttpResponse:
    """What was detected in the files, to be corrected; then the project is made."""
    upload = get_object_or_404(uploads_of(request).filter(state=UploadState.COMPLETE), pk=pk)
    try:
        found = Review(snapshot.from_upload(services.path_of(upload), upload.name), *posted(request)[:1])
    except UserError as error:
        return render(request, "projects/unreadable.html", {"upload": upload, "problem": error}, status=422)
    name = NameForm(*posted(request)[:1], initial={"name": found.found.name if found.found else ""})
    if request.method == "POST" and name.is_valid() & found.is_valid():
        try:
            project = services.create_project(
                upload.team, name.cleaned_data["name"], found.tree, found.declared, user_of(request)
            )
            messages.success(request, f"The project {project.name} is there.")
            return redirect("projects:project", project.pk)
        except UserError as error:
            found.problem = error
    return render(request, "projects/review.html", {"upload": upload, "review": found, "name": name})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: HttpRequest, pk: int) -> HttpResponse:
    """How the newest snapshot is built and run, to be changed: that makes a new snapshot."""
    project = project_to_edit(request, pk)
    row: Snapshot = get_object_or_404(project.snapshots.order_by("-created")[:1])
    found = Review(services.tree_of(row), *posted(request)[:1])
    if request.method == "POST" and found.is_valid():
        if found.declared:
            services.change_manifest(row, found.declared, user_of(request))
            messages.success(request, "From now on it is built and run like this: the sources have a new version.")
        return redirect("projects:project", project.pk)
    return render(request, "projects/setup.html", {"project": project, "snapshot": row, "review": found})


def posted(request: HttpRequest) -> tuple[Any, Any]:
    """What forms are bound to: nothing unless something was sent."""
    return (request.POST, request.FILES) if request.method == "POST" else (None, None)


def user_of(request: HttpRequest) -> Any:
    return request.user


def project_to_edit(request: HttpRequest, pk: int) -> Project:
    """The project, for those who may change it: 404 to strangers, 403 to members who may only look."""
    project = get_object_or_404(Project.objects.visible_to(request.user).select_related("team"), pk=pk)
    if not services.may_edit(request.user, project):
        raise PermissionDenied
    return project


def way_in(team: Team | None) -> dict[str, Any]:
    """What the upload forms say and what their script needs to know."""
    return {
        "piece": settings.UPLOAD_PIECE_BYTES,
        "limit": for_people(settings.UPLOAD_LIMIT_BYTES),
        "quota": for_people(settings.TEAM_QUOTA_BYTES),
        "used": for_people(services.used_bytes(team)) if team else "",
        "left_out": snapshot.NAMES_LEFT_OUT,
    }


# --- uploads, a piece at a time ---------------------------------------------------------------

Answer = Callable[..., JsonResponse]


def told(view: Answer) -> Answer:
    """A UserError as JSON: 409, with its sentence."""

    @wraps(view)
    def answer(*args: Any, **kwargs: Any) -> JsonResponse:
        try:
            return view(*args, **kwargs)
        except UserError as error:
            return JsonResponse({"message": error.message, "hint": error.hint}, status=409)

    return answer


@login_required
@require_POST
@told
def upload_begin(request: HttpRequest) -> JsonResponse:
    """Announce a file by ``team``, ``name`` and ``size``: 201 and where to send it, or why it cannot be taken."""
    size = request.POST.get("size", "")
    if not size.isdecimal() or not request.POST.get("team", "").isdecimal():
        raise UserError("An upload is announced with team, name and size (in bytes).")
    team = get_object_or_404(Team.objects.visible_to(request.user), pk=request.POST["team"])
    if not services.teams_to_edit(request.user).filter(pk=team.pk).exists():
        raise PermissionDenied
    upload = services.begin_upload(team, user_of(request), request.POST.get("name", "") or "upload", int(size))
    return JsonResponse(state_of(upload), status=201)


@login_required
@require_http_methods(["GET", "HEAD", "PATCH", "DELETE"])
@told
def upload(request: HttpRequest, pk: int) -> JsonResponse:
    """GET: how far it is. PATCH: bytes from ``Upload-Offset`` on. DELETE: forget it."""
    row = get_object_or_404(uploads_of(request), pk=pk)
    if request.method == "PATCH":
        return upload_piece(request, row)
    if request.method == "DELETE":
        if row.state == UploadState.COMPLETE:
            raise UserError("A complete upload may be in use.", "Leave it: what nobody uses is deleted after a week.")
        services.delete_upload(row)
        return JsonResponse({})
    return JsonResponse(state_of(row))


def upload_piece(request: HttpRequest, row: Upload) -> JsonResponse:
    """The piece is read whole before anything is locked: a connection that hangs holds up nobody."""
    start, most = request.headers.get("Upload-Offset", ""), settings.UPLOAD_PIECE_BYTES
    if not start.isdecimal():
        raise UserError("A piece says in the header Upload-Offset at which byte it starts.")
    piece = request.read(most + 1)
    if len(piece) > most:
        raise UserError(f"A piece may have up to {for_people(most)}.", "Send less at once.")
    services.receive(row, int(start), piece)
    return JsonResponse(state_of(row))


@login_required
@require_POST
@told
def upload_finish(request: HttpRequest, pk: int) -> JsonResponse:
    """All has been sent: ``sha256`` (optional) is compared, and told."""
    row = get_object_or_404(uploads_of(request), pk=pk)
    return JsonResponse(state_of(services.finish_upload(row, request.POST.get("sha256", ""))))


def uploads_of(request: HttpRequest) -> Any:
    """A person's own uploads, while that person may still change things in the team."""
    teams = services.teams_to_edit(request.user)
    return Upload.objects.visible_to(request.user).filter(user=user_of(request), team__in=teams)


def state_of(row: Upload) -> dict[str, Any]:
    return {
        "id": row.pk,
        "url": reverse("projects:upload", args=[row.pk]),
        "name": row.name,
        "size": row.size,
        "offset": services.offset_of(row),
        "state": row.state,
        "sha256": row.sha256,
        "piece_bytes": settings.UPLOAD_PIECE_BYTES,
    }
