"""Launches on their way from rows of a file to a Profile, whichever pages they stand on."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import itemgetter
from sys import intern
from typing import NamedTuple, Protocol

from analysis.formats.ncu_text.lines import Row
from analysis.formats.ncu_text.numbers import Numbers
from analysis.names import demangle, short_name, tidy
from analysis.types import CodeCost, Dim3, Finding, Value

ID, PROCESS, NAME, GRID, BLOCK, DEVICE, CAPABILITY = (
    "ID", "Process ID", "Kernel Name", "Grid Size", "Block Size", "Device", "CC",
)  # fmt: skip
KEY_COLUMNS = (ID, PROCESS, NAME, "Kernel Time", "Context", "Stream", GRID, BLOCK, DEVICE, CAPABILITY)
"""What tells launches apart. Names of processes and hosts do not, and are never kept."""
DURATION = "gpu__time_duration.sum"
RAW, DETAILS, SOURCE = "raw", "details", "source"
MOST_WARNINGS = 40
MOST_TEXT = 64 * 2**20
"""Letters of sources that are kept."""


@dataclass(slots=True)
class Detail:
    """A launch's values while its pieces are read; ``warnings`` has each sentence once."""

    numbers: Numbers
    metrics: dict[str, Value] = field(default_factory=dict)
    code: list[CodeCost] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)

    def add(self, metric: str, value: Value) -> None:
        """A value that stands twice counts once; another value of one name is kept beside it."""
        name, again = metric, 2
        while self.metrics.get(name) is not None and value is not None and self.metrics[name] != value:
            name, again = f"{metric} #{again}", again + 1
        if self.metrics.get(name) is None:
            self.metrics[name] = value


class Page(Protocol):
    """One table of a file. ``delimiter``: between its cells, None when it is no CSV."""

    kind: str
    delimiter: str | None

    def take(self, row: Row) -> bool:
        """Use a row in the first pass; False: it is none of this table."""
        ...

    def finish(self) -> None:
        """The table is over."""
        ...

    def decode(self, rows: Iterator[Row], key: Key, detail: Detail) -> None:
        """Read again what lies in one piece of the file, as far as it is of the launch ``key``."""
        ...


@dataclass(slots=True)
class Part:
    page: Page
    start: int
    end: int


class Printed(NamedTuple):
    """A value with its unit, both as they were printed."""

    cell: str
    unit: str


Key = tuple[str, ...]


@dataclass(slots=True)
class Found:
    """``count``: how many launches it sums up. ``digest``: of its row on the ``raw`` page."""

    key: Key
    name: str
    grid: Dim3 | None = None
    block: Dim3 | None = None
    duration: Printed | None = None
    count: int = 1
    digest: int = 0
    parts: list[Part] = field(default_factory=list)

    def extend(self, page: Page, row: Row, goes_on: bool = False) -> None:
        """``goes_on``: no other launch stands between ``row`` and the row before of this launch."""
        if goes_on:
            self.parts[-1].end = row.end
        else:
            self.parts.append(Part(page, row.start, row.end))


