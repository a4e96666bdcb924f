"""What the labels of the ``details`` page and of the console stand for: ncu's metrics, by section and label.

A label alone is not enough: "Memory Throughput" is a share of a peak in one section and bytes a second in another.
Found by comparing printed pages with the reports that they were printed from. Labels
that stand for different metrics in different versions ("SM Busy") are left as they are.
"""

from __future__ import annotations

import re
from functools import lru_cache

SOL, COMPUTE, MEMORY, SCHEDULER, WARPS = (
    "SpeedOfLight", "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "SchedulerStats", "WarpStateStats",
)  # fmt: skip
INSTRUCTIONS, LAUNCH, OCCUPANCY, SOURCE, WORKLOAD, ROOFLINE = (
    "InstructionStats", "LaunchStats", "Occupancy", "SourceCounters", "WorkloadDistribution",
    "SpeedOfLight_RooflineChart",
)  # fmt: skip
_SECTIONS = {
    "GPU Speed Of Light Throughput": SOL,
    "GPU Speed Of Light": SOL,
    "Compute Workload Analysis": COMPUTE,
    "Memory Workload Analysis": MEMORY,
    "Memory Workload Analysis Chart": f"{MEMORY}_Chart",
    "Memory Workload Analysis Tables": f"{MEMORY}_Tables",
    "Scheduler Statistics": SCHEDULER,
    "Warp State Statistics": WARPS,
    "Instruction Statistics": INSTRUCTIONS,
    "Launch Statistics": LAUNCH,
    "Occupancy": OCCUPANCY,
    "Source Counters": SOURCE,
    "GPU and Memory Workload Distribution": WORKLOAD,
    "GPU Speed Of Light Roofline Chart": ROOFLINE,
}
CHOSEN_BY_NAME = "Command line profiler metrics"
"""The section of what ``--metrics`` asked for: its labels are names."""
_ELAPSED, _ACTIVE = ".avg.pct_of_peak_sustained_elapsed", ".avg.pct_of_peak_sustained_active"
_METRICS: dict[str, dict[str, str]] = {
    SOL: {
        "Duration": "gpu__time_duration.sum",
        "Elapsed Cycles": "gpc__cycles_elapsed.max",
        "SM Active Cycles": "sm__cycles_active.avg",
        "SM Frequency": "gpc__cycles_elapsed.avg.per_second",
        "DRAM Frequency": "dram__cycles_elapsed.avg.per_second",
        "Compute (SM) Throughput": f"sm__throughput{_ELAPSED}",
        "Memory Throughput": f"gpu__compute_memory_throughput{_ELAPSED}",
        "DRAM Throughput": f"gpu__dram_throughput{_ELAPSED}",
        "L1/TEX Cache Throughput": f"l1tex__throughput{_ACTIVE}",
        "L2 Cache Throughput": f"lts__throughput{_ELAPSED}",
    },
    MEMORY: {
        "Memory Throughput": "dram__bytes.sum.per_second",
        "Mem Busy": f"gpu__compute_memory_access_throughput{_ELAPSED}",
        "Max Bandwidth": f"gpu__compute_memory_request_throughput{_ELAPSED}",
        "Mem Pipes Busy": f"sm__memory_throughput{_ELAPSED}",
        "L1/TEX Hit Rate": "l1tex__t_sector_hit_rate.pct",
        "L2 Hit Rate": "lts__t_sector_hit_rate.pct",
    },
    COMPUTE: {
        "Executed Ipc Active": "sm__inst_executed.avg.per_cycle_active",
        "Executed Ipc Elapsed": "sm__inst_executed.avg.per_cycle_elapsed",
        "Issued Ipc Active": "sm__inst_issued.avg.per_cycle_active",
    },
    SCHEDULER: {
        "One or More Eligible": f"smsp__issue_active{_ACTIVE}",
        "No Eligible": f"smsp__issue_inst0{_ACTIVE}",
        "Active Warps Per Scheduler": "smsp__warps_active.avg.per_cycle_active",
        "Eligible Warps Per Scheduler": "smsp__warps_eligible.avg.per_cycle_active",
        "Issued Warp Per Scheduler": "smsp__issue_active.avg.per_cycle_active",
    },
    WARPS: {
        "Warp Cycles Per Issued Instruction": "smsp__average_warp_latency_per_inst_issued.ratio",
        "Warp Cycles Per Executed Instruction": "smsp__average_warps_active_per_inst_executed.ratio",
        "Avg. Active Threads Per Warp": "smsp__thread_inst_executed_per_inst_executed.ratio",
        "Avg. Not Predicated Off Threads Per Warp": "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    },
    INSTRUCTIONS: {
        "Executed Instructions": "smsp__inst_executed.sum",
        "Avg. Executed Instructions Per Scheduler": "smsp__inst_executed.avg",
        "Issued Instructions": "smsp__inst_issued.sum",
        "Avg. Issued Instructions Per Scheduler": "smsp__inst_issued.avg",
    },
    LAUNCH: {
        "Grid Size": "launch__grid_size",
        "Block Size": "launch__block_size",
        "Threads": "launch__thread_count",
        "Registers Per Thread": "launch__registers_per_thread",
        "Waves Per SM": "launch__waves_per_multiprocessor",
        "# SMs": "launch__sm_count",
        "# TPCs": "launch__tpc_count",
        "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
        "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
        "Driver Shared Memory Per Block": "launch__shared_mem_per_block_driver",
        "Shared Memory Configuration Size": "launch__shared_mem_config_size",
        "Function Cache Configuration": "launch__func_cache_config",
        "Cluster Size": "launch__cluster_size",
        "Stack Size": "launch__stack_size",
    },
    OCCUPANCY: {
        "Theoretical Occupancy": "sm__maximum_warps_per_active_cycle_pct",
        "Theoretical Active Warps per SM": "sm__maximum_warps_avg_per_active_cycle",
        "Achieved Occupancy": f"sm__warps_active{_ACTIVE}",
        "Achieved Active Warps Per SM": "sm__warps_active.avg.per_cycle_active",
        "Block Limit SM": "launch__occupancy_limit_blocks",
        "Block Limit Registers": "launch__occupancy_limit_registers",
        "Block Limit Shared Mem": "launch__occupancy_limit_shared_mem",
        "Block Limit Warps": "launch__occupancy_limit_warps",
        "Block Limit Barriers": "launch__occupancy_limit_barriers",
    },
    SOURCE: {
        "Branch Instructions": "smsp__inst_executed_op_branch.sum",
        "Branch Efficiency": "smsp__sass_average_branch_targets_threads_uniform.pct",
        "Avg. Divergent Branches": "smsp__sass_branch_targets_threads_divergent.avg",
    },
    WORKLOAD: {
        f"{word} {label} {what} Cycles": f"{metric}__cycles_{what.lower()}.{kind}"
        for word, what, kind in (("Average", "Active", "avg"), ("Total", "Elapsed", "sum"))
        for label, metric in (("DRAM", "dram"), ("L1", "l1tex"), ("L2", "lts"), ("SM", "sm"), ("SMSP", "smsp"))
    },
    ROOFLINE: {
        **{
            f"Theoretical Predicated-On {op.upper()} Thread Instructions Executed": (
                f"sm__sass_thread_inst_executed_op_{op}_pred_on.sum.peak_sustained"
            )
            for op in ("ffma", "dfma")
        },
        **{
            f"Predicated-On {op.upper()} Thread Instructions Executed Per Cycle": (
                f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum.per_cycle_elapsed"
            )
            for op in ("fadd", "fmul", "ffma", "dadd", "dmul", "dfma")
        },
        "Theoretical DRAM Bytes Accessible": "dram__bytes.sum.peak_sustained",
        "DRAM Frequency": "dram__cycles_elapsed.avg.per_second",
        "DRAM Bandwidth": "dram__bytes.sum.per_second",
        "SM Frequency": "sm__cycles_elapsed.avg.per_second",
    },
}  # fmt: skip
_OF_ACHIEVED = {"SM Frequency": "smsp__cycles_elapsed.avg.per_second"}
_BOTH = re.compile(r".*\((\w+__[\w.]+)\)")


def section_id(shown: str) -> str:
    """ncu's identifier for a section that metrics are shown under; what is not known comes back as it is."""
    return _SECTIONS.get(shown, shown)


@lru_cache(maxsize=8192)
def metric_name(section: str, item: str, label: str, base: str) -> str:
    """ncu's own name of a metric, where the page prints it or we know it; else section, item and label.

    ``item``: the table or chart within the section, from ``--print-details all``. ``base``: base unit of the value.
    """
    if both := _BOTH.fullmatch(label):
        return both[1]
    if section in ("", CHOSEN_BY_NAME) or re.match(r"[\w.]+__\w", label):
        return label
    found = _metric(section_id(section), item, label)
    if found and (base == "%") == bool(re.search(r"pct(_|$)", found)):
        return found
    words = ": ".join(filter(None, (section, item, label)))
    return f"{words} [{base}]" if base else words


def _metric(section: str, item: str, label: str) -> str | None:
    if section == ROOFLINE and item.endswith("Achieved Value") and label in _OF_ACHIEVED:
        return _OF_ACHIEVED[label]
    known = _METRICS.get(section, {}).get(label)
    return known if not item or section == ROOFLINE else None
