"""Why a line costs what it costs, in six groups that keep their colour on every page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analysis.stalls import MEANINGS, NAMES
from analysis.types import Stalls

OTHER = "other"


@dataclass(frozen=True, slots=True)
class Group:
    """``colour`` counts from 1 through the page's data colours. ``reasons``: stall reasons and names of events."""

    key: str
    words: str
    colour: int
    reasons: frozenset[str]


GROUPS = (
    Group("memory", "global memory", 1, frozenset({"long_scoreboard", "lg_throttle", "tex_throttle", "drain"})),
    Group("shared", "shared memory, special units", 2, frozenset({"short_scoreboard", "mio_throttle"})),
    Group("other_warps", "other warps", 3, frozenset({"barrier", "membar", "sleeping", "warpgroup_arrive"})),
    Group("arithmetic", "arithmetic, fixed latency", 5, frozenset({"wait", "math_pipe_throttle", "dispatch_stall"})),
    Group("fetch", "instruction fetch, branches", 4, frozenset({"no_instructions", "branch_resolving", "imc_miss"})),
    Group("ll_misses", "last-level cache misses", 1, frozenset(NAMES[event] for event in ("ILmr", "DLmr", "DLmw"))),
    Group("l1_misses", "first-level cache misses", 2, frozenset(NAMES[event] for event in ("I1mr", "D1mr", "D1mw"))),
    Group("instructions", "instructions", 5, frozenset({NAMES["Ir"]})),
    Group("branches", "branch mispredictions", 4, frozenset({NAMES["Bcm"], NAMES["Bim"]})),
    Group(OTHER, "other reasons", 6, frozenset()),
)
_EVENTS = {name: event for event, name in NAMES.items()}


@dataclass(frozen=True, slots=True)
class Part:
    """One reason of a whole. ``share`` is of the whole, 0..1; ``start`` and ``width`` are percent of a drawing."""

    reason: str
    share: float
    group: Group
    start: float
    width: float

    @property
    def meaning(self) -> str:
        return meaning(self.reason)


def meaning(reason: str) -> str:
    """What a reason means, in a few words; empty when we do not know it."""
    return MEANINGS.get(_EVENTS.get(reason, reason), "")


def group(reason: str) -> Group:
    return next((each for each in GROUPS if reason in each.reasons), GROUPS[-1])


def parts(reasons: Mapping[str, float], length: float = 1.0) -> tuple[Part, ...]:
    """``reasons`` (shares of a whole) as a stacked bar of ``length`` (0..1 of the drawing), groups kept together."""
    ordered = sorted(reasons.items(), key=lambda item: (GROUPS.index(group(item[0])), -item[1]))
    found: list[Part] = []
    start = 0.0
    for reason, share in ordered:
        width = 100 * length * share
        found.append(Part(reason, share, group(reason), round(start, 2), round(width, 2)))
        start += width
    return tuple(found)


def legend(reasons: Iterable[str]) -> tuple[Group, ...]:
    """The groups that ``reasons`` belong to, in their order."""
    present = {group(reason).key for reason in reasons}
    return tuple(each for each in GROUPS if each.key in present)


def blame(stalls: Stalls | None) -> dict[str, float]:
    """Reason -> share of all of the kernel's stalls or cycles, largest first."""
    shares: dict[str, float] = defaultdict(float)
    for line in stalls.lines if stalls else ():
        for reason, share in line.reasons.items():
            shares[reason] += line.share * share
    return dict(sorted(shares.items(), key=lambda item: -item[1]))
