"""SQLite files of strangers: opened to be read only, asked fixed questions, bounded in work and memory.

Only ordinary tables are looked at. A view or a virtual table could make one question endless.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from optimas_web.errors import UserError

LONGEST_VALUE = 2**23
STEPS_A_LOOK = 1_000_000
LEAST_STEPS = 200_000_000
STEPS_A_BYTE = 100
"""A row takes 20 bytes or more, and no question here more than a few hundred steps of SQLite's machine a row."""
MOST_TABLES = 10_000
COPY_AGAIN = "Export it again, and copy it only when the export has ended."
_PLAIN = re.compile(r"\w+")

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Database:
    """An open database, and the file it is in."""

    path: Path
    connection: sqlite3.Connection

    @cached_property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Name -> columns of every ordinary table with a plain name."""
        question = "SELECT name, sql FROM sqlite_master WHERE type = 'table' LIMIT ?"
        named = [
            name
            for name, text in self.connection.execute(question, [MOST_TABLES])
            if isinstance(name, str) and _PLAIN.fullmatch(name) and not re.match(r"(?i)\s*create\s+virtual", str(text))
        ]
        return {name: [row[1] for row in self.connection.execute(f'PRAGMA table_info("{name}")')] for name in named}

    def select(self, columns: str, table: str, rest: str = "", values: Sequence[object] = ()) -> Iterator[Row]:
        """Rows of a table of ``tables``; all else is our own text."""
        question = f'SELECT {columns} FROM "{table}" {rest}'  # noqa: S608 (plain names and our own text only)
        return self.connection.execute(question, values)

    def count(self, table: str) -> int:
        return int(next(self.select("COUNT(*)", table))[0])

    def pairs(self, table: str) -> dict[str, str]:
        """A table of names and values; of a name that stands there twice the first value. Empty without the table."""
        if not {"name", "value"} <= set(self.tables.get(table, ())):
            return {}
        found: dict[str, str] = {}
        for name, value in self.select("name, value", table, f"LIMIT {MOST_TABLES}"):
            found.setdefault(str(name), str(value or ""))
        return found


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """The database at ``path``. Raises UserError when it is damaged, or asks for more work than its size explains."""
    connection = None
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        _bound(connection, path.stat().st_size)
        yield Database(path, connection)
    except (sqlite3.Error, UnicodeError, OverflowError, OSError) as error:
        raise UserError(f"{path.name} is not a readable SQLite database: {error}.", COPY_AGAIN) from error
    finally:
        if connection is not None:
            connection.close()


def _bound(connection: sqlite3.Connection, size: int) -> None:
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.execute("PRAGMA trusted_schema = OFF")
    looks = (LEAST_STEPS + STEPS_A_BYTE * size) // STEPS_A_LOOK
    left = iter(range(looks))
    connection.set_progress_handler(lambda: next(left, None) is None, STEPS_A_LOOK)
