"""Which kernels matter: the smallest set that holds most of the profile's cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from analysis.types import Kernel, Launch, Profile

HOT = 0.8
_ROUNDING = 1e-12


def rank(profile: Profile, threshold: float = HOT) -> tuple[Kernel, ...]:
    """All kernels of ``profile``, costliest first; hot are the fewest that together hold ``threshold`` of the cost.

    Launches are grouped by mangled name: two kernels may share a short name. A launch without a cost counts as a
    launch and not as 0: a kernel with no cost at all has total, median and share None, and comes last.
    """
    groups = sorted(_groups(profile.launches), key=_costliest_first)
    everything = sum(cost for group in groups for cost in _costs(group))
    ranked = [_kernel(group, place, everything) for place, group in enumerate(groups, start=1)]
    hot = _hot_count([kernel.share for kernel in ranked], threshold)
    return tuple(replace(kernel, hot=kernel.rank <= hot) for kernel in ranked)


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


def _hot_count(shares: Sequence[float | None], threshold: float) -> int:
    reached = 0.0
    for count, share in enumerate(shares, start=1):
        if not share:
            return count - 1
        reached += share
        if reached >= threshold - _ROUNDING:
            return count
    return len(shares)
