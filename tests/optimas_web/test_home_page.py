from __future__ import annotations

import pytest


@pytest.mark.django_db
def test_the_home_page_tells_that_both_stores_answer(admin_client, valkey):
    page = admin_client.get("/").content.decode()
    assert page.count("answers") == 2
    assert "does not answer" not in page


@pytest.mark.django_db
def test_healthz_is_ok_while_both_stores_answer(client, valkey):
    response = client.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {"postgres": True, "redis": True}


@pytest.mark.django_db
def test_healthz_names_the_store_that_is_away(client, settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock?db=0"
    response = client.get("/healthz")
    assert response.status_code == 503
    assert response.json() == {"postgres": True, "redis": False}
