"""Reading an archive as an upload is read: from a file whose name says nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from optimas_web.errors import UserError
from projects import snapshot
from projects.types import SnapshotLimits, Tree


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Tree]:
    def read_bytes(content: bytes, limits: SnapshotLimits | None = None) -> Tree:
        path = tmp_path / "upload.bin"
        path.write_bytes(content)
        return snapshot.from_archive(path, limits)

    return read_bytes


@pytest.fixture
def refused(read: Callable[..., Tree]) -> Callable[..., str]:
    def refusal(content: bytes, limits: SnapshotLimits | None = None) -> str:
        with pytest.raises(UserError) as caught:
            read(content, limits)
        return str(caught.value)

    return refusal
