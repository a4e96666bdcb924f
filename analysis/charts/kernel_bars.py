"""Which kernels matter: shares of the profile's cost, costliest first, and their running sum."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from analysis.charts.chart import SPACE, Axis, Chart, Mark, Omitted, Series, Table, amount, percent, sentence
from analysis.types import Analysis, CostUnit, Kernel

AT_LEAST = 8
AT_MOST = 20
HOT = 0.8


def chart(analysis: Analysis) -> Chart:
    kernels = [each.kernel for each in analysis.kernels]
    ranked = [kernel for kernel in kernels if kernel.share]
    last_hot = max((kernel.rank for kernel in ranked if kernel.hot), default=0)
    shown, of = ranked[: min(AT_MOST, max(AT_LEAST, last_hot))], whole(analysis)
    sums = list(accumulate(kernel.share or 0.0 for kernel in shown))
    unit = analysis.profile.cost_unit
    return Chart(
        name="kernel_bars",
        title=f"Kernels by share {of}",
        x=Axis(f"Share {of}", "%", "linear", 0.0, 1.0),
        y=Axis("Rank", "", "linear", 1.0, float(max(1, len(shown)))),
        series=_series(shown, sums, unit) if shown else (),
        caption=_caption(shown, ranked, sums, of),
        alternative=_alternative(shown, of),
        table=Table(
            ("Rank", "Kernel", "Share", "Sum from the top", cost_head(unit), "Launches", "Chosen"),
            tuple(_row(kernel, upto, unit) for kernel, upto in zip(shown, sums, strict=True)),
        ),
        omitted=tuple(Omitted(kernel.name, "no cost is known") for kernel in kernels if kernel.share is None),
    )


def whole(analysis: Analysis) -> str:
    """What shares are of."""
    timed, whole_run = analysis.profile.cost_unit == "ns", analysis.profile.whole_run
    if timed and whole_run:
        return "of the captured GPU time"
    what = "time" if timed else "estimated cycles"
    return f"of all {what}" if whole_run else f"of the {what} of the profiled launches"


def cost_head(unit: CostUnit) -> str:
    return "Total time" if unit == "ns" else "Estimated cycles"


def cost(value: float | None, unit: CostUnit) -> str:
    """A cost as people read it; nanoseconds become seconds with a prefix."""
    if value is None:
        return "not known"
    if unit == "cycle":
        return amount(value, "cycles")
    scale, name = next((pair for pair in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if value >= pair[0]), (1.0, "ns"))
    return amount(value / scale, name)


def _series(shown: Sequence[Kernel], sums: Sequence[float], unit: CostUnit) -> tuple[Series, ...]:
    bars = [
        Series(kernel.name, "bars", 1 if kernel.hot else 6, (_bar(kernel, unit),), chosen=kernel.hot)
        for kernel in shown
    ]
    marks = tuple(Mark(upto, float(kernel.rank)) for kernel, upto in zip(shown, sums, strict=True))
    return (*bars, Series("sum from the top", "line", 2, marks))


def _bar(kernel: Kernel, unit: CostUnit) -> Mark:
    detail = (cost(kernel.total_cost, unit), launches(kernel, unit))
    return Mark(kernel.share or 0.0, float(kernel.rank), kernel.name, detail, kernel.share)


def launches(kernel: Kernel, unit: CostUnit) -> str:
    """How often it ran. Callgrind's functions are counted once for all their calls, which says nothing."""
    if unit == "cycle":
        return ""
    return f"{kernel.launch_count:,} launch{'es' if kernel.launch_count != 1 else ''}"


def _row(kernel: Kernel, upto: float, unit: CostUnit) -> tuple[str, ...]:
    shares = percent(kernel.share), percent(upto)
    times = cost(kernel.total_cost, unit), f"{kernel.launch_count:,}"
    return f"{kernel.rank}", kernel.name, *shares, *times, "yes" if kernel.hot else "no"


def _caption(shown: Sequence[Kernel], ranked: Sequence[Kernel], sums: Sequence[float], of: str) -> str:
    if not shown:
        return "No kernel has a cost."
    needed = next((count for count, upto in enumerate(sums, 1) if upto >= HOT), None)
    reach = (
        f"{needed} of {len(ranked)} hold 80{SPACE}% {of}."
        if needed
        else f"Together they hold {percent(sums[-1])} {of}."
    )
    left = len(ranked) - len(shown)
    more = f" {len(shown)} of {len(ranked)} are shown; the others hold {percent(1 - sums[-1])}." if left else ""
    return reach + more


def _alternative(shown: Sequence[Kernel], of: str) -> str:
    listed = sentence(f"{kernel.name} {percent(kernel.share)}{' (chosen)' if kernel.hot else ''}" for kernel in shown)
    return f"Bars, the longest first, each a kernel's share {of}: {listed or 'none'}."
