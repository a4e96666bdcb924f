"""The pages with a launch's metrics: ``raw`` (a row a launch, a column a metric) and ``details`` (a row a value)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from analysis.formats.ncu_text import unitless
from analysis.formats.ncu_text.labels import metric_name
from analysis.formats.ncu_text.launches import DETAILS, DURATION, ID, RAW, Columns, Detail, Found, Key, Printed, Scan
from analysis.formats.ncu_text.lines import Row
from analysis.formats.ncu_text.numbers import Numbers, whole
from analysis.formats.units import Unit, UnknownUnit, unit
from analysis.types import Finding

VALUES = ("Metric Value", "Average")
"""Where a value stands: of one launch, or the mean of several."""
DESCRIBED = ("Section Name", "Body Item Label", "Metric Name", "Metric Unit")
PERCENT = unit("%")
MOST_INVOCATIONS = 1_000_000


def unit_or_none(printed: str) -> Unit | None:
    try:
        return unit(printed)
    except UnknownUnit:
        return None


def known_unit(scan: Scan, printed: str, metric: str, number: int) -> Unit | None:
    """None, and a warning, when nobody knows what the unit stands for."""
    found = unit_or_none(printed)
    if found is None:
        scan.warn(f"Line {number}: the unit {printed[:60]!r} of {metric[:100]} is not known: its values are left out.")
    return found


def put(detail: Detail, metric: str, cell: str, of: Unit | None) -> None:
    try:
        value = detail.numbers.value(cell, of) if of else None
    except ValueError:
        detail.warnings[f"{metric}: {cell[:60]!r} is no number in this file: it is left out."] = None
        value = None
    detail.add(metric, value)


@dataclass(slots=True)
class _Metric:
    """A column of the raw page. ``of`` None: its scale is not known."""

    number: int
    name: str
    printed: str = ""
    of: Unit | None = None


@dataclass(slots=True)
class Wide:
    """The ``raw`` page. Its second row names the units; where that row is lost, ``unitless`` says what is safe."""

    scan: Scan
    columns: Columns
    delimiter: str | None
    kind: str = RAW
    metrics: list[_Metric] = field(init=False)
    duration: _Metric | None = field(init=False)
    ready: bool = False
    seen: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        last, header = self.columns.last_key, self.columns.header
        self.metrics = [_Metric(n, name) for n, name in enumerate(header) if n > last or "__" in name]
        self.duration = next((metric for metric in self.metrics if metric.name == DURATION), None)

    def take(self, row: Row) -> bool:
        if not self.ready and self.columns.nameless(row):
            self._note_units(row)
            return True
        key = self._key(row)
        if key is None:
            return self._cut_short(row)
        if not self.ready:
            self._without_units(row)
        self._note(key, row)
        return True

    def finish(self) -> None:
        self.seen.clear()

    def decode(self, rows: Iterator[Row], key: Key, detail: Detail) -> None:
        for row in rows:
            if self._key(row) == key:
                for metric in self.metrics:
                    put(detail, metric.name, row.cells[metric.number], metric.of)

    def _key(self, row: Row) -> Key | None:
        return self.columns.key(row) if len(row.cells) == len(self.columns.header) else None

    def _cut_short(self, row: Row) -> bool:
        if not self.columns.cut_short(row):
            return False
        told = f"{len(row.cells)} cells where the header has {len(self.columns.header)}"
        self.scan.warn(f"Line {row.number}: the row has {told}: this launch is left out.")
        return True

    def _note(self, key: Key, row: Row) -> None:
        if self._repeats(key, row):
            self.scan.repeated += 1
            return
        found = self.scan.launch(self, self.columns, key)
        found.extend(self, row)
        found.digest = hash(row.text)
        for metric in self.metrics if self.scan.numbers.decimal is None else ():
            self.scan.numbers.look(row.cells[metric.number], metric.of is not None and whole(metric.name, metric.of))
        if found.duration is None and self.duration and self.duration.of:
            found.duration = Printed(row.cells[self.duration.number], self.duration.printed)

    def _repeats(self, key: Key, row: Row) -> bool:
        """Whether the page was printed twice: a row with the ID, and all the cells, of an earlier one."""
        known = self.scan.by_key.get(key) if ID in self.columns.at else None
        if known is None or not known.digest:
            return False
        digest = hash(row.text)
        again = digest == known.digest or digest in self.seen
        self.seen.add(digest)
        return again

    def _note_units(self, row: Row) -> None:
        for metric in self.metrics:
            metric.printed = row.cells[metric.number].strip() if metric.number < len(row.cells) else ""
            metric.of = known_unit(self.scan, metric.printed, metric.name, row.number)
        self.ready = True

    def _without_units(self, row: Row) -> None:
        inferred = unitless.infer({metric.name: row.cells[metric.number] for metric in self.metrics})
        for metric in self.metrics:
            metric.printed = inferred.units.get(metric.name, "")
            metric.of = unit(metric.printed) if metric.name in inferred.units else None
        self.scan.warn(inferred.sentence)
        self.ready = True


@dataclass(frozen=True, slots=True)
class _Kind:
    """What rows with one section, item, label and unit say. ``of`` None: the unit is not known."""

    metric: str
    of: Unit | None
    counted: bool


@dataclass(slots=True)
class Long:
    """The ``details`` page. Rows of metrics stop early; rows of rules are full and have no metric."""

    scan: Scan
    columns: Columns
    delimiter: str | None
    kind: str = DETAILS
    value: int = field(init=False)
    described: Callable[[Sequence[str]], tuple[str, ...]] = field(init=False)
    current: Found | None = None
    kinds: dict[tuple[str, ...], _Kind] = field(default_factory=dict)

    def __post_init__(self) -> None:
        at = self.columns.at
        self.value = next(at[name] for name in VALUES if name in at)
        self.described = itemgetter(*(at.get(name, at["Metric Name"]) for name in DESCRIBED))

    def take(self, row: Row) -> bool:
        key = self.columns.key(row)
        is_rule = self._is_rule(row)
        if key is None or not (is_rule or self._is_metric(row)):
            if not self.columns.cut_short(row):
                return False
            self.scan.warn(f"Line {row.number}: the row ends early: its value is left out.")
            return True
        if self.current is None or self.current.key != key:
            self.current = self.scan.launch(self, self.columns, key)
            self.current.extend(self, row)
        else:
            self.current.extend(self, row, goes_on=True)
        if not is_rule:
            self._note_value(self.current, row)
        return True

    def finish(self) -> None:
        self.current = None

    def decode(self, rows: Iterator[Row], key: Key, detail: Detail) -> None:
        for row in rows:
            if self.columns.key(row) != key:
                continue
            if self._is_rule(row):
                detail.findings.append(self._finding(row))
            elif self._is_metric(row):
                kind = self._kind(row)
                put(detail, kind.metric, row.cells[self.value], kind.of)

    def _is_rule(self, row: Row) -> bool:
        return bool(self.columns.cell(row, "Rule Name"))

    def _is_metric(self, row: Row) -> bool:
        return len(row.cells) > self.value and bool(row.cells[self.columns.at["Metric Name"]].strip())

    def _kind(self, row: Row) -> _Kind:
        told = self.described(row.cells)
        kind = self.kinds.get(told)
        if kind is None:
            section, item, label = (self.columns.cell(row, name) for name in DESCRIBED[:3])
            printed = self.columns.cell(row, DESCRIBED[3])
            of = unit_or_none(printed)
            metric = metric_name(section, item, label, of.base if of else "")
            known_unit(self.scan, printed, metric, row.number)
            kind = self.kinds[told] = _Kind(metric, of, of is not None and whole(metric, of))
        return kind

    def _note_value(self, found: Found, row: Row) -> None:
        kind = self._kind(row)
        if self.scan.numbers.decimal is None:
            self.scan.numbers.look(row.cells[self.value], kind.counted)
        if kind.metric == DURATION and kind.of and found.duration is None:
            found.duration = Printed(row.cells[self.value], self.columns.cell(row, "Metric Unit"))
        if "Invocations" in self.columns.at:
            found.count = invocations(self.columns.cell(row, "Invocations"))

    def _finding(self, row: Row) -> Finding:
        rule, kind, message, section, scope, speedup = (
            self.columns.cell(row, name)
            for name in (
                "Rule Name", "Rule Type", "Rule Description", "Section Name", "Estimated Speedup Type",
                "Estimated Speedup",
            )
        )  # fmt: skip
        return finding(rule, kind, message, section, scope, speedup)


def finding(rule: str, kind: str, message: str, section: str, scope: str, percent: str) -> Finding:
    """``percent``: the speed-up, which ncu prints with a point in every locale."""
    told = Numbers(".").number(percent, PERCENT)
    share = told / 100 if told is not None else None
    if scope == "local":
        return Finding(rule, kind, message, share, section, "local")
    return Finding(rule, kind, message, share, section, "global" if scope == "global" else None)


def invocations(cell: str) -> int:
    """How many launches a row sums up; at least 1, and no more than anybody profiles."""
    digits = cell.replace(",", "").replace(".", "")
    return min(max(int(digits), 1), MOST_INVOCATIONS) if digits.isdecimal() and len(digits) < 12 else 1
