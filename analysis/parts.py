"""Callgrind's files of one run, one a part or a thread, added up to one profile."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from analysis.types import CodeCost, Launch, LaunchDetail, Part, Profile
from optimas_web.errors import UserError

ONE_RUN = "Give all parts of one run, and nothing else: callgrind.out.PID.1, .2 and so on, or -01, -02."


def added(profiles: Sequence[Profile]) -> Profile:
    """The sum of ``profiles``. It is the whole run when no part is missing between the first and the end.

    Raises UserError when they are not parts of one run, or one was given twice.
    """
    found = [profile.part for profile in profiles if profile.part]
    _refuse_others(profiles, found)
    threads = sorted({part.thread for part in found})
    whole = threads == list(range(threads[0], threads[0] + len(threads))) and threads[0] <= 1
    whole = whole and all(_unbroken([part for part in found if part.thread == thread]) for thread in threads)
    first = profiles[0]
    told = f"{len(found)} parts of one run" + (f", of {len(threads)} threads," if len(threads) > 1 else "")
    missing = () if whole else ("Parts of the run are missing: shares are of those that were given.",)
    return replace(
        first,
        whole_run=whole,
        launches=tuple(_launches(launch for profile in profiles for launch in profile.launches)),
        warnings=(*dict.fromkeys(each for profile in profiles for each in _lasting(profile)), *missing),
        origins=(f"Costs of {told} were added up.",),
        part=None,
    )


def _refuse_others(profiles: Sequence[Profile], found: Sequence[Part]) -> None:
    if len(found) < len(profiles):
        raise UserError(
            "Two runs of a CPU program are two profiles, and at least one of these is a whole run.", ONE_RUN
        )
    if len({(part.process, profile.command) for part, profile in zip(found, profiles, strict=True)}) > 1:
        raise UserError("These are parts of different runs.", ONE_RUN)
    numbers = Counter((part.thread, number) for part in found for number in part.numbers)
    if any(count > 1 for count in numbers.values()):
        raise UserError("One part of the run was given twice.", ONE_RUN)


def _unbroken(found: Iterable[Part]) -> bool:
    """Whether the parts of a thread are the first one and all others up to the end of the program."""
    in_order = sorted(found, key=lambda part: part.numbers[0])
    numbers = [number for part in in_order for number in part.numbers]
    return numbers == list(range(1, len(numbers) + 1)) and in_order[-1].last


def _lasting(profile: Profile) -> Iterable[str]:
    """Warnings that hold for the sum as well."""
    return (warning for warning in profile.warnings if "one part or one thread" not in warning)


def _launches(launches: Iterable[Launch]) -> Iterable[Launch]:
    groups: dict[tuple[str, str | None], list[Launch]] = defaultdict(list)
    for launch in launches:
        groups[launch.mangled, launch.file].append(launch)
    for index, group in enumerate(groups.values()):
        cost = sum(launch.cost or 0.0 for launch in group)
        yield replace(group[0], index=index, cost=cost, load=partial(_load, tuple(group)))


def _load(group: Sequence[Launch]) -> LaunchDetail:
    code: dict[object, CodeCost] = {}
    metrics: Counter[str] = Counter()
    for launch in group:
        detail = launch.load()
        metrics.update({name: value for name, value in detail.metrics.items() if isinstance(value, int | float)})
        for each in detail.code:
            key = each.function, each.offset, each.places
            code[key] = replace(each, costs=_sum(code[key].costs, each.costs)) if key in code else each
    return LaunchDetail(dict(metrics), tuple(code.values()))


def _sum(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
