"""Which names of a program lead to something: macros that spell it out, functions that come to call it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from analysis.source import functions, variables
from analysis.tokens import Token, code

Look = Callable[[Sequence[Token], int, frozenset[int]], str]
"""What the token at this place is to somebody who looks for something; empty when it is nothing. The set: ``bound``."""

Body = tuple[str, Sequence[Token], frozenset[int]]

_MACRO = re.compile(r"^#define ([A-Za-z_]\w*)(?:\([^)]*\))? ?(.*)$", re.DOTALL)


def leading(texts: Iterable[str], look: Look) -> Mapping[str, str]:
    """Macros and functions of these sources -> what they lead to, directly or through others; empty for nothing.

    Functions are known by their plain names. ``main`` is left out: who calls it is found by its name.
    """
    bodies = [each for text in texts for each in (*_macros(text), *_functions(text))]
    found = {name: what for name, body, known in bodies if (what := _first(body, known, look))}
    while more := {
        name: found[token.text]
        for name, body, known in bodies
        if name not in found
        for position, token in enumerate(body)
        if token.text in found and free(body, position, known)
    }:
        found |= more
    return {name: found.get(name, "") for name, _, _ in bodies}


def free(found: Sequence[Token], position: int, known: frozenset[int]) -> bool:
    """Whether the name at this place can mean something of the whole program: no variable, and no mere field.

    ``known`` is ``bound`` of the text that the tokens are from.
    """
    if found[position].start in known:
        return False
    return not is_member(found, position) or (position + 1 < len(found) and found[position + 1].text == "(")


def is_member(found: Sequence[Token], position: int) -> bool:
    return position > 0 and found[position - 1].text in (".", "->")


@lru_cache(maxsize=64)
def bound(text: str) -> frozenset[int]:
    """Offsets of the names that mean a variable, a parameter or a field where they stand."""
    scopes: dict[str, list[tuple[int, int]]] = {}
    for each in variables(text):
        scopes.setdefault(each.name, []).append((each.start, each.scope))
    return frozenset(
        token.start
        for token in code(text)
        if token.kind == "name" and any(start <= token.start < end for start, end in scopes.get(token.text, ()))
    )


def _macros(text: str) -> Iterator[Body]:
    for token in code(text):
        if token.kind == "directive" and (macro := _MACRO.match(token.text)):
            yield macro.group(1), code(macro.group(2)), frozenset()


def _functions(text: str) -> Iterator[Body]:
    known = bound(text)
    for each in functions(text):
        if each.name != "main":
            yield each.name, [token for token in code(text) if each.body <= token.start < each.end], known


def _first(body: Sequence[Token], known: frozenset[int], look: Look) -> str:
    return next((what for position in range(len(body)) if (what := look(body, position, known))), "")
