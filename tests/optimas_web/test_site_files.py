"""docker-compose.yml, Dockerfile and docs/operations.md agree with the code. No container engine is needed."""

from __future__ import annotations

import re

import pytest
import yaml
from django.conf import settings

from optimas_web.supervisor import GPU_WORKER, WORKERS
from tests.optimas_web.test_settings import DOCUMENTED
from tests.repository import read

COMPOSE = yaml.safe_load(read("docker-compose.yml"))
SERVICES = COMPOSE["services"]
OWN = {name: service for name, service in SERVICES.items() if service["image"].startswith("optimas")}


def queues(command: list[str]) -> set[str]:
    return set(command[command.index("-Q") + 1].split(",")) if "-Q" in command else set()


def test_every_queue_has_a_worker_on_one_machine_and_on_a_site():
    on_one_machine = {queue for names, _ in (WORKERS | GPU_WORKER).values() for queue in names.split(",")}
    on_a_site = set().union(*(queues(service.get("command", [])) for service in OWN.values()))
    on_a_site |= queues(re.findall(r'"([^"]*)"', read("Dockerfile").rpartition("CMD")[2]))
    assert on_one_machine == on_a_site == set(settings.QUEUES)


@pytest.mark.parametrize("queue", settings.QUEUES)
def test_every_queue_is_documented(queue):
    assert f"`{queue}`" in read("docs/operations.md")


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_documented(name):
    operations = read("docs/operations.md")
    assert f"`{name}`" in operations or name.capitalize() in operations


@pytest.mark.parametrize("name", OWN)
def test_services_get_settings_that_exist_and_share_their_state(name):
    service = OWN[name]
    assert {variable for variable in service["environment"] if not variable.startswith("NVIDIA_")} <= DOCUMENTED
    assert "state:/state" in service["volumes"]
    assert service["build"]["target"] in re.findall(r"^FROM \S+ AS (\w+)$", read("Dockerfile"), re.MULTILINE)


def test_volumes_and_dependencies_exist():
    for service in SERVICES.values():
        assert {volume.partition(":")[0] for volume in service.get("volumes", [])} <= set(COMPOSE["volumes"])
        assert set(service.get("depends_on", {})) <= set(SERVICES)


def test_no_password_is_written_down():
    assert SERVICES["postgres"]["environment"]["POSTGRES_PASSWORD"] == "${OPTIMAS_POSTGRES_PASSWORD:?}"
