"""Where the marks of a drawing stand. Positions are percent of the drawing's width: SVG takes them as they are, so a
drawing fits every screen without a script, and without styles that the content policy would refuse."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from analysis.names import spoken
from optimas_web.words import LOOKS, Tone

EDGE = 4.0  # percent kept free at both ends, for the numbers under the axis
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
TICK_DISTANCE = 12.0
HOT = 0.8


class Timed(Protocol):
    """What an interval is drawn of: ``evaluation.types.Timing``, or its row."""

    scope: str
    speedup: float | None
    low: float | None
    high: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    text: str
    is_one: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where an interval stands; without bounds it is a point."""

    low: float
    middle: float
    high: float

    @property
    def width(self) -> float:
        return round(self.high - self.low, 2)


@dataclass(frozen=True, slots=True)
class Interval:
    """One speedup with its bounds. Without a place nothing was measured, and only the verdict is shown."""

    name: str
    tone: Tone
    verdict: str
    value: float | None
    low: float | None
    high: float | None
    place: Place | None


@dataclass(frozen=True, slots=True)
class IntervalPlot:
    ticks: tuple[Tick, ...]
    rows: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis of ratios: twice as fast and twice as slow lie equally far from 1."""

    lowest: float
    highest: float

    def place(self, ratio: float) -> float:
        share = math.log(ratio / self.lowest) / math.log(self.highest / self.lowest)
        return round(EDGE + (100 - 2 * EDGE) * share, 2)

    def ticks(self) -> tuple[Tick, ...]:
        inside = [(self.place(ratio), ratio) for ratio in TICKS if self.lowest <= ratio <= self.highest]
        return tuple(Tick(x, f"{ratio:g}×", ratio == 1) for x, ratio in thinned(inside))


def interval_plot(timings: Iterable[Timed]) -> IntervalPlot:
    """Speedups and their bounds on one axis that always shows 1."""
    timings = list(timings)
    ratios = [ratio for t in timings for ratio in (t.low, t.speedup, t.high) if ratio]
    axis = Axis(min([0.85, *ratios]), max([1.18, *ratios]))
    return IntervalPlot(axis.ticks(), tuple(drawn(timing, axis) for timing in timings))


def drawn(timing: Timed, axis: Axis) -> Interval:
    middle = timing.speedup
    place = middle and Place(axis.place(timing.low or middle), axis.place(middle), axis.place(timing.high or middle))
    tone = LOOKS[timing.verdict].tone
    return Interval(spoken(timing.scope), tone, timing.verdict, middle, timing.low, timing.high, place or None)


def thinned(ticks: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Ticks that do not touch each other, kept from 1 outwards so that 1 always stays."""
    kept: list[tuple[float, float]] = []
    for tick in sorted(ticks, key=lambda t: abs(math.log(t[1]))):
        if all(abs(tick[0] - other[0]) >= TICK_DISTANCE for other in kept):
            kept.append(tick)
    return sorted(kept)


@dataclass(frozen=True, slots=True)
class Bar:
    """One item of a bar list. ``share`` is of the whole, 0..1; ``value`` is ready text; ``key`` names its checkbox."""

    name: str
    share: float
    value: str = ""
    note: str = ""
    chosen: bool = False
    url: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class DrawnBar:
    bar: Bar
    width: float
    cumulative: float
    x: float
    x_before: float | None
    """Where the line of the cumulative share comes from; None at the first bar."""


@dataclass(frozen=True, slots=True)
class BarList:
    rows: tuple[DrawnBar, ...]
    x_hot: float
    needed: int | None
    """How many bars it takes to reach 80 %; None when all of them do not."""


def bar_list(bars: Iterable[Bar]) -> BarList:
    """Bars from the largest share to the smallest, with the line of their running sum and where it crosses 80 %."""
    rows: list[DrawnBar] = []
    total = 0.0
    for bar in sorted(bars, key=lambda b: -b.share):
        before = across(total) if rows else None
        total += bar.share
        rows.append(DrawnBar(bar, across(bar.share), min(1.0, total), across(total), before))
    needed = next((n for n, row in enumerate(rows, 1) if row.cumulative >= HOT - 1e-9), None)
    return BarList(tuple(rows), across(HOT), needed)


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a whole: ``x`` and ``width`` in percent of the bar, ``colour`` 1 to 6, ``value`` as it was given."""

    name: str
    value: float
    share: float
    x: float
    width: float
    colour: int


def slices(parts: Mapping[str, float]) -> tuple[Slice, ...]:
    """One bar cut into parts, in their order. Parts of nothing in all are no parts."""
    total, at = sum(parts.values()), 0.0
    found: list[Slice] = []
    for index, (name, value) in enumerate(parts.items() if total else ()):
        found.append(Slice(name, value, value / total, across(at), across(value / total), index % 6 + 1))
        at += value / total
    return tuple(found)


def across(share: float) -> float:
    return round(100 * min(1.0, max(0.0, share)), 2)
