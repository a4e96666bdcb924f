"""Several reports of one program as one profile: a time line for shares, Nsight Compute's reports for depth.

Kernels of both are joined by mangled name, else by whole name in one spelling, else by the name without parameters;
where that fits several, by grid and block. What stays ambiguous is left apart, and said. Reports of two builds are
refused: a line that was measured in one of them is not the line that costs time in the other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

from analysis import builds, parts
from analysis.formats.units import TIMES
from analysis.names import tidy
from analysis.types import Dim3, Launch, LaunchDetail, Profile, Tally
from optimas_web.errors import UserError

ONE_PROGRAM = "Give reports of one program, built once: a time line of the whole run, and what ncu measured of it."
REPORT = "ncu_rep"
"""Two reports are two runs; what was printed from a report may tell of the same launches as another print."""
MUCH_UNMEASURED = 0.05
"""From this share of a kernel's time on it is said that shapes of it were not measured."""

Shape = tuple[Dim3 | None, Dim3 | None]


@dataclass(frozen=True, slots=True)
class Report:
    """A profile under the name of its file."""

    file: str
    profile: Profile


def combine(reports: Sequence[Report]) -> Profile:
    """One profile out of ``reports``, which say in ``origins`` what comes from which.

    Raises UserError when they are not of one build of one program, or cannot be brought together.
    """
    if len(reports) == 1:
        return reports[0].profile
    if len({each.profile.cost_unit for each in reports}) > 1:
        raise UserError("A profile of a CPU program and one of a GPU program are two profiles.", ONE_PROGRAM)
    if reports[0].profile.cost_unit == "cycle":
        return parts.added([each.profile for each in reports])
    builds.refuse_others([(each.file, each.profile) for each in reports])
    counted = [each for each in reports if each.profile.tallies]
    measured = [each for each in reports if not each.profile.tallies]
    depth = reduce(_both_measured, measured) if measured else None
    run = reduce(_both_counted, counted) if counted else None
    joined = _joined(depth, run) if depth and run else depth or run
    if joined is None:
        raise UserError("There is no report to combine.", ONE_PROGRAM)
    return joined.profile


# --- a time line and what was measured in depth -----------------------------------------------------


def _joined(depth: Report, run: Report) -> Report:
    kernels, unclear = _matches(run.profile.tallies, depth.profile.launches)
    if not kernels:
        raise UserError(
            f"No kernel of {depth.file} can be found in {run.file}: {unclear or 'no name is in both'}.", ONE_PROGRAM
        )
    first = {launch.mangled: launch for launch in reversed(depth.profile.launches)}
    tallies = tuple(_renamed(tally, first.get(kernels.get(tally.mangled, ""))) for tally in run.profile.tallies)
    origins = (
        f"Numbers of launches, times and shares are from {run.file} ({run.profile.tool}).",
        f"Metrics, samples and lines are from {depth.file} ({depth.profile.tool}).",
    )
    joined = replace(
        depth.profile,
        tool=f"{depth.profile.tool} with {run.profile.tool}",
        device=depth.profile.device or run.profile.device,
        whole_run=run.profile.whole_run,
        tallies=tallies,
        command=depth.profile.command or run.profile.command,
        warnings=(*depth.profile.warnings, *run.profile.warnings, *filter(None, [unclear])),
        origins=(*depth.profile.origins, *run.profile.origins, *origins),
    )
    said = tuple(_on_shapes(joined, depth.file, run.file))
    return Report(depth.file, replace(joined, warnings=(*joined.warnings, *said)))


def _renamed(tally: Tally, launch: Launch | None) -> Tally:
    if launch is None:
        return tally
    return replace(tally, mangled=launch.mangled, name=launch.name, short_name=launch.short_name)


Named = Launch | Tally


