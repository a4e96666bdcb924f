"""Pages of a profile: what is slow and why, and the source with what each line costs."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from analysis import profile_page, source_page
from analysis.charts import document
from analysis.models import Evidence, Kernel, Profile, ProfileState
from analysis.rows import detailed, overview, source_paths, text_of
from optimas_web.jobs import Job

ROWS = 50


@login_required
@require_safe
def profile(request: HttpRequest, pk: int) -> HttpResponse:
    """Which kernels matter, by what each is bound, and what the profile lacks."""
    row = load(request, pk)
    if row.state != ProfileState.READY:
        return waiting(request, row)
    asked = rank_asked(request)
    shown = profile_page.carded(list(row.kernels.only("profile", "rank", "hot")), asked)
    analysis = overview(row, [kernel.rank for kernel in shown])
    page = profile_page.page(analysis, asked, link(row))
    shown_rows = Paginator(page.rows, ROWS).get_page(request.GET.get("page"))
    context = {"page": page, "kernels": shown_rows, "roofline": document(page.roofline)}
    return render(request, "analysis/profile.html", about(row) | context)


def waiting(request: HttpRequest, row: Profile) -> HttpResponse:
    """A profile that is not read yet, or could not be."""
    return render(request, "analysis/waiting.html", about(row) | {"job": reading(request, row)})


@login_required
@require_safe
def state(request: HttpRequest, pk: int) -> HttpResponse:
    """How far reading is, for a page that waits. Once there is more to see, that page is loaded again."""
    row = load(request, pk)
    if row.state != ProfileState.PENDING:
        return HttpResponse(status=286, headers={"HX-Refresh": "true"})
    return render(request, "analysis/reading.html", {"profile": row, "job": reading(request, row)})


@login_required
@require_safe
def source(request: HttpRequest, pk: int) -> HttpResponse:
    """One file as one kernel sees it: what each line costs and why."""
    row = load(request, pk)
    kernels = list(row.kernels.defer("stalls", "roofline"))
    kernel = chosen(kernels, rank_asked(request))
    found, known = detailed(kernel), source_paths(row)
    file = request.GET.get("file") or source_page.first_file(found, known)
    page = source_page.page(found, file, text_of(row, file), known)
    context = {"kernels": kernels, "kernel": kernel, "page": page}
    return render(request, "analysis/source.html", about(row, "Source heat") | context)


@login_required
@require_safe
def evidence(request: HttpRequest, pk: int, label: str) -> HttpResponse:
    """Where an evidence id leads: to its place on the profile page."""
    rows: QuerySet[Evidence] = Evidence.objects.visible_to(request.user)
    item = get_object_or_404(rows.only("label", "kernel__rank").select_related("kernel"), profile=pk, label=label)
    return redirect(f"{reverse('analysis:profile', args=[pk])}?kernel={item.kernel.rank}#{item.label}")


def load(request: HttpRequest, pk: int) -> Profile:
    rows = Profile.objects.visible_to(request.user)
    found: Profile = get_object_or_404(rows.select_related("snapshot__project__team", "upload"), pk=pk)
    return found


def reading(request: HttpRequest, row: Profile) -> Job | None:
    """The job that reads the report, or that did."""
    found: Job | None = Job.objects.visible_to(request.user).filter(kind="analysis.ingest", target_id=row.pk).first()
    return found


def rank_asked(request: HttpRequest) -> int | None:
    """``?kernel=3``: its rank. Anything but a number is nothing that was ever linked to."""
    asked = request.GET.get("kernel", "")
    if asked and not (asked.isascii() and asked.isdecimal()):
        raise Http404
    return int(asked) if asked else None


def chosen(kernels: list[Kernel], rank: int | None) -> Kernel:
    """The kernel of this rank; when none is asked for, the first hot one, else the costliest."""
    wanted = [kernel for kernel in kernels if kernel.rank == rank] if rank else profile_page.carded(kernels)
    if not wanted:
        raise Http404
    return wanted[0]


def about(row: Profile, below: str = "") -> dict[str, Any]:
    """What every page of a profile shows of it; ``below`` names a page under the profile's own."""
    project = row.snapshot.project
    trail = [("Home", reverse("home")), (project.name, reverse("projects:project", args=[project.pk]))]
    trail += [("Profile", reverse("analysis:profile", args=[row.pk])), (below, "")] if below else [("Profile", "")]
    return {"profile": row, "report": row.upload.name if row.upload else "", "trail": trail}


def link(row: Profile) -> profile_page.Link:
    """Addresses of lines in the source page of this profile."""
    base = reverse("analysis:source", args=[row.pk])

    def address(rank: int, file: str | None, line: int | None) -> str:
        query = {"kernel": rank} | ({"file": file} if file else {})
        return f"{base}?{urlencode(query)}" + (f"#L{line}" if line else "")

    return address
