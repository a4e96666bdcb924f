"""The ``source`` page: counts at instructions (SASS view) and at source lines with their instructions.

A line's row is the sum over its instructions, and an instruction of inlined code stands under every line it was
inlined through. So only instructions are counted, each address once, with all its lines as places.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from analysis.formats.ncu_text.columns import cost_name, is_reason
from analysis.formats.ncu_text.launches import SOURCE, Detail, Found, Key, Part, Scan, names
from analysis.formats.ncu_text.lines import Row
from analysis.formats.ncu_text.numbers import Numbers
from analysis.formats.units import unit
from analysis.types import CodeCost, Place

FILES = ("File Path", "File Name")
KERNEL, FUNCTION, LINE, ADDRESS, TEXT = (
    "Kernel Name", "Function Name", "Line No", "Address", "Source",
)  # fmt: skip
UNNAMED = "unnamed kernel"
LAST_LINE = 1_000_000
LONGEST_TEXT = 1_000
_COUNT = unit("")
_ADDRESS = re.compile(r"(?:0x)?[0-9a-fA-F]{1,16}")
_PREDICATE = re.compile(r"^@!?U?P\w+\s*")


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns of a block. ``costs``: number and our name of each column of counts, a name once."""

    line: int | None
    line_text: int
    address: int | None
    text: int
    costs: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, cells: Sequence[str]) -> Layout | None:
        """None when the row is no header."""
        if TEXT not in cells or not (ADDRESS in cells or LINE in cells):
            return None
        named: dict[str, int] = {}
        for number, title in enumerate(cells):
            if name := cost_name(title.strip()):
                named.setdefault(name, number)
        line = cells.index(LINE) if LINE in cells else None
        address = cells.index(ADDRESS) if ADDRESS in cells else None
        text = max(number for number, title in enumerate(cells) if title == TEXT)
        return cls(line, cells.index(TEXT), address, text, tuple((number, name) for name, number in named.items()))

    def counts(self, cells: Sequence[str], numbers: Numbers) -> dict[str, float]:
        """What was counted, without zeros; ``samples`` from the reasons where the page has no such column."""
        read = ((name, numbers.number(cells[number], _COUNT)) for number, name in self.costs if number < len(cells))
        costs = {name: value for name, value in read if value}
        by_reason = sum(value for name, value in costs.items() if is_reason(name))
        return {"samples": by_reason, **costs} if by_reason else costs

    def address_of(self, cells: Sequence[str]) -> int | None:
        if self.address is None or len(cells) <= self.text or not _ADDRESS.fullmatch(cells[self.address].strip()):
            return None
        return int(cells[self.address].strip(), 16)

    def line_of(self, cells: Sequence[str]) -> int | None:
        cell = cells[self.line].strip() if self.line is not None and self.line < len(cells) else ""
        return int(cell) if cell.isdecimal() and len(cell) < 8 and 0 < int(cell) <= LAST_LINE else None


def mnemonic(text: str) -> str | None:
    """``LDG`` of ``@!P0 LDG.E R4, [R2.64]``."""
    words = _PREDICATE.sub("", text.strip()).split()
    return words[0].rstrip(";").partition(".")[0] if words else None


@dataclass(slots=True)
class Source:
    """Both views. A launch of the SASS view begins with its kernel's name; one of the other with a function's name
    that is new, or with a file that comes again."""

    scan: Scan
    delimiter: str | None
    kind: str = SOURCE
    layout: Layout | None = None
    file: str = ""
    heading: Row | None = None
    files: set[str] = field(default_factory=set)
    block: _Block | None = None
    last: tuple[str, bytes] | None = None

    def take(self, row: Row) -> bool:
        first = row.cells[0].strip() if row.cells else ""
        if first in FILES and len(row.cells) > 1:
            self.file, self.heading = row.cells[1].strip(), row  # of which launch, the next row tells
            return True
        if first in (KERNEL, FUNCTION) and len(row.cells) > 1:
            self._name(first, row.cells[1].strip(), row)
        elif layout := Layout.of(row.cells):
            self.layout = layout
            self.block = self.block or _Block(UNNAMED, row.start)
        elif not self._counts(row):
            return False
        if self.block:
            for each in filter(None, (self.heading, row)):
                self.block.add(each)
            self.heading = None
        return True

    def _name(self, what: str, name: str, row: Row) -> None:
        if self.block is None or what == KERNEL or name != self.block.name or self.file in self.files:
            self.finish()
            self.block = _Block(name, self.heading.start if self.heading else row.start)
        if what == FUNCTION:
            self.files.add(self.file)

    def _counts(self, row: Row) -> bool:
        if self.layout is None or self.block is None or len(row.cells) <= self.layout.text:
            return False
        line, address = self.layout.line_of(row.cells), self.layout.address_of(row.cells)
        left_out = self.layout.address is not None and row.cells[self.layout.address].strip() == "..."
        if line is None and address is None:
            return left_out
        if line is not None and self.file:
            self.scan.show(self.file, line, row.cells[self.layout.line_text][:LONGEST_TEXT])
        for number, name in self.layout.costs if self.scan.numbers.decimal is None else ():
            if number < len(row.cells):
                self.scan.numbers.look(row.cells[number], not name.startswith("derived__"))
        self.block.rows += bool(self.layout.costs)
        return True

    def finish(self) -> None:
        """The launch is over. ncu 2025.3 prints every launch of the SASS view twice; no two launches have all their
        counts in common."""
        block, self.block, self.files = self.block, None, set()
        if block is None or not block.rows:
            return
        digest = block.name, block.digest.digest()
        if digest != self.last:
            key = (self.kind, str(len(self.scan.found)))
            self.scan.found.append(Found(key, block.name, parts=[Part(self, block.start, block.end)]))
        self.last = digest

    def decode(self, rows: Iterator[Row], key: Key, detail: Detail) -> None:
        page = _Listing(detail)
        for row in rows:
            page.read(row.cells)
        detail.code += page.code()


