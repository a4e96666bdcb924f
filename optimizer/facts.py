"""A profile in the words of a prompt: the machine, the kernels, the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analysis.types import Analysis, Device, Evidence, KernelAnalysis, Profile, Value

# attribute of the device -> how it is said; values are in base units
_ATTRIBUTES: Mapping[str, str] = {
    "multiprocessor_count": "{:,} multiprocessors",
    "max_threads_per_multiprocessor": "{:,} threads a multiprocessor at most",
    "max_registers_per_multiprocessor": "{:,} registers a multiprocessor",
    "max_shared_memory_per_multiprocessor": "{:,} bytes of shared memory a multiprocessor",
    "max_shared_memory_per_block": "{:,} bytes of shared memory a block unless the launch asks for more",
    "l2_cache_size": "{:,} bytes of L2 cache",
}


def machine(profile: Profile) -> str:
    """What the program runs on, in a few words."""
    if profile.device and profile.device.name:
        return f"the {' '.join(profile.device.name.split())}"
    return "a CPU" if profile.cost_unit == "cycle" else "a GPU"


def device_facts(profile: Profile, kernels: Sequence[KernelAnalysis]) -> tuple[str, ...]:
    """Sizes and ceilings that a change has to respect; only what the profile says."""
    found = list(_sizes(profile.device)) if profile.device else []
    peaks = [
        point.peak_bytes_per_s
        for kernel in kernels
        for point in kernel.roofline.points
        if point.level.lower() == "dram" and point.peak_bytes_per_s
    ]
    if peaks:
        found.append(f"{max(peaks) / 1e9:,.0f} GB/s DRAM bandwidth at the profiled clock")
    return tuple(found)


def kernel_line(each: KernelAnalysis, analysis: Analysis) -> str:
    """Name, launches, cost and shape of one kernel."""
    kernel = each.kernel
    run = "of all GPU time of the run" if analysis.profile.cost_unit == "ns" else "of the whole run"
    of = run if analysis.profile.whole_run else "of the time of all profiled launches"
    said = [" ".join(kernel.name.split())]
    if kernel.share is not None:
        said.append(f"{kernel.share:.1%} {of}")
    if analysis.profile.cost_unit == "ns":
        said.append(f"{kernel.launch_count} launches" if kernel.launch_count != 1 else "1 launch")
        said += [f"median {kernel.median_cost / 1e3:,.1f} us"] if kernel.median_cost else []
        said += _shapes(each, analysis)
    elif kernel.total_cost is not None:
        said.append(f"{kernel.total_cost:,.0f} estimated cycles")
    return "; ".join(said)


def evidence_line(item: Evidence) -> str:
    """One item: what it says, its number and where a cure moves it."""
    value = "not available" if item.value is None else f"{number(item.value)} {item.unit}".rstrip()
    said = " ".join(item.statement.split())
    head = f"{item.label} ({item.kind}, weight {item.weight:.1%})"
    return f"{head}: {said} {item.metric}: {value}; a cure moves it {item.direction}."


def number(value: float) -> str:
    """Large numbers with separators, small ones with four digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def stall_marks(kernels: Sequence[KernelAnalysis], offered: Sequence[Evidence]) -> dict[tuple[str, int], str]:
    """What is said below a line: its share of its kernel, the reasons, and the ids that point to it."""
    found: dict[tuple[str, int], str] = {}
    for kernel in kernels:
        for line in kernel.stalls.lines if kernel.stalls else ():
            if line.file is None or line.line is None or line.share < 0.005:
                continue
            ids = " ".join(item.label for item in offered if _points_to(item, kernel, line.file, line.line))
            reasons = ", ".join(
                f"{name} {share:.0%}" for name, share in list(line.reasons.items())[:3] if share >= 0.01
            )
            unit = kernel.stalls.unit if kernel.stalls else ""
            said = f"{line.share:.1%} of {kernel.kernel.short_name}'s {unit}"
            text = f"{f'{ids}: ' if ids else ''}{said}{f' ({reasons})' if reasons else ''}"
            before = found.get((line.file, line.line))
            found[line.file, line.line] = f"{before}; {text}" if before else text
    return found


def _points_to(item: Evidence, kernel: KernelAnalysis, file: str, line: int) -> bool:
    inside = item.lines is not None and item.lines[0] <= line <= item.lines[1]
    return inside and item.file == file and item.kernel == kernel.kernel.mangled


def _sizes(device: Device) -> Iterator[str]:
    if device.compute_capability:
        yield "compute capability {}.{}".format(*device.compute_capability)
    for name, words in _ATTRIBUTES.items():
        value: Value = device.attributes.get(f"device__attribute_{name}")
        if isinstance(value, int | float):
            yield words.format(int(value))


def _shapes(each: KernelAnalysis, analysis: Analysis) -> list[str]:
    wanted = set(each.kernel.launches)
    shapes = dict.fromkeys(
        (launch.grid, launch.block) for launch in analysis.profile.launches if launch.index in wanted and launch.grid
    )
    said = [f"grid {_dim(grid)} of blocks of {_dim(block)} threads" for grid, block in list(shapes)[:3]]
    return [*said, f"and {len(shapes) - 3} more shapes"] if len(shapes) > 3 else said


def _dim(size: tuple[int, int, int] | None) -> str:
    return "x".join(map(str, size)) if size else "?"
