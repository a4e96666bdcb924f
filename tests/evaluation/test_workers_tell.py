"""A worker tells the hosts page that it is there, and says goodbye."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from evaluation import services
from evaluation.models import SILENT_AFTER, Device, Host, Worker
from evaluation.toolchains import gpus
from tests import workers


@pytest.mark.django_db(transaction=True)
def test_a_real_worker_appears_with_its_queues_and_tools_and_goes(site_environment: dict[str, str]) -> None:
    with workers.worker(site_environment, "cpu,llm") as process:
        workers.wait_for(Worker.objects.exists, 60)
        (worker,) = Worker.objects.all()
        assert worker.name == f"w@{worker.host.name}"
        assert worker.queues == ["cpu", "llm"]
        assert worker.host.is_online
        assert worker.host.queues == {"cpu", "llm"}
        assert {tool["name"] for tool in worker.host.tools_of("cpu")} == {"g++", "objdump", "valgrind"}
        process.terminate()
        process.wait(60)
        assert not Worker.objects.exists()


@pytest.mark.django_db
def test_a_worker_that_starts_anew_has_its_tools_looked_for() -> None:
    services.worker_is_here("w@here", ["cpu"], started=True)
    Host.objects.update(tools=[])
    services.worker_is_here("w@here", ["cpu"], started=True)
    assert Host.objects.get().tools_of("cpu")


@pytest.mark.django_db
def test_telling_again_moves_the_time_and_looks_for_no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    services.worker_is_here("w@here", ["cpu"])
    past = timezone.now() - timedelta(hours=1)
    Worker.objects.update(last_seen=past)
    Host.objects.update(last_seen=past)
    monkeypatch.setattr(services, "this_host", None)
    services.worker_is_here("w@here", ["cpu"])
    assert Worker.objects.get().last_seen > past
    assert Host.objects.get().last_seen > past


@pytest.mark.django_db
def test_a_silent_worker_is_taken_for_gone() -> None:
    services.worker_is_here("w@here", ["cpu"])
    Worker.objects.update(last_seen=timezone.now() - SILENT_AFTER)
    host = Host.objects.get()
    assert not host.is_online
    assert host.queues == set()


@pytest.mark.django_db
def test_gpus_come_and_go_with_what_the_driver_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = [gpus.Gpu(0, "GPU-a", "NVIDIA H200"), gpus.Gpu(1, "GPU-b", "NVIDIA H200")]
    monkeypatch.setattr(gpus, "gpus", lambda: tuple(cards))
    host = services.this_host()
    assert [device.uuid for device in host.devices.order_by("uuid")] == ["GPU-a", "GPU-b"]
    cards.pop()
    services.this_host()
    assert [device.uuid for device in Device.objects.all()] == ["GPU-a"]
