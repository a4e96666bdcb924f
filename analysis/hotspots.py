"""Which kernels matter: the smallest set that holds most of the profile's cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from analysis.types import Kernel, KernelAnalysis, Launch, Profile, Tally

HOT = 0.8
_ROUNDING = 1e-12


@dataclass
class _Group:
    """What is known of one kernel. A kernel that was measured but not counted has no tally, and so no cost."""

    tallies: list[Tally] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)

    @property
    def named(self) -> Launch | Tally:
        return (self.launches or self.tallies)[0]

    @property
    def total(self) -> float | None:
        costs = [tally.total for tally in self.tallies if tally.total is not None]
        return sum(costs) if costs else None

    @property
    def median(self) -> float | None:
        """Of all single costs; where they are not told, as told for the only tally."""
        told = [tally.costs for tally in self.tallies if tally.total is not None]
        if len(told) == 1 and told[0] is None:
            return next(tally.median for tally in self.tallies if tally.total is not None)
        costs = [each for each in told if each is not None]
        return float(np.median(np.concatenate(costs))) if costs and len(costs) == len(told) else None


def rank(profile: Profile, threshold: float = HOT, among: Collection[str] | None = None) -> tuple[Kernel, ...]:
    """All kernels of ``profile``, costliest first; hot are the fewest that together hold ``threshold`` of the cost.

    ``among``: mangled names of the kernels that can be hot, and whose cost the threshold is of; None: all.
    Costs are those of the profile's tallies, else of its launches, grouped by mangled name: two kernels may share a
    short name. A launch without a cost counts as a launch and not as 0: a kernel with no cost at all has total, median
    and share None, and comes last.
    """
    groups = sorted(_groups(profile), key=lambda group: (group.total is None, -(group.total or 0.0)))
    everything = sum(group.total or 0.0 for group in groups)
    ranked = [_kernel(group, place, everything) for place, group in enumerate(groups, start=1)]
    hot = _hot([kernel for kernel in ranked if among is None or kernel.mangled in among], threshold)
    return tuple(replace(kernel, hot=kernel.mangled in hot) for kernel in ranked)


def hot(kernels: Sequence[KernelAnalysis]) -> list[KernelAnalysis]:
    """The hot ones of ``kernels``; all of them where no cost is known, since then any may be hot."""
    costless = all(each.kernel.total_cost is None for each in kernels)
    return [each for each in kernels if each.kernel.hot or costless]


def named(kernels: Iterable[Kernel], name: str) -> Kernel | None:
    """The kernel with this mangled name, else the only one with this whole or short name."""
    kernels = tuple(kernels)
    for attribute in ("mangled", "name", "short_name"):
        found = [kernel for kernel in kernels if getattr(kernel, attribute) == name]
        if len(found) == 1:
            return found[0]
    return None


def _groups(profile: Profile) -> list[_Group]:
    """Kernels in the order in which the profile names them. Launches are their own tallies where it has none."""
    groups: dict[str, _Group] = defaultdict(_Group)
    for tally in profile.tallies or map(_tally, profile.launches):
        groups[tally.mangled].tallies.append(tally)
    for launch in profile.launches:
        groups[launch.mangled].launches.append(launch)
    return list(groups.values())


def _tally(launch: Launch) -> Tally:
    costs = () if launch.cost is None else (launch.cost,)
    return Tally(
        mangled=launch.mangled,
        name=launch.name,
        short_name=launch.short_name,
        grid=launch.grid,
        block=launch.block,
        device=None,
        count=1,
        total=launch.cost,
        costs=costs,
    )


def _kernel(group: _Group, place: int, everything: float) -> Kernel:
    total = group.total
    return Kernel(
        mangled=group.named.mangled,
        name=group.named.name,
        short_name=group.named.short_name,
        launch_count=sum(tally.count for tally in group.tallies),
        total_cost=total,
        median_cost=group.median,
        share=total / everything if total is not None and everything > 0 else None,
        rank=place,
        hot=False,
        launches=tuple(launch.index for launch in group.launches),
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
