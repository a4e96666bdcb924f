"""Nsight Systems exports: every kernel launch of a run with its time, and nothing about what happens inside.

Tables exist only when there was data for them, and names and columns changed from 2020 to 2026: everything is looked
up before it is used. Launches are read once, row by row, and kept as one number each under kernel, grid, block and
device, since an export may hold millions. Names of hosts, users, processes and environments are never asked for.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from analysis.formats.sqlite.database import Database, Row, opened
from analysis.formats.tallies import tally, untimed
from analysis.names import demangle, short_name, tidy
from analysis.types import Device, Dim3, Launch, LaunchDetail, Profile, Tally, Value
from optimas_web.errors import UserError

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
STRINGS = "StringIds"
TRACE_AGAIN = "Capture again with CUDA tracing: nsys profile --trace=cuda -o report ./program"
PER_NODE = "nsys profile --trace=cuda --cuda-graph-trace=node -o report ./program"
LONGEST_NAME = 65_536
MOST_SHAPES = 200_000
"""Different pairs of a kernel and a shape that are kept; an export with more of them is refused."""
NAMES = ("mangledName", "demangledName")
GRID = (("gridX", 31), ("gridY", 16), ("gridZ", 16))
BLOCK = (("blockX", 16), ("blockY", 16), ("blockZ", 16), ("registersPerThread", 15))
"""Columns that are read as one number, each with as many bits as CUDA's limits need."""
DETAILS = (
    "start", "streamId", "contextId", "staticSharedMemory", "dynamicSharedMemory",
    "sharedMemoryExecuted", "localMemoryPerThread", "graphNodeId",
)  # fmt: skip
GPU_FACTS = (
    "computeMajor", "computeMinor", "smCount", "clockRate", "memoryBandwidth", "totalMemory", "l2CacheSize",
    "maxWarpsPerSm", "maxBlocksPerSm", "maxRegistersPerSm", "maxShmemPerSm", "chipName",
)  # fmt: skip
# A launch that had not ended, or whose times CUPTI could not get (both 0), has no duration and gets a negative number.
_DURATION = "CASE WHEN end > start OR (end = start AND end <> 0) THEN (end - start) | 0 ELSE -1 END"


def knows(tables: Mapping[str, Sequence[str]]) -> bool:
    """Whether Nsight Systems wrote this. A capture without GPU work still has its strings or facts about the target."""
    return bool(_tables(tables, KERNELS)) or STRINGS in tables or "TARGET_INFO_GPU" in tables


def parse(database: Database) -> Profile:
    """Read an export.

    Raises UserError when it holds no kernels and says why: no CUDA tracing, or graphs that were captured as one.
    """
    export = _Export(database)
    tallies = tuple(export.tallies())
    if not export.kernels:
        raise UserError(f"{database.path.name} holds no GPU kernels in this capture: was CUDA traced?", TRACE_AGAIN)
    if export.graphs and not tallies:
        raise UserError(
            f"{database.path.name} has no times of single kernels: its {export.graphs:,} CUDA graph launches were"
            " captured as one each.",
            f"Collect again per node: {PER_NODE}",
        )
    return Profile(
        format="nsys_sqlite",
        tool=f"Nsight Systems {export.facts.get('EXPORT_PRODUCT_VERSION', '')[:40]}".strip(),
        device=export.device(),
        clocks_locked=None,
        cost_unit="ns",
        whole_run=not export.graphs,
        launches=(),
        command=_command(database.pairs("META_DATA_CAPTURE")),
        warnings=(*export.warnings(), *untimed(tallies)),
        versions=_versions(export.facts),
        tallies=tallies,
        timeline=lambda: timeline(database.path),
    )


def timeline(path: Path) -> Iterator[Launch]:
    """Every single launch, in the order of the file, which must still be there.

    Raises UserError when it is damaged.
    """
    with opened(path) as database:
        yield from _Export(database).launches()


