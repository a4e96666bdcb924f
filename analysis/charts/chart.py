"""What a chart says, apart from how it is drawn: numbers with names and units, and the same in words and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeGuard

SCHEMA = "optimas.chart/1"
Scale = Literal["linear", "log"]
SPACE = "\u00a0"  # between a number and its unit, so that no line breaks there
PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


@dataclass(frozen=True, slots=True)
class Axis:
    """``low`` and ``high``: what is shown of it, in data units also on a logarithmic scale."""

    title: str
    unit: str
    scale: Scale
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing drawn. ``detail``: lines to read when it is pointed at. ``share``: of the profile's cost, 0..1."""

    x: float
    y: float
    name: str = ""
    detail: tuple[str, ...] = ()
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Marks that belong together: ``points`` of one thing, which a line joins, or a ``cloud`` of many.

    ``colour`` counts from 1 through the page's data colours, 0 is ink.
    """

    name: str
    kind: Literal["points", "cloud", "line", "bars"]
    colour: int
    marks: tuple[Mark, ...]
    symbol: str = "circle"
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Omitted:
    """Something that has no place in the drawing, and why. ``share``: of the profile's cost, 0..1."""

    name: str
    reason: str
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers drawn, as text with their units in the column heads."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """``caption``: how to read it. ``alternative``: what it shows, for whoever cannot see it. ``notes``: what is odd
    about single marks. No series: there is nothing to draw, and ``omitted`` says why."""

    name: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    caption: str
    alternative: str
    table: Table
    omitted: tuple[Omitted, ...] = ()
    notes: tuple[str, ...] = ()


def document(chart: Chart) -> dict[str, Any]:
    """``chart`` for a drawing program. Names are plain text: whoever draws them has to escape what it would read."""
    return {"schema": SCHEMA, **asdict(chart)}


def on_log_axis(value: float | None) -> TypeGuard[float]:
    """Whether a logarithmic axis has a place for ``value``."""
    return value is not None and math.isfinite(value) and value > 0


def amount(value: float | None, unit: str) -> str:
    """Three significant digits with an SI prefix: 1.63 TB/s, 0.313 flop/byte. None: not known."""
    if value is None:
        return "not known"
    rounded = float(f"{value:.3g}")
    scale, prefix = next((pair for pair in PREFIXES if abs(rounded) >= pair[0]), (1.0, ""))
    decimals = max(0, 2 - math.floor(math.log10(abs(rounded) / scale))) if rounded else 0
    return f"{rounded / scale:,.{decimals}f}{SPACE}{prefix}{unit}"


def percent(share: float | None) -> str:
    return "not known" if share is None else f"{100 * share:.1f}{SPACE}%"


def sentence(parts: Iterable[str], at_most: int = 6) -> str:
    """``parts`` as a list in one sentence, with a count of those left out."""
    listed = list(parts)
    more = [f"and {len(listed) - at_most} more"] if len(listed) > at_most else []
    return "; ".join([*listed[:at_most], *more])
