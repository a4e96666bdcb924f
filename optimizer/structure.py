"""Two versions of a file side by side: which function is which, what lies outside, where a body surely ends."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.align import hunks
from analysis.source import Function, functions
from analysis.tokens import code, tokens
from optimizer.regions import region_functions
from optimizer.types import Region

_MACRO = re.compile(r"^#define ([A-Za-z_]\w*)(?:\([^)]*\))? ?(.*)$", re.DOTALL)
# Spellings that compilers read differently, depending on their age and language, with what they are called.
_ODD_TEXT = {
    "trigraphs": re.compile(r"\?\?[=/'()!<>-]"),
    "a backslash with blanks behind it": re.compile(r"\\[ \t]+\r?\n"),
}
_DIGRAPHS = frozenset({"<%", "%>", "%:"})
_CLOSING = {")": "(", "]": "[", "}": "{"}


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


def open_macros(texts: Iterable[str]) -> Mapping[str, str]:
    """Macros that keep a text from being read, and why: brackets without their partner, names pasted from pieces."""
    defined = [found for text in texts for token in code(text) if (found := _MACRO.match(token.text))]
    why = {found.group(1): "which makes names from pieces" if "##" in found.group(2) else "" for found in defined}
    unpaired = {
        found.group(1): "which can stand for an unpaired bracket"
        for found in defined
        if any(found.group(2).count(opening) != found.group(2).count(closing) for closing, opening in _CLOSING.items())
    }
    return {name: reason for name, reason in (why | unpaired).items() if reason}


def oddities(body: str, macros: Mapping[str, str]) -> Counter[str]:
    """What in a function's body some compiler may read in another way than this one does, counted."""
    found = Counter({name: len(pattern.findall(body)) for name, pattern in _ODD_TEXT.items()})
    for token in tokens(body):
        if token.kind == "raw":
            found["raw strings"] += 1
        elif token.kind == "number" and "'" in token.text:
            found["digit separators"] += 1
        elif token.kind == "comment" and token.text.startswith("//*"):
            found["a comment that begins with //*"] += 1
        elif token.kind == "comment" and token.text.startswith("//") and "\n" in body[token.start : token.end]:
            found["a comment that goes on behind a backslash"] += 1
        elif token.text in _DIGRAPHS:
            found["digraphs"] += 1
        elif token.text == "\\":
            found["a backslash outside strings"] += 1
        elif token.text in macros:
            found[f"{token.text}, {macros[token.text]}"] += 1
    return +found


def bracket_problem(body: str) -> str:
    """Why it is not certain where this body ends; empty when it is.

    Its brackets must nest and close at its last character and nowhere before, in every branch of every conditional on
    its own, so that no choice of macros can end it early.
    """
    found = code(body)
    open_: list[str] = []
    floors = [0]
    for position, token in enumerate(found):
        if token.kind == "directive" and (problem := _branch(token.text, len(open_), floors)):
            return problem
        if token.kind != "punct":
            continue
        if token.text in _CLOSING.values():
            open_.append(token.text)
        elif token.text in _CLOSING:
            if not open_ or open_.pop() != _CLOSING[token.text]:
                return "its brackets do not nest"
            if len(open_) < floors[-1]:
                return "a conditional closes a bracket that it did not open"
        if not open_ and position < len(found) - 1:
            return "its brackets close before its end"
    return "its brackets do not close" if open_ or len(floors) > 1 else ""


def _branch(directive: str, depth: int, floors: list[int]) -> str:
    """Keeps ``floors``, the depth at which each open conditional began. Returns what is wrong."""
    word = re.split(r"\W", directive[1:].lstrip(), maxsplit=1)[0]
    if word in ("if", "ifdef", "ifndef"):
        floors.append(depth)
    elif word in ("else", "elif", "elifdef", "elifndef", "endif"):
        if len(floors) == 1:
            return f"#{word} has no beginning inside it"
        if depth != floors[-1]:
            return "a conditional splits its brackets"
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
