"""Two versions of a file side by side, as blocks for parts/diff.html."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal, Protocol

from django.utils.safestring import SafeString

from analysis.align import Hunk, hunks, pairs
from analysis.source import split_lines
from optimas_web.listing import Piece, Span, coloured_at, heat_level, markup

ALIKE = 0.35  # two lines that share less are told as wholly different, without marks inside
CONTEXT = 3
Lines = Mapping[int, tuple[Piece, ...]]


class Noted(Protocol):
    """What is told above a change; ``evidence``: the ids that it cites."""

    evidence: Sequence[str]


class Compared(Protocol):
    """Two versions of a file, where they differ, and what is known of it.

    ``notes``: what each hunk belongs to; neighbours of one note are one change. ``heat``: line of ``before`` -> share
    of the cost, 0..1. ``marks``: line of ``before`` -> evidence that points at it. ``anchor``: prefix of the ids of
    the lines of ``before``; empty for none.
    """

    path: str
    before: str
    after: str
    hunks: Sequence[Hunk]
    notes: Sequence[Noted]
    heat: Mapping[int, float]
    marks: Mapping[int, Sequence[str]]
    anchor: str


@dataclass(frozen=True, slots=True)
class Cell:
    number: int
    markup: SafeString
    share: float | None = None
    marks: tuple[str, ...] = ()

    @property
    def level(self) -> int:
        return heat_level(self.share)


@dataclass(frozen=True, slots=True)
class Block:
    """``skipped`` counts unchanged lines left out; ``begins``: the first block of what ``note`` tells of."""

    kind: Literal["same", "change", "skipped"]
    rows: tuple[tuple[Cell | None, Cell | None], ...] = ()
    skipped: int = 0
    hunk: Hunk | None = None
    note: Noted | None = None
    begins: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The evidence that a change cites."""
        return tuple(self.note.evidence) if self.note else ()


@dataclass(frozen=True, slots=True)
class Difference:
    path: str
    blocks: tuple[Block, ...]
    added: int
    removed: int
    anchor: str = ""
    heated: bool = False


@dataclass(slots=True)
class Cited:
    evidence: Sequence[str] = ()


@dataclass(slots=True)
class Versions:
    """The plainest `Compared`."""

    path: str
    before: str
    after: str
    hunks: Sequence[Hunk]
    notes: Sequence[Noted]
    heat: Mapping[int, float] = field(default_factory=dict)
    marks: Mapping[int, Sequence[str]] = field(default_factory=dict)
    anchor: str = ""


def side_by_side(
    before: str, after: str, path: str, labels: Mapping[int, Sequence[str]] | None = None, context: int = CONTEXT
) -> Difference:
    """Two texts, compared here. ``labels``: index of a hunk (as in ``analysis.align.hunks``) -> evidence ids."""
    found = hunks(before, after)
    notes = [Cited((labels or {}).get(index, ())) for index in range(len(found))]
    return difference(Versions(path, before, after, found, notes), context)


def difference(versions: Compared, context: int = CONTEXT) -> Difference:
    """Every change, every line that evidence points at, and ``context`` unchanged lines around each."""
    plan = tuple(stretches(versions, context))
    drawn = Drawn(versions, plan)
    blocks = tuple(drawn.block(*each) for each in plan)
    removed = sum(hunk.last - hunk.first + 1 for hunk in versions.hunks)
    added = sum(hunk.new_last - hunk.new_first + 1 for hunk in versions.hunks)
    return Difference(versions.path, blocks, added, removed, versions.anchor, bool(versions.heat))


# --- what is shown ----------------------------------------------------------------------------

Stretch = tuple[bool, range, int, int | None]
"""Shown or left out, old lines, how far the new numbers are ahead, index of the hunk or None where nothing changed."""


