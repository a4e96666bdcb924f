"""A text file as lines and as rows of cells, with where each lies, so that any piece can be read again later.

Nothing but one row is held. UTF-8 with and without a mark, and UTF-16, as some shells write what is redirected.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

LONGEST_LINE = 4 * 2**20
MOST_LINES_OF_A_ROW = 500
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


class Line(NamedTuple):
    """``number`` counts from 1; ``start`` and ``end`` are bytes of the file."""

    number: int
    start: int
    end: int
    text: str


class Row(NamedTuple):
    """One line, or several when a quoted cell holds line breaks. ``cells`` is empty outside of tables."""

    number: int
    start: int
    end: int
    text: str
    cells: list[str]


def codec_of(head: bytes) -> str:
    """From the byte order mark, else from where the NULs are."""
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec
    if len(head) >= 4 and head[1] == head[3] == 0 and head[0] and head[2]:
        return "utf-16-le"
    return "utf-8"


def decoded(raw: bytes, codec: str) -> str:
    """No NUL is left: databases refuse it."""
    if codec == "utf-8" and raw.isascii() and b"\0" not in raw:
        return raw.decode("ascii")
    return raw.decode(codec, "replace").strip("\ufeff").replace("\0", "\ufffd")


@dataclass(frozen=True, slots=True)
class Text:
    path: Path
    codec: str

    def lines(self, start: int = 0, end: int | None = None) -> Iterator[Line]:
        """Lines that begin in ``start``..``end``, without their ends; overlong ones in pieces. Raises OSError."""
        with self.path.open("rb") as file:
            file.seek(start)
            read = partial(file.readline, LONGEST_LINE) if self.codec == "utf-8" else partial(self._utf16_line, file)
            for number, raw in enumerate(iter(read, b""), 1):
                if end is not None and start >= end:
                    return
                yield Line(number, start, start + len(raw), decoded(raw, self.codec).rstrip("\r\n"))
                start += len(raw)

    def _utf16_line(self, file: BinaryIO) -> bytes:
        """The byte of a line end may be half of another letter, so a line ends where both its bytes do."""
        newline = "\n".encode(self.codec)
        pieces = bytearray()
        while (piece := file.readline(LONGEST_LINE)) and len(pieces) < LONGEST_LINE:
            pieces += piece
            if len(pieces) % 2:
                pieces += file.read(1)
            if pieces[-2:] == newline:
                break
        return bytes(pieces)


@dataclass(slots=True)
class Rows:
    """Lines as rows of a table. ``delimiter`` may be changed between two rows; None: lines are no table."""

    lines: Iterator[Line]
    delimiter: str | None = None
    _back: deque[Line] = field(default_factory=deque)

    def __iter__(self) -> Iterator[Row]:
        while (line := self._next()) is not None:
            yield self._row(line)

    def _next(self) -> Line | None:
        return self._back.popleft() if self._back else next(self.lines, None)

    def _row(self, line: Line) -> Row:
        if self.delimiter is None:
            return Row(*line, [])
        if line.text.startswith("=="):
            return Row(*line, [line.text])
        text, end = line.text, line.end
        if text.count('"') % 2:
            rest = self._rest(line)
            text = "\n".join([text, *(each.text for each in rest)])
            end = rest[-1].end if rest else end
        return Row(line.number, line.start, end, text, cells(text, self.delimiter))

    def _rest(self, first: Line) -> list[Line]:
        """The further lines of a row that is not over; none, and nothing is used up, when it does not come to an end
        before the next row does."""
        row_start = f'"{self.delimiter}"'
        rest: list[Line] = []
        while len(rest) < MOST_LINES_OF_A_ROW and (line := self._next()) is not None:
            rest.append(line)
            begins = line.text.startswith('"') and line.text[1 : line.text.find(row_start)].isdecimal()
            if begins or line.text.startswith("=="):
                break
            if line.text.count('"') % 2:
                return rest
        self._back.extendleft(reversed(rest))
        return []


def cells(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:  # a cell of more than 128 KiB, which no table of ncu has
        return [text]
