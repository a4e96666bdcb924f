"""Exports of Nsight Systems made by hand, as old or as new as a test needs them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = (
    "start", "end", "deviceId", "streamId", "globalPid", "demangledName", "shortName", "mangledName", "gridX", "gridY",
    "gridZ", "blockX", "blockY", "blockZ", "registersPerThread", "staticSharedMemory", "graphNodeId",
)  # fmt: skip


@dataclass
class Ran:
    """A kernel launch. Names are texts here and become numbers of the table of strings."""

    name: str
    start: object = 1000
    end: object = 2000
    grid: tuple[int, int, int] = (64, 1, 1)
    block: tuple[int, int, int] = (256, 1, 1)
    device: int = 0
    mangled: str | None = None
    node: int | None = None


@dataclass
class Export:
    launches: Sequence[Ran] = ()
    table: str | None = "CUPTI_ACTIVITY_KIND_KERNEL"
    without: Sequence[str] = ()
    gpus: Sequence[tuple[int, str]] = ((0, "NVIDIA H200"),)
    graphs: int = 0
    strings: bool = True
    facts: Mapping[str, str] = field(default_factory=lambda: {"EXPORT_PRODUCT_VERSION": "2025.3.1"})
    facts_table: str = "META_DATA_EXPORT"
    capture: Mapping[str, str] = field(default_factory=dict)
    more: Sequence[str] = ()

    def write(self, path: Path) -> Path:
        with sqlite3.connect(path) as to:
            numbers: dict[str, int] = {}
            if self.table:
                columns = [name for name in COLUMNS if name not in self.without]
                to.execute(f"CREATE TABLE {self.table} ({', '.join(columns)})")
                question = f"INSERT INTO {self.table} VALUES ({', '.join('?' * len(columns))})"
                rows = (self._row(ran, numbers) for ran in self.launches)
                to.executemany(question, ([row[name] for name in columns] for row in rows))
            if self.strings:
                to.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
                to.executemany("INSERT INTO StringIds (value, id) VALUES (?, ?)", numbers.items())
            if self.graphs:
                to.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, graphId)")
                to.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (0, 1, ?)", [(1,)] * self.graphs)
            if self.gpus:
                to.execute("CREATE TABLE TARGET_INFO_GPU (id, name, computeMajor, computeMinor, smCount)")
                to.executemany("INSERT INTO TARGET_INFO_GPU VALUES (?, ?, 9, 0, 132)", self.gpus)
            for table, pairs in ((self.facts_table, self.facts), ("META_DATA_CAPTURE", self.capture)):
                to.execute(f"CREATE TABLE {table} (name TEXT, value TEXT)")
                to.executemany(f"INSERT INTO {table} VALUES (?, ?)", pairs.items())
            for question in self.more:
                to.execute(question)
        to.close()
        return path

    def _row(self, ran: Ran, numbers: dict[str, int]) -> dict[str, object]:
        def number(text: str) -> int:
            return numbers.setdefault(text, len(numbers) + 1)

        shape = zip(("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"), (*ran.grid, *ran.block), strict=True)
        return {
            **dict(shape),
            "start": ran.start, "end": ran.end, "deviceId": ran.device, "streamId": 7, "globalPid": 281479271743489,
            "demangledName": number(ran.name), "shortName": number(ran.name.split("(")[0]),
            "mangledName": number(ran.mangled) if ran.mangled else None, "registersPerThread": 32,
            "staticSharedMemory": 4096, "graphNodeId": ran.node,
        }  # fmt: skip