def stretches(versions: Compared, context: int) -> Iterator[Stretch]:
    """The file from top to bottom, each line in one stretch."""
    wanted = [range(line - context, line + context + 1) for line in versions.marks]
    wanted += [range(hunk.first - context, hunk.last + context + 1) for hunk in versions.hunks]
    first, ahead = 1, 0
    for index, hunk in enumerate(versions.hunks):
        for seen, lines in cut(range(first, hunk.first), wanted):
            yield seen, lines, ahead, None
        yield True, range(hunk.first, hunk.last + 1), ahead, index
        first, ahead = hunk.last + 1, hunk.new_last - hunk.last
    for seen, lines in cut(range(first, len(split_lines(versions.before)) + 1), wanted):
        yield seen, lines, ahead, None


def cut(lines: range, wanted: Iterable[range]) -> Iterator[tuple[bool, range]]:
    """``lines`` in stretches, shown (True) where wanted. A gap of two lines or fewer is shown: a note that lines were
    left out would take as much room."""
    at = lines.start
    seen: list[range] = []
    for each in sorted(wanted, key=lambda part: part.start):
        start, stop = max(at, each.start), min(lines.stop, each.stop)
        if start < stop:
            seen.append(range(start, stop))
            at = stop
    for before, after in pairwise([range(lines.start, lines.start), *seen, range(lines.stop, lines.stop)]):
        if gap := after.start - before.stop:
            yield gap <= 2, range(before.stop, after.start)
        if after:
            yield True, after


# --- how it is shown --------------------------------------------------------------------------


class Drawn:
    """The lines of both versions, coloured where they are shown."""

    def __init__(self, versions: Compared, plan: Iterable[Stretch]) -> None:
        self.of = versions
        old = [line for seen, lines, _, _ in plan if seen for line in lines]
        new = [line for hunk in versions.hunks for line in range(hunk.new_first, hunk.new_last + 1)]
        self.old: Lines = coloured_at(versions.before, versions.path, old)
        self.new: Lines = coloured_at(versions.after, versions.path, new)

    def block(self, seen: bool, lines: range, ahead: int, index: int | None) -> Block:
        if index is not None:
            return self.change(index)
        if not seen:
            return Block("skipped", skipped=len(lines))
        rows = [(line, markup(self.old[line])) for line in lines]
        return Block("same", tuple((self.before(line, text), Cell(line + ahead, text)) for line, text in rows))

    def change(self, index: int) -> Block:
        hunk, note = self.of.hunks[index], self.of.notes[index]
        left, right = range(hunk.first, hunk.last + 1), range(hunk.new_first, hunk.new_last + 1)
        beside = pairs([plain(self.old[n]) for n in left], [plain(self.new[n]) for n in right])
        rows = (self.pair(None if a is None else left[a], None if b is None else right[b]) for a, b in beside)
        begins = not index or note is not self.of.notes[index - 1]
        return Block("change", tuple(rows), hunk=hunk, note=note, begins=begins)

    def pair(self, left: int | None, right: int | None) -> tuple[Cell | None, Cell | None]:
        gone: Sequence[Span] = ()
        come: Sequence[Span] = ()
        if left and right:
            gone, come = inner_changes(plain(self.old[left]), plain(self.new[right]))
        old = self.before(left, markup(self.old[left], gone)) if left else None
        return old, Cell(right, markup(self.new[right], come)) if right else None

    def before(self, line: int, text: SafeString) -> Cell:
        return Cell(line, text, self.of.heat.get(line), tuple(self.of.marks.get(line, ())))


def plain(pieces: tuple[Piece, ...]) -> str:
    return "".join(text for _, text in pieces)


def inner_changes(before: str, after: str) -> tuple[list[Span], list[Span]]:
    """Character ranges that differ, by whole words; none when the lines have little in common."""
    old, new = re.findall(r"\w+|\s+|.", before), re.findall(r"\w+|\s+|.", after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < ALIKE:
        return [], []
    codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    gone = [(length(old[:i]), length(old[:j])) for _, i, j, _, _ in codes if j > i]
    return gone, [(length(new[:k]), length(new[:m])) for _, _, _, k, m in codes if m > k]


def length(words: Sequence[str]) -> int:
    return sum(map(len, words))
