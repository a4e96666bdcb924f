"""The columns of ncu's ``source`` page, through its versions, and what we call the counts in them."""

from __future__ import annotations

import re

_REASONS = {
    "dispatch": "dispatch_stall",
    "gmma": "warpgroup_arrive",
    "imc": "imc_miss",
    "lg": "lg_throttle",
    "long_sb": "long_scoreboard",
    "math": "math_pipe_throttle",
    "mio": "mio_throttle",
    "no_inst": "no_instructions",
    "short_sb": "short_scoreboard",
    "sleep": "sleeping",
    "tex": "tex_throttle",
}
_POLICY = "smsp__sass_inst_executed_memdesc_explicit_"
_EXCESSIVE = {
    "L1 Wavefronts Shared": "memory_l1_wavefronts_shared",
    "L2 Theoretical Sectors Global": "memory_l2_theoretical_sectors_global",
}
_COSTS = {
    **dict.fromkeys(
        (
            "Warp Stall Sampling (All Samples)", "Warp Stall Sampling (All Cycles)", "Sampling Data (All)", "# Samples",
            "smsp__pcsamp_sample_count",
        ),
        "samples",
    ),
    "Instructions Executed": "inst_executed",
    "inst_executed": "inst_executed",
    "Thread Instructions Executed": "thread_inst_executed",
    "Predicated-On Thread Instructions Executed": "thread_inst_executed_true",
    "Avg. Threads Executed": "derived__avg_thread_executed",
    "Avg. Predicated-On Threads Executed": "derived__avg_thread_executed_true",
    "Derivative Avg. Predicated-On Threads Executed": "derived__derivative_avg_thread_executed_true",
    "Avg. Predicated-On Threads Unexecuted": "derived__avg_thread_unexecuted_true",
    "Divergent Branches": "smsp__branch_targets_threads_divergent",
    "L1 Tag Requests Global": "memory_l1_tag_requests_global",
    "L1 Conflicts Shared N-Way": "derived__memory_l1_conflicts_shared_nway",
    "L2 Theoretical Sectors Local": "memory_l2_theoretical_sectors_local",
    **_EXCESSIVE,
    **{f"{title} Ideal": f"{name}_ideal" for title, name in _EXCESSIVE.items()},
    **{f"{title} Excessive": f"derived__{name}_excessive" for title, name in _EXCESSIVE.items()},
    **{
        f"L2 Explicit {way} Policy Evict {kind}": f"{_POLICY}{way.lower()}prop_evict_{kind.lower().replace(' ', '_')}"
        for way in ("Hit", "Miss")
        for kind in ("First", "Last", "Normal", "Normal Demote")
    },
}  # fmt: skip
_STALL = re.compile(r"(?:stall_|smsp__pcsamp_warps_issue_stalled_)(\w+?)(_not_issued| \(Not Issued\))?")


def cost_name(title: str) -> str | None:
    """Our name for the counts of a column; None for text, kinds of access and sums of other columns."""
    if title in _COSTS:
        return _COSTS[title]
    stall = _STALL.fullmatch(title)
    return f"{_REASONS.get(stall[1], stall[1])}{'_not_issued' if stall[2] else ''}" if stall else None


def is_reason(cost: str) -> bool:
    """Whether a cost is samples of one stall reason, issued or not."""
    return cost in _KNOWN_REASONS


_KNOWN_REASONS = frozenset(_REASONS.values()) | {
    "barrier", "branch_resolving", "drain", "membar", "misc", "not_selected", "selected", "wait",
}  # fmt: skip
