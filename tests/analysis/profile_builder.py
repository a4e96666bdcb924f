"""Profiles built by hand, as a reader would return them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.formats.callgrind import CYCLE_WEIGHTS
from analysis.types import CodeCost, Device, Launch, LaunchDetail, Place, Profile, Value

H200 = Device("NVIDIA H200", (9, 0))


def sampled(
    place: str | Sequence[str] | None, offset: int = 0, mnemonic: str | None = None, **reasons: float
) -> CodeCost:
    """An instruction with warp samples; ``place`` is "file:line", or several of them from the innermost out."""
    places = [place] if isinstance(place, str) else list(place or ())
    costs = {**reasons, "samples": sum(reasons.values())}
    return CodeCost("kernel", offset, mnemonic, tuple(map(at, places)), costs)


def counted(function: str, place: str | None, **events: float) -> CodeCost:
    """A line of a Callgrind profile."""
    cycles = sum(CYCLE_WEIGHTS[event] * count for event, count in events.items())
    return CodeCost(function, 0, None, (at(place),) if place else (), {**events, "estimated_cycles": cycles})


def at(place: str) -> Place:
    file, line = place.rsplit(":", 1)
    return Place(file, int(line))


def launch(
    name: str,
    cost: float | None,
    code: Sequence[CodeCost] = (),
    metrics: Mapping[str, Value] | None = None,
    mangled: str | None = None,
    index: int = 0,
) -> Launch:
    reported = [int(each.costs["samples"]) for each in code if "samples" in each.costs]
    detail = LaunchDetail(metrics or {}, tuple(code), sum(reported) if reported else None)
    return Launch(index, mangled or name, name, name.split("(")[0], (1, 1, 1), (32, 1, 1), cost, lambda: detail)


def gpu(*launches: Launch, **fields: object) -> Profile:
    return _profile(launches, {"format": "ncu_rep", "tool": "ncu", "device": H200, "cost_unit": "ns"} | fields)


def cpu(*launches: Launch, **fields: object) -> Profile:
    whole = {"format": "callgrind", "tool": "Callgrind", "device": None, "cost_unit": "cycle", "whole_run": True}
    return _profile(launches, whole | fields)


def function(name: str, *lines: CodeCost) -> Launch:
    """A function of a Callgrind profile, which costs what its lines cost."""
    return launch(name, sum(line.costs["estimated_cycles"] for line in lines), lines)


def _profile(launches: Sequence[Launch], fields: dict[str, object]) -> Profile:
    from dataclasses import replace

    numbered = tuple(replace(each, index=index) for index, each in enumerate(launches))
    defaults: dict[str, object] = {"clocks_locked": None, "whole_run": False, "launches": numbered}
    return Profile(**(defaults | fields))  # type: ignore[arg-type]
