"""Gate 9: both sides are profiled again on this machine, so that evidence can be held against what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median

from analysis import align, evidence, formats, pipeline
from analysis.names import short_name
from analysis.types import Analysis, Evidence, Profile
from evaluation import workspace
from evaluation.steps import SIDES, Bench, Found, Outcome
from evaluation.types import Built, Measured, Profiled, Side

REPEATS = 3


def step(bench: Bench, found: Found) -> tuple[Outcome, Found]:
    """Profiles both sides `REPEATS` times by turns and measures every offered item on each. Never fails."""
    if not bench.case.offered:
        return Outcome("not_applicable", "No evidence was offered, so there is none to measure again."), found
    values: dict[Side, list[Mapping[str, float | None]]] = {side: [] for side in SIDES}
    built: dict[Side, Built | None] = dict.fromkeys(SIDES)
    counted: dict[Side, float | None] = dict.fromkeys(SIDES)
    log = ""
    with ExitStack() as stack:
        folders = {side: stack.enter_context(workspace.opened(bench.files(side))) for side in SIDES}
        for turn in range(REPEATS * len(SIDES)):
            side = SIDES[turn % 2]
            bench.say(f"profiling the {side}, {turn // 2 + 1} of {REPEATS}", turn / (2 * REPEATS))
            taken = profiled(bench, found, side, folders[side], built[side])
            if taken.path is None:
                return Outcome("not_run", f"The {side} could not be profiled: {taken.reason}.", taken.log), found
            profile = formats.read(taken.path)
            values[side].append(metrics(bench, found, side, profile))
            counted[side] = instructions(profile)
            built[side], log = taken.built, taken.log
    measured = tuple(summed(item, values["original"], values["candidate"]) for item in bench.case.offered)
    known = sum(each.before is not None and each.after is not None for each in measured)
    reason = f"{known} of {len(measured)} offered items measured again on both sides, {REPEATS} times each."
    environment = {**found.environment, **{f"instructions {side}": counted[side] for side in SIDES}}
    return Outcome("passed", reason, log), replace(found, measured=measured, environment=environment)


def instructions(profile: Profile) -> float | None:
    """Instructions that the whole program executed on the profile command; None where the profiler does not count."""
    counts = (launch.load().metrics.get("Ir") for launch in profile.launches) if profile.whole_run else ()
    known = [float(count) for count in counts if isinstance(count, int | float)]
    return sum(known) if known else None


def metrics(bench: Bench, found: Found, side: Side, profile: Profile) -> dict[str, float | None]:
    """Label -> value of each offered item in one profile of ``side``."""
    analysis = pipeline.analyse(profile, bench.texts(side))
    return {item.label: value(item, bench, found, side, analysis) for item in bench.case.offered}


def profiled(bench: Bench, found: Found, side: Side, folder: Path, built: Built | None) -> Profiled:
    case = bench.case
    kernels = mangled(case.kernels, found.built[side], found.renamed)
    return case.toolchain.profile(
        folder, case.manifest, arch=case.arch, kernels=kernels, built=built, cancelled=bench.cancelled
    )


def mangled(kernels: Iterable[str], built: Built, renamed: Mapping[str, str]) -> tuple[str, ...]:
    """The symbols in ``built`` of kernels that are named whole, short, or as they were called in the original."""
    wanted = {name for kernel in kernels for name in (kernel, renamed.get(kernel, kernel))}
    return tuple(
        symbol.mangled for symbol in built.symbols if symbol.mangled in wanted or short_name(symbol.name) in wanted
    )


def value(item: Evidence, bench: Bench, found: Found, side: Side, analysis: Analysis) -> float | None:
    """The item's metric over the same stretch of code on either side."""
    before, after = compared_lines(item, bench)
    if side == "original":
        return evidence.measure(item, analysis, before)
    return evidence.measure(item, analysis, after, found.renamed.get(item.kernel))


def compared_lines(item: Evidence, bench: Bench) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """The item's lines in the original and in the candidate; None when it has none.

    Lines of a replaced stretch count together, on both sides: the new lines do the work of all of them.
    """
    if item.lines is None or item.file is None:
        return None, None
    before, after = (bench.texts(side).get(item.file, "") for side in SIDES)
    mapping = align.map_lines(before, after)
    stretch = align.together(range(item.lines[0], item.lines[1] + 1), mapping)
    return stretch, align.mapped(stretch, mapping)


def summed(
    item: Evidence, before: Iterable[Mapping[str, float | None]], after: Iterable[Mapping[str, float | None]]
) -> Measured:
    """Median of the repeats on both sides, and the larger of their noise floors; None unless all repeats have it."""
    one, two = ([turn[item.label] for turn in side] for side in (before, after))
    known = [[number for number in side if number is not None] for side in (one, two)]
    noise = max(evidence.noise_floor(side) for side in known)
    medians = [median(side) if len(side) == len(one) else None for side in known]
    return Measured(item.label, medians[0], medians[1], noise)
