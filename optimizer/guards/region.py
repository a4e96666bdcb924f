"""Changed lines lie inside the functions that may change, and those still end where they did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analysis.align import Hunk, hunks
from analysis.source import Function
from optimizer.guards.launches import settled
from optimizer.structure import Match, bracket_problem, changed_files, oddities, open_macros, open_matches, outside
from optimizer.types import GuardContext, Region, Severity, Violation

RULE = "region"
DEFAULT: Severity = "block"
WORDS = (
    "Change only lines of {targets}, as listed under the allowed lines. Everything else stays as it is, byte for byte."
)


def check(before: Mapping[str, str], after: Mapping[str, str], context: GuardContext) -> list[Violation]:
    found = [
        Violation(
            RULE,
            DEFAULT,
            file,
            1,
            f"{file} is {'added' if file in after else 'removed'}; only existing files may change.",
        )
        for file in sorted(before.keys() ^ after.keys())
    ]
    macros = open_macros(before.values())
    for file in changed_files(before, after):
        pairs = open_matches(before[file], after[file], file, context.regions)
        unsure = list(_unsure(file, before[file], after[file], pairs, macros))
        found += unsure or _moved(file, before[file], after[file], context)
    return found


def _unsure(
    file: str, before: str, after: str, pairs: Sequence[Match], macros: Mapping[str, str]
) -> Iterator[Violation]:
    """Functions of which it is not certain where they begin and end, among those that the change touches."""
    for old, new in ((pair.before, pair.after) for pair in pairs):
        assert old is not None, "open functions exist in the original"
        if new is not None and before[old.start : old.end] == after[new.start : new.end]:
            continue
        problem = _problem(old, new) or (
            new and _reading(before[old.body : old.end], after[new.body : new.end], macros)
        )
        if problem:
            message = f"{old.qualified} ({file}:{old.first_line}) cannot be checked: {problem}."
            yield Violation(RULE, DEFAULT, file, old.first_line, message, cannot_check=True)


def _problem(old: Function, new: Function | None) -> str:
    if old.uncertain:
        return "the parser is not sure of the original (macros or conditionals split it)"
    if new is None:
        lines = f"lines {old.first_line} to {old.body_first_line}"
        return f"its header ({lines if old.body_first_line > old.first_line else f'line {old.first_line}'}) is lost"
    return "the parser is not sure of it after the edit" if new.uncertain else ""


def _reading(before: str, after: str, macros: Mapping[str, str]) -> str:
    """Why compilers may not agree on where the new body ends."""
    added = oddities(after, macros) - oddities(before, macros)
    return f"the edit adds {min(added)}" if added else bracket_problem(after)


def _moved(file: str, before: str, after: str, context: GuardContext) -> list[Violation]:
    before, after = settled(before, context), settled(after, context)
    pairs = open_matches(before, after, file, context.regions)
    old = outside(before, [pair.before for pair in pairs if pair.before])
    new = outside(after, [pair.after for pair in pairs if pair.after])
    if old == new:
        return []
    here = [region for region in context.regions if region.file == file]
    changed = hunks(before, after)
    strays = [line for hunk in changed for line in _strays(hunk, here)]
    allowed = (
        ", ".join(f"{region.function} ({region.first}-{region.last})" for region in here) or "nothing in this file"
    )
    if strays:
        return [
            Violation(RULE, DEFAULT, file, line, f"Line {line} of {file} may not change; allowed: {allowed}.")
            for line in strays
        ]
    line = changed[-1].lines[-1]
    message = f"The edit near line {line} of {file} reaches beyond the function it is in; allowed: {allowed}."
    return [Violation(RULE, DEFAULT, file, line, message)]


def _strays(hunk: Hunk, here: Sequence[Region]) -> list[int]:
    """The first line of a hunk that lies in no region, if there is one."""
    outside_all = (line for line in hunk.lines if not any(region.first <= line <= region.last for region in here))
    first = next(outside_all, None)
    return [] if first is None else [first]
