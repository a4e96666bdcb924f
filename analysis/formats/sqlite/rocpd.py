"""Databases of AMD's rocprofv3 (rocpd, since ROCm 7): every kernel dispatch with its time, and counters.

Read from tables whose names end in the id of a session, as AMD's published schema describes them. Not checked on real
files. The views of the same names without the id are not looked at, and neither are nodes, processes and environments.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from analysis.formats import rocprof
from analysis.formats.sqlite.database import Database, Row, opened
from analysis.formats.tallies import UNTIMED, tally, untimed
from analysis.names import short_name
from analysis.types import Device, Launch, LaunchDetail, Profile, Tally
from optimas_web.errors import UserError

DISPATCH = "rocpd_kernel_dispatch"
SIZES = [f"{what}_size_{axis}" for what in ("grid", "workgroup") for axis in "xyz"]
NEEDED = {"kernel_id", "agent_id", "start", "end", *SIZES}
MOST_KERNELS = 100_000
_DURATION = f'CASE WHEN "end" >= start AND "end" <> 0 THEN ("end" - start) | 0 ELSE {UNTIMED} END'


def knows(tables: Mapping[str, Sequence[str]]) -> bool:
    return bool(_sessions(tables))


def parse(database: Database) -> Profile:
    """Read a database. Raises UserError when its schema is of another version."""
    sessions = [_Session(database, name.removeprefix(DISPATCH)) for name in _sessions(database.tables)]
    for session in sessions:
        missing = NEEDED - set(database.tables[DISPATCH + session.id])
        if missing:
            raise UserError(
                f"{database.path.name} has another version of rocpd's tables: no column {min(missing)}.",
                f"Convert it: rocpd convert -i {database.path.name} --output-format csv, and upload kernel_trace.csv.",
            )
    tallies = tuple(each for session in sessions for each in session.tallies())
    return rocprof.profile(
        "rocpd",
        tallies,
        device=next((session.device for session in sessions if session.device), None),
        warnings=tuple(untimed(tallies)),
        timeline=lambda: timeline(database.path),
    )


def timeline(path: Path) -> Iterator[Launch]:
    """Every single launch with its counters. The file must still be there. Raises UserError when it is damaged."""
    with opened(path) as database:
        index = 0
        for name in _sessions(database.tables):
            for launch in _Session(database, name.removeprefix(DISPATCH)).launches(index):
                yield launch
                index = launch.index + 1


def _sessions(tables: Mapping[str, Sequence[str]]) -> list[str]:
    return sorted(name for name in tables if re.fullmatch(rf"{DISPATCH}(_[0-9a-fA-F_]+)?", name))


@dataclass
class _Session:
    """The tables that end in ``id``."""

    database: Database
    id: str
    kernels: dict[object, tuple[str, str]] = field(default_factory=dict)
    agents: dict[object, str] = field(default_factory=dict)
    device: Device | None = None

    def __post_init__(self) -> None:
        for id, symbol, shown in self._told("rocpd_info_kernel_symbol", ("id", "kernel_name", "display_name")):
            mangled, name = rocprof.named(str(symbol or shown or ""))
            self.kernels[id] = mangled, (name if name != mangled or not shown else rocprof.named(str(shown))[1])
        for id, kind, product, name, index in self._told(
            "rocpd_info_agent", ("id", "type", "product_name", "name", "type_index")
        ):
            if kind == "GPU":
                self.agents[id] = f"{index}: {product or name}"
                self.device = self.device or Device(str(product or name) if product or name else None)

    def _told(self, table: str, columns: Sequence[str]) -> Iterator[Row]:
        has = set(self.database.tables.get(table + self.id, ()))
        if "id" in has:
            chosen = ", ".join(f'"{name}"' if name in has else "NULL" for name in columns)
            yield from self.database.select(chosen, table + self.id, f"LIMIT {MOST_KERNELS}")

    def tallies(self) -> Iterator[Tally]:
        counted: dict[Row, array[int]] = defaultdict(lambda: array("q"))
        for row in self._dispatches():
            counted[row[:-1]].append(row[-1])
        for (kernel, agent, *sizes), costs in counted.items():
            grid, block = rocprof.blocks(sizes[:3], sizes[3:])
            yield tally(*self._named(kernel), costs, grid=grid, block=block, device=self.agents.get(agent))

    def launches(self, first: int) -> Iterator[Launch]:
        has_events = "event_id" in self.database.tables[DISPATCH + self.id]
        for index, (*row, event, cost) in enumerate(self._dispatches("event_id" if has_events else "NULL"), first):
            mangled, name = self._named(row[0])
            grid, block = rocprof.blocks(row[2:5], row[5:8])
            load = partial(LaunchDetail, self._counters(event))
            yield Launch(index, mangled, name, short_name(name), grid, block, float(cost) if cost >= 0 else None, load)

    def _dispatches(self, *more: str) -> Iterator[Row]:
        columns = ["kernel_id", "agent_id", *SIZES, *more, _DURATION]
        yield from self.database.select(", ".join(columns), DISPATCH + self.id)

    def _named(self, kernel: object) -> tuple[str, str]:
        return self.kernels.get(kernel) or (f"(kernel without a name, {kernel})",) * 2

    def _counters(self, event: object) -> dict[str, float | None]:
        """Counter -> value at one dispatch; the values of its instances add up."""
        counters, names = f"rocpd_pmc_event{self.id}", f"rocpd_info_pmc{self.id}"
        if event is None or not {counters, names} <= set(self.database.tables):
            return {}
        values: dict[str, float | None] = defaultdict(float)
        which = f'JOIN "{names}" AS p ON p.id = pmc_id WHERE event_id = ?'
        for name, value in self.database.select("p.name, value", counters, which, [event]):
            if isinstance(value, int | float):
                values[str(name)] = (values[str(name)] or 0.0) + value
        return dict(values)