def _matches(tallies: Sequence[Tally], launches: Sequence[Launch]) -> tuple[dict[str, str], str]:
    """Mangled name in the run -> mangled name in depth, and a sentence on the names that fit several kernels."""
    left, right = _kernels(tallies), _kernels(launches)
    found: dict[str, str] = {}
    unclear: list[str] = []
    spellings: tuple[Callable[[Named], str], ...] = (_mangled, _whole, _bare)
    for spelling in spellings:
        ours, theirs = _by(spelling, left), _by(spelling, right)
        for name in ours.keys() & theirs.keys():
            pairs = _pairs(ours[name], theirs[name], left, right)
            found |= pairs
            if len(pairs) < min(len(ours[name]), len(theirs[name])) and spelling is _bare:
                unclear += [left[mangled][0].name for mangled in ours[name] if mangled not in pairs]
        left = {mangled: group for mangled, group in left.items() if mangled not in found}
        right = {mangled: group for mangled, group in right.items() if mangled not in found.values()}
    if not unclear:
        return found, ""
    return found, f"{', '.join(sorted(unclear))}: fits several kernels by name, grid and block, and was left apart"


def _kernels(named: Iterable[Named]) -> dict[str, list[Named]]:
    groups: dict[str, list[Named]] = defaultdict(list)
    for each in named:
        groups[each.mangled].append(each)
    return dict(groups)


