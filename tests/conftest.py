"""What every test may ask for. Tests without a database never start a store."""

from __future__ import annotations

import os
from collections.abc import Iterator

import hypothesis
import pytest
import redis
from django.conf import settings

from optimas_web import embedded

# How fast examples come says something about the machine, which others share, and nothing about the code.
hypothesis.settings.register_profile(
    "shared", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], parent=hypothesis.settings()
)
hypothesis.settings.load_profile("shared")


@pytest.fixture(scope="session")
def stores() -> Iterator[None]:
    """Postgres and Valkey answer: started by the first test process that needs them, shared by all."""
    with embedded.stores(settings.STATE_DIR, throwaway=True):
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(stores: None) -> None:
    """pytest-django makes the test database after this. Its name is ours already (tests/settings.py)."""


@pytest.fixture
def valkey(stores: None) -> Iterator[redis.Redis]:
    """A client of this test process's own database, emptied: the broker of the Celery application, and the cache."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()
        yield client


@pytest.fixture
def site_environment(transactional_db: None, valkey: redis.Redis) -> dict[str, str]:
    """The environment for programs started by a test (workers, commands) so that they see this test's stores."""
    from django.db import connection

    database = connection.settings_dict
    host = str(database["HOST"]).replace("/", "%2F")
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "optimas_web.settings",
        "OPTIMAS_STATE": str(settings.STATE_DIR),
        "DATABASE_URL": f"postgres://{database['USER']}@{host}/{database['NAME']}",
        "REDIS_URL": settings.REDIS_URL,
    }
