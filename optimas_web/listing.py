"""Source text as coloured lines with heat. What comes out is safe markup made of escaped text and class names only."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES

from analysis.source import split_lines

LANGUAGES = {
    **dict.fromkeys((".cu", ".cuh"), "cuda"),
    **dict.fromkeys((".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl"), "cpp"),
    **dict.fromkeys((".mk", "makefile"), "make"),
    ".json": "json",
    ".patch": "diff",
    ".sh": "bash",
    ".toml": "toml",
}
COMMENT_OR_TEXT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
CONTROLS = {
    **{code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\v\f"},
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}
CONTROLS |= {
    code: f"\u27e8U+{code:04X}\u27e9"
    for code in (0x00AD, 0x061C, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A))
}
"""What nobody sees, but what changes how the rest is read: a sign or a name to show in its place."""

Piece = tuple[str, str]
"""Class name (may be empty) and text."""
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CodeLine:
    """``level`` is 0 (no heat) to 9; ``share`` the number behind it, 0..1, or None."""

    number: int
    markup: SafeString
    share: float | None = None
    level: int = 0
    marked: bool = False


def code_lines(
    text: str, path: str, shares: Mapping[int, float] | None = None, marked: Collection[int] = ()
) -> tuple[CodeLine, ...]:
    """Lines for parts/code.html.

    ``shares``: line number -> share of the kernel's cost, 0..1. ``marked``: lines to point at.
    """
    shares = shares or {}
    return tuple(
        CodeLine(number, markup(pieces), shares.get(number), heat_level(shares.get(number)), number in marked)
        for number, pieces in enumerate(coloured(text, path), 1)
    )


def heat_level(share: float | None) -> int:
    """0..9 after the square root, so that 1 % can be seen and 50 % still differs from 90 %."""
    return min(9, math.ceil(9 * math.sqrt(share))) if share else 0


def language(path: str) -> str:
    name = PurePosixPath(path)
    return LANGUAGES.get(name.suffix.lower() or name.name.lower(), "text")


@lru_cache(maxsize=64)
def coloured(text: str, path: str) -> tuple[tuple[Piece, ...], ...]:
    """The lines of ``text`` without their ends, each as pieces of one colour; split after newlines and nowhere else."""
    lines: list[list[Piece]] = [[]]
    for _, kind, value in get_lexer_by_name(language(path)).get_tokens_unprocessed(text):
        first, *others = value.split("\n")
        lines[-1].append((css_class(kind), first))
        lines.extend([(css_class(kind), other)] for other in others)
    if text.endswith("\n") or not text:
        lines.pop()
    return tuple(tuple((css, shown(piece)) for css, piece in line if piece) for line in lines)


def shown(text: str) -> str:
    """The text of a line as it can be looked at: nothing in it hides, or turns other text around."""
    return text.rstrip("\r").translate(CONTROLS)


def coloured_at(text: str, path: str, numbers: Iterable[int]) -> dict[int, tuple[Piece, ...]]:
    """Only the lines of these numbers, as in :func:`coloured`: colouring all of a long file takes seconds."""
    lines = split_lines(text)
    covered = comments_over_lines(text) if language(path) in ("cuda", "cpp") else {}
    found: dict[int, tuple[Piece, ...]] = {}
    for run in runs(numbers):
        first = covered.get(run.start, run.start)
        pieces = coloured("".join(lines[first - 1 : run.stop - 1]), path)
        found.update((number, pieces[number - first]) for number in run)
    return found


def runs(numbers: Iterable[int]) -> Iterator[range]:
    """Numbers in any order, as stretches that have no gap."""
    start = stop = 0
    for number in sorted(set(numbers)):
        if number != stop:
            if stop:
                yield range(start, stop)
            start = number
        stop = number + 1
    if stop:
        yield range(start, stop)


@lru_cache(maxsize=64)
def comments_over_lines(text: str) -> dict[int, int]:
    """Line whose beginning lies in a comment -> the line where that comment begins."""
    covered: dict[int, int] = {}
    line, at = 1, 0
    for found in COMMENT_OR_TEXT.finditer(text):
        if found[0].startswith("/*") and (over := found[0].count("\n")):
            line += text.count("\n", at, found.start())
            covered.update(dict.fromkeys(range(line + 1, line + over + 1), line))
            line, at = line + over, found.end()
    return covered


def css_class(kind: object) -> str:
    while kind not in STANDARD_TYPES:
        kind = kind.parent  # type: ignore[attr-defined]  # Pygments' token types make themselves up
    return STANDARD_TYPES[kind]


def markup(pieces: Iterable[Piece], marks: Iterable[Span] = ()) -> SafeString:
    """One line as HTML; the character ranges in ``marks`` stand in <mark>."""
    return format_html_join("", "{}", ((one(*piece, marked),) for piece, marked in cut(pieces, marks)))


def one(css: str, text: str, marked: bool) -> SafeString:
    inner = format_html('<span class="{}">{}</span>', css, text) if css else format_html("{}", text)
    return format_html("<mark>{}</mark>", inner) if marked else inner


def cut(pieces: Iterable[Piece], marks: Iterable[Span]) -> Iterable[tuple[Piece, bool]]:
    """The pieces, cut where a mark begins or ends."""
    marks = list(marks)
    edges = sorted({edge for span in marks for edge in span})
    at = 0
    for css, text in pieces:
        stops = [at, *(edge for edge in edges if at < edge < at + len(text)), at + len(text)]
        for start, stop in zip(stops, stops[1:], strict=False):
            yield (css, text[start - at : stop - at]), any(a <= start < b for a, b in marks)
        at += len(text)
