from __future__ import annotations

import pytest
from django.http import HttpResponse

from optimas_web.csp import HEADER, ContentSecurityPolicy


def test_every_response_forbids_inline_script_and_style(rf, settings):
    settings.SECURE_CSP = {"default-src": ["'none'"], "script-src": ["'self'"]}
    response = ContentSecurityPolicy(lambda request: HttpResponse())(rf.get("/"))
    assert response.headers[HEADER] == "default-src 'none'; script-src 'self'"


def test_a_view_may_send_a_policy_of_its_own(rf):
    own = HttpResponse(headers={HEADER: "sandbox"})
    assert ContentSecurityPolicy(lambda request: own)(rf.get("/")).headers[HEADER] == "sandbox"


@pytest.mark.django_db
def test_the_site_allows_nothing_inline_and_no_eval(client):
    policy = client.get("/").headers[HEADER]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
