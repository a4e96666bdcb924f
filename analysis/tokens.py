"""C++ and CUDA text as tokens, the way a compiler's first phases see it.

Line splices are taken out first (except inside raw strings, which keep them), so that ``ma\\<newline>in`` is one
name and a comment that ends in a backslash goes on. A preprocessor directive is one token, continued lines included.
Nothing is expanded: macros stay names.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Literal, cast

TokenKind = Literal["comment", "directive", "raw", "string", "char", "number", "name", "punct"]

SPLICE = re.compile(r"\\[ \t]*\r?\n")
_TOKEN = re.compile(
    r"""(?P<space>[^\S\n]+)
      | (?P<newline>\n)
      | (?P<comment>//[^\n]* | /\*.*?(?:\*/|\Z))
      | (?P<raw>(?:u8|[uUL])?R"(?P<tag>[^()\\\s"]{0,16})\(.*?\)(?P=tag)")
      | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"?)
      | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])*'?)
      | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
      | (?P<name>[^\W\d][\w$]*)
      | (?P<punct><<<|>>>|<<=|>>=|<=>|->\*|\.\.\.|\#\#|::|->|\+\+|--|<<|>>|&&|\|\||[-+*/%&|^=!<>]=|<%|%>|%:|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"(?:/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|//[^\n]*|[^\n])*", re.DOTALL)
_STRING_OR_GAP = re.compile(r"(\"(?:\\.|[^\"\\\n])*\")|(?:/\*.*?(?:\*/|\Z)|//[^\n]*|\s)+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Token:
    """``start`` and ``end`` are offsets into the text as given; ``line`` counts from 1.

    ``text`` has its splices removed; a directive's also its comments, with single spaces.
    """

    kind: TokenKind
    text: str
    start: int
    end: int
    line: int


@lru_cache(maxsize=64)
def tokens(text: str) -> tuple[Token, ...]:
    """All tokens in order, comments included. Never fails: an unclosed comment or string ends with its line or text."""
    return tuple(_scan(text))


@lru_cache(maxsize=64)
def code(text: str) -> tuple[Token, ...]:
    """The tokens that a compiler acts on: everything but comments."""
    return tuple(token for token in tokens(text) if token.kind != "comment")


def words(text: str) -> tuple[str, ...]:
    """The code as plain strings: equal for two texts exactly when they differ in comments and white space only."""
    return tuple(token.text for token in code(text))


class _Spliced:
    """The text without its line splices, and where each of its characters stood."""

    def __init__(self, text: str) -> None:
        cuts = list(SPLICE.finditer(text))
        self.text = SPLICE.sub("", text) if cuts else text
        self._removed = list(accumulate((cut.end() - cut.start() for cut in cuts), initial=0))
        self._at = [cut.start() - gone for cut, gone in zip(cuts, self._removed, strict=False)]

    def original(self, position: int) -> int:
        return position + self._removed[bisect_right(self._at, position)]

    def spliced(self, offset: int) -> int:
        """The first position whose character stands at ``offset`` or behind it."""
        return bisect_left(range(len(self.text)), offset, key=self.original)


def _scan(text: str) -> Iterator[Token]:
    view = _Spliced(text)
    breaks = [at.start() for at in re.finditer("\n", text)]
    position, fresh = 0, True
    while position < len(view.text):
        found = _TOKEN.match(view.text, position)
        assert found is not None, "the last alternative matches any character"
        kind, end = found.lastgroup or "", found.end()
        start, stop = view.original(position), view.original(end - 1) + 1
        shown = found.group()
        if kind == "raw":
            stop = _end_of_raw(text, start, found["tag"])
            shown, end = text[start:stop], view.spliced(stop)
        elif fresh and shown in ("#", "%:"):
            kind, end = "directive", _end_of_directive(view.text, position)
            shown, stop = _normal(view.text[position:end]), view.original(end - 1) + 1
        if kind not in ("space", "newline"):
            yield Token(cast(TokenKind, kind), shown, start, stop, bisect_right(breaks, start - 1) + 1)
        fresh = kind == "newline" or (fresh and kind in ("space", "comment"))
        position = end


def _end_of_raw(text: str, start: int, tag: str) -> int:
    """Raw strings keep their backslashes, so the end is looked for in the text as it stands."""
    closing = f'){tag}"'
    found = text.find(closing, start)
    return found + len(closing) if found >= 0 else len(text)


def _end_of_directive(text: str, start: int) -> int:
    found = _DIRECTIVE.match(text, start)
    assert found is not None
    return found.end()


def _normal(directive: str) -> str:
    """One directive without comments, runs of white space as one space, ``#name`` without a gap."""
    flat = _STRING_OR_GAP.sub(lambda found: found.group(1) or " ", directive).strip()
    return re.sub(r"^(#|%:)\s*", "#", flat)
