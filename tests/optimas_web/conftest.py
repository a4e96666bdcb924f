"""A project of Ada's team, for the pages of this room."""

from __future__ import annotations

import pytest

from projects.models import Project, Snapshot
from projects.services import add_snapshot
from projects.snapshot import from_files
from tests.cast import Cast, make_cast
from tests.programs import files


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def snapshot(cast: Cast) -> Snapshot:
    project = Project.objects.create(team=cast.team, name="columns", created_by=cast.ada)
    return add_snapshot(project, from_files(files()), cast.ada)


@pytest.fixture
def ada(cast: Cast, client):
    client.force_login(cast.ada)
    return client
