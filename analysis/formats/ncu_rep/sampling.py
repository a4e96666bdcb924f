"""From counts at program counters to counts at instructions with their source places."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from analysis.formats.ncu_rep.modules import Addresses, Module
from analysis.formats.ncu_rep.results import SAMPLES, STALL_PREFIX, Result
from analysis.formats.ncu_rep.wire import Damaged
from analysis.types import CodeCost


@dataclass(frozen=True, slots=True)
class Located:
    """``unresolved_samples``: samples at addresses that belong to no instruction of the report's code."""

    code: tuple[CodeCost, ...]
    unresolved_samples: int
    warnings: tuple[str, ...]


def locate(result: Result, module: Module | None, mangled: str) -> Located:
    """Put what was counted by address on instructions, in the order of the addresses.

    Without machine code in the report there are functions and offsets, but neither mnemonics nor places.
    """
    costs = _costs_by_address(result)
    if not costs:
        return Located((), 0, ())
    addresses = Addresses(_functions(result, module, mangled))
    code: list[CodeCost] = []
    lost: dict[int, dict[str, float]] = {}
    warnings: dict[str, None] = {}
    for address, counted in sorted(costs.items()):
        found = addresses.find(address)
        cost = _code_cost(module, *found, counted, warnings) if found else None
        if cost:
            code.append(cost)
        else:
            lost[address] = counted
    unresolved = int(sum(counted.get("samples", 0) for counted in lost.values()))
    return Located(tuple(code), unresolved, tuple(warnings))


def _costs_by_address(result: Result) -> dict[int, dict[str, float]]:
    costs: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for metric, instances in result.by_address.items():
        name = "samples" if metric == SAMPLES else metric.removeprefix(STALL_PREFIX)
        for address, value in zip(instances.addresses, instances.values, strict=True):
            costs[address][name] = value
    return costs


def _functions(result: Result, module: Module | None, mangled: str) -> dict[int, str]:
    """Load addresses and names. Reports before ncu 2022.2 have no names: there the launch's own function is known."""
    if module and module.functions:
        return module.functions
    known = result.function_addresses
    if len(known) == 1:
        return {known[0]: mangled}
    executed = result.by_address.get("inst_executed")
    if known or not executed or not executed.addresses:
        return {}
    return {min(executed.addresses): mangled}


def _code_cost(
    module: Module | None, function: str, offset: int, counted: dict[str, float], warnings: dict[str, None]
) -> CodeCost | None:
    """None when the report has the function's code and ``offset`` is not in it."""
    if module is None or module.code_span is None:
        return CodeCost(function, offset, None, (), counted)
    try:
        name = module.mnemonic(function, offset)
    except Damaged as damage:
        warnings[f"The machine code cannot be read: {damage}."] = None
        return CodeCost(function, offset, None, (), counted)
    if name is None:
        return None
    try:
        places = module.places(function, offset)
    except Damaged as damage:
        warnings[f"The line table cannot be read: {damage}."] = None
        places = ()
    return CodeCost(function, offset, name, places, counted)
