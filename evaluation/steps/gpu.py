"""Kernel times of one process, as the GPU counts them: Nsight Compute with one metric and nothing changed.

Clocks and caches are left as they are. Per process a kernel's figure is the median over its launches, the first one
dropped when there are three or more: it pays for loading the module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from analysis import formats
from analysis.names import demangle, short_name
from analysis.types import Launch
from evaluation import sandbox
from evaluation.toolchains import gpus
from evaluation.toolchains.base import prefixed
from evaluation.types import Limits, Ran
from optimas_web.errors import UserError

REPORT = "optimas-timing.ncu-rep"
METRIC = "gpu__time_duration.sum"
NCU = f"ncu --force-overwrite --export {REPORT} --metrics {METRIC} --clock-control none --cache-control none"
STARTUP_S = 60.0
"""What the profiler may need beside the program."""
SELECTED, ALL = "selected", "gpu"


def uuid() -> str:
    """Of the GPU that everything runs on: the first. Raises UserError without one."""
    return _first().uuid


def _first() -> gpus.Gpu:
    found = gpus.gpus()
    if not found:
        raise UserError("There is no NVIDIA GPU on this host.", "Evaluate CUDA programs on a host with one.")
    return found[0]


def timed(
    folder: Path, command: str, timeout_s: float, *, cancelled: Callable[[], bool] | None = None
) -> tuple[Ran, tuple[Launch, ...]]:
    """One run of ``command`` under Nsight Compute: how it ended, and its launches with their cost in ns."""
    limits = Limits(wall_s=timeout_s + STARTUP_S)
    report = folder / REPORT
    report.unlink(missing_ok=True)
    ran = sandbox.run(
        prefixed(command, NCU), folder, profile="tools", limits=limits, gpu=_first().minor, cancelled=cancelled
    )
    return ran, formats.read(report).launches if ran.ok and report.is_file() else ()


def scopes(launches: Sequence[Launch], kernels: Sequence[str], renamed: Mapping[str, str]) -> dict[str, float]:
    """Scope -> ns: every selected kernel under its original mangled name, their sum, and all kernels together.

    The sums count every launch with its kernel's figure. ``renamed``: mangled name before -> after; the selected
    kernels are found by short name. Raises UserError when none of them was launched.
    """
    before = {after: name for name, after in renamed.items()}
    costs: dict[str, list[float]] = defaultdict(list)
    for launch in launches:
        if launch.cost:
            costs[before.get(launch.mangled, launch.mangled)].append(launch.cost)
    wanted = {short_name(demangle(kernel)) for kernel in kernels}
    names = {launch.mangled: launch.short_name for launch in launches}
    chosen = [name for name in costs if names.get(renamed.get(name, name)) in wanted]
    if not chosen:
        raise UserError(f"None of the selected kernels ({', '.join(kernels)}) was launched by the timed workload.")
    sums = {name: figure(found) * len(found) for name, found in costs.items()}
    return {
        **{name: figure(costs[name]) for name in chosen},
        SELECTED: sum(sums[name] for name in chosen),
        ALL: sum(sums.values()),
    }


def launch_difference(before: Sequence[Launch], after: Sequence[Launch], renamed: Mapping[str, str]) -> str:
    """How number or order of kernel launches differ, as a sentence; empty when they agree.

    A kernel that is never launched leaves old results behind and is infinitely fast.
    """
    old = [renamed.get(launch.mangled, launch.mangled) for launch in before]
    new = [launch.mangled for launch in after]
    if old == new:
        return ""
    place = next((at for at, (one, two) in enumerate(zip(old, new, strict=False)) if one != two), None)
    if place is None:
        return f"it launches {len(new)} kernels, the original {len(old)}"
    return f"launch {place + 1} is {after[place].short_name}, in the original {before[place].short_name}"


def figure(costs: Sequence[float]) -> float:
    """One kernel's time in one process, ns."""
    return median(costs[1:] if len(costs) >= 3 else costs)
