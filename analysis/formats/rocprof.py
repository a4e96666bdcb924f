"""CSV files of AMD's rocprofv3: launches with times, sums by kernel, hardware counters. Not checked on real files.

The columns are those of AMD's documentation and of prints that people show in public. Times are ns. A grid counts
work-items there and blocks here, so it is divided by the workgroup.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import isfinite
from pathlib import Path

from analysis.formats.tallies import UNTIMED, encoding, table_rows, tally, untimed
from analysis.names import demangle, short_name, tidy
from analysis.types import Device, Dim3, Launch, LaunchDetail, Profile, Tally, Value
from optimas_web.errors import UserError

UNCHECKED = "Files of rocprofv3 are read as its documentation describes them; this was not checked on real files."
TRACE_AGAIN = "Trace it again: rocprofv3 --kernel-trace --output-format csv -- ./program"
AXES = ("X", "Y", "Z")
COUNTED, TRACED, SUMMED = "Counter_Name", "Start_Timestamp", "TotalDurationNs"
DETAILS = (
    "Grid_Size",
    "Workgroup_Size",
    "LDS_Block_Size",
    "Scratch_Size",
    "VGPR_Count",
    "Accum_VGPR_Count",
    "SGPR_Count",
)
LARGEST = 2.0**62
_HEAD = re.compile(r'^"?(Kind"?,"?Agent_Id|Correlation_Id"?,"?Dispatch_Id|Name"?,"?Calls"?,"?TotalDurationNs)"?,')

Row = Mapping[str, str]


def detect(head: bytes, name: str) -> bool:
    return _HEAD.match(head.decode(encoding(head), "replace")) is not None


def parse(path: Path) -> Profile:
    """Read ``kernel_trace.csv``, ``kernel_stats.csv`` or ``counter_collection.csv``.

    Raises UserError when a cell cannot be understood or no kernel is in it.
    """
    table = _Table(path)
    if COUNTED in table.columns:
        launches = tuple(_counted(table))
        return profile("rocprof", (), launches=launches, whole_run=False)
    found = tuple(_traced(table) if TRACED in table.columns else _summed(table))
    return profile("rocprof", found, warnings=tuple(untimed(found)))


def profile(
    format: str,
    tallies: tuple[Tally, ...],
    *,
    launches: tuple[Launch, ...] = (),
    whole_run: bool = True,
    device: Device | None = None,
    warnings: tuple[str, ...] = (),
    timeline: Callable[[], Iterator[Launch]] | None = None,
) -> Profile:
    """A profile of rocprofv3, labelled as not checked."""
    return Profile(
        format=format,
        tool="rocprofv3 (reader not checked on real files)",
        device=device,
        clocks_locked=None,
        cost_unit="ns",
        whole_run=whole_run,
        launches=launches,
        warnings=(UNCHECKED, *warnings),
        tallies=tallies,
        timeline=timeline,
    )


def named(symbol: str) -> tuple[str, str]:
    """Mangled and whole name of a kernel; ``.kd`` marks the descriptor of a kernel in AMD's code objects."""
    mangled = symbol.removesuffix(".kd").strip()
    return mangled, tidy(demangle(mangled))


def blocks(work_items: Sequence[int | None], workgroup: Sequence[int | None]) -> tuple[Dim3 | None, Dim3 | None]:
    """Grid in blocks, and block; None where one of the sizes is missing or 0."""
    match (*work_items, *workgroup):
        case (int(gx), int(gy), int(gz), int(bx), int(by), int(bz)) if gx and gy and gz and bx and by and bz:
            return (-(-gx // bx), -(-gy // by), -(-gz // bz)), (bx, by, bz)
    return None, None


class _Table:
    """A file as rows by the names of their columns, each with its number."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows = table_rows(path, TRACE_AGAIN)
        self.number, heading = next(self._rows, (0, []))
        self.columns = [cell.strip() for cell in heading]

    def __iter__(self) -> Iterator[Row]:
        for number, cells in self._rows:
            self.number = number
            if len(cells) == len(self.columns):
                yield dict(zip(self.columns, map(str.strip, cells), strict=True))
            elif any(cells):
                raise self.error(f"has {len(cells)} cells, and the heading {len(self.columns)}")

    def number_of(self, row: Row, column: str) -> float | None:
        """None for an empty cell or a column that is not there."""
        text = row.get(column, "")
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not isfinite(value) or abs(value) >= LARGEST:
            raise self.error(f"has {text[:40]!r} in the column {column}")
        return value

    def integer(self, row: Row, column: str) -> int | None:
        """Exact, also where a float is not: timestamps have 16 digits and more."""
        text = row.get(column, "")
        if text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < 2**63:
            return int(text)
        value = self.number_of(row, column)
        return None if value is None else int(value)

    def duration(self, row: Row) -> int:
        start, end = self.integer(row, "Start_Timestamp"), self.integer(row, "End_Timestamp")
        return UNTIMED if start is None or end is None or end < start or end == 0 else end - start

    def error(self, problem: str) -> UserError:
        return UserError(f"{self.path.name}, row {self.number} {problem}.", TRACE_AGAIN)


def _traced(table: _Table) -> Iterator[Tally]:
    counted: dict[tuple[str, Dim3 | None, Dim3 | None, str | None], array[int]] = defaultdict(lambda: array("q"))
    for row in table:
        sizes = ([table.integer(row, f"{what}_{axis}") for axis in AXES] for what in ("Grid_Size", "Workgroup_Size"))
        key = (row.get("Kernel_Name", ""), *blocks(*sizes), row.get("Agent_Id") or None)
        counted[key].append(table.duration(row))
    for (symbol, grid, block, agent), costs in counted.items():
        yield tally(*named(symbol), costs, grid=grid, block=block, device=agent)


def _summed(table: _Table) -> Iterator[Tally]:
    for row in table:
        mangled, name = named(row.get("Name", ""))
        count, total = table.integer(row, "Calls"), table.number_of(row, SUMMED)
        if not count or count < 0 or (total is not None and total < 0):
            raise table.error("has no number of calls, or a time below 0")
        yield Tally(mangled, name, short_name(name), None, None, None, count, total)


def _counted(table: _Table) -> Iterator[Launch]:
    """One launch a dispatch, whose counters stand in one row each; values of one counter in several rows add up."""
    metrics: dict[tuple[str, ...], dict[str, Value]] = {}
    times: dict[tuple[str, ...], int] = {}
    for row in table:
        key = tuple(row.get(column, "") for column in ("Process_Id", "Agent_Id", "Dispatch_Id", "Kernel_Name"))
        told = metrics.setdefault(key, {name: table.number_of(row, name) for name in DETAILS if name in row})
        value, counter = table.number_of(row, "Counter_Value"), row[COUNTED]
        before = told.get(counter)
        told[counter] = value if not isinstance(before, float) or value is None else before + value
        times[key] = table.duration(row)
    for index, (key, told) in enumerate(metrics.items()):
        mangled, name = named(key[-1])
        cost = float(times[key]) if times[key] >= 0 else None
        load = partial(LaunchDetail, told)
        yield Launch(index, mangled, name, short_name(name), None, None, cost, load)
