"""What ``nsys stats --format csv`` prints about kernels: their summary, by name or by shape, or launch by launch.

Names of reports, columns and units changed over the years (``gpukernsum``, ``cuda_gpu_kern_sum``; ``Time(%)``,
``Time (%)``; ``Average``, ``Avg (ns)``), so a table is known by its columns. A summary has sums and no single launches:
its tallies have a median where nsys prints one, and no costs.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from analysis.formats.tallies import UNTIMED, encoding, table_rows, tally, untimed
from analysis.formats.units import TIMES
from analysis.names import short_name, tidy
from analysis.types import Dim3, Profile, Tally
from optimas_web.errors import UserError

PRINT_AGAIN = "Print it again: nsys stats --report cuda_gpu_kern_sum --format csv report.nsys-rep"
LARGEST = 2.0**62
ALL_OF_IT = 97.0
"""Percent that the rows of a whole summary reach at least: each is rounded to a tenth."""
NAMES = {
    "total time": "total", "instances": "count", "med": "median", "median": "median", "name": "name", "time": "percent",
    "gridxyz": "grid", "blockxyz": "block", "duration": "duration", "device": "device",
    "grdx": "grid_x", "grdy": "grid_y", "grdz": "grid_z", "blkx": "block_x", "blky": "block_y", "blkz": "block_z",
}  # fmt: skip
SUMMARY, TRACE = {"total", "count", "name"}, {"duration", "grid_x", "block_x", "name"}
_HEADING = re.compile(r"(?P<name>.*?)\s*(?:\((?P<unit>[^()]*)\))?\s*")
_HEAD = re.compile(
    r'^"?(Time ?\(%\)"?,"?Total Time( ?\(\w+\))?"?,|Start( ?\(\w+\))?"?,"?Duration( ?\(\w+\))?"?,"?CorrId)',
    re.MULTILINE,
)


def detect(head: bytes, name: str) -> bool:
    return _HEAD.search(head.decode(encoding(head), "replace")) is not None


def parse(path: Path) -> Profile:
    """Read the tables of kernels in a print; other tables and lines around them are passed over.

    Raises UserError when there is no such table or a cell of it cannot be understood.
    """
    reader = _Reader(path.name)
    for reader.number, row in table_rows(path, PRINT_AGAIN):
        reader.read(row)
    best = reader.best()
    return Profile(
        format="nsys_stats",
        tool="Nsight Systems",
        device=None,
        clocks_locked=None,
        cost_unit="ns",
        whole_run=True,
        launches=(),
        warnings=tuple(reader.warnings()),
        tallies=tuple(best.tallies()),
    )


@dataclass(frozen=True, slots=True)
class _Column:
    place: int
    factor: int


_Key = tuple[str, Dim3 | None, Dim3 | None, str | None]


@dataclass
class _Table:
    """One table of kernels. ``costs``: of single launches."""

    columns: Mapping[str, _Column]
    width: int
    summed: list[Tally] = field(default_factory=list)
    costs: dict[_Key, array[int]] = field(default_factory=lambda: defaultdict(lambda: array("q")))
    percent: float = 0.0

    @property
    def is_trace(self) -> bool:
        return not set(self.columns) >= SUMMARY

    @property
    def detail(self) -> int:
        return 2 * self.is_trace + ("grid" in self.columns)

    def tallies(self) -> Iterator[Tally]:
        yield from self.summed
        for (name, grid, block, device), costs in self.costs.items():
            yield tally(name, name, costs, grid=grid, block=block, device=device)


@dataclass
class _Reader:
    """The tables as they are met, row by row. A table ends with an empty row or one of another width."""

    file_name: str
    tables: list[_Table] = field(default_factory=list)
    number: int = 0
    inside: bool = False

    def read(self, row: Sequence[str]) -> None:
        columns = self._heading(row)
        if columns:
            self.tables.append(_Table(columns, len(row)))
            self.inside = True
        elif not self.inside or len(row) != self.tables[-1].width:
            self.inside = False
        elif not self.tables[-1].is_trace:
            self._sum(row)
        elif self._text(row, "grid_x"):  # copies and sets of memory have no grid
            self._launch(row)

    def _heading(self, row: Sequence[str]) -> dict[str, _Column]:
        """Our names of the columns when these are the headings of a table of kernels, else nothing."""
        headings = [_HEADING.fullmatch(cell.strip()) for cell in row]
        named = {NAMES.get(each["name"].lower()): place for place, each in enumerate(headings) if each}
        if not (set(named) >= SUMMARY or set(named) >= TRACE):
            return {}
        units = [each["unit"] if each else None for each in headings]
        return {name: _Column(place, self._factor(units[place])) for name, place in named.items() if name}

    def _factor(self, unit: str | None) -> int:
        """What a time in this unit is in ns; percentages and old columns without a unit are as they are."""
        if unit in (None, "%"):
            return 1
        if unit not in TIMES:
            raise UserError(f"{self.file_name}, row {self.number}: {unit!r} is no unit of time.", PRINT_AGAIN)
        return TIMES[unit]

    def _sum(self, row: Sequence[str]) -> None:
        name = tidy(self._text(row, "name"))
        count = self._number(row, "count")
        if count is None or count != int(count) or count < 1:
            raise self._not_understood("Instances", self._text(row, "count"))
        self.tables[-1].percent += self._number(row, "percent") or 0.0
        summed = Tally(
            mangled=name,
            name=name,
            short_name=short_name(name),
            grid=_dim(self._text(row, "grid")),
            block=_dim(self._text(row, "block")),
            device=None,
            count=int(count),
            total=self._number(row, "total"),
            median=self._number(row, "median"),
        )
        self.tables[-1].summed.append(summed)

    def _launch(self, row: Sequence[str]) -> None:
        grid, block = (
            _dim(" ".join(self._text(row, f"{what}_{axis}") for axis in "xyz")) for what in ("grid", "block")
        )
        cost = self._number(row, "duration")
        key = tidy(self._text(row, "name")), grid, block, self._text(row, "device") or None
        self.tables[-1].costs[key].append(UNTIMED if cost is None else round(cost))

    def best(self) -> _Table:
        """The most detailed table; they tell of the same launches. Raises UserError when there is none."""
        if not self.tables:
            raise UserError(f"{self.file_name} holds no table of kernels among what nsys printed.", PRINT_AGAIN)
        return max(self.tables, key=lambda table: table.detail)

    def warnings(self) -> Iterator[str]:
        if len(self.tables) > 1:
            yield f"The file holds {len(self.tables)} tables of kernels; the most detailed one is shown."
        if 0 < self.best().percent < ALL_OF_IT:
            yield f"The rows of the summary hold {self.best().percent:.0f} % of the time: the table is not whole."
        yield from untimed(tuple(self.best().tallies()))

    def _text(self, row: Sequence[str], name: str) -> str:
        columns = self.tables[-1].columns
        return row[columns[name].place].strip() if name in columns else ""

    def _number(self, row: Sequence[str], name: str) -> float | None:
        """In ns where it is a time; None for an empty cell."""
        text = self._text(row, name)
        if not text:
            return None
        try:
            value = float(text) * self.tables[-1].columns[name].factor
        except ValueError:
            raise self._not_understood(name, text) from None
        if not isfinite(value) or not 0 <= value < LARGEST:
            raise self._not_understood(name, text)
        return value

    def _not_understood(self, column: str, text: str) -> UserError:
        return UserError(
            f"{self.file_name}, row {self.number}: {text[:40]!r} is no number for the column {column}.", PRINT_AGAIN
        )


def _dim(text: str) -> Dim3 | None:
    match [int(word) for word in re.findall(r"\d{1,12}", text)]:
        case [x, y, z] if x and y and z:
            return x, y, z
    return None
