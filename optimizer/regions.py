"""Which lines an answer may change: the selected functions and the device functions they call."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from analysis.source import Function, functions
from optimas_web.errors import UserError
from optimizer.types import Region

Placed = tuple[str, Function]


def regions(sources: Mapping[str, str], kernels: Sequence[str]) -> tuple[Region, ...]:
    """Regions of the named kernels (CPU: functions) and of device functions that they reach, by file and line.

    ``kernels`` are short names, or with namespaces in front. Overloads and specialisations of a name all count.
    ``main`` never gets a region: the harness is not to be changed. Raises UserError for a name that no file defines.
    """
    everything = [(file, each) for file in sorted(sources) for each in functions(sources[file])]
    selected = [placed for kernel in kernels for placed in _named(everything, kernel)]
    found = {_region(file, each, "selected") for file, each in selected if each.name != "main"}
    if not found:
        raise UserError(
            f"Only main was selected ({', '.join(kernels)}), and main is never changed.",
            "Select another function with --kernel.",
        )
    chosen = {(file, each.start) for file, each in selected}
    for file, each in called(everything, selected):
        if each.kind == "device" and (file, each.start) not in chosen:
            found.add(_region(file, each, "called"))
    return tuple(sorted(found, key=lambda region: (region.file, region.first)))


def defined(sources: Mapping[str, str], names: Collection[str]) -> frozenset[str]:
    """Those of the short names that a function of the sources bears; ``main`` never counts."""
    everything = [each for text in sources.values() for each in functions(text) if each.name != "main"]
    return frozenset(name for name in names if any(matches(each, name) for each in everything))


def called(everything: Sequence[Placed], roots: Sequence[Placed]) -> tuple[Placed, ...]:
    """All functions reachable from ``roots`` by the names they call, without the roots, by file and place.

    Names are not resolved: a call to ``f`` reaches every ``f``.
    """
    waiting = list(roots)
    seen = {(file, each.start) for file, each in roots}
    reached: list[Placed] = []
    while waiting:
        _, caller = waiting.pop()
        for file, each in everything:
            if each.name in caller.calls and (file, each.start) not in seen:
                seen.add((file, each.start))
                reached.append((file, each))
                waiting.append((file, each))
    return tuple(sorted(reached, key=lambda placed: (placed[0], placed[1].start)))


def region_functions(text: str, file: str, allowed: Collection[Region]) -> tuple[Function, ...]:
    """The functions of this file's original text that the regions stand for."""
    places = {(region.first, region.last, region.function) for region in allowed if region.file == file}
    return tuple(each for each in functions(text) if (each.first_line, each.last_line, each.qualified) in places)


def _named(everything: Sequence[Placed], kernel: str) -> list[Placed]:
    found = [(file, each) for file, each in everything if matches(each, kernel)]
    if not found:
        raise UserError(
            f"No source file defines {kernel}.",
            "Give the folder that holds it with --source. Kernels made by macros are not found: spell them out.",
        )
    kernels = [placed for placed in found if placed[1].kind == "kernel"]
    return kernels or found


def matches(function: Function, kernel: str) -> bool:
    """``k``, ``ns::k`` and ``k<int>`` all name the function ``ns::k<int>``; ``k<float>`` does not."""
    written = "".join(kernel.split())
    plain = function.qualified.split("<")[0] if "operator" not in function.qualified else function.qualified
    return any(name == written or name.endswith(f"::{written}") for name in (function.qualified, plain, function.name))


def _region(file: str, function: Function, why: str) -> Region:
    return Region(file, function.first_line, function.last_line, function.qualified, why)
