"""Gate 5: the compiler's own view of what was changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from analysis.names import demangle, short_name
from evaluation.steps import Bench, Found, Outcome
from evaluation.types import Built, Symbol

_QUALIFIER = re.compile(r"\b(?:const|__restrict__|restrict)\b|\s")
_CLONE = re.compile(r"\.(?:constprop|isra|part|cold|lto_priv|localalias)\b")


@dataclass(frozen=True, slots=True)
class Matched:
    """``renamed``: names that only const or restrict changed; ``lost``: functions that are no longer there."""

    renamed: Mapping[str, str]
    lost: tuple[Symbol, ...]
    added: tuple[Symbol, ...]


def step(bench: Bench, found: Found) -> tuple[Outcome, Found]:
    """Kernels (CPU: functions that other files can see, and the selected ones) must keep their symbols."""
    before, after = found.built["original"], found.built["candidate"]
    if not before.symbols or not after.symbols:
        why = before.symbols_reason or after.symbols_reason
        return Outcome("not_run", f"The functions cannot be compared: {why}."), found
    kernels_only = bench.case.manifest.toolchain == "cuda"
    matched = match(before.symbols, after.symbols)
    broken = [symbol for symbol in matched.lost if kernels_only or _must_stay(symbol, bench.case.kernels)]
    strange = matched.added if kernels_only else ()
    found = replace(found, renamed=matched.renamed, same_code=same_code(before, after))
    if broken or strange:
        return Outcome("failed", _failure(broken, strange), _log(before, after, matched)), found
    return Outcome("passed", _sentence(before, after, found), _log(before, after, matched)), found


def match(before: Iterable[Symbol], after: Iterable[Symbol]) -> Matched:
    """Pairs functions by mangled name, then by what is left of the name without const and restrict."""
    old, new = {s.mangled: s for s in before}, {s.mangled: s for s in after}
    gone = [symbol for name, symbol in old.items() if name not in new]
    fresh = {_plain(symbol.name): symbol for name, symbol in new.items() if name not in old}
    renamed = {s.mangled: fresh.pop(_plain(s.name)).mangled for s in gone if _plain(s.name) in fresh}
    return Matched(renamed, tuple(s for s in gone if s.mangled not in renamed), tuple(fresh.values()))


def same_code(before: Built, after: Built) -> bool:
    """Every function of both binaries has the same machine code.

    All of them, not only the selected: a function that was not inlined can carry the change.
    """
    return {(s.mangled, s.code_hash) for s in before.symbols} == {(s.mangled, s.code_hash) for s in after.symbols}


def changed(before: Built, after: Built) -> list[str]:
    """Names of the functions whose machine code differs or that stand on one side only."""
    old, new = ({s.mangled: s for s in built.symbols} for built in (before, after))
    differing = [s for name, s in {**old, **new}.items() if _hash(old.get(name)) != _hash(new.get(name))]
    return sorted({symbol.name for symbol in differing})


def _must_stay(symbol: Symbol, kernels: tuple[str, ...]) -> bool:
    """Compilers make and drop local clones and inline copies as they like; those say nothing."""
    if _CLONE.search(symbol.mangled):
        return False
    return symbol.binding == "global" or short_name(symbol.name) in {short_name(demangle(each)) for each in kernels}


def _hash(symbol: Symbol | None) -> str:
    return symbol.code_hash if symbol else ""


def _plain(name: str) -> str:
    return _QUALIFIER.sub("", name)


def _failure(lost: Iterable[Symbol], added: Iterable[Symbol]) -> str:
    parts = [f"{symbol.name} is no longer in the binary" for symbol in lost]
    parts += [f"{symbol.name} is new" for symbol in added]
    return f"The functions differ by more than const and restrict: {'; '.join(parts)}."


def _sentence(before: Built, after: Built, found: Found) -> str:
    if found.same_code:
        return "Every function has the same machine code as before: the edits change nothing that runs."
    names = changed(before, after)
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"All functions are still there; the machine code of {len(names)} differs: {shown}."


def _log(before: Built, after: Built, matched: Matched) -> str:
    rows = [f"differs: {name}" for name in changed(before, after)]
    rows += [f"renamed: {old} -> {new}" for old, new in matched.renamed.items()]
    return "\n".join(rows)
