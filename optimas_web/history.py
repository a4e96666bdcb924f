"""The drawing of results over time: one mark a result on a logarithmic scale, and the best so far as steps.

Everything is in percent of the drawing's width and height, as in ``optimas_web.drawing``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest

from django.utils import timezone

from optimas_web import figures
from optimas_web.drawing import Axis
from optimas_web.words import LOOKS, Tone


@dataclass(frozen=True, slots=True)
class Result:
    """One result. ``proven``: every gate passed and the interval says faster; only such ones count as best."""

    name: str
    url: str
    when: datetime
    speedup: float
    low: float | None
    high: float | None
    verdict: str
    proven: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """A result with its place, and its words ready: a page has many of them."""

    result: Result
    tone: Tone
    verdict: str
    x: float
    y: float
    y_low: float
    y_high: float

    @property
    def speedup(self) -> str:
        return figures.speedup(self.result.speedup)

    @property
    def interval(self) -> str:
        low, high = self.result.low, self.result.high
        return f"{figures.speedup(low)} to {figures.speedup(high)}" if low and high else figures.NONE

    @property
    def words(self) -> str:
        return f"{self.result.name}: {self.speedup} ({self.interval}), {self.verdict}, {self.when}"

    @property
    def when(self) -> str:
        return f"{timezone.localtime(self.result.when):%Y-%m-%d %H:%M}"


@dataclass(frozen=True, slots=True)
class Level:
    """A line across: of the scale, or of the best so far from ``x`` to ``x_end``, with the rise behind it."""

    y: float
    text: str = ""
    is_one: bool = False
    x: float = 0.0
    x_end: float = 100.0
    y_next: float | None = None


@dataclass(frozen=True, slots=True)
class History:
    marks: tuple[Mark, ...]
    scale: tuple[Level, ...]
    best: tuple[Level, ...]


def history(results: Iterable[Result]) -> History:
    """``results`` from the oldest to the newest; they stand at equal distances, whatever time lay between them."""
    results = list(results)
    ratios = [ratio for r in results for ratio in (r.low, r.speedup, r.high) if ratio]
    axis = Axis(min([0.85, *ratios]), max([1.18, *ratios]))
    marks = tuple(marked(result, across(at, len(results)), axis) for at, result in enumerate(results))
    scale = tuple(Level(100 - tick.x, tick.text, tick.is_one) for tick in axis.ticks())
    return History(marks, scale, tuple(steps(marks)))


def across(at: int, count: int) -> float:
    """The middle of the ``at``-th of ``count`` columns."""
    return round(100 * (at + 0.5) / count, 2)


def marked(result: Result, x: float, axis: Axis) -> Mark:
    def y(ratio: float | None) -> float:
        return round(100 - axis.place(ratio or result.speedup), 2)

    look = LOOKS[result.verdict]
    return Mark(result, look.tone, look.words, x, y(result.speedup), y(result.low), y(result.high))


def steps(marks: Sequence[Mark]) -> Iterable[Level]:
    """The best proven result so far: level from each new best to the next one."""
    rising: list[Mark] = []
    for mark in marks:
        if mark.result.proven and (not rising or mark.result.speedup > rising[-1].result.speedup):
            rising.append(mark)
    for mark, following in zip_longest(rising, rising[1:]):
        yield Level(
            mark.y, x=mark.x, x_end=following.x if following else 100.0, y_next=following.y if following else None
        )
