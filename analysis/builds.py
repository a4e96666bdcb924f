"""Whether reports can be of one build of a program. What differs tells two builds apart; what agrees proves nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from analysis.types import Dim3, Profile, Value
from optimas_web.errors import UserError

BUILD_ONCE = "Profile one binary with both tools, without building it again in between."
INSTRUCTIONS = "smsp__inst_executed.sum"
REGISTERS = "launch__registers_per_thread"
LEAST_REGISTERS = 16
"""Nsight Compute tells of no fewer, whatever a kernel uses."""

Place = tuple[str, Dim3 | None, Dim3 | None]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a profile tells of its kernels (by mangled name) that another build may tell otherwise."""

    modules: frozenset[str]
    names: dict[str, str] = field(default_factory=dict)
    registers: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    instructions: dict[Place, list[float]] = field(default_factory=lambda: defaultdict(list))

    def note(self, mangled: str, name: str, registers: Value) -> None:
        self.names[mangled] = name
        if isinstance(registers, int | float):
            self.registers[mangled].add(max(LEAST_REGISTERS, int(registers)))


def refuse_others(reports: Sequence[tuple[str, Profile]]) -> None:
    """Raises UserError, in a sentence that says why, when two of ``reports`` (file, profile) are of two builds."""
    for (one, a), (other, b) in combinations([(file, _seen(profile)) for file, profile in reports], 2):
        difference = next(_differences(a, b), None)
        if difference:
            raise UserError(f"{one} and {other} are of two builds, which is no one profile: {difference}.", BUILD_ONCE)


def _seen(profile: Profile) -> _Seen:
    seen = _Seen(profile.modules)
    for tally in profile.tallies:
        seen.note(tally.mangled, tally.short_name, tally.registers)
    for launch in profile.launches:
        metrics = launch.load().metrics
        seen.note(launch.mangled, launch.short_name, metrics.get(REGISTERS))
        count = metrics.get(INSTRUCTIONS)
        if isinstance(count, int | float):
            seen.instructions[launch.mangled, launch.grid, launch.block].append(count)
    return seen


def _differences(a: _Seen, b: _Seen) -> Iterator[str]:
    """A kernel may execute more or less as its data ask; ranges that do not touch are two programs."""
    shared = [mangled for mangled in a.names if mangled in b.names]
    if shared and a.modules and b.modules and not a.modules & b.modules:
        yield f"{a.names[shared[0]]} is in both, and its machine code is not the same"
    for mangled in shared:
        one, other = a.registers.get(mangled), b.registers.get(mangled)
        if one and other and not one & other:
            yield f"{a.names[mangled]} uses {_listed(one)} registers a thread in one and {_listed(other)} in the other"
    for place in a.instructions.keys() & b.instructions.keys():
        ours, theirs = a.instructions[place], b.instructions[place]
        if max(ours) < min(theirs) or max(theirs) < min(ours):
            yield (
                f"{a.names[place[0]]} executes {_range(ours)} instructions in one and {_range(theirs)} in the other,"
                " with the same grid and block"
            )


def _listed(counts: Collection[int]) -> str:
    return " or ".join(map(str, sorted(counts)))


def _range(counts: Sequence[float]) -> str:
    least, most = min(counts), max(counts)
    return f"{least:,.0f}" if least == most else f"{least:,.0f} to {most:,.0f}"
