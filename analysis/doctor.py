"""What is missing from a profile, what that disables, and the command that mends it."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice

from analysis import findings, hotspots, roofline
from analysis.measures import STALLED_SAMPLES
from analysis.places import Sources
from analysis.stalls import SAMPLES
from analysis.statements import FEW_SAMPLES
from analysis.types import Analysis, DoctorNote, KernelAnalysis

CALLGRIND = "valgrind --tool=callgrind --cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=8388608,16,64 ./program"
THIS_PROGRAM = (
    "Give --source the folder that this very program was built from;"
    " of files with one name, only those compiled into it."
)
AMD_TRACE = "For all of them: rocprofv3 --kernel-trace --output-format csv -- ./program"
AMD_COUNTERS = "For counters (analyze --launches shows them): rocprofv3 --pmc SQ_WAVES SQ_INSTS_VALU -- ./program"
MAIN = "main"
OUT_OF_MAIN = "Move its loops into functions of their own and profile again: main stays as it is, whoever edits."
LAUNCHES_EACH = 3
WARNINGS_SHOWN = 20
MUCH_UNPLACED = 0.05
THREAD_STARTERS = ("pthread_create", "GOMP_parallel", "__kmpc_fork_call")
MISSES = ("D1mr", "D1mw", "DLmr", "DLmw")


def examine(analysis: Analysis, sources: Sources, *, unlisted: int = 0) -> tuple[DoctorNote, ...]:
    """Notes on ``analysis``, the gravest first. ``unlisted``: how many functions are too cheap to be listed."""
    specific = _on_callgrind if analysis.profile.cost_unit == "cycle" else _on_amd if _is_amd(analysis) else _on_gpu
    notes = [*_on_any(analysis, sources, unlisted), *specific(analysis, sources)]
    return tuple(sorted(notes, key=lambda note: ("error", "warning", "info").index(note.severity)))


def ncu(analysis: Analysis, *options: str) -> str:
    """The ncu command for the hot kernels of ``analysis``, or for the first one when none is hot."""
    return _ncu(_hot(analysis) or analysis.kernels[:1], *options)


def _ncu(kernels: Iterable[KernelAnalysis], *options: str) -> str:
    names = dict.fromkeys(re.escape(each.kernel.short_name) for each in kernels)
    pattern = f"regex:^({'|'.join(names)})$"
    which = f" -k {shlex.quote(pattern)}" if names else ""  # the names come from a file that anybody may have made
    count = LAUNCHES_EACH * max(len(names), 1)  # -c counts the launches of all of them together
    return " ".join(["ncu", *options, f"--set full --import-source yes{which} -c {count} -o report ./program"])


def _on_any(analysis: Analysis, sources: Sources, unlisted: int) -> Iterator[DoctorNote]:
    for problem in sources.problems:
        yield DoctorNote("warning", "source", problem, THIS_PROGRAM)
    for origin in analysis.profile.origins:
        yield DoctorNote("info", "kernels", origin, "Nothing to do: several reports are shown as one profile.")
    for warning in analysis.profile.warnings:
        yield DoctorNote("warning", "kernels", warning, "Profile again if it matters; all else is shown.")
    for warning in islice((each for found in analysis.kernels for each in found.measures.warnings), WARNINGS_SHOWN):
        yield DoctorNote("warning", "kernels", warning, "Profile again; the rest of this launch is shown.")
    costless = sum(1 for launch in analysis.profile.launches if launch.cost is None)
    if costless and not analysis.profile.tallies:
        yield DoctorNote(
            "warning",
            "kernels",
            f"{costless} of {len(analysis.profile.launches)} launches have no time: they count as launches, not as 0.",
            _again(analysis),
        )
    if unlisted:
        yield DoctorNote(
            "info",
            "kernels",
            f"{unlisted} functions outside the sources that cost under 0.1 % each are not listed.",
            "Nothing to do: their cost is in the total.",
        )
    placed = [line for each in _hot(analysis) if each.stalls for line in each.stalls.lines if line.file]
    if placed and not any(line.text for line in placed):
        yield DoctorNote(
            "warning",
            "source",
            "The hot lines are known by number only: their text is neither in the profile nor given.",
            "Give --source DIR, the folder that the program was built from.",
        )


def _again(analysis: Analysis) -> str:
    return CALLGRIND if analysis.profile.cost_unit == "cycle" else ncu(analysis)


def _on_callgrind(analysis: Analysis, sources: Sources) -> Iterator[DoctorNote]:
    yield DoctorNote(
        "info",
        "roofline",
        "A CPU profile has no roofline: Callgrind counts neither floating-point operations nor memory traffic.",
        "For a kernel on a GPU: ncu --set full --import-source yes -o report ./program",
    )
    yield from _on_hot_functions(analysis, sources)
    yield from _on_main(analysis)
    yield from _on_threads(analysis)
    events = {event for each in analysis.kernels for line in each.measures.lines for event in line.costs}
    if analysis.kernels and not events & set(MISSES):
        yield DoctorNote(
            "warning",
            "stalls",
            "Callgrind ran without its cache simulation: cycles are instructions, and no miss is known.",
            CALLGRIND,
        )
    if analysis.kernels and not any(_placed(each) for each in _hot(analysis)):
        yield DoctorNote(
            "warning",
            "stalls",
            "No hot function has source lines: nothing can be said by line, and inlined functions stay hidden.",
            f"Build with -g (g++ -O2 -g ...), then: {CALLGRIND}",
        )


def _on_main(analysis: Analysis) -> Iterator[DoctorNote]:
    for each in _hot(analysis):
        if each.kernel.short_name == MAIN:
            share = f"{each.kernel.share or 0:.0%}"
            yield DoctorNote("warning", "kernels", f"main itself holds {share} of all cycles.", OUT_OF_MAIN)


def _on_threads(analysis: Analysis) -> Iterator[DoctorNote]:
    if any(launch.short_name.startswith(THREAD_STARTERS) for launch in analysis.profile.launches):
        yield DoctorNote(
            "info",
            "stalls",
            "The program starts threads, which Callgrind runs one after the other: what waits for locks is not in it.",
            "Nothing to do: the costs of all threads are added up.",
        )


def _on_hot_functions(analysis: Analysis, sources: Sources) -> Iterator[DoctorNote]:
    costs = [(launch.cost or 0.0, launch.file in sources.texts) for launch in analysis.profile.launches]
    own, everything = sum(cost for cost, ours in costs if ours), sum(cost for cost, _ in costs)
    if own:
        yield DoctorNote(
            "info" if own >= 0.5 * everything else "warning",
            "kernels",
            f"Hot functions are chosen among those in the sources, which hold {own / everything:.0%} of all cycles.",
            "When that is little, profile a larger input: libraries and the start of the program weigh less then.",
        )


def _on_gpu(analysis: Analysis, sources: Sources) -> Iterator[DoctorNote]:
    yield from _on_the_run(analysis)
    kernels = analysis.kernels
    if kernels and not any(each.measures.samples for each in kernels):
        yield DoctorNote(
            "warning", "stalls", "The report holds no warp samples: no stalls, no hot lines.", ncu(analysis)
        )
    unplaced = [each for each in _hot(analysis) if each.measures.samples and not _placed(each)]
    if unplaced:
        yield DoctorNote(
            "warning",
            "stalls",
            f"{_and(unplaced)}: this profile has no source lines, so samples are shown for the whole kernel only.",
            f"Compile with -lineinfo (nvcc -O3 -lineinfo ...), then: {ncu(analysis)}",
        )
    yield from _on_samples(analysis)
    yield from _on_work(analysis)
    yield from _on_findings(analysis)


def _on_findings(analysis: Analysis) -> Iterator[DoctorNote]:
    for each in _hot(analysis):
        reasons = [f"{finding.rule} ({reason})" for finding, reason in findings.dropped(each)]
        if reasons:
            yield DoctorNote(
                "info",
                "findings",
                f"{each.kernel.short_name}: left out of the evidence, of what the profiler's rules say:"
                f" {', '.join(dict.fromkeys(reasons))}.",
                "Nothing to do: ncu shows them in full.",
            )


def _is_amd(analysis: Analysis) -> bool:
    return analysis.profile.format in ("rocprof", "rocpd")


def _on_amd(analysis: Analysis, sources: Sources) -> Iterator[DoctorNote]:
    if analysis.profile.tallies:
        yield from _on_tallies(analysis)
    else:
        yield DoctorNote("info", "kernels", "Shares are among the launches whose counters were read.", AMD_TRACE)
    yield DoctorNote("warning", "stalls", "Samples of AMD GPUs are not read: no stalls, no hot lines.", AMD_COUNTERS)
    yield DoctorNote(
        "warning", "roofline", "Counters of AMD GPUs are kept under their own names and make no roofline.", AMD_COUNTERS
    )


def _on_work(analysis: Analysis) -> Iterator[DoctorNote]:
    by_unit: dict[str, list[KernelAnalysis]] = {}
    for each in _hot(analysis):
        by_unit.setdefault(roofline.uncounted_work(each.measures.metrics), []).append(each)
    known = by_unit.pop("", [])
    for unit, kernels in by_unit.items():
        yield DoctorNote(
            "info",
            "roofline",
            f"{_and(kernels)}: the work of {unit} is not counted: the roofline shows less than was done.",
            "Nothing to do: what was sampled holds all the same.",
        )
    uncounted = [each for each in known if (not each.roofline.points or roofline.work_unknown(each.measures.metrics))]
    if uncounted:
        yield DoctorNote(
            "warning",
            "roofline",
            f"{_and(uncounted)}: no complete counters of floating-point work and DRAM traffic.",
            ncu(analysis),
        )


def _on_the_run(analysis: Analysis) -> Iterator[DoctorNote]:
    if analysis.profile.tallies:
        yield from _on_tallies(analysis)
    elif not analysis.profile.whole_run:
        yield DoctorNote(
            "info",
            "kernels",
            "Shares are among the profiled launches, which need not be all of the program.",
            "For all of it: nsys profile -o run ./program, then nsys export --type sqlite run.nsys-rep",
        )
    if analysis.profile.clocks_locked is False:
        yield DoctorNote(
            "info",
            "roofline",
            "Clocks were not locked: ceilings are at the clock during profiling, which may differ between launches.",
            ncu(analysis, "--clock-control base"),
        )


def _on_tallies(analysis: Analysis) -> Iterator[DoctorNote]:
    profile = analysis.profile
    yield DoctorNote(
        "info",
        "kernels",
        f"Shares are of the times of {profile.launch_count:,} launches added up; those that ran at once count twice.",
        "Nothing to do: what the processor did meanwhile is not in them.",
    )
    by_device: dict[str, float] = defaultdict(float)
    for tally in profile.tallies:
        by_device[tally.device or "unknown"] += tally.total or 0.0
    if len(by_device) > 1:
        told = ", ".join(f"{device} {total / 1e6:,.3f} ms" for device, total in sorted(by_device.items()))
        yield DoctorNote(
            "info",
            "kernels",
            f"Kernels ran on {len(by_device)} devices, and times are sums over them: {told}.",
            "For one device alone: let the program see only that one, and profile again.",
        )
    unmeasured = [each for each in _hot(analysis) if not each.kernel.launches]
    if profile.launches and unmeasured:
        yield DoctorNote(
            "warning",
            "kernels",
            f"{_and(unmeasured)}: hot in the whole run, but not among the launches that were measured in depth.",
            AMD_COUNTERS if _is_amd(analysis) else _ncu(unmeasured),
        )


def _on_samples(analysis: Analysis) -> Iterator[DoctorNote]:
    hot = _hot(analysis)
    for each in analysis.kernels:
        stalled = sum(line.costs.get(STALLED_SAMPLES, 0) for line in each.measures.lines)
        if each.stalls and each.stalls.unit == SAMPLES and stalled < FEW_SAMPLES:
            yield DoctorNote(
                "warning" if each in hot else "info",
                "stalls",
                f"{each.kernel.short_name}: only {stalled:,.0f} stalled samples: shares are not reliable.",
                f"A larger input, or: {ncu(analysis, '--sampling-interval 0')}",
            )
        nowhere = sum(line.costs.get(STALLED_SAMPLES, 0) for line in each.measures.lines if line.file is None)
        if each in hot and _placed(each) and nowhere > MUCH_UNPLACED * stalled:
            yield DoctorNote(
                "info",
                "stalls",
                f"{each.kernel.short_name}: {nowhere / stalled:.0%} of the stalled samples lie on code without lines.",
                "Library routines and code that the compiler added have none: nothing can be said by line about them.",
            )
        reported = each.measures.samples_reported
        if reported is not None and reported != each.measures.samples:
            yield DoctorNote(
                "warning",
                "stalls",
                f"{each.kernel.short_name}: {each.measures.samples:,.0f} of {reported:,.0f} samples could be placed.",
                ncu(analysis),
            )


def _hot(analysis: Analysis) -> list[KernelAnalysis]:
    return hotspots.hot(analysis.kernels)


def _placed(each: KernelAnalysis) -> bool:
    return each.stalls is not None and any(line.file for line in each.stalls.lines)


def _and(kernels: Iterable[KernelAnalysis]) -> str:
    return ", ".join(each.kernel.short_name for each in kernels)
