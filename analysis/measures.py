"""A kernel's counts, brought together from its launches one at a time, so that a long report fits into memory."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import isfinite
from statistics import median
from typing import TypeGuard

from analysis.formats.callgrind import CYCLE_WEIGHTS
from analysis.formats.callgrind import CYCLES as ESTIMATED_CYCLES
from analysis.places import Sources
from analysis.types import CodeCost, Finding, Launch, LaunchDetail, LineCost, Measures, Place, Value

__all__ = ["CYCLE_WEIGHTS", "ESTIMATED_CYCLES", "gather", "medians", "total", "with_lines"]

STALLED_SAMPLES = "stalled_samples"
STALLED_CYCLES = "stalled_cycles"
NOT_STALLED = ("selected", "not_selected")
TENSOR_INSTRUCTIONS = "sass__inst_executed_tensor"
"""Our own count, of a kernel's machine code. The pipe's counters cannot tell: moves of constants go through it too."""

WARNINGS_KEPT = 10
ADVICE = ("OPT", "WRN")
"""Findings that ask for something to be done; the others inform."""

_NO_COUNT = re.compile(r"derived__|memory_(access_)?(size_)?type")
"""Averages and categories at an instruction: they do not add up."""


@cache
def _adds_up(event: str) -> bool:
    return not _NO_COUNT.match(event)


_Key = tuple[str, int, tuple[object, ...]]


def gather(launches: Iterable[Launch], wanted: Callable[[str], bool]) -> tuple[Measures, tuple[CodeCost, ...]]:
    """One kernel's measures without lines, and its code with the counts of all launches added up.

    ``wanted`` chooses the metrics to keep. Every code entry has its derived costs (see LineCost); cycles of stalls
    are left out when one launch does not tell its sampling interval.
    """
    merged: dict[_Key, CodeCost] = {}
    per_launch: list[Mapping[str, float]] = []
    reported: list[int | None] = []
    intervals: list[float | None] = []
    said: list[tuple[Finding, ...]] = []
    warnings: list[str] = []
    for launch in launches:
        detail = launch.load()
        intervals.append(_interval_cycles(detail.metrics))
        per_launch.append(
            {name: float(value) for name, value in detail.metrics.items() if wanted(name) and _is_number(value)}
        )
        reported.append(detail.samples_total)
        said.append(detail.findings)
        warnings += detail.warnings[: WARNINGS_KEPT - len(warnings)]
        _add(merged, detail, intervals[-1] or 0.0)
    code = tuple(merged.values()) if None not in intervals else _without_cycles(merged.values())
    measures = Measures(
        per_launch=tuple(per_launch),
        metrics=medians(per_launch) | _tensor_instructions(code),
        samples=sum(each.costs.get("samples", 0) for each in code),
        samples_reported=sum(filter(None, reported)) if any(each is not None for each in reported) else None,
        findings=_merged(said),
        warnings=tuple(warnings),
    )
    return measures, code


def with_lines(measures: Measures, code: Iterable[CodeCost], sources: Sources) -> Measures:
    """``measures`` with the costs of ``code`` by source line; each cost is counted at one line, or at none.

    Lines that findings mark get our names of files; marks outside the sources are left out.
    """
    lines: dict[tuple[str | None, int | None], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for each in code:
        place = sources.place(each.places)
        at = lines[(place.file, place.line) if place else (None, None)]
        for event, count in each.costs.items():
            at[event] += count
    found = tuple(replace(each, places=_own_places(each, sources)) for each in measures.findings)
    return replace(measures, findings=found, lines=tuple(LineCost(*key, dict(costs)) for key, costs in lines.items()))


def _own_places(finding: Finding, sources: Sources) -> tuple[Place, ...]:
    placed = [Place(sources.keys[place.file], place.line) for place in finding.places if place.file in sources.keys]
    return tuple(dict.fromkeys(placed))


def medians(per_launch: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Metric -> median over the launches that have it."""
    names = {name for metrics in per_launch for name in metrics}
    return {name: median(metrics[name] for metrics in per_launch if name in metrics) for name in sorted(names)}


def total(measures: Measures, event: str) -> float:
    """``event`` over all lines and none."""
    return sum(line.costs.get(event, 0) for line in measures.lines)


def _tensor_instructions(code: Iterable[CodeCost]) -> dict[str, float]:
    """How many instructions of matrix units were executed; nothing where an instruction that was has no known name."""
    executed = [(each.mnemonic or "?", each.costs.get("inst_executed", 0)) for each in code]
    if not any(count for _, count in executed) or any(name[0] == "?" for name, count in executed if count):
        return {}
    return {TENSOR_INSTRUCTIONS: sum(count for name, count in executed if name.endswith("MMA"))}


def _is_number(value: Value) -> TypeGuard[float]:
    """NaN is the tools' "not available"."""
    return isinstance(value, int | float) and isfinite(value)


def _interval_cycles(metrics: Mapping[str, Value]) -> float | None:
    """Cycles between two samples of a scheduler: told, or 2^(5 + setting)."""
    told, setting = metrics.get("smsp__pcsamp_interval_cycles"), metrics.get("smsp__pcsamp_interval")
    if _is_number(told) and told:
        return float(told)
    return 2.0 ** (5 + setting) if _is_number(setting) else None


def _add(merged: dict[_Key, CodeCost], detail: LaunchDetail, interval: float) -> None:
    for each in detail.code:
        key = (each.function, each.offset, each.places)
        costs = _with_derived(each.costs, interval)
        before = merged.get(key)
        if before:
            costs = {event: before.costs.get(event, 0) + costs.get(event, 0) for event in {**before.costs, **costs}}
        merged[key] = replace(each, costs=costs)


def _with_derived(costs: Mapping[str, float], interval: float) -> dict[str, float]:
    derived = {name: count for name, count in costs.items() if count and _adds_up(name)}
    if "samples" in costs:
        stalled = costs["samples"] - sum(costs.get(reason, 0) for reason in NOT_STALLED)
        derived |= {STALLED_SAMPLES: stalled, STALLED_CYCLES: stalled * interval}
    return derived


def _without_cycles(code: Iterable[CodeCost]) -> tuple[CodeCost, ...]:
    return tuple(replace(each, costs={k: n for k, n in each.costs.items() if k != STALLED_CYCLES}) for each in code)


def _merged(launches: Iterable[Iterable[Finding]]) -> tuple[Finding, ...]:
    """One finding for each rule and title over all launches of a kernel: first words, median estimate, all marks."""
    alike: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for found in launches:
        for each in found:
            if each.kind in ADVICE:
                alike[each.rule, each.title or each.message[:20]].append(each)
    return tuple(_one(each) for each in alike.values())


def _one(alike: list[Finding]) -> Finding:
    estimates = [each.speedup for each in alike if each.speedup is not None]
    places = dict.fromkeys(place for each in alike for place in each.places)
    return replace(alike[0], speedup=median(estimates) if estimates else None, places=tuple(places))
