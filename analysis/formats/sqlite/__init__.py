"""SQLite databases of profilers. Which one wrote a database is told by its tables.

A reader is a module with ``knows(tables) -> bool`` and ``parse(database) -> Profile``, and a line in ``READERS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from analysis.formats.sqlite.database import Database, opened
from analysis.types import Profile
from optimas_web.errors import UserError

MAGIC = b"SQLite format 3\x00"
READERS: dict[str, str] = {
    "nsys": "analysis.formats.sqlite.nsys",
    "rocpd": "analysis.formats.sqlite.rocpd",
}
EXPORT = "Upload what `nsys export --type sqlite report.nsys-rep` or rocprofv3 (rocpd) writes."


class Reader(Protocol):
    """What a reader's module offers. ``tables``: name -> columns."""

    def knows(self, tables: Mapping[str, Sequence[str]]) -> bool: ...

    def parse(self, database: Database) -> Profile: ...


def detect(head: bytes, name: str) -> bool:
    return head.startswith(MAGIC)


def parse(path: Path) -> Profile:
    """Read a database. It must stay in place while single launches are read.

    Raises UserError when no profiler is known that writes such tables, or the database is damaged.
    """
    with opened(path) as database:
        for dotted in READERS.values():
            reader = cast(Reader, import_module(dotted))
            if reader.knows(database.tables):
                return reader.parse(database)
        shown = ", ".join(sorted(database.tables)[:8]) or "none"
        raise UserError(f"{path.name} is an SQLite database, but of no known profiler. Its tables: {shown}.", EXPORT)