@dataclass(slots=True)
class _Block:
    """One launch's rows in the first pass."""

    name: str
    start: int
    end: int = 0
    rows: int = 0
    digest: Any = field(default_factory=lambda: blake2b(digest_size=16))

    def add(self, row: Row) -> None:
        self.end = row.end
        self.digest.update(row.text.encode("utf-8", "replace") + b"\n")


@dataclass(slots=True)
class _Instruction:
    text: str
    costs: Mapping[str, float]
    places: dict[Place, None] = field(default_factory=dict)


@dataclass(slots=True)
class _Listing:
    """One launch's rows in the second pass. ``lines``: counts of lines where the page shows no instructions."""

    detail: Detail
    layout: Layout | None = None
    function: str = UNNAMED
    file: str = ""
    place: Place | None = None
    instructions: dict[int, _Instruction] = field(default_factory=dict)
    lines: dict[Place, Mapping[str, float]] = field(default_factory=dict)

    def read(self, cells: Sequence[str]) -> None:
        first = cells[0].strip() if cells else ""
        if first in FILES and len(cells) > 1:
            self.file, self.place = cells[1].strip(), None
        elif first in (KERNEL, FUNCTION) and len(cells) > 1:
            self.function = names(cells[1].strip())[0]
        elif layout := Layout.of(cells):
            self.layout = layout
        elif self.layout and len(cells) > self.layout.text:
            self._count(self.layout, cells)

    def _count(self, layout: Layout, cells: Sequence[str]) -> None:
        line, address = layout.line_of(cells), layout.address_of(cells)
        if line is not None:
            self.place = Place(self.file, line) if self.file else None
            if layout.address is None and self.place:
                self.lines.setdefault(self.place, layout.counts(cells, self.detail.numbers))
        elif address is not None:
            if address not in self.instructions:
                counts = layout.counts(cells, self.detail.numbers)
                self.instructions[address] = _Instruction(cells[layout.text], counts)
            if self.place:
                self.instructions[address].places[self.place] = None

    def code(self) -> Iterator[CodeCost]:
        start = min(self.instructions, default=0)
        places = innermost_first({address: tuple(each.places) for address, each in self.instructions.items()})
        for address, each in sorted(self.instructions.items()):
            if each.costs:
                name = mnemonic(each.text)
                yield CodeCost(self.function, address - start, name, places[address], each.costs)
        for place, costs in self.lines.items():
            if costs:
                yield CodeCost(self.function, 0, None, (place,), costs)


def innermost_first(listed: Mapping[int, tuple[Place, ...]]) -> dict[int, tuple[Place, ...]]:
    """Address -> its lines from the innermost of inlined code to the kernel's own.

    The page does not tell this order, so it is a guess: lines of the file that holds most of the kernel are the outer
    ones. Within a file, the fewest lines that any instruction of a line stands under tell how deep the line lies at
    most; of lines that lie equally deep, the one with more instructions is the outer one.
    """
    depth: dict[Place, int] = {}
    size: Counter[Place] = Counter()
    of_file: Counter[str] = Counter()
    for places in listed.values():
        size.update(places)
        of_file.update({place.file for place in places})
        for place in places:
            depth[place] = min(depth.get(place, len(places)), len(places))
    return {
        address: tuple(sorted(places, key=lambda place: (of_file[place.file], -depth[place], size[place])))
        for address, places in listed.items()
    }
