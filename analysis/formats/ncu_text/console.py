"""What ncu prints on the console: a line a launch, then sections with tables between dashed rules and advice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from analysis.formats.ncu_text.labels import metric_name, section_id
from analysis.formats.ncu_text.launches import DURATION, Detail, Found, Key, Printed, Scan, capability, dim3
from analysis.formats.ncu_text.lines import Row
from analysis.formats.ncu_text.numbers import whole
from analysis.formats.ncu_text.tables import VALUES, finding, invocations, known_unit, put, unit_or_none
from analysis.formats.units import Unit

TITLE = "Metric Name"
# The name holds commas and parentheses, so the line is read from its right end. Before 2022 a date stood for the sizes;
# a summary has no context and no stream.
_LAUNCH = re.compile(
    r"\s{1,4}(?P<name>\S.*?)"
    r"(?: (?P<grid>\(\d+, ?\d+, ?\d+\))x(?P<block>\(\d+, ?\d+, ?\d+\))|, \d{4}-\w{3}-\d\d [\d:]{8})?"
    r"(?:, Context \d+)?(?:, Stream \d+)?(?:, Device (?P<device>\d+), CC (?P<capability>\d+\.\d+))?"
    r"(?:, Invocations (?P<count>[\d.,]+))?\s*"
)
_MARKS = (", Context ", ", Device ")
_CLOCKS = "Data collection happened without fixed GPU frequencies"
_NO_ITEM = ("Peak Work", "Peak Traffic", "Achieved Work", "Achieved Traffic", "Table Description", TITLE)
_SECTION = re.compile(r"\s+Section: (.*?)\s*")
_DASHES = re.compile(r"\s*-{3,}(?: -{3,})+\s*")
_ADVICE = re.compile(r" {2,6}(INF|OPT|WRN|ERR) {1,4}(\S.*)")
_SPEEDUP = re.compile(r"Est\. (Local )?Speedup: ([\d.,]+)%\s*")
_INDENTED = " " * 6


class Value(NamedTuple):
    """``item``: the table or chart within the section, with ``--print-details all``."""

    section: str
    item: str
    label: str
    unit: str
    cell: str

    def metric(self, of: Unit | None) -> str:
        return metric_name(self.section, self.item, self.label, of.base if of else "")


class Advice(NamedTuple):
    section: str
    kind: str
    text: str


@dataclass(slots=True)
class Sections:
    """The lines below a launch, one after another. ``edges``: where the columns of the open table begin.

    The titles of a table stand between two rules, or, on the page ``raw``, above the only one.
    """

    section: str = ""
    item: str = ""
    edges: list[int] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    before: str = ""
    kind: str = ""
    text: list[str] = field(default_factory=list)

    def read(self, line: str) -> Iterator[Value | Advice]:
        if self.text and line.startswith(_INDENTED) and line.strip():
            self.text.append(line.strip())
            return
        yield from self.end()
        if section := _SECTION.fullmatch(line):
            self.section, self.item, self.edges = section[1], "", []
        elif _DASHES.fullmatch(line):
            self._rule(line)
        elif advice := _ADVICE.fullmatch(line):
            self.kind, self.text = advice[1], [advice[2].strip()]
        elif not line.strip():
            self.edges = []
        elif self.edges:
            yield from self._table_row(line)
        elif not line.lstrip().startswith(_NO_ITEM):
            self.item = line.strip().removeprefix("Table Name : ")
        self.before = line

    def end(self) -> Iterator[Advice]:
        if self.text:
            yield Advice(self.section, self.kind, " ".join(self.text))
        self.text = []

    def _rule(self, line: str) -> None:
        begins = not self.edges
        self.edges = [found.start() for found in re.finditer("-+", line)]
        if begins:
            self.titles = self._cells(self.before) if self.before.lstrip().startswith(TITLE) else []

    def _cells(self, line: str) -> list[str]:
        return [line[start:end].strip() for start, end in pairwise([0, *self.edges[1:], None])]

    def _table_row(self, line: str) -> Iterator[Value]:
        cells = self._cells(line)
        if cells[0] == TITLE:
            self.titles = cells
            return
        named = dict(zip(self.titles, cells, strict=False))
        value = next((named[title] for title in VALUES if title in named), None)
        if value is not None and cells[0]:
            yield Value(self.section, self.item, cells[0], named.get("Metric Unit", ""), value)


@dataclass(slots=True)
class Console:
    scan: Scan
    kind: str = "console"
    delimiter: str | None = None
    found: Found | None = None
    sections: Sections = field(default_factory=Sections)

    def take(self, row: Row) -> bool:
        if launch := launch_line(row.text):
            self._begin(launch, row)
            return True
        if self.found is None or not _below(row.text):
            return False
        self.found.extend(self, row, goes_on=True)
        if _CLOCKS in row.text:
            self.scan.clocks_locked = False
        for each in self.sections.read(row.text):
            if isinstance(each, Value):
                self._note(self.found, each, row.number)
        return True

    def finish(self) -> None:
        self.found, self.sections = None, Sections()

    def decode(self, rows: Iterator[Row], key: Key, detail: Detail) -> None:
        sections = Sections()
        for row in rows:
            if _below(row.text) and not launch_line(row.text):
                for each in sections.read(row.text):
                    _add(detail, each)
        for advice in sections.end():
            _add(detail, advice)

    def _begin(self, launch: re.Match[str], row: Row) -> None:
        key = (self.kind, str(len(self.scan.found)))
        grid, block = dim3(launch["grid"] or ""), dim3(launch["block"] or "")
        self.found = Found(key, launch["name"], grid, block, count=invocations(launch["count"] or "1"))
        self.found.extend(self, row)
        self.scan.found.append(self.found)
        self.scan.devices.setdefault(launch["device"] or "", capability(launch["capability"] or ""))
        self.sections = Sections()

    def _note(self, found: Found, value: Value, number: int) -> None:
        of = unit_or_none(value.unit)
        metric = value.metric(of)
        if of is None:
            known_unit(self.scan, value.unit, metric, number)
        self.scan.numbers.look(value.cell, of is not None and whole(metric, of))
        if metric == DURATION and of and found.duration is None:
            found.duration = Printed(value.cell, value.unit)


def launch_line(text: str) -> re.Match[str] | None:
    return _LAUNCH.fullmatch(text) if any(mark in text for mark in _MARKS) else None


def _below(text: str) -> bool:
    return text.startswith("  ") or not text.strip()


def _add(detail: Detail, each: Value | Advice) -> None:
    if isinstance(each, Value):
        of = unit_or_none(each.unit)
        put(detail, each.metric(of), each.cell, of)
        return
    said = _SPEEDUP.match(each.text)
    scope = ("local" if said[1] else "global") if said else ""
    text = each.text[said.end() :] if said else each.text
    detail.findings.append(finding("", each.kind, text, section_id(each.section), scope, said[2] if said else ""))