def _by(spelling: Callable[[Named], str], kernels: Mapping[str, list[Named]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for mangled, group in kernels.items():
        groups[spelling(group[0])].append(mangled)
    return groups


def _pairs(
    ours: Sequence[str], theirs: Sequence[str], left: Mapping[str, list[Named]], right: Mapping[str, list[Named]]
) -> dict[str, str]:
    """One kernel on each side is a pair; of several those are that fit exactly one another by grid and block."""
    if len(ours) == len(theirs) == 1:
        return {ours[0]: theirs[0]}
    fits = {each: [other for other in theirs if _shapes(left[each]) & _shapes(right[other])] for each in ours}
    taken = [other for others in fits.values() for other in others]
    return {each: others[0] for each, others in fits.items() if len(others) == 1 and taken.count(others[0]) == 1}


def _shapes(named: Iterable[Named]) -> set[Shape]:
    return {(each.grid, each.block) for each in named}


def _mangled(kernel: Named) -> str:
    return kernel.mangled


def _whole(kernel: Named) -> str:
    """The whole name in one spelling: no return type, no blanks, plain template arguments."""
    name = tidy(kernel.name).replace("<unnamed>", "(anonymous namespace)")
    name = re.sub(r"\([A-Za-z_][\w:]*\)(?=-?\d)", "", name)
    return re.sub(r"^(static |void )+", "", name).replace(" ", "")


def _bare(kernel: Named) -> str:
    """The name with its template arguments and without its parameters."""
    name, depth = _whole(kernel), 0
    for place in range(len(name) - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(name[place], 0)
        if depth == 0:
            return name[:place] if name[place] == "(" else name
    return name


def _on_shapes(joined: Profile, depth: str, run: str) -> Iterator[str]:
    tallies, launches = _kernels(joined.tallies), _kernels(joined.launches)
    for mangled, measured in launches.items():
        name = measured[0].short_name
        if mangled not in tallies:
            yield f"{name} is measured in {depth}, but {run} has no launch of it: its share is not known."
            continue
        counted = [tally for tally in joined.tallies if tally.mangled == mangled]
        if any(tally.grid is None for tally in counted):
            continue
        if not _shapes(counted) & _shapes(measured):
            yield f"{name} was launched with other grids and blocks in {run} than in {depth}."
        everything = sum(tally.total or 0.0 for tally in counted)
        unmeasured = sum(t.total or 0.0 for t in counted if (t.grid, t.block) not in _shapes(measured))
        if _shapes(counted) & _shapes(measured) and unmeasured > MUCH_UNMEASURED * everything:
            share = unmeasured / everything
            yield f"{name}: launches with other grids and blocks than those in {depth} hold {share:.0%} of its time."


# --- several of one kind ---------------------------------------------------------------------------------


def _both_counted(one: Report, other: Report) -> Report:
    files = f"{one.file} and {other.file}"
    a, b = one.profile, other.profile
    warning = f"Launches and times of {files} are added up."
    both = replace(
        a,
        tallies=(*a.tallies, *b.tallies),
        whole_run=a.whole_run and b.whole_run,
        timeline=None,
        warnings=(*a.warnings, *b.warnings, warning),
    )
    return Report(files, both)


def _both_measured(one: Report, other: Report) -> Report:
    """Launches of both. Pages printed from one report tell of the same launches, which become one again."""
    files = f"{one.file} and {other.file}"
    a, b = one.profile, other.profile
    prints = not a.format == b.format == REPORT
    pairs = _pairs_of_prints(a.launches, b.launches) if prints else [None] * len(a.launches)
    found = {same.index for same in pairs if same}
    launches = [_merged(launch, same) if same else launch for launch, same in zip(a.launches, pairs, strict=True)]
    left = [launch for launch in b.launches if launch.index not in found]
    numbered = tuple(replace(launch, index=at) for at, launch in enumerate([*launches, *left]))
    both = replace(
        a,
        device=a.device or b.device,
        clocks_locked=a.clocks_locked if a.clocks_locked == b.clocks_locked else None,
        launches=numbered,
        sources={**b.sources, **a.sources},
        command=a.command or b.command,
        warnings=(*a.warnings, *b.warnings, *_on_numbers(one, other, len(found))),
        versions={**b.versions, **a.versions},
        modules=a.modules | b.modules,
    )
    return Report(files, both)


def _pairs_of_prints(ours: Sequence[Launch], theirs: Sequence[Launch]) -> list[Launch | None]:
    """For each of ``ours`` the launch of the other print that it is.

    Prints of one whole report list the same launches in the same order; one of them may lack times, or round them. Else
    a launch is known by its kernel, shape and time.
    """
    if len(ours) == len(theirs) and all(map(_could_be, ours, theirs)):
        return list(theirs)
    left, pairs = list(theirs), []
    for launch in ours:
        same = next((each for each in left if _same(launch, each)), None)
        if same:
            left.remove(same)
        pairs.append(same)
    return pairs


def _could_be(one: Launch, other: Launch) -> bool:
    """Whether nothing that two prints say speaks against their telling of one launch."""
    shapes = one.grid is None or other.grid is None or (one.grid, one.block) == (other.grid, other.block)
    return shapes and _whole(one) == _whole(other) and _times_agree(one.cost, other.cost)


def _times_agree(one: float | None, other: float | None) -> bool:
    return one is None or other is None or _rounded(one, other) or _rounded(other, one)


def _rounded(exact: float, printed: float) -> bool:
    """Pages for people show two decimals of a ns, us, ms or s."""
    rounded = (round(exact / unit, 2) * unit for unit in TIMES.values() if unit <= exact)
    return exact == printed or any(abs(each - printed) <= 1e-9 * exact for each in rounded)


def _merged(one: Launch, other: Launch) -> Launch:
    return replace(
        one,
        grid=one.grid or other.grid,
        block=one.block or other.block,
        cost=one.cost if one.cost is not None else other.cost,
        load=partial(_load_both, one, other),
    )


def _same(one: Launch, other: Launch) -> bool:
    """Whether two reports tell of one launch: of one kernel, in one shape, that took exactly as long."""
    return (
        one.cost is not None
        and one.cost == other.cost
        and (one.grid, one.block) == (other.grid, other.block)
        and _whole(one) == _whole(other)
    )


def _load_both(one: Launch, other: Launch) -> LaunchDetail:
    first, second = one.load(), other.load()
    known = {name: value for name, value in first.metrics.items() if value is not None}
    return LaunchDetail(
        metrics={**first.metrics, **second.metrics, **known},
        code=first.code or second.code,
        samples_total=first.samples_total if first.samples_total is not None else second.samples_total,
        warnings=(*first.warnings, *second.warnings),
        findings=first.findings or second.findings,
    )


def _on_numbers(one: Report, other: Report, merged: int) -> Iterator[str]:
    """Numbers of launches shift when a print was filtered; it is said where they would have misled."""
    theirs = {launch.index: launch for launch in other.profile.launches}
    for launch in one.profile.launches:
        same_number = theirs.get(launch.index)
        if merged and same_number and _whole(launch) != _whole(same_number):
            yield (
                f"Launch {launch.index} is {launch.short_name} in {one.file} and {same_number.short_name} in"
                f" {other.file}: launches were joined by name, shape and time, not by number."
            )
            return
