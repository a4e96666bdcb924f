"""Two versions of a file side by side: which function is which, what lies outside, whether braces can be trusted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.align import hunks
from analysis.source import Function, functions
from analysis.tokens import Token, code
from optimizer.regions import region_functions
from optimizer.types import Region

_MACRO = re.compile(r"^#define ([A-Za-z_]\w*)(?:\([^)]*\))? ?(.*)$", re.DOTALL)
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_DIGRAPHS = frozenset({"<%", "%>", "%:"})


@dataclass(frozen=True, slots=True)
class Match:
    """One function in both versions; None where that version does not have it."""

    before: Function | None
    after: Function | None


def matched(before: str, after: str) -> tuple[Match, ...]:
    """Functions paired by qualified name, several of one name by order; what has no partner stands alone."""
    old, new = _by_name(functions(before)), _by_name(functions(after))
    return tuple(Match(old.get(key), new.get(key)) for key in dict.fromkeys([*old, *new]))


def open_matches(before: str, after: str, file: str, regions: Collection[Region]) -> tuple[Match, ...]:
    """The pairs of the functions that may change."""
    allowed = {each.start for each in region_functions(before, file, regions)}
    return tuple(pair for pair in matched(before, after) if pair.before and pair.before.start in allowed)


def outside(text: str, cut: Iterable[Function]) -> str:
    """The text without these functions; where each of them was stands its name between NULs."""
    for each in sorted(cut, key=lambda function: -function.start):
        text = f"{text[: each.start]}\0{each.qualified}\0{text[each.end :]}"
    return text


def original_line(before: str, after: str, line: int) -> int:
    """The line of ``before`` that a person would look at for this line of ``after``."""
    shift = 0
    for hunk in hunks(before, after):
        if hunk.new_first <= line <= hunk.new_last:
            return min(hunk.first + line - hunk.new_first, max(hunk.lines))
        if hunk.new_first < line:
            shift = hunk.last - hunk.new_last
    return line + shift


def changed_files(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Files that both versions have and that differ, by name."""
    return tuple(file for file in sorted(before) if file in after and before[file] != after[file])


def open_macros(texts: Iterable[str]) -> frozenset[str]:
    """Macros whose text opens or closes a brace without its partner: where one is used, braces cannot be counted."""
    defined = [found for text in texts for token in code(text) if (found := _MACRO.match(token.text))]
    return frozenset(found.group(1) for found in defined if found.group(2).count("{") != found.group(2).count("}"))


def brace_problem(text: str, function: Function, macros: Collection[str]) -> str:
    """Why it is not certain where this function ends; empty when it is.

    Its braces must close at its last character and nowhere before, in every branch of every conditional on its own,
    so that no choice of macros can end it early.
    """
    body = text[function.body : function.end]
    if _TRIGRAPH.search(body):
        return "it uses trigraphs"
    found = code(body)
    odd = [token.text for token in found if token.text in _DIGRAPHS or token.text in macros]
    if odd:
        return f"it uses {odd[0]}, which can stand for an unpaired brace"
    return _unbalanced(found)


def _unbalanced(found: Sequence[Token]) -> str:
    depth, floors = 0, [0]
    for position, token in enumerate(found):
        if token.kind == "directive":
            problem = _branch(token.text, depth, floors)
            if problem:
                return problem
        depth += {"{": 1, "}": -1}.get(token.text, 0) if token.kind == "punct" else 0
        if depth < floors[-1]:
            return "a conditional closes a brace that it did not open"
        if depth == 0 and position < len(found) - 1:
            return "its braces close before its end"
    return "" if depth == 0 and len(floors) == 1 else "its braces do not close"


def _branch(directive: str, depth: int, floors: list[int]) -> str:
    """Keeps ``floors``, the depth at which each open conditional began. Returns what is wrong."""
    word = re.split(r"\W", directive[1:].lstrip(), maxsplit=1)[0]
    if word in ("if", "ifdef", "ifndef"):
        floors.append(depth)
    elif word in ("else", "elif", "elifdef", "elifndef", "endif"):
        if len(floors) == 1:
            return f"#{word} has no beginning inside it"
        if depth != floors[-1]:
            return "a conditional splits its braces"
        if word == "endif":
            floors.pop()
    return ""


def _by_name(found: Sequence[Function]) -> dict[tuple[str, int], Function]:
    named: dict[tuple[str, int], Function] = {}
    seen: dict[str, int] = {}
    for each in found:
        named[each.qualified, seen.setdefault(each.qualified, 0)] = each
        seen[each.qualified] += 1
    return named
