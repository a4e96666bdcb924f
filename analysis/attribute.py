"""Callgrind by source function: a hot function that the compiler inlined into main is still found as itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.measures import ESTIMATED_CYCLES
from analysis.places import Sources
from analysis.source import Function, function_at, functions
from analysis.types import CodeCost, Launch, LaunchDetail, Place, Profile


@dataclass(frozen=True, slots=True)
class _Owner:
    """A function of the user's sources."""

    file: str
    function: Function


def by_source(profile: Profile, sources: Sources) -> Profile:
    """``profile`` with one launch for each source function that has a cost, and the rest as the tool named it.

    Callgrind books a line under the machine function it was compiled into (``fn=``). Here a line goes to the source
    function that contains it; a line of a foreign header goes to the source function of its machine function. Names
    are those of the machine function when one is compiled from that source function alone. Launches of source
    functions have our name of their file; the others keep the tool's. No cost is lost.
    """
    owners = {key: functions(text) for key, text in sources.texts.items() if key in sources.keys.values()}
    code: dict[_Owner, list[CodeCost]] = defaultdict(list)
    homes: dict[_Owner, list[Launch]] = defaultdict(list)
    foreign: list[Launch] = []
    for launch in profile.launches:
        detail = launch.load()
        owned = [(each, _owner(sources.place(each.places), owners)) for each in detail.code]
        home = _home(launch, owned)
        if home is None:
            foreign.append(launch)
            continue
        homes[home].append(launch)
        for each, owner in owned:
            code[owner or home].append(each)
    launches = [*_named(code, homes), *foreign]
    return replace(profile, launches=tuple(replace(each, index=at) for at, each in enumerate(launches)))


def _owner(place: Place | None, owners: Mapping[str, Sequence[Function]]) -> _Owner | None:
    if place is None or place.file not in owners:
        return None
    function = function_at(owners[place.file], place.line)
    return _Owner(place.file, function) if function else None


def _home(launch: Launch, owned: Iterable[tuple[CodeCost, _Owner | None]]) -> _Owner | None:
    """The source function that the machine function was made from: the one of its name, else the costliest in it."""
    weights: Counter[_Owner] = Counter()
    for each, owner in owned:
        if owner:
            weights[owner] += int(each.costs.get(ESTIMATED_CYCLES, 0))
    plain = launch.short_name.rpartition("::")[2]
    return max(weights, key=lambda owner: (owner.function.name == plain, weights[owner]), default=None)


def _named(code: Mapping[_Owner, Sequence[CodeCost]], homes: Mapping[_Owner, Sequence[Launch]]) -> list[Launch]:
    launches = [_launch(owner, costs, homes.get(owner, ())) for owner, costs in code.items()]
    taken = Counter(launch.mangled for launch in launches)
    return [
        replace(launch, mangled=f"{launch.mangled} [{owner.file}:{owner.function.first_line}]")
        if taken[launch.mangled] > 1
        else launch
        for owner, launch in zip(code, launches, strict=True)
    ]


def _launch(owner: _Owner, costs: Sequence[CodeCost], homes: Sequence[Launch]) -> Launch:
    named = [home for home in homes if home.short_name.rpartition("::")[2] == owner.function.name]
    name = owner.function.qualified
    detail = LaunchDetail(metrics=_sums(costs), code=tuple(costs))
    return Launch(
        index=0,
        mangled=named[0].mangled if len(named) == 1 else name,
        name=named[0].name if len(named) == 1 else name,
        short_name=named[0].short_name if len(named) == 1 else name,
        grid=None,
        block=None,
        cost=sum(each.costs.get(ESTIMATED_CYCLES, 0) for each in costs),
        load=lambda: detail,
        file=owner.file,
    )


def _sums(costs: Iterable[CodeCost]) -> dict[str, float]:
    sums: Counter[str] = Counter()
    for each in costs:
        sums.update(each.costs)
    return dict(sums)
