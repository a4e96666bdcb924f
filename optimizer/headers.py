"""A function's header, token by token: what stands before its body."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.source import Function
from analysis.tokens import words

BOUNDS = frozenset({"__launch_bounds__", "__maxnreg__"})
RESTRICT = frozenset({"__restrict__", "__restrict", "restrict"})


def header(text: str, function: Function) -> tuple[str, ...]:
    """Template head, linkage, attributes, names and parameters; comments and white space left out."""
    return words(text[function.start : function.body])


def without_bounds(found: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The header without its launch bounds, and those."""
    rest: list[str] = []
    bounds: list[str] = []
    position = 0
    while position < len(found):
        if found[position] in BOUNDS:
            end = closing(found, position + 1)
            bounds += found[position:end]
            position = end
        else:
            rest.append(found[position])
            position += 1
    return tuple(rest), tuple(bounds)


def closing(found: Sequence[str], start: int) -> int:
    """The position behind the bracket that closes the one at ``start``; ``start`` when there is none."""
    depth = 0
    for position in range(start, len(found)):
        depth += (found[position] == "(") - (found[position] == ")")
        if depth == 0:
            return position + 1 if found[position] == ")" else start
    return len(found)


def same_header(before: Sequence[str], after: Sequence[str], name: str) -> bool:
    """Whether the headers agree, but for ``const`` and ``__restrict__`` added to pointer parameters."""
    if tuple(before) == tuple(after):
        return True
    old, new = _split(before, name), _split(after, name)
    if old is None or new is None or (old[0], old[2]) != (new[0], new[2]) or len(old[1]) != len(new[1]):
        return False
    return all(_same_parameter(one, two) for one, two in zip(old[1], new[1], strict=True))


Parts = tuple[tuple[str, ...], list[tuple[str, ...]], tuple[str, ...]]


def _split(found: Sequence[str], name: str) -> Parts | None:
    """Before the parameters, the parameters, behind them."""
    for position in range(len(found) - 1):
        if found[position] == name and found[position + 1] == "(":
            end = closing(found, position + 1)
            inside = found[position + 2 : end - 1]
            return tuple(found[: position + 1]), _parameters(inside), tuple(found[end:])
    return None


def _parameters(inside: Sequence[str]) -> list[tuple[str, ...]]:
    found: list[list[str]] = [[]]
    depth = 0
    for word in inside:
        depth += {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1, ">>": -2}.get(word, 0)
        if word == "," and depth <= 0:
            found.append([])
        else:
            found[-1].append(word)
    return [tuple(each) for each in found]


def _same_parameter(before: Sequence[str], after: Sequence[str]) -> bool:
    """Equal, or a plain pointer (no array, no function) with more qualifiers than before."""
    if tuple(before) == tuple(after):
        return True
    if "*" not in before or "(" in before:
        return False
    expected = list(before)
    for position, word in enumerate(after):
        if expected and word == expected[0]:
            expected.pop(0)
        elif word == "const" or (word in RESTRICT and "*" in after[:position]):
            continue
        else:
            return False
    return not expected
