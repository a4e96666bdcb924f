"""What a roofline and the lines of a kernel say, as statements with a metric behind each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import median

from analysis import roofline, stalls
from analysis.measures import CYCLE_WEIGHTS, ESTIMATED_CYCLES, STALLED_CYCLES, STALLED_SAMPLES, total
from analysis.types import Direction, Evidence, Kernel, KernelAnalysis, LineCost, Measures, Place, StallLine

LINES_HOLD = 0.9
AT_MOST_LINES = 12
DOMINANT = 0.3
"""A reason is named, and a kind of miss is the metric, from this share of its line on."""
FEW_SAMPLES = 100
LEAST_SHARE = 0.001
"""Functions of a whole run that cost less than this are no evidence, and not listed when they are not the user's."""
LEAST_NOISE = 0.01
MEASURED_IN = "Measured in"
ACHIEVED = "achieved_over_roof"


@dataclass(frozen=True, slots=True)
class Looked:
    """One kernel as ``collect`` needs it. ``loads``: line that waits -> lines of the loads before it."""

    analysis: KernelAnalysis
    loads: Mapping[Place, tuple[Place, ...]] = field(default_factory=dict)


def drafts(looked: Looked, totals: Mapping[str, float]) -> list[Evidence]:
    """All evidence on one kernel, without labels yet; ``weight`` is its strength among its kind, in any unit.

    ``totals``: event -> count of the whole program, or empty.
    """
    return [*_from_roofline(looked.analysis), *_from_stalls(looked, totals)]


def noise_floor(repeats: Sequence[float] = (), samples: float | None = None) -> float:
    """The relative change under which nothing is said: max(3 MAD of the repeats, 1 %, 3 / sqrt(samples)), at most 1.

    ``repeats`` are the same metric measured again and again; fewer than three say nothing about their spread.
    ``samples``: how many samples the value rests on; None when it is a count.
    """
    floors = [LEAST_NOISE]
    if len(repeats) >= 3 and (middle := median(repeats)):
        floors.append(3 * median(abs(value - middle) for value in repeats) / abs(middle))
    if samples is not None:
        floors.append(3 / sqrt(samples) if samples > 0 else 1.0)
    return min(1.0, max(floors))


def _from_roofline(found: KernelAnalysis) -> list[Evidence]:
    roof, measures = found.roofline, found.measures
    share = roofline.achieved(measures.metrics)
    if roof.bound == "not_measurable" or share is None:
        return []
    moved = roofline.bytes_moved(measures.metrics)
    memory = roofline.memory_share(measures.metrics)
    if roof.bound == "at_roof" and memory == share and moved is not None:
        repeats = [n for metrics in measures.per_launch if (n := roofline.bytes_moved(metrics)) is not None]
        return [_roof_item(found, roofline.DRAM_BYTES, moved, "byte", noise_floor(repeats), "down")]
    repeats = [n for metrics in measures.per_launch if (n := roofline.achieved(metrics)) is not None]
    return [_roof_item(found, ACHIEVED, share, "of the roof", noise_floor(repeats), "up")]


def _roof_item(
    found: KernelAnalysis, metric: str, value: float, unit: str, noise: float, direction: Direction
) -> Evidence:
    saved = found.roofline.at_most_saved
    most = f" At most {saved:.0%} of its time can be saved at this work and DRAM traffic." if saved is not None else ""
    statement = f"{found.kernel.short_name}: {found.roofline.reason}{most}{_measured(found.kernel)}"
    return Evidence("", "roofline", found.kernel.mangled, statement, metric, value, unit, noise, direction, 1.0)


def _from_stalls(looked: Looked, totals: Mapping[str, float]) -> list[Evidence]:
    found = looked.analysis
    if found.stalls is None or found.stalls.total <= 0:
        return []
    if all(line.file is None for line in found.stalls.lines):
        return [_without_lines(found)] if found.stalls.unit == stalls.SAMPLES else []
    known = [line for line in found.stalls.lines if line.file is not None]
    lines = stalls.leading(known, LINES_HOLD * sum(line.share for line in known), AT_MOST_LINES)
    if found.stalls.unit == stalls.SAMPLES:
        telling = [line for line in lines if noise_floor(samples=line.value) < 1.0] or list(lines[:1])
        return [_sampled_item(looked, line) for line in telling]
    if (found.kernel.share or 0.0) < LEAST_SHARE:
        return []
    return [_counted_item(found, line, totals) for line in lines if line.text]


def _sampled_item(looked: Looked, line: StallLine) -> Evidence:
    found = looked.analysis
    costs = _costs(found.measures, line)
    metric = STALLED_CYCLES if STALLED_CYCLES in costs else STALLED_SAMPLES
    value = costs[metric] / found.kernel.measured
    unit = "cycle a launch" if metric == STALLED_CYCLES else "sample a launch"
    statement = (
        f"{line.file}:{line.line} holds {line.share:.0%} of the stalled samples of {found.kernel.short_name}"
        f" ({line.value:,.0f} of {_total(found):,.0f}{_few(found)}).{_dominant(line.reasons)}{_load(looked, line)}"
        f"{_measured(found.kernel)}"
    )
    return _line_item(found, line, statement, metric, value, unit, noise_floor(samples=line.value))


