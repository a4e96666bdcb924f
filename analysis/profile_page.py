"""What the profile page says: values made ready for the template, every number with where it came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from analysis import charts, reasons
from analysis.charts import kernel_bars
from analysis.charts.chart import Chart, Mark, Omitted, percent
from analysis.remedies import Remedy, counted, remedies
from analysis.stalls import CYCLE_ESTIMATE
from analysis.statements import MEASURED_IN
from analysis.types import (
    Analysis,
    Bound,
    CostUnit,
    Evidence,
    Kernel,
    KernelAnalysis,
    Profile,
    RooflinePoint,
    StallLine,
)

CARDS = 6
LINES = 6
NAMED = 4
Link = Callable[[int, str | None, int | None], str]
"""Rank of a kernel, file, line -> address of that line in the source page."""

BOUNDS: dict[Bound, str] = {
    "memory": "Bound by memory traffic",
    "compute": "Bound by arithmetic",
    "latency": "Far from both roofs",
    "at_roof": "At the roof",
    "no_flops": "No floating-point work",
    "not_measurable": "No roofline",
}
THINGS: dict[CostUnit, str] = {"ns": "kernels", "cycle": "functions"}
CHOSEN: dict[CostUnit, str] = {
    "ns": "the fewest that hold 80 % of the time",
    "cycle": "the fewest of your sources that hold 80 % of what these cost",
}
TIME_LINES = ("nsys_sqlite", "nsys_stats", "rocprof", "rocpd")
METRICS: dict[CostUnit, str] = {
    "ns": "gpu__time_duration.sum",
    "cycle": "Ir and cache misses, weighted as Callgrind's own cycle estimation",
}


@dataclass(frozen=True, slots=True)
class KernelBar:
    """A kernel in the list of bars, with the one sentence about it."""

    name: str
    share: float
    value: str
    note: str
    chosen: bool
    url: str
    key: str


@dataclass(frozen=True, slots=True)
class LineRow:
    """A costly line: its share of the kernel's stalls, and of what they are made."""

    line: StallLine
    parts: tuple[reasons.Part, ...]
    url: str


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """``launches`` tells how many the value rests on; ``url`` is empty when it points at no line."""

    item: Evidence
    launches: str
    url: str


@dataclass(frozen=True, slots=True)
class KernelCard:
    """All that is said about one kernel. ``saved_of_all``: share of the profile's cost that could be saved at most."""

    kernel: Kernel
    bound: Bound
    headline: str
    sentence: str
    reason: str
    saved: float | None
    saved_of_all: float | None
    unit: str
    total: float
    blame: tuple[reasons.Part, ...]
    legend: tuple[reasons.Group, ...]
    lines: tuple[LineRow, ...]
    more_lines: int
    evidence: tuple[EvidenceRow, ...]
    url: str

    @property
    def has_roof_item(self) -> bool:
        """Whether the evidence already tells the roofline's reason."""
        return any(row.item.kind == "roofline" for row in self.evidence)


@dataclass(frozen=True, slots=True)
class KernelRow:
    """A kernel in the table of all of them."""

    kernel: Kernel
    headline: str
    saved: float | None
    saved_of_all: float | None
    url: str


@dataclass(frozen=True, slots=True)
class Beside:
    """Kernels that are not on the roofline, all for one reason. ``share``: of all of them."""

    names: tuple[str, ...]
    more: int
    share: float
    reason: str


@dataclass(frozen=True, slots=True)
class ProfilePage:
    """``of``: what shares are of. ``hot``: how many kernels are chosen. ``metric``: what their cost was read from.

    ``things``: what a kernel is called here. ``chosen``: how the hot ones were chosen.
    """

    things: str
    chosen: str
    summary: str
    of: str
    hot: int
    bars_chart: Chart
    bars: tuple[KernelBar, ...]
    roofline: Chart
    beside: tuple[Beside, ...]
    cards: tuple[KernelCard, ...]
    rows: tuple[KernelRow, ...]
    total_cost: float
    metric: str
    doctor: tuple[Remedy, ...]
    doctor_words: str


