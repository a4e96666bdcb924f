"""Tallies made of single durations, and the reading of CSV tables, for all formats that count launches."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.names import short_name
from analysis.types import Dim3, Tally
from optimas_web.errors import UserError

UNTIMED = -1
"""Stands for the duration of a launch that has none: negative ones are never summed."""
LONGEST_LINE = 2**20


def tally(
    mangled: str,
    name: str,
    costs: array[int],
    *,
    grid: Dim3 | None,
    block: Dim3 | None,
    device: str | None,
    registers: int | None = None,
) -> Tally:
    """``costs``: of every launch in ns; negative where none is known. Such a launch counts, and not as 0 ns."""
    known = array("q", (cost for cost in costs if cost >= 0)) if min(costs) < 0 else costs
    return Tally(
        mangled=mangled,
        name=name,
        short_name=short_name(name),
        grid=grid,
        block=block,
        device=device,
        count=len(costs),
        total=float(sum(known)) if known else None,
        costs=known,
        registers=registers,
    )


def untimed(tallies: Sequence[Tally]) -> Iterator[str]:
    """A warning when launches have no duration."""
    count = sum(each.count - len(each.costs) for each in tallies if each.costs is not None)
    if count:
        yield f"{count:,} launches have no valid times: they count as launches, not as 0 ns."


def encoding(head: bytes) -> str:
    return "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def table_rows(path: Path, remedy: str) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of every row of a CSV file in UTF-8 or UTF-16. Raises UserError for what is no table."""
    with path.open("rb") as file:
        head = file.read(4)
    number = 0
    with path.open(encoding=encoding(head), errors="replace", newline="") as text:
        try:
            for number, row in enumerate(csv.reader(_lines(path.name, text, remedy)), 1):
                yield number, row
        except csv.Error as error:
            raise UserError(f"{path.name}, row {number + 1} is no row of a table: {error}.", remedy) from error


def _lines(name: str, file: Iterator[str], remedy: str) -> Iterator[str]:
    for number, line in enumerate(file, 1):
        if len(line) > LONGEST_LINE:
            raise UserError(f"{name}, line {number} is too long for a table.", remedy)
        yield line.replace("\0", "\ufffd")
