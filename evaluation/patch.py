"""A unified diff as an answer, so that a patch passes the same gates as what a model wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.source import split_lines
from optimizer.types import Answer, Edit

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d+(?:,(\d{1,9}))? @@")


class Unusable(Exception):
    """Why a patch does not apply, as a sentence."""


@dataclass(frozen=True, slots=True)
class _Hunk:
    """``lines`` are (mark, text), mark one of blank, minus, plus; ``start`` is the original line it names."""

    file: str
    start: int
    lines: tuple[tuple[str, str], ...]

    @property
    def old(self) -> list[str]:
        return [text for mark, text in self.lines if mark != "+"]


def read(patch: str, sources: Mapping[str, str]) -> Answer:
    """The edits of ``patch`` against ``sources``; outcome ``unreadable`` with a sentence when it does not apply.

    A hunk whose text does not stand at its line is moved to the nearest place where it does. Only changes to existing
    source files are taken.
    """
    try:
        edits = [edit for hunk in _hunks(patch, sources) for edit in _edits(hunk, split_lines(sources[hunk.file]))]
    except Unusable as why:
        return Answer("unreadable", f"The patch does not apply: {why}", form="patch")
    if not edits:
        return Answer("no_change", "The patch changes nothing.", form="patch")
    files = ", ".join(sorted({edit.file for edit in edits}))
    return Answer("edits", f"The patch makes {_count(len(edits))} in {files}.", edits=tuple(edits), form="patch")


def _hunks(patch: str, sources: Mapping[str, str]) -> Iterator[_Hunk]:
    lines, at, file = split_lines(patch), 0, ""
    while at < len(lines):
        if lines[at].startswith("+++ "):
            file = _file(lines[at][4:], sources)
        elif header := _HUNK.match(lines[at]):
            if not file:
                raise Unusable(f"line {at + 1} starts a hunk before any line that names a file (+++ b/...).")
            body = _body(lines, at, old=int(header[2] or 1), new=int(header[3] or 1))
            yield _Hunk(file, int(header[1]), tuple(_marked(body)))
            at += len(body)
        elif lines[at].startswith("@@ "):
            raise Unusable(f"line {at + 1} of the patch is no hunk's header: {lines[at].strip()[:80]!r}.")
        at += 1


def _file(name: str, sources: Mapping[str, str]) -> str:
    plain = name.split("\t")[0].strip()
    for candidate in (plain, plain.partition("/")[2]):
        if candidate in sources:
            return candidate
    raise Unusable(f"it changes {plain}, which is no source file of the program; new files are not taken.")


def _body(lines: Sequence[str], header: int, old: int, new: int) -> list[str]:
    """The lines behind a hunk's header, as many as it says, and the mark for a missing last newline."""
    at = header + 1
    while old > 0 or new > 0:
        mark = (lines[at][0] if lines[at] != "\n" else " ") if at < len(lines) else ""
        if mark not in (" ", "-", "+", "\\"):
            raise Unusable(f"the hunk at line {header + 1} of the patch is shorter than its header says.")
        old, new, at = old - (mark in " -"), new - (mark in " +"), at + 1
    while at < len(lines) and lines[at].startswith("\\"):
        at += 1
    return list(lines[header + 1 : at])


def _marked(body: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line, following in zip(body, [*body[1:], ""], strict=True):
        mark, text = (line[0], line[1:]) if line != "\n" else (" ", line)
        if mark != "\\":
            yield mark, text.removesuffix("\n") if following.startswith("\\") else text


def _edits(hunk: _Hunk, lines: Sequence[str]) -> Iterator[Edit]:
    """One edit for each run of changed lines, so that lines which only stand around are not part of it."""
    line = _place(hunk, lines)
    old: list[str] = []
    new: list[str] = []
    for mark, text in (*hunk.lines, (" ", "")):
        if mark != " ":
            (old if mark == "-" else new).append(text)
            continue
        if old or new:
            yield Edit(hunk.file, line, line + len(old) - 1, "".join(old), "".join(new), ())
        line, old, new = line + len(old) + 1, [], []


def _place(hunk: _Hunk, lines: Sequence[str]) -> int:
    """The original line at which the hunk's old text stands, nearest to the one it names."""
    old = hunk.old
    if not old:
        return hunk.start + 1
    places = [at + 1 for at in range(len(lines) - len(old) + 1) if _same(old, lines[at : at + len(old)])]
    if not places:
        raise Unusable(f"the text of the hunk for line {hunk.start} of {hunk.file} does not stand in that file.")
    return min(places, key=lambda place: abs(place - hunk.start))


def _same(one: Sequence[str], two: Sequence[str]) -> bool:
    return [line.rstrip("\r\n") for line in one] == [line.rstrip("\r\n") for line in two]


def _count(edits: int) -> str:
    return "1 edit" if edits == 1 else f"{edits} edits"
