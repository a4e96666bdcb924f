"""The hosts page: who works, with which tools, what is missing and how to mend it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from evaluation.models import SILENT_AFTER, Device, Host, Worker
from evaluation.views.hosts import QUEUE_WORDS
from optimas_web.jobs import enqueue
from optimas_web.settings import QUEUES
from tests.cast import Cast, make_cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]

TOOLS = [
    {"toolchain": "cpu", "name": "g++", "version": "12.2.0", "remedy": ""},
    {"toolchain": "cpu", "name": "valgrind", "version": None, "remedy": "Install it: apt install valgrind."},
]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def ada(cast: Cast) -> Client:
    client = Client()
    client.force_login(cast.ada)
    return client


def bench(name: str = "bench", silent: timedelta = timedelta()) -> Host:
    moment = timezone.now() - silent
    host = Host.objects.create(name=name, tools=TOOLS, last_seen=moment)
    Worker.objects.create(host=host, name=f"cpu@{name}", queues=["cpu"], last_seen=moment)
    return host


def page(client: Client) -> str:
    return client.get(reverse("evaluation:hosts")).content.decode()


def test_every_queue_has_words() -> None:
    assert set(QUEUE_WORDS) == set(QUEUES)


def test_without_workers_the_page_says_how_to_start_one(ada: Client) -> None:
    assert "No worker has told of itself yet" in page(ada)
    assert page(ada).count("nobody") == len(QUEUES)


def test_a_missing_tool_stands_with_its_remedy(ada: Client) -> None:
    Device.objects.create(host=bench(), uuid="GPU-1", name="NVIDIA <H200>")
    shown = page(ada)
    assert "12.2.0" in shown
    assert "Install it: apt install valgrind." in shown
    assert "something is missing" in shown
    assert "NVIDIA &lt;H200&gt;" in shown
    assert "cpu@bench" in shown


def test_a_silent_host_is_offline_and_works_for_no_queue(ada: Client) -> None:
    bench(silent=SILENT_AFTER)
    shown = page(ada)
    assert "Offline" in shown
    assert shown.count("nobody") == len(QUEUES)


def test_a_host_of_long_ago_is_left_out(ada: Client) -> None:
    bench(silent=timedelta(days=8))
    assert "bench" not in page(ada)


def test_only_jobs_of_ones_own_teams_are_counted(cast: Cast, ada: Client) -> None:
    for number in range(3):
        enqueue("evaluation.evaluate", number, team=cast.team)
    assert 'data-label="Your jobs waiting">3<' in page(ada)
    stranger = Client()
    stranger.force_login(cast.zoe)
    assert 'data-label="Your jobs waiting">3<' not in page(stranger)


def test_the_number_of_queries_does_not_grow_with_hosts(ada: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            page(ada)
        return len(asked)

    bench()
    queries()
    before = queries()
    for number in range(5):
        Device.objects.create(host=bench(f"bench-{number}"), uuid=f"GPU-{number}", name="NVIDIA H200")
    assert queries() == before
