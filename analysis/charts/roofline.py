"""The roofline: work per byte against work per second, under what memory can feed and units can do.

Both axes are logarithmic. A kernel without a positive, finite place on both is listed beside the drawing with the
reason, and never moved to where it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.charts.chart import Axis, Chart, Mark, Omitted, Series, Table, amount, on_log_axis, percent, sentence
from analysis.types import Analysis, KernelAnalysis, RooflinePoint

COLOURS = 5
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "star", "hexagon")
NAMED = 6
"""So many kernels have a colour and a symbol of their own; the others are grey."""
AT_MOST = 50
"""So many are drawn, the costliest."""
ROOM = 4.0
"""Factor kept free around what is drawn."""
ABOVE = 1.0 + 1e-6
COLUMNS = ("Kernel", "Precision", "Level", "Intensity", "Work", "Peak work", "Traffic", "Peak traffic", "Of the roof")
LEVELS = {"dram": "DRAM", "l2": "L2", "l1": "L1", "shared": "shared memory"}


@dataclass(frozen=True, slots=True)
class Roofs:
    """Largest peaks among the kernels: level -> bytes/s, precision -> operations/s."""

    bytes_per_s: Mapping[str, float]
    flop_per_s: Mapping[str, float]

    @property
    def ridges(self) -> list[float]:
        return [work / moved for work in self.flop_per_s.values() for moved in self.bytes_per_s.values()]

    def over(self, point: RooflinePoint) -> float | None:
        """Where the roof is at the point's intensity; None when no roof is known."""
        peaks = [self.flop_per_s.get(point.precision)]
        if point.flop_per_byte is not None and point.level in self.bytes_per_s:
            peaks.append(point.flop_per_byte * self.bytes_per_s[point.level])
        return min((peak for peak in peaks if peak is not None), default=None)


def chart(analysis: Analysis) -> Chart:
    able = [(each, points) for each in analysis.kernels if (points := drawable(each))]
    placed = able[:AT_MOST]
    roofs = _roofs(point for _, points in placed for point in points)
    x, y = _axes([point for _, points in placed for point in points], roofs)
    return Chart(
        name="roofline",
        title="Roofline",
        x=x,
        y=y,
        series=(*_lines(roofs, x), *_markers(placed, roofs)) if placed else (),
        caption=_caption(roofs, len(placed), len(able)) if placed else "No kernel has a place on a roofline.",
        alternative=_alternative(placed, roofs),
        table=_table(placed, roofs),
        omitted=tuple(_omitted(each) for each in analysis.kernels if not drawable(each)),
        notes=tuple(note for each, points in placed for point in points if (note := _above(each, point, roofs))),
    )


def drawable(found: KernelAnalysis) -> tuple[RooflinePoint, ...]:
    return tuple(
        point for point in found.roofline.points if on_log_axis(point.flop_per_byte) and on_log_axis(point.flop_per_s)
    )


def _roofs(points: Iterable[RooflinePoint]) -> Roofs:
    moved: dict[str, float] = {}
    work: dict[str, float] = {}
    for point in points:
        if on_log_axis(point.peak_bytes_per_s):
            moved[point.level] = max(point.peak_bytes_per_s, moved.get(point.level, 0.0))
        if on_log_axis(point.peak_flop_per_s):
            work[point.precision] = max(point.peak_flop_per_s, work.get(point.precision, 0.0))
    return Roofs(moved, work)


def _axes(points: Sequence[RooflinePoint], roofs: Roofs) -> tuple[Axis, Axis]:
    """Wide enough for every marker and every ridge, so that all lines reach the right-most kernel."""
    xs = [point.flop_per_byte or 1.0 for point in points] + roofs.ridges or [1.0]
    ys = [point.flop_per_s or 1.0 for point in points] + list(roofs.flop_per_s.values()) or [1.0]
    return (
        Axis("Arithmetic intensity", "flop/byte", "log", min(xs) / ROOM, max(xs) * ROOM),
        Axis("Work done", "flop/s", "log", min(ys) / ROOM, max(ys) * ROOM),
    )


def _lines(roofs: Roofs, x: Axis) -> list[Series]:
    fastest = max(roofs.bytes_per_s.values(), default=None)
    top = max(roofs.flop_per_s.values(), default=None)
    slopes = [_slope(level, moved, top, x) for level, moved in roofs.bytes_per_s.items()]
    flats = [_flat(precision, peak, fastest, x) for precision, peak in roofs.flop_per_s.items()]
    return slopes + flats


def _slope(level: str, moved: float, top: float | None, x: Axis) -> Series:
    end = min(x.high, top / moved) if top is not None else x.high
    name = f"{LEVELS.get(level, level)} {amount(moved, 'B/s')}"
    return Series(name, "line", 0, (Mark(x.low, moved * x.low, name), Mark(end, moved * end, name)))


def _flat(precision: str, peak: float, fastest: float | None, x: Axis) -> Series:
    start = max(x.low, peak / fastest) if fastest is not None else x.low
    name = f"{precision} {amount(peak, 'flop/s')}"
    return Series(name, "line", 0, (Mark(start, peak, name), Mark(x.high, peak, name)))


