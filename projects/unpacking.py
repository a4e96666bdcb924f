"""What the readers of zip and tar share: an entry, and a budget that stops a bomb while it unpacks. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from optimas_web.errors import UserError
from projects import names
from projects.types import SnapshotLimits

LINK = "a link"
NOT_A_FILE = "no regular file (a device, a pipe)"
PIECE = 64 * 1024
SOURCES_ONLY = "Upload the sources only; let the program make or find its data."


@dataclass(frozen=True, slots=True)
class Member:
    """One entry. ``left_out``: why it has no content (a link, a device); ``read`` gives the content, once, in order."""

    path: str
    left_out: str
    read: Callable[[], bytes]


@dataclass
class Budget:
    """Counts what was unpacked. ``packed``: bytes of the whole archive."""

    limits: SnapshotLimits
    packed: int
    unpacked: int = 0

    def spend(self, count: int, entry: str) -> None:
        """Raise UserError when this entry takes the archive over its limits."""
        self.unpacked += count
        at = f"it was reading {names.shown(entry)}"
        if self.unpacked > self.limits.unpacked_bytes:
            raise UserError(f"The archive unpacks to more than {size(self.limits.unpacked_bytes)}; {at}.", SOURCES_ONLY)
        if self.unpacked > self.limits.ratio_from_bytes and self.unpacked > self.limits.ratio * self.packed:
            raise UserError(f"The archive unpacks to more than {self.limits.ratio} times its size; {at}.", SOURCES_ONLY)


def size(count: int) -> str:
    """Bytes for people: 64 MiB, 1.5 GiB, 12 bytes."""
    for unit, name in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if count >= unit:
            return f"{count / unit:.4g} {name}"
    return f"{count} bytes"


def too_large(entry: str, limits: SnapshotLimits) -> UserError:
    most = size(limits.file_bytes)
    return UserError(f"{names.shown(entry)} is larger than {most}, the most for one file.", SOURCES_ONLY)


def too_many(count: int, what: str, entry: str) -> UserError:
    return UserError(f"There are more than {count} {what}, {names.shown(entry)} among them.", SOURCES_ONLY)
