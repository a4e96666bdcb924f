"""Loose files as one archive, so that whatever a person brings is one upload. Pure: writes to a stream it is given."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from typing import BinaryIO


def write(stream: BinaryIO, files: Iterable[tuple[str, int, BinaryIO]]) -> None:
    """A tar of (path, size in bytes, content), without compression. Names are checked where it is read."""
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as packed:
        for path, size, content in files:
            entry = tarfile.TarInfo(path)
            entry.size = size
            packed.addfile(entry, content)
