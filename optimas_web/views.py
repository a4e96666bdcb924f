"""The home page and the health check."""

from __future__ import annotations

from typing import Any

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from optimas_web import home_rows as rows
from optimas_web.accounts import nobody_yet
from projects.services import teams_to_edit
from projects.views import SAMPLES


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 while the web server reaches both stores, else 503; for supervisors and load balancers."""
    found = {"postgres": postgres_answers(), "redis": redis_answers()}
    return JsonResponse(found, status=200 if all(found.values()) else 503)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    if not isinstance(request.user, User):
        return redirect("first_user" if nobody_yet() else "login")
    context = {
        **now(request.user),
        "page": rows.project_page(request.user, request.GET.get("page")),
        "team": teams_to_edit(request.user).first(),
        "samples": SAMPLES,
        "hosts": rows.hosts(),
        "redis": redis_answers(),
    }
    return render(request, "optimas_web/home.html", context)


@login_required
@require_safe
def running(request: HttpRequest) -> HttpResponse:
    """The part of the home page that asks again while something runs, with what changes when something has ended."""
    assert isinstance(request.user, User)
    context = now(request.user)
    if request.GET.get("state") == context["live"].state:
        return HttpResponse(status=204)
    return render(request, "optimas_web/home_now.html", context, status=200 if context["live"].lines else 286)


def now(user: User) -> dict[str, Any]:
    """What changes while somebody looks."""
    return {
        "live": rows.live(user),
        "waiting": rows.waiting_runs(user),
        "undecided": rows.undecided(user),
        "finished": rows.finished(user),
    }


def postgres_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def redis_answers() -> bool:
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False
