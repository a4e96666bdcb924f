"""Launches, ``kernel<<<configuration>>>(...)``: which kernels a text starts, with what, and the text without that."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from analysis.tokens import Token, code


@dataclass(frozen=True, slots=True)
class Launch:
    """``name`` is the kernel's plain one; ``start`` and ``end`` the offsets of what stands between the brackets."""

    name: str
    configuration: str
    line: int
    start: int
    end: int


def launches(text: str) -> tuple[Launch, ...]:
    """All launches, by place. One that never closes is left out."""
    found = code(text)
    ends = [position for position, token in enumerate(found) if token.text == ">>>"]
    listed: list[Launch] = []
    for position, token in enumerate(found):
        end = next((each for each in ends if each > position), None)
        if token.text == "<<<" and end is not None:
            inside = " ".join(each.text for each in found[position + 1 : end])
            listed.append(Launch(_kernel(found, position), inside, token.line, token.end, found[end].start))
    return tuple(listed)


def unconfigured(text: str, kernels: Collection[str]) -> str:
    """The text with nothing between the brackets of the launches of these kernels (plain names); its lines stay."""
    for each in reversed(launches(text)):
        if each.name in kernels:
            text = text[: each.start] + re.sub(r"[^\n]", "", text[each.start : each.end]) + text[each.end :]
    return text


def _kernel(found: Sequence[Token], position: int) -> str:
    """The name in front of the brackets, behind which template arguments may stand."""
    at, depth = position - 1, 0
    while at >= 0:
        depth += {">": 1, ">>": 2, "<": -1}.get(found[at].text, 0)
        if depth <= 0 and found[at].kind == "name":
            return found[at].text
        at -= 1
    return ""