@dataclass
class _Export:
    """An open export. ``used``: launches a device, known once the tallies are."""

    database: Database
    used: dict[object, int] = field(default_factory=dict)
    _names: dict[tuple[object, object], tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tables = self.database.tables
        self.kernels = [name for name in _tables(tables, KERNELS) if {"start", "end"} <= set(tables[name])]
        self.graphs = sum(self.database.count(name) for name in _tables(tables, GRAPHS))
        self.facts = self.database.pairs("META_DATA_EXPORT") or self.database.pairs("EXPORT_META_DATA")
        self.gpus = _gpus(self.database)

    def tallies(self) -> Iterator[Tally]:
        counted: dict[Row, array[int]] = defaultdict(lambda: self._another(len(counted)))
        for symbol, whole, device, grid, block, cost in self._rows(()):
            counted[symbol, whole, device, grid, block].append(cost)
        for key, costs in counted.items():
            yield self._tally(key, costs)

    def _another(self, count: int) -> array[int]:
        """Room for the durations of one more kernel and shape. Raises UserError when there are too many."""
        if count >= MOST_SHAPES:
            raise UserError(
                f"{self.database.path.name} holds over {MOST_SHAPES:,} different kernels and shapes.",
                "Capture a shorter part of the run: nsys profile --duration=10 ...",
            )
        return array("q")

    def _rows(self, details: Sequence[str]) -> Iterator[Row]:
        """Launch by launch: both names, device, grid, block with registers, ``details``, duration.

        What a table lacks comes as None. Few values a row, and no Python between the rows, make this fast.
        """
        return chain.from_iterable(self._select(table, details) for table in self.kernels)

    def _select(self, table: str, details: Sequence[str]) -> Iterator[Row]:
        has = set(self.database.tables[table])
        names = [f'"{name}"' if name in has else "NULL" for name in (*NAMES, "deviceId", *details)]
        columns = [*names[:3], _packed(GRID, has), _packed(BLOCK, has), *names[3:], _DURATION]
        return self.database.select(", ".join(columns), table)

    def _tally(self, key: Row, costs: array[int]) -> Tally:
        symbol, whole, device, grid, block = key
        self.used[device] = self.used.get(device, 0) + len(costs)
        return tally(
            *self._named(symbol, whole),
            costs,
            grid=_dim(grid, GRID),
            block=_dim(block, BLOCK),
            device=self._label(device),
            registers=_registers(block),
        )

    def launches(self) -> Iterator[Launch]:
        for index, (symbol, whole, device, grid, block, *details, cost) in enumerate(self._rows(DETAILS)):
            mangled, name = self._named(symbol, whole)
            metrics: dict[str, Value] = dict(zip(DETAILS, details, strict=True))
            metrics |= {"device": self._label(device), "registersPerThread": _registers(block)}
            yield Launch(
                index=index,
                mangled=mangled,
                name=name,
                short_name=short_name(name),
                grid=_dim(grid, GRID),
                block=_dim(block, BLOCK),
                cost=float(cost) if cost >= 0 else None,
                load=partial(LaunchDetail, metrics),
            )

    def _named(self, mangled: object, demangled: object) -> tuple[str, str]:
        """Mangled and whole name. A kernel without a mangled name is known by its whole one."""
        if (mangled, demangled) not in self._names:
            symbol = self._string(mangled)
            whole = self._string(demangled) or demangle(symbol or "") or self._short_name(demangled)
            name = tidy(whole or "") or f"(kernel without a name, {demangled})"
            self._names[mangled, demangled] = symbol or name, name
        return self._names[mangled, demangled]

    def _short_name(self, demangled: object) -> str | None:
        """The short name of a kernel whose whole name is missing among the strings."""
        for table in self.kernels:
            if {"shortName", "demangledName"} <= set(self.database.tables[table]):
                which = "WHERE demangledName IS ? LIMIT 1"
                for (short,) in self.database.select("shortName", table, which, [demangled]):
                    return self._string(short)
        return None

    def _string(self, id_or_text: object) -> str | None:
        """A name is told by its number in the table of strings; here and there it is the text itself."""
        if isinstance(id_or_text, str):
            return id_or_text[:LONGEST_NAME]
        for table in _tables(self.database.tables, STRINGS):
            if {"id", "value"} <= set(self.database.tables[table]):
                for (text,) in self.database.select("value", table, "WHERE id = ? LIMIT 1", [id_or_text]):
                    return str(text)[:LONGEST_NAME] if text else None
        return None

    def _label(self, device: object) -> str | None:
        if device is None:
            return None
        gpu = self.gpus.get(device)
        return f"{device}: {gpu.name}" if gpu and gpu.name else f"{device}"

    def device(self) -> Device | None:
        """The device with the most launches, or the first one when nothing tells which was used."""
        used = sorted(self.used, key=lambda number: -self.used[number])
        return next((self.gpus[number] for number in used or self.gpus if number in self.gpus), None)

    def warnings(self) -> Iterator[str]:
        if KERNELS not in self.kernels:
            yield f"Kernels were read from {' and '.join(self.kernels)}, a table of an unknown version."
        if not self.used:
            yield "The table of kernels is empty: no kernel ran while this was captured."
        if self.graphs:
            yield (
                f"{self.graphs:,} CUDA graph launches were captured as one each: the kernels in them are in no share."
                f" To see them: {PER_NODE}"
            )
        if self.used and not _tables(self.database.tables, STRINGS):
            yield "The table of strings is missing: kernels have no names, only numbers."


def _tables(tables: Mapping[str, Sequence[str]], name: str) -> list[str]:
    """The table of this name, or those with a suffix of a version (``_V2``) where that one is missing."""
    if name in tables:
        return [name]
    return sorted(each for each in tables if re.fullmatch(rf"{name}_?V?\d+", each))


def _gpus(database: Database) -> dict[object, Device]:
    """CUDA's number of a device -> what is said of it."""
    has = set(database.tables.get("TARGET_INFO_GPU", ()))
    number = "id" if "id" in has else "deviceId"
    if not {number, "name"} <= has:
        return {}
    columns = [number, "name", *(name for name in GPU_FACTS if name in has)]
    rows = database.select(", ".join(columns), "TARGET_INFO_GPU", "LIMIT 1000")
    by_id = {row[0]: _gpu(row[1], dict(zip(columns[2:], row[2:], strict=True))) for row in rows}
    if not {"gpuId", "cudaId"} <= set(database.tables.get("TARGET_INFO_CUDA_DEVICE", ())):
        return by_id
    pairs = database.select("cudaId, gpuId", "TARGET_INFO_CUDA_DEVICE", "LIMIT 1000")
    return {cuda: by_id[gpu] for cuda, gpu in pairs if gpu in by_id} or by_id


def _gpu(name: object, facts: Mapping[str, Value]) -> Device:
    major, minor = facts.get("computeMajor"), facts.get("computeMinor")
    capability = (major, minor) if isinstance(major, int) and isinstance(minor, int) and major else None
    return Device(str(name) if name else None, capability, {name: value for name, value in facts.items() if value})


Columns = Sequence[tuple[str, int]]


def _packed(columns: Columns, has: Collection[str]) -> str:
    """An expression for all ``columns`` in one number, the first one lowest; NULL where one of the first three is."""
    if not {name for name, _ in columns[:3]} <= set(has):
        return "NULL"
    parts, shift = [], 0
    for name, bits in columns:
        parts += [f"({name} << {shift})"] * (name in has)
        shift += bits
    return " | ".join(parts)


def _unpacked(number: object, columns: Columns) -> list[int]:
    """The value of every column; zeros when there is none."""
    rest = number if isinstance(number, int) else 0
    values = []
    for _, bits in columns:
        values.append(rest & (1 << bits) - 1)
        rest >>= bits
    return values


def _dim(number: object, columns: Columns) -> Dim3 | None:
    x, y, z, *_ = _unpacked(number, columns)
    return (x, y, z) if x and y and z else None


def _registers(block: object) -> int | None:
    return _unpacked(block, BLOCK)[-1] or None


def _command(facts: Mapping[str, str]) -> str | None:
    """The program that was profiled, with its arguments."""
    arguments = [facts.get(f"PROCESS_0:ARGUMENT_{number}") for number in range(100)]
    command = [facts.get("PROCESS_0:COMMAND"), *arguments]
    return " ".join(word for word in command if word)[:LONGEST_NAME] or None


def _versions(facts: Mapping[str, str]) -> dict[str, str]:
    schema = facts.get("EXPORT_SCHEMA_VERSION")
    return {"export schema": schema[:40]} if schema else {}