def page(analysis: Analysis, asked: int | None, link: Link) -> ProfilePage:
    """``analysis`` as a page. Kernels with a card need stalls and evidence, the others only a roofline."""
    ranks = [kernel.rank for kernel in carded([each.kernel for each in analysis.kernels], asked)]
    by_rank = {each.kernel.rank: each for each in analysis.kernels}
    chart, roofline = charts.make("kernel_bars", analysis), charts.make("roofline", analysis)
    return ProfilePage(
        things=THINGS[analysis.profile.cost_unit],
        chosen=CHOSEN[analysis.profile.cost_unit],
        summary=summary(analysis),
        of=kernel_bars.whole(analysis),
        hot=sum(1 for each in analysis.kernels if each.kernel.hot),
        bars_chart=chart,
        bars=bars(chart, [each.kernel for each in analysis.kernels]),
        roofline=roofline,
        beside=beside(roofline.omitted),
        cards=tuple(card(by_rank[rank], link) for rank in ranks),
        rows=tuple(row(each, link) for each in analysis.kernels),
        total_cost=sum(each.kernel.total_cost or 0.0 for each in analysis.kernels),
        metric=metric(analysis.profile),
        doctor=remedies(analysis.doctor),
        doctor_words=counted(analysis.doctor),
    )


def metric(profile: Profile) -> str:
    """What costs were read from. Times of a whole run are from a time line, whatever else was measured."""
    if profile.cost_unit == "ns" and (profile.whole_run or profile.format in TIME_LINES):
        return "start and end of every launch in the time line"
    return METRICS[profile.cost_unit]


def bars(chart: Chart, kernels: Sequence[Kernel]) -> tuple[KernelBar, ...]:
    """The bars of ``chart`` for drawing, each leading to its kernel's card; short names where they tell apart."""
    short = Counter(kernel.short_name for kernel in kernels)
    by_rank = {kernel.rank: kernel for kernel in kernels}
    found = []
    for series in chart.series:
        if series.kind == "bars":
            mark = series.marks[0]
            kernel = by_rank[int(mark.y)]
            name = kernel.short_name if short[kernel.short_name] == 1 else kernel.name
            found.append(_bar(name, mark, series.chosen))
    return tuple(found)


def _bar(name: str, mark: Mark, chosen: bool) -> KernelBar:
    rank = int(mark.y)
    cost, launches = mark.detail
    return KernelBar(name, mark.share or 0.0, cost, launches, chosen, f"?kernel={rank}#kernel-{rank}", f"{rank}")


def beside(omitted: Sequence[Omitted]) -> tuple[Beside, ...]:
    """What is not on the roofline, one entry a reason, the costliest first."""
    grouped: dict[str, list[Omitted]] = {}
    for left in omitted:
        grouped.setdefault(left.reason, []).append(left)
    found = [
        Beside(
            tuple(left.name for left in each[:NAMED]),
            max(0, len(each) - NAMED),
            sum(left.share or 0.0 for left in each),
            reason,
        )
        for reason, each in grouped.items()
    ]
    return tuple(sorted(found, key=lambda each: -each.share))


class Ranked(Protocol):
    """A kernel, as value or as row."""

    @property
    def rank(self) -> int: ...
    @property
    def hot(self) -> bool: ...


K = TypeVar("K", bound=Ranked)


def carded(kernels: Sequence[K], asked: int | None = None) -> list[K]:
    """The kernels that get a card: the one asked for, and the first hot ones or, when none is hot, the costliest."""
    hot = [kernel for kernel in kernels if kernel.hot][:CARDS] or list(kernels[:1])
    extra = [kernel for kernel in kernels if kernel.rank == asked and kernel not in hot]
    return [*extra, *hot]


def card(found: KernelAnalysis, link: Link) -> KernelCard:
    kernel, roof, stalls = found.kernel, found.roofline, found.stalls
    known = [line for line in stalls.lines if line.file] if stalls else []
    blame = reasons.blame(stalls)
    return KernelCard(
        kernel=kernel,
        bound=roof.bound,
        headline=BOUNDS[roof.bound],
        sentence=sentence(found, blame),
        reason=roof.reason,
        saved=roof.at_most_saved,
        saved_of_all=of_all(kernel, roof.at_most_saved),
        unit=stalls.unit if stalls else "",
        total=stalls.total if stalls else 0.0,
        blame=reasons.parts(blame),
        legend=reasons.legend(blame),
        lines=tuple(_line(kernel, line, known[0].share, link) for line in known[:LINES]),
        more_lines=max(0, len(known) - LINES),
        evidence=tuple(_evidence(kernel, item, link) for item in found.evidence),
        url=link(kernel.rank, known[0].file, known[0].line) if known else "",
    )


