"""The attempt page, and what people take away from it."""

from __future__ import annotations

import json

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from evaluation.models import Verdict
from optimizer.models import Attempt
from optimizer.rows import as_text
from projects.models import storable
from reviews import rows
from reviews.attempt_page import page
from reviews.services import exact_patch, make_receipt


@login_required
@require_safe
def attempt(request: HttpRequest, pk: int) -> HttpResponse:
    """What was changed, what it rests on, and the proof."""
    row = load(request, pk)
    known = rows.known(row)
    context = {
        "attempt": row,
        "page": page(known),
        "known": known,
        "others": row.run.attempts.only("run", "number", "parent"),
        "asked": readable(getattr(row, "prompt", None)),
        "answered": readable(getattr(row, "completion", None)),
        "machine": rows.machine(row),
        "seconds": rows.seconds_of(row),
    }
    return render(request, "reviews/attempt.html", context)


@login_required
@require_safe
def progress(request: HttpRequest, pk: int) -> HttpResponse:
    """For a page that waits: nothing new (204), or that there is more to see and the page is to be loaded again."""
    row = load(request, pk)
    waiting = not hasattr(row, "verdict") and not row.run.has_ended
    if waiting and request.GET.get("gates") == str(row.gates.count()):
        return HttpResponse(status=204)
    return HttpResponse(status=286, headers={"HX-Refresh": "true"})


@login_required
@require_safe
def patch(request: HttpRequest, pk: int) -> HttpResponse:
    """The change as a unified diff that ``git apply`` takes, byte for byte."""
    row = load(request, pk)
    if not row.patch:
        raise Http404
    return download(exact_patch(row), "text/x-patch", f"{name(row)}.patch")


@login_required
@require_safe
def receipt(request: HttpRequest, pk: int) -> HttpResponse:
    """The signed receipt of a judged attempt."""
    row = load(request, pk)
    if not Verdict.objects.filter(attempt=row).exists():
        raise Http404
    text = json.dumps(make_receipt(row).document, indent=2, sort_keys=True)
    return download(text.encode(), "application/json", f"{name(row)}.receipt.json")


def load(request: HttpRequest, pk: int) -> Attempt:
    mine = Attempt.objects.visible_to(request.user)
    found: Attempt = get_object_or_404(mine.select_related(*rows.WITH), pk=pk)
    return found


def readable(row: object) -> str:
    """The exact text of a prompt or an answer, as far as a page can hold it."""
    text: str = storable(as_text(row.text)) if row is not None else ""  # type: ignore[attr-defined]
    return text


def name(row: Attempt) -> str:
    return f"{slugify(row.run.snapshot.project.name) or 'optimas'}-attempt-{row.pk}"


def download(content: bytes, kind: str, filename: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{filename}"', "X-Content-Type-Options": "nosniff"}
    return HttpResponse(content, content_type=kind, headers=headers)
