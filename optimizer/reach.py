"""Which names of a program lead to something: macros that spell it out, functions that come to call it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from analysis.source import functions
from analysis.tokens import Token, code

Look = Callable[[Sequence[Token], int], str]
"""What the token at this place is to somebody who looks for something; empty when it is nothing."""

_MACRO = re.compile(r"^#define ([A-Za-z_]\w*)(?:\([^)]*\))? ?(.*)$", re.DOTALL)


def leading(texts: Iterable[str], look: Look) -> Mapping[str, str]:
    """Macros and functions of these sources -> what they lead to, directly or through others; empty for nothing.

    Functions are known by their plain names. ``main`` is left out: who calls it is found by its name.
    """
    bodies = [each for text in texts for each in (*_macros(text), *_functions(text))]
    found = {name: what for name, body in bodies if (what := _first(body, look))}
    while more := {
        name: found[token.text]
        for name, body in bodies
        if name not in found
        for position, token in enumerate(body)
        if token.text in found and used(body, position)
    }:
        found |= more
    return {name: found.get(name, "") for name, _ in bodies}


def used(found: Sequence[Token], position: int) -> bool:
    """Whether the name at this place is called, its address taken, or it begins a declaration or a macro's use."""
    after = found[position + 1] if position + 1 < len(found) else None
    before = found[position - 1].text if position else ""
    return (after is not None and (after.text in ("(", "{") or after.kind == "name")) or before in ("&", "::")


def _macros(text: str) -> Iterator[tuple[str, Sequence[Token]]]:
    for token in code(text):
        if token.kind == "directive" and (macro := _MACRO.match(token.text)):
            yield macro.group(1), code(macro.group(2))


def _functions(text: str) -> Iterator[tuple[str, Sequence[Token]]]:
    for each in functions(text):
        if each.name != "main":
            yield each.name, code(text[each.body : each.end])


def _first(body: Sequence[Token], look: Look) -> str:
    return next((what for position in range(len(body)) if (what := look(body, position))), "")