def row(found: KernelAnalysis, link: Link) -> KernelRow:
    kernel, saved = found.kernel, found.roofline.at_most_saved
    return KernelRow(kernel, BOUNDS[found.roofline.bound], saved, of_all(kernel, saved), link(kernel.rank, None, None))


def of_all(kernel: Kernel, saved: float | None) -> float | None:
    """Amdahl: what share of the profile's cost goes when ``saved`` of this kernel's does."""
    return None if saved is None or kernel.share is None else saved * kernel.share


def sentence(found: KernelAnalysis, blame: Mapping[str, float]) -> str:
    """By what the kernel is bound, how far from the roof it is, and what it waits for; made of its own numbers.

    ``blame``: reason -> share of the kernel's stalls or cycles, largest first.
    """
    said = [_far(found), _waits(found, list(blame.items())[:2])]
    return " ".join(part for part in said if part)


def summary(analysis: Analysis) -> str:
    """The whole profile in one or two sentences."""
    hot = [each for each in analysis.kernels if each.kernel.hot]
    if not hot:
        return f"None of these {THINGS[analysis.profile.cost_unit]} has a cost."
    held = sum(each.kernel.share or 0.0 for each in hot)
    named = _and([each.kernel.short_name for each in hot[:3]])
    many = f"{named} hold" if len(hot) > 1 else f"{named} holds"
    if len(hot) > 3:
        many = f"{named} and {len(hot) - 3} more hold"
    return f"{many} {percent(held)} {kernel_bars.whole(analysis)}.{_worst_line(hot[0])}"


def _worst_line(found: KernelAnalysis) -> str:
    known = [line for line in found.stalls.lines if line.file] if found.stalls else []
    if not known or found.stalls is None:
        return ""
    line = known[0]
    return f" {line.file}:{line.line} alone has {percent(line.share)} of the {found.stalls.unit} of {_short(found)}."


def _short(found: KernelAnalysis) -> str:
    return found.kernel.short_name


def _far(found: KernelAnalysis) -> str:
    roof = found.roofline
    if roof.bound == "not_measurable":
        on_cpu = found.stalls is not None and found.stalls.unit == CYCLE_ESTIMATE
        return "" if on_cpu else f"No roofline. {roof.reason}"  # of a whole CPU profile it is said once, not here
    shares = [part for point in roof.points for part in _shares(point)]
    far = _and(list(dict.fromkeys(shares)))
    saved = f" At most {percent(roof.at_most_saved)} of its time can be saved." if roof.at_most_saved else ""
    return f"{BOUNDS[roof.bound]}: it {far}.{saved}" if far else f"{BOUNDS[roof.bound]}. {roof.reason}"


def _shares(point: RooflinePoint) -> list[str]:
    said = []
    if point.bytes_per_s is not None and point.peak_bytes_per_s:
        said.append(f"moves bytes at {percent(point.bytes_per_s / point.peak_bytes_per_s)} of the DRAM peak")
    if point.flop_per_s is not None and point.peak_flop_per_s:
        said.append(f"does {point.precision} work at {percent(point.flop_per_s / point.peak_flop_per_s)} of its peak")
    return said


def _waits(found: KernelAnalysis, blame: Sequence[tuple[str, float]]) -> str:
    if not blame or found.stalls is None:
        return ""
    if found.stalls.unit == CYCLE_ESTIMATE:
        return f"Of its estimated cycles {_and([f'{percent(share)} are {reason}' for reason, share in blame])}."
    reason, share = blame[0]
    meaning = f" ({reasons.meaning(reason)})" if reasons.meaning(reason) else ""
    return f"Its main stall is {reason}{meaning}: {percent(share)} of its stalled samples."


def _line(kernel: Kernel, line: StallLine, most: float, link: Link) -> LineRow:
    length = line.share / most if most else 0.0
    return LineRow(line, reasons.parts(line.reasons, length), link(kernel.rank, line.file, line.line))


def _evidence(kernel: Kernel, item: Evidence, link: Link) -> EvidenceRow:
    # where only some of its launches were measured, the statement tells how many
    launches = "" if MEASURED_IN in item.statement else f"{kernel.launch_count} of {kernel.short_name}"
    url = link(kernel.rank, item.file, item.lines[0]) if item.file and item.lines else ""
    return EvidenceRow(item, launches, url)


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1] if words else ""]))
