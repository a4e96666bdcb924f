"""For tests of pages about runs."""

from __future__ import annotations

import pytest

from optimas_web import jobs


@pytest.fixture
def no_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests inside one transaction that do jobs: the heartbeat's own connection does not see their rows."""
    monkeypatch.setattr(jobs, "HEARTBEAT_S", 3600.0)
