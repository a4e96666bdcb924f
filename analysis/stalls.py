"""Where a kernel waits, line by line: sampled stalls on a GPU, estimated cycles under Callgrind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from analysis.measures import CYCLE_WEIGHTS, ESTIMATED_CYCLES, NOT_STALLED, STALLED_SAMPLES, total
from analysis.places import Sources
from analysis.types import CodeCost, LineCost, Measures, Place, StallLine, Stalls

SAMPLES = "stalled samples"
CYCLE_ESTIMATE = "estimated cycles"

MEANINGS: Mapping[str, str] = {
    "long_scoreboard": "waiting here for a load issued earlier from global, local or texture memory",
    "short_scoreboard": "waiting here for an earlier result from shared memory or a special-function unit",
    "mio_throttle": "the queue of shared-memory and special instructions is full",
    "lg_throttle": "the queue of global and local memory instructions is full",
    "tex_throttle": "the texture queue is full",
    "math_pipe_throttle": "the arithmetic pipe it needs is busy",
    "wait": "the fixed latency of the instruction before",
    "barrier": "waiting for other warps at a barrier",
    "membar": "waiting at a memory fence",
    "branch_resolving": "the target of a branch is not known yet",
    "no_instructions": "the next instruction is not in the instruction cache",
    "imc_miss": "a miss in the cache of constants",
    "dispatch_stall": "the dispatcher holds the instruction back",
    "drain": "waiting at the end for stores to finish",
    "sleeping": "the thread sleeps",
    "misc": "another reason",
    "warpgroup_arrive": "waiting for the order of matrix instructions",
    "Ir": "instructions executed",
    "I1mr": "instruction fetches that miss the first-level cache",
    "D1mr": "reads that miss the first-level data cache",
    "D1mw": "writes that miss the first-level data cache",
    "ILmr": "instruction fetches that miss the last-level cache",
    "DLmr": "reads that miss the last-level cache",
    "DLmw": "writes that miss the last-level cache",
    "Bcm": "mispredicted conditional branches",
    "Bim": "mispredicted indirect branches",
}
"""Reason or event -> what it means, in a few words."""

NAMES: Mapping[str, str] = {
    "Ir": "instructions", "I1mr": "I1 misses", "D1mr": "D1 read misses", "D1mw": "D1 write misses",
    "ILmr": "LL instruction misses", "DLmr": "LL read misses", "DLmw": "LL write misses",
    "Bcm": "branch mispredictions", "Bim": "indirect branch mispredictions",
}  # fmt: skip

_LOADS = ("LDG", "LDL", "LD", "TEX", "TLD", "ATOMG", "SULD")
_LOOK_BACK = 8
_NAMED_LOADS = 2


def of(measures: Measures, sources: Sources) -> Stalls | None:
    """Lines by what they cost, costliest first; None when nothing was sampled or counted.

    GPU: stalled samples are all samples but ``selected`` (it issued) and ``not_selected`` (another warp issued).
    Callgrind: estimated cycles, of which the reasons are the shares of instructions and of each kind of miss. Every
    cost is counted once; what has no line stands in one entry without file and line.
    """
    for unit, event in ((SAMPLES, STALLED_SAMPLES), (CYCLE_ESTIMATE, ESTIMATED_CYCLES)):
        if any(event in line.costs for line in measures.lines):
            return _stalls(measures, sources, unit, event)
    return None


def waits_for(code: Iterable[CodeCost], sources: Sources) -> dict[Place, tuple[Place, ...]]:
    """Line that waits for memory -> lines of the loads just before its instruction that waits most, nearest first.

    A stall is booked on the instruction that uses a value. Reports hold no operands, so which load it was cannot be
    told for sure: compilers issue several loads before they use the first.
    """
    worst: dict[Place, tuple[float, tuple[Place, ...]]] = {}
    loads: list[tuple[str, Place]] = []
    for each in sorted(code, key=lambda each: (each.function, each.offset)):
        place = sources.place(each.places)
        waited = each.costs.get("long_scoreboard", 0)
        if place and waited > worst.get(place, (0.0, ()))[0]:
            worst[place] = (waited, _nearest(loads, each.function))
        if place and each.mnemonic and each.mnemonic.startswith(_LOADS):
            loads.append((each.function, place))
    return {line: before for line, (_, before) in worst.items() if before}


def _nearest(loads: Sequence[tuple[str, Place]], function: str) -> tuple[Place, ...]:
    places = dict.fromkeys(place for owner, place in reversed(loads[-_LOOK_BACK:]) if owner == function)
    return tuple(places)[:_NAMED_LOADS]


def reasons(line: LineCost) -> dict[str, float]:
    """Reason -> share of the line's stalls or cycles, largest first, by the names people read."""
    value = line.costs.get(STALLED_SAMPLES, line.costs.get(ESTIMATED_CYCLES, 0))
    parts = _sampled(line.costs) if STALLED_SAMPLES in line.costs else _estimated(line.costs)
    shares = {name: count / value for name, count in parts.items() if count > 0 and value > 0}
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def leading(lines: Sequence[StallLine], share: float, at_most: int) -> tuple[StallLine, ...]:
    """The costliest lines that together hold ``share`` of the kernel's total, no more than ``at_most``."""
    chosen: list[StallLine] = []
    reached = 0.0
    for line in lines:
        if reached >= share or len(chosen) == at_most or line.value <= 0:
            break
        chosen.append(line)
        reached += line.share
    return tuple(chosen)


def _stalls(measures: Measures, sources: Sources, unit: str, event: str) -> Stalls:
    everything = total(measures, event)
    lines = [_line(line, sources, line.costs.get(event, 0), everything) for line in measures.lines]
    found = sorted((line for line in lines if line.value > 0), key=lambda line: -line.value)
    return Stalls(unit, everything, tuple(found))


def _line(line: LineCost, sources: Sources, value: float, everything: float) -> StallLine:
    share = value / everything if everything else 0.0
    return StallLine(line.file, line.line, sources.line(line.file, line.line), value, share, reasons(line))


def _sampled(costs: Mapping[str, float]) -> dict[str, float]:
    """Reasons that come with a ``_not_issued`` twin or that we know; metrics of other kinds are no reasons."""
    found = {
        name: count
        for name, count in costs.items()
        if name not in NOT_STALLED and (name in MEANINGS or f"{name}_not_issued" in costs) and name != "samples"
    }
    unnamed = costs[STALLED_SAMPLES] - sum(found.values())
    return {**found, "unnamed": unnamed} if unnamed > 0 else found


def _estimated(costs: Mapping[str, float]) -> dict[str, float]:
    return {NAMES[event]: weight * costs[event] for event, weight in CYCLE_WEIGHTS.items() if event in costs}
