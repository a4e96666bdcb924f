"""Pages about runs and about the machines that do them, one file a page."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from optimizer.models import Run
from projects.models import Team


def signed_in(request: HttpRequest) -> User:
    """The user behind a view that asks for a login."""
    assert isinstance(request.user, User)
    return request.user


def load_run(request: HttpRequest, pk: int) -> Run:
    """The run, with what stands in the head of its pages. A stranger gets 404."""
    rows = Run.objects.visible_to(request.user).select_related("snapshot__project__team", "profile", "created_by")
    found: Run = get_object_or_404(rows, pk=pk)
    return found


def can_edit(request: HttpRequest, team: Team) -> bool:
    membership = team.membership(signed_in(request))
    return membership is not None and membership.can_edit


def editors_only(request: HttpRequest, team: Team) -> None:
    if not can_edit(request, team):
        raise PermissionDenied("Your role in this team may look at runs, but not start or change them.")
