"""Signing in, with a lock-out: guessing passwords gets slow, for one name and for one address."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from optimas_web.accounts import must_choose

WINDOW_S = 15 * 60
WRONG_PER_NAME = 5
"""Of one name from one address, so that nobody can lock a colleague out from elsewhere."""
WRONG_PER_ADDRESS = 50


class SignInForm(AuthenticationForm):
    def clean(self) -> dict[str, Any]:
        limits = self.limits()
        if any(cache.get(key, 0) >= limit for key, limit in limits.items()):
            raise ValidationError("Too many wrong passwords. Wait a quarter of an hour, then try again.", code="locked")
        try:
            cleaned: dict[str, Any] = super().clean()
        except ValidationError:
            for key in limits:
                cache.add(key, 0, WINDOW_S)
                cache.incr(key)
            raise
        cache.delete(next(iter(limits)))
        return cleaned

    def limits(self) -> dict[str, int]:
        """Counters of wrong passwords, the one of this name first, and how far each may go."""
        assert self.request is not None, "the view gives it"
        address, name = client_address(self.request), self.cleaned_data.get("username", "")
        return {
            f"sign-in:{address}:{name.lower().encode().hex()}": WRONG_PER_NAME,
            f"sign-in:{address}": WRONG_PER_ADDRESS,
        }


class SignIn(LoginView):
    form_class = SignInForm
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """A one-time password does not sign in: it leads to the choice of a password."""
        if must_choose(self.request, form.get_user()):
            return redirect("choose_password")
        return super().form_valid(form)


def client_address(request: HttpRequest) -> str:
    """Who is connected; behind a proxy of ours, whom the proxy says it serves (the last name in its header)."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.SECURE_PROXY_SSL_HEADER else ""
    return forwarded.split(",")[-1].strip() or request.META.get("REMOTE_ADDR", "")