def _counted_item(found: KernelAnalysis, line: StallLine, totals: Mapping[str, float]) -> Evidence:
    """The line's worst kind of miss where it matters, else its cycles."""
    costs = _costs(found.measures, line)
    worst = max(
        (event for event in CYCLE_WEIGHTS if event != "Ir"),
        key=lambda event: CYCLE_WEIGHTS[event] * costs.get(event, 0),
    )
    misses = costs.get(worst, 0)
    statement = (
        f"{line.file}:{line.line} costs {line.value:,.0f} estimated cycles, {line.share:.0%} of"
        f" {found.kernel.short_name}."
    )
    if CYCLE_WEIGHTS[worst] * misses <= DOMINANT * line.value:
        executed = line.reasons.get(stalls.NAMES["Ir"], 0)
        statement += (
            f" {executed:.0%} of them come from instructions executed{', the rest from misses' * (executed < 0.995)}."
        )
        return _line_item(found, line, statement, ESTIMATED_CYCLES, line.value, "estimated cycle", noise_floor())
    share = line.reasons.get(stalls.NAMES[worst], 0)
    statement += (
        f" {share:.0%} of them come from {misses:,.0f} {stalls.NAMES[worst]} ({stalls.MEANINGS[worst]}),"
        f" {_of_all(misses, worst, found, totals)}."
    )
    return _line_item(found, line, statement, worst, misses, stalls.NAMES[worst], noise_floor())


def _of_all(misses: float, event: str, found: KernelAnalysis, totals: Mapping[str, float]) -> str:
    if totals.get(event):
        return f"{misses / totals[event]:.0%} of all in the program"
    return f"{misses / total(found.measures, event):.0%} of all in {found.kernel.short_name}"


def _without_lines(found: KernelAnalysis) -> Evidence:
    costs = {event: total(found.measures, event) for event in (STALLED_SAMPLES, STALLED_CYCLES)}
    metric = STALLED_CYCLES if costs[STALLED_CYCLES] else STALLED_SAMPLES
    unknown = next(line for line in found.stalls.lines) if found.stalls else None
    statement = (
        f"{found.kernel.short_name} has {_total(found):,.0f} stalled samples{_few(found)}; the profile has no source"
        f" lines, so they cannot be placed.{_dominant(unknown.reasons if unknown else {})}{_measured(found.kernel)}"
    )
    unit = "cycle a launch" if metric == STALLED_CYCLES else "sample a launch"
    value = costs[metric] / found.kernel.measured
    noise = noise_floor(samples=_total(found))
    return Evidence("", "stalls", found.kernel.mangled, statement, metric, value, unit, noise, "down", 1.0)


def _line_item(
    found: KernelAnalysis, line: StallLine, statement: str, metric: str, value: float, unit: str, noise: float
) -> Evidence:
    return Evidence(
        label="",
        kind="stalls",
        kernel=found.kernel.mangled,
        statement=statement,
        metric=metric,
        value=value,
        unit=unit,
        noise=noise,
        direction="down",
        weight=line.value,
        file=line.file,
        lines=(line.line, line.line) if line.line is not None else None,
        text=line.text,
    )


def _measured(kernel: Kernel) -> str:
    """Where shares are of the whole run and only some launches were measured in depth: how many."""
    if not 0 < kernel.measured < kernel.launch_count:
        return ""
    return f" {MEASURED_IN} {kernel.measured} of its {kernel.launch_count:,} launches."


def _total(found: KernelAnalysis) -> float:
    return found.stalls.total if found.stalls else 0.0


def _few(found: KernelAnalysis) -> str:
    return f"; only {_total(found):,.0f} samples: shares are not reliable" if _total(found) < FEW_SAMPLES else ""


def _dominant(reasons: Mapping[str, float]) -> str:
    """The reasons over 30 % of the line, in words; the largest one when none is."""
    named = [name for name, share in reasons.items() if share > DOMINANT] or list(reasons)[:1]
    words = [f"{reasons[name]:.0%} {name} ({stalls.MEANINGS.get(name, 'not known to us')})" for name in named]
    return f" {'; '.join(words)}." if words else ""


def _load(looked: Looked, line: StallLine) -> str:
    if line.file is None or line.line is None or line.reasons.get("long_scoreboard", 0) <= DOMINANT:
        return ""
    loads = looked.loads.get(Place(line.file, line.line), ())
    if not loads:
        return ""
    where = " and ".join(_where(load, line) for load in loads)
    return f" The {'load' if len(loads) == 1 else 'loads'} issued just before: {where}."


def _where(load: Place, line: StallLine) -> str:
    if load.file != line.file:
        return f"{load.file}:{load.line}"
    return "on this line itself" if load.line == line.line else f"on line {load.line}"


def _costs(measures: Measures, line: StallLine) -> Mapping[str, float]:
    same: Iterable[LineCost] = (each for each in measures.lines if (each.file, each.line) == (line.file, line.line))
    return next(iter(same)).costs
