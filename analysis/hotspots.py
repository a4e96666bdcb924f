"""Which kernels matter: the smallest set that holds most of the profile's cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from statistics import median

from analysis.types import Kernel, Launch, Profile

HOT = 0.8
_ROUNDING = 1e-12


def rank(profile: Profile, threshold: float = HOT, among: Collection[str] | None = None) -> tuple[Kernel, ...]:
    """All kernels of ``profile``, costliest first; hot are the fewest that together hold ``threshold`` of the cost.

    ``among``: mangled names of the kernels that can be hot, and whose cost the threshold is of; None: all.
    Launches are grouped by mangled name: two kernels may share a short name. A launch without a cost counts as a
    launch and not as 0: a kernel with no cost at all has total, median and share None, and comes last.
    """
    groups = sorted(_groups(profile.launches), key=_costliest_first)
    everything = sum(cost for group in groups for cost in _costs(group))
    ranked = [_kernel(group, place, everything) for place, group in enumerate(groups, start=1)]
    hot = _hot([kernel for kernel in ranked if among is None or kernel.mangled in among], threshold)
    return tuple(replace(kernel, hot=kernel.mangled in hot) for kernel in ranked)


def named(kernels: Iterable[Kernel], name: str) -> Kernel | None:
    """The kernel with this mangled name, else the only one with this whole or short name."""
    kernels = tuple(kernels)
    for attribute in ("mangled", "name", "short_name"):
        found = [kernel for kernel in kernels if getattr(kernel, attribute) == name]
        if len(found) == 1:
            return found[0]
    return None


def _groups(launches: Iterable[Launch]) -> list[list[Launch]]:
    groups: dict[str, list[Launch]] = defaultdict(list)
    for launch in launches:
        groups[launch.mangled].append(launch)
    return list(groups.values())


def _costs(launches: Iterable[Launch]) -> list[float]:
    return [launch.cost for launch in launches if launch.cost is not None]


def _costliest_first(group: Sequence[Launch]) -> tuple[bool, float, int]:
    costs = _costs(group)
    return (not costs, -sum(costs), group[0].index)


def _kernel(group: Sequence[Launch], place: int, everything: float) -> Kernel:
    costs = _costs(group)
    total = sum(costs) if costs else None
    return Kernel(
        mangled=group[0].mangled,
        name=group[0].name,
        short_name=group[0].short_name,
        launch_count=len(group),
        total_cost=total,
        median_cost=median(costs) if costs else None,
        share=total / everything if total is not None and everything > 0 else None,
        rank=place,
        hot=False,
        launches=tuple(launch.index for launch in group),
    )


def _hot(ranked: Sequence[Kernel], threshold: float) -> set[str]:
    enough = threshold * sum(kernel.share or 0.0 for kernel in ranked) - _ROUNDING
    hot: set[str] = set()
    reached = 0.0
    for kernel in ranked:
        if reached >= enough or not kernel.share:
            break
        hot.add(kernel.mangled)
        reached += kernel.share
    return hot