Placed = Sequence[tuple[KernelAnalysis, tuple[RooflinePoint, ...]]]


def _markers(placed: Placed, roofs: Roofs) -> list[Series]:
    """The first few kernels one by one; the others together, where only their own points are told apart."""
    named = [
        Series(
            found.kernel.name,
            "points",
            number % COLOURS + 1,
            tuple(_mark(found, point, roofs) for point in points),
            SYMBOLS[number % len(SYMBOLS)],
            found.kernel.hot,
        )
        for number, (found, points) in enumerate(placed[:NAMED])
    ]
    others = tuple(_mark(found, point, roofs) for found, points in placed[NAMED:] for point in points)
    count = len(placed) - NAMED
    return [*named, Series(f"{count} other kernel{'s' if count > 1 else ''}", "cloud", 6, others)] if others else named


def _mark(found: KernelAnalysis, point: RooflinePoint, roofs: Roofs) -> Mark:
    share = found.kernel.share
    detail = (
        f"{point.precision} at {LEVELS.get(point.level, point.level)}",
        f"{amount(point.flop_per_byte, 'flop/byte')}, {amount(point.flop_per_s, 'flop/s')}",
        f"{percent(_of_roof(point, roofs))} of the roof there",
        f"{percent(share)} of the time",
    )
    return Mark(point.flop_per_byte or 0.0, point.flop_per_s or 0.0, found.kernel.name, detail, share)


def _of_roof(point: RooflinePoint, roofs: Roofs) -> float | None:
    roof = roofs.over(point)
    return point.flop_per_s / roof if roof and point.flop_per_s is not None else None


def _above(found: KernelAnalysis, point: RooflinePoint, roofs: Roofs) -> str:
    share = _of_roof(point, roofs)
    if share is None or share <= ABOVE:
        return ""
    return (
        f"{found.kernel.name} lies above the {point.precision} roof ({percent(share)} of it): the counters of one"
        " launch come from several passes, whose clocks differed."
    )


def _omitted(found: KernelAnalysis) -> Omitted:
    return Omitted(found.kernel.name, _why_not(found), found.kernel.share)


def _why_not(found: KernelAnalysis) -> str:
    if found.roofline.bound == "not_measurable" or not found.roofline.points:
        return found.roofline.reason
    if found.roofline.bound == "no_flops":
        return f"No floating-point work. {_traffic(found.roofline.points[0])}"
    return f"Its work per byte is not defined. {_traffic(found.roofline.points[0])}"


def _traffic(point: RooflinePoint) -> str:
    level, moved, peak = LEVELS.get(point.level, point.level), point.bytes_per_s, point.peak_bytes_per_s
    if moved is None:
        return f"Its {level} traffic was not measured."
    if not peak:
        return f"It moves {amount(moved, 'B/s')} at {level}; the peak is not known."
    return f"It moves {amount(moved, 'B/s')} of {amount(peak, 'B/s')} at {level} ({percent(moved / peak)})."


def _table(placed: Placed, roofs: Roofs) -> Table:
    return Table(
        (
            "Kernel",
            "Precision",
            "Level",
            "Intensity",
            "Work done",
            "Peak work",
            "Traffic",
            "Peak traffic",
            "Of the roof",
        ),
        tuple(
            (
                found.kernel.name,
                point.precision,
                LEVELS.get(point.level, point.level),
                amount(point.flop_per_byte, "flop/byte"),
                amount(point.flop_per_s, "flop/s"),
                amount(point.peak_flop_per_s, "flop/s"),
                amount(point.bytes_per_s, "B/s"),
                amount(point.peak_bytes_per_s, "B/s"),
                percent(_of_roof(point, roofs)),
            )
            for found, points in placed
            for point in points
        ),
    )


def _caption(roofs: Roofs, shown: int, able: int) -> str:
    some = f" The costliest {shown} of {able} kernels are drawn." if shown < able else ""
    missing = "" if roofs.bytes_per_s and roofs.flop_per_s else " Ceilings that the report does not tell are not drawn."
    return (
        "Each marker is a kernel; its size is its share of the time. Further right it does more work per byte moved,"
        " further up more work per second. Slanted lines: what memory can feed. Flat lines: what the arithmetic units"
        " can do. On a line nothing is left to gain at that level; far below both, the kernel mostly waits. Ceilings"
        f" are at the clock during profiling; of several, the highest is drawn.{missing}{some}"
    )


def _alternative(placed: Placed, roofs: Roofs) -> str:
    if not placed:
        return "No roofline: no kernel has a place on it."
    listed = sentence(
        f"{found.kernel.name} at {amount(point.flop_per_byte, 'flop/byte')} does {amount(point.flop_per_s, 'flop/s')}"
        f" in {point.precision}, {percent(_of_roof(point, roofs))} of the roof there"
        for found, points in placed
        for point in points
    )
    count = f"{len(placed)} kernel{'s' if len(placed) != 1 else ''}"
    return f"Logarithmic chart of work done over arithmetic intensity with {count}: {listed}."
