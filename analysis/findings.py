"""The profiler's own rules as evidence: what they found, each tied to a metric that can be measured again.

The words and the estimate are the tool's. Ours is which metric stands behind a rule, and which findings are no help
for an edit: those are dropped with a reason (``dropped``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from analysis import roofline
from analysis.statements import noise_floor
from analysis.types import Direction, Evidence, Finding, KernelAnalysis

LEAST_SPEEDUP = 0.01
LONGEST_QUOTE = 400
MARKS_NAMED = 3

_STALLED = "smsp__average_warps_issue_stalled_"
_PER_ISSUE = "_per_issue_active.ratio"
_FP = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"
_BYTES_PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.ratio"
_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"


@dataclass(frozen=True, slots=True)
class _Ground:
    """The metric behind a rule. ``about``: what the words of the finding have to hold, a regular expression."""

    rule: str
    metric: str
    unit: str
    direction: Direction
    about: str = ""


_GROUNDS = (
    _Ground(
        "UncoalescedGlobalAccess", "derived__memory_l2_theoretical_sectors_global_excessive", "sector a launch", "down"
    ),
    _Ground("UncoalescedSharedAccess", "derived__memory_l1_wavefronts_shared_excessive", "wavefront a launch", "down"),
    _Ground(
        "SharedMemoryConflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "bank conflict a launch", "down"
    ),
    _Ground("MemoryCacheAccessPattern", _BYTES_PER_SECTOR.format("ld"), "byte a sector", "up", "global loads"),
    _Ground("MemoryCacheAccessPattern", _BYTES_PER_SECTOR.format("st"), "byte a sector", "up", "global stores"),
    _Ground("MemoryCacheAccessPattern", _SECTORS.format("ld"), "sector a launch", "down", "global loads"),
    _Ground("MemoryCacheAccessPattern", _SECTORS.format("st"), "sector a launch", "down", "global stores"),
    _Ground("IssueSlotUtilization", "smsp__issue_active.avg.per_cycle_active", "instruction a cycle", "up"),
    _Ground("CPIStall", "smsp__issue_active.avg.per_cycle_active", "instruction a cycle", "up"),
    _Ground("AchievedOccupancy", "sm__warps_active.avg.pct_of_peak_sustained_active", "% of all warps", "up"),
    _Ground("TheoreticalOccupancy", "sm__maximum_warps_per_active_cycle_pct", "% of all warps", "up"),
    _Ground("Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active", "% of all warps", "up", "not impacted"),
    _Ground("Occupancy", "sm__maximum_warps_per_active_cycle_pct", "% of all warps", "up"),
    _Ground("LaunchConfiguration", "launch__waves_per_multiprocessor", "wave", "up", "grid for this launch"),
    _Ground("SOLBottleneck", "launch__waves_per_multiprocessor", "wave", "up", "grid is too small"),
    _Ground("ThreadDivergence", "smsp__thread_inst_executed_per_inst_executed.ratio", "thread", "up"),
    _Ground("FPInstructions", _FP.format("fmul"), "instruction a cycle", "down", "FP32"),
    _Ground("FPInstructions", _FP.format("dmul"), "instruction a cycle", "down", "FP64"),
    _Ground("WorkloadImbalance", "sm__cycles_active.max", "cycle a launch", "down", r"\bSMs"),
)
_METRICS = frozenset(ground.metric for ground in _GROUNDS)

_FLOATING_POINT = ("FPInstructions", "SOLFPRoofline")
_NO_HELP: Mapping[str, str] = {
    "SOLFPRoofline": "the roofline says it",
    "SOLBottleneck": "the roofline says it",
    "HighPipeUtilization": "it names no cause",
    "WorkloadImbalance": "the imbalance between multiprocessors says it, where there is one",
    "PMSamplingData": "it is about the profile, not about the kernel",
    "MemoryL2Compression": "memory would have to be allocated as compressible, which no edit of a kernel does",
}


@lru_cache(maxsize=20_000)
def wanted(metric: str) -> bool:
    """Whether a finding may rest on ``metric``."""
    return metric in _METRICS or (metric.startswith(_STALLED) and metric.endswith(_PER_ISSUE))


def drafts(found: KernelAnalysis) -> list[Evidence]:
    """Evidence without labels yet, the strongest first; of two findings on one metric the one that promises more."""
    by_metric: dict[str, Evidence] = {}
    for each in found.measures.findings:
        ground = _ground(each, found.measures.metrics)
        if ground is None or _reason(each, ground, found):
            continue
        item = _item(each, ground, found)
        if ground.metric not in by_metric or item.weight > by_metric[ground.metric].weight:
            by_metric[ground.metric] = item
    return sorted(by_metric.values(), key=lambda item: -item.weight)


def dropped(found: KernelAnalysis) -> Iterator[tuple[Finding, str]]:
    """Findings that are no evidence, and why."""
    for each in found.measures.findings:
        reason = _reason(each, _ground(each, found.measures.metrics), found)
        if reason:
            yield each, reason


def _reason(finding: Finding, ground: _Ground | None, found: KernelAnalysis) -> str:
    """Why a finding is no evidence; empty when it is."""
    if finding.rule in _FLOATING_POINT and _does_no_flops(found.measures.metrics):
        return "the kernel does no floating-point work"
    if ground is None:
        return _NO_HELP.get(finding.rule, "no metric of the profile stands behind it")
    if finding.speedup is not None and finding.speedup < LEAST_SPEEDUP:
        return f"it expects less than {LEAST_SPEEDUP:.0%}"
    return ""


def _does_no_flops(metrics: Mapping[str, float]) -> bool:
    counted = not roofline.work_unknown(metrics)
    return counted and not any(roofline.flop_per_s(metrics, precision) for precision in roofline.PRECISIONS)


def _ground(finding: Finding, metrics: Mapping[str, float]) -> _Ground | None:
    """What can be measured again behind a finding; None when the profile does not have it."""
    stalled = f"{_STALLED}{_stall(finding.title)}{_PER_ISSUE}"
    if finding.rule == "CPIStall" and stalled in metrics:
        return _Ground("CPIStall", stalled, "cycle an instruction", "down")
    fitting = (each for each in _GROUNDS if each.rule == finding.rule and re.search(each.about, finding.message))
    return next((each for each in fitting if each.metric in metrics), None)


def _stall(title: str) -> str:
    """``Long Scoreboard Stalls``, or ``long_scoreboard`` in older versions, as metrics name it."""
    return title.lower().removesuffix(" stalls").replace(" ", "_")


def _item(finding: Finding, ground: _Ground, found: KernelAnalysis) -> Evidence:
    place = finding.places[0] if len(finding.places) == 1 else None
    known = found.stalls.lines if found.stalls else ()
    return Evidence(
        label="",
        kind="findings",
        kernel=found.kernel.mangled,
        statement=f"{found.kernel.short_name}: {_quote(finding)}{_estimate(finding)}{_marks(finding)}",
        metric=ground.metric,
        value=found.measures.metrics[ground.metric],
        unit=ground.unit,
        noise=noise_floor([each[ground.metric] for each in found.measures.per_launch if ground.metric in each]),
        direction=ground.direction,
        weight=_strength(finding),
        file=place.file if place else None,
        lines=(place.line, place.line) if place else None,
        text=next((line.text for line in known if place and (line.file, line.line) == (place.file, place.line)), ""),
    )


def _strength(finding: Finding) -> float:
    """What a rule expects for the kernel's time; one unit's time, and no estimate, count as the least."""
    return max(LEAST_SPEEDUP, finding.speedup or 0.0) if finding.scope == "global" else LEAST_SPEEDUP


def _quote(finding: Finding) -> str:
    """The rule's words up to the last sentence that fits."""
    words = finding.message
    if len(words) > LONGEST_QUOTE:
        whole = words[:LONGEST_QUOTE].rpartition(". ")[0]
        words = f"{whole}." if whole else f"{words[:LONGEST_QUOTE]}..."
    return f"rule {finding.rule} says: {words}"


def _estimate(finding: Finding) -> str:
    if finding.speedup is None:
        return ""
    whose = "the kernel's time" if finding.scope == "global" else "the time of one unit"
    return f" It expects to save {finding.speedup:.0%} of {whose}."


def _marks(finding: Finding) -> str:
    named = ", ".join(f"{place.file}:{place.line}" for place in finding.places[:MARKS_NAMED])
    more = f" and {len(finding.places) - MARKS_NAMED} more" if len(finding.places) > MARKS_NAMED else ""
    return f" It marks {named}{more}." if named else ""
