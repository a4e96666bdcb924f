"""A ``raw`` page whose row of units is lost: some program saved the table again.

ncu scales times, bytes, clocks and rates, one scale a column; counts, shares and ratios it never scales. So those are
safe. A clock lies between 0.1 and 100 GHz, which leaves one power of 1000; cycles over a clock are the time, which
tells the scale of the duration. What cannot be told is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from analysis.formats.ncu_text.launches import DURATION
from analysis.formats.ncu_text.numbers import Numbers
from analysis.formats.units import unit

_SCALED = re.compile(r"byte|time|per_second|_mem_|_mem$|_size|_rate\b|khz|_memory|duration|lifetime|interval|\bclock")
_SHARE = re.compile(r"(pct|ratio)(_|$|\b)|pct_of_peak")
_CLOCK = re.compile(r"\w+__cycles_elapsed\.avg\.per_second")
_PARTS = ("sm", "gpc")
_NEAR = 0.1


@dataclass(frozen=True, slots=True)
class Inferred:
    """``units``: metric -> unit, for all whose scale is known. ``sentence`` says what was done, for people."""

    units: Mapping[str, str]
    sentence: str


def infer(cells: Mapping[str, str]) -> Inferred:
    """From the cells of one launch, metric -> cell."""
    values = {name: _number(cell) for name, cell in cells.items()}
    units = {name: "" for name in cells if _SHARE.search(name) or not _SCALED.search(name)}
    for name, value in values.items():
        if value is not None and _CLOCK.fullmatch(name) and (scale := _clock(value)):
            units[name] = scale
    if scale := _duration(values, units):
        units[DURATION] = scale
    lost = len(cells) - len(units)
    columns = "1 column of unknown scale is" if lost == 1 else f"{lost} columns of unknown scale are"
    told = f"that of the time was inferred from cycles and clock ({units[DURATION]})" if DURATION in units else ""
    told = told or "that of the time cannot be told"
    return Inferred(units, f"The row of units is lost: {told}, and {columns} left out.")


def _number(cell: str) -> float | None:
    return Numbers(".").number(cell, unit("%"))


def _clock(value: float) -> str | None:
    return next((name for name in ("hz", "khz", "mhz", "ghz") if 1e8 <= value * float(unit(name).factor) < 1e11), None)


def _duration(values: Mapping[str, float | None], units: Mapping[str, str]) -> str | None:
    printed = values.get(DURATION)
    for part in _PARTS:
        cycles, clock = f"{part}__cycles_elapsed.max", f"{part}__cycles_elapsed.avg.per_second"
        count, rate = values.get(cycles), values.get(clock)
        if printed and count and rate and clock in units:
            expected = count / (rate * float(unit(units[clock]).factor)) * 1e9
            for name in ("ns", "us", "ms", "s"):
                if abs(printed * float(unit(name).factor) / expected - 1) < _NEAR:
                    return name
    return None
