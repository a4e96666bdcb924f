"""The home page and the health check."""

from __future__ import annotations

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from optimas_web.accounts import nobody_yet


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 while the web server reaches both stores, else 503; for supervisors and load balancers."""
    found = {"postgres": postgres_answers(), "redis": redis_answers()}
    return JsonResponse(found, status=200 if all(found.values()) else 503)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return redirect("first_user" if nobody_yet() else "login")
    return render(request, "optimas_web/home.html", {"postgres": postgres_answers(), "redis": redis_answers()})


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