@dataclass(slots=True)
class Scan:
    """What the first pass over a file gathers. ``sources``: path -> line -> text, where a page shows it."""

    file: str
    numbers: Numbers = field(default_factory=Numbers)
    found: list[Found] = field(default_factory=list)
    by_key: dict[Key, Found] = field(default_factory=dict)
    sources: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    text_left: int = field(default_factory=lambda: MOST_TEXT)
    clocks_locked: bool | None = None
    devices: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    foreign: int = 0
    repeated: int = 0
    pages: set[str] = field(default_factory=set)
    warnings: dict[str, None] = field(default_factory=dict)
    unsaid: int = 0

    def warn(self, sentence: str) -> None:
        if sentence in self.warnings or len(self.warnings) < MOST_WARNINGS:
            self.warnings[sentence] = None
        else:
            self.unsaid += 1

    def show(self, file: str, line: int, text: str) -> None:
        """Keep a line of a source, as long as there is room for it and for the empty lines before it."""
        lines = self.sources.get(file, {})
        if line in lines:
            return
        self.text_left -= len(text) + max(0, line - next(reversed(lines), 0))
        if self.text_left > 0:
            self.sources[file][line] = text

    def launch(self, page: Page, columns: Columns, key: Key) -> Found:
        """The launch of a row: one that another page has told of before, else a new one.

        Rows of ``details`` with one key are one launch, rows of ``raw`` are one launch each.
        """
        known = self.by_key.get(key)
        if known and (page.kind == DETAILS or all(part.page.kind != page.kind for part in known.parts)):
            return known
        key = tuple(map(intern, key))
        named = dict(zip(columns.keys, key, strict=True))
        found = Found(key, named[NAME].strip(), dim3(named.get(GRID, "")), dim3(named.get(BLOCK, "")))
        self.found.append(found)
        self.by_key.setdefault(key, found)
        self.devices.setdefault(named.get(DEVICE, ""), capability(named.get(CAPABILITY, "")))
        return found


@dataclass(frozen=True, slots=True)
class Columns:
    """Where what stands in a table. ``keys``: those of KEY_COLUMNS that it has, ``at``: name -> number."""

    header: Sequence[str]
    keys: tuple[str, ...]
    at: Mapping[str, int]
    quoted: bool
    pick: Callable[[Sequence[str]], Key]
    last_key: int

    @classmethod
    def of(cls, header: Sequence[str], text: str) -> Columns:
        """``header`` has the kernel's name."""
        at = {name: number for number, name in reversed(list(enumerate(header)))}
        keys = tuple(name for name in KEY_COLUMNS if name in at)
        numbers = [at[name] for name in keys]
        pick = itemgetter(*numbers) if len(numbers) > 1 else partial(_one, numbers[0])
        return cls(header, keys, at, text.startswith('"'), pick, max(numbers))

    def cell(self, row: Row, name: str) -> str:
        number = self.at.get(name)
        return row.cells[number].strip() if number is not None and number < len(row.cells) else ""

    def key(self, row: Row) -> Key | None:
        """None when the row is of no launch: a line of the program, a message, a row of units."""
        cells = row.cells
        if len(cells) <= self.last_key or (self.quoted and not row.text.startswith('"')):
            return None
        named = ID not in self.at or cells[self.at[ID]].strip().isdecimal()
        return self.pick(cells) if named and cells[self.at[NAME]].strip() else None

    def nameless(self, row: Row) -> bool:
        """Whether all cells that tell a launch are empty, as in the row of units."""
        return len(row.cells) > self.last_key and not any(cell.strip() for cell in self.pick(row.cells))

    def cut_short(self, row: Row) -> bool:
        """Whether it begins as a row of a launch does, and ends too early."""
        begun = self.at.get(ID) == 0 and len(row.cells) > self.at[NAME] and row.cells[0].isdecimal()
        begun = begun and (self.cell(row, PROCESS).isdecimal() or PROCESS not in self.at)
        return begun and row.text.startswith('"') == self.quoted and bool(row.cells[self.at[NAME]].strip())


def _one(number: int, cells: Sequence[str]) -> Key:
    return (cells[number],)


@lru_cache(maxsize=4096)
def names(printed: str) -> tuple[str, str, str]:
    """What groups launches, what people read, and that without its arguments. Pages print demangled names unless they
    are told otherwise."""
    name = tidy(demangle(printed))
    return (printed if printed.startswith("_Z") else name), name, short_name(name)


@lru_cache(maxsize=4096)
def dim3(text: str) -> Dim3 | None:
    """``(256, 1, 1)``."""
    found = re.findall(r"\d+", text)
    return (int(found[0]), int(found[1]), int(found[2])) if len(found) == 3 else None


def capability(text: str) -> tuple[int, int] | None:
    """``9.0``; ``9`` where a program has saved the table again."""
    found = re.fullmatch(r"(\d{1,3})(?:[.,](\d)0*)?", text.strip())
    return (int(found[1]), int(found[2] or 0)) if found else None
