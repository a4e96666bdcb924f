"""The machines that do the work: their workers, tools and GPUs, and what is missing."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from evaluation.models import Host
from evaluation.toolchains import TOOLCHAINS
from optimas_web.jobs import Job, JobStatus

FORGOTTEN_AFTER = timedelta(days=7)
QUEUE_WORDS = {
    "default": "reads reports",
    "llm": "writes prompts, asks backends, checks answers",
    "cpu": "profiles and judges CPU programs",
    "gpu": "profiles and judges CUDA programs",
}


@login_required
@require_safe
def hosts(request: HttpRequest) -> HttpResponse:
    rows = Host.objects.filter(last_seen__gt=timezone.now() - FORGOTTEN_AFTER)
    found = list(rows.prefetch_related("workers", "devices"))
    waiting = waiting_jobs(request)
    queues = [
        (name, QUEUE_WORDS[name], [host for host in found if name in host.queues], waiting.get(name, 0))
        for name in settings.QUEUES
    ]
    context = {"hosts": [(host, kinds_of(host)) for host in found], "queues": queues}
    return render(request, "evaluation/hosts.html", context)


def kinds_of(host: Host) -> list[tuple[str, list[dict], list[dict]]]:
    """Toolchain, its tools on this host, and those that are missing."""
    return [(name, host.tools_of(name), host.missing(name)) for name in TOOLCHAINS if host.tools_of(name)]


def waiting_jobs(request: HttpRequest) -> dict[str, int]:
    """Queue -> how many jobs of one's own teams wait in it."""
    rows = Job.objects.visible_to(request.user).filter(status=JobStatus.QUEUED).order_by()
    return dict(rows.values_list("queue").annotate(Count("pk")))
