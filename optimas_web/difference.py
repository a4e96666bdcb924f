"""Two versions of a file side by side, as blocks for parts/diff.html."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Literal

from django.utils.safestring import SafeString

from analysis.align import Hunk, hunks
from optimas_web.listing import Piece, Span, coloured, markup

Lines = Sequence[tuple[Piece, ...]]
ALIKE = 0.35  # two lines that share less are told as wholly different, without marks inside


@dataclass(frozen=True, slots=True)
class Cell:
    number: int
    markup: SafeString


@dataclass(frozen=True, slots=True)
class Block:
    """``skipped`` counts unchanged lines left out; ``labels`` are the evidence that a change cites."""

    kind: Literal["same", "change", "skipped"]
    rows: tuple[tuple[Cell | None, Cell | None], ...] = ()
    skipped: int = 0
    hunk: Hunk | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    path: str
    blocks: tuple[Block, ...]
    added: int
    removed: int


def side_by_side(
    before: str, after: str, path: str, labels: Mapping[int, Sequence[str]] | None = None, context: int = 3
) -> Difference:
    """``labels``: index of a change (as in ``analysis.align.hunks``) -> evidence ids.

    ``context``: how many unchanged lines stay around each change.
    """
    changes = hunks(before, after)
    old, new = coloured(before, path), coloured(after, path)
    blocks: list[Block] = []
    place = (1, 1)
    for index, hunk in enumerate(changes):
        blocks += unchanged(old, place, hunk.first, (context if index else 0, context))
        blocks.append(changed(old, new, hunk, tuple((labels or {}).get(index, ()))))
        place = (hunk.last + 1, hunk.new_last + 1)
    blocks += unchanged(old, place, len(old) + 1, (context if changes else 0, 0))
    removed = sum(h.last - h.first + 1 for h in changes)
    return Difference(path, tuple(blocks), sum(h.new_last - h.new_first + 1 for h in changes), removed)


def unchanged(old: Lines, place: tuple[int, int], stop: int, context: tuple[int, int]) -> list[Block]:
    """The lines from ``place`` (old and new number) to ``stop``; of a long stretch only ``context`` at either end."""
    first, shift = place[0], place[1] - place[0]
    head = min(stop, first + context[0])
    tail = max(head, stop - context[1])
    if tail - head <= 2:  # a note that lines were left out would take as much room as the lines
        return same(old, range(first, stop), shift)
    return [
        *same(old, range(first, head), shift),
        Block("skipped", skipped=tail - head),
        *same(old, range(tail, stop), shift),
    ]


def same(old: Lines, numbers: range, shift: int) -> list[Block]:
    rows = [(n, markup(old[n - 1])) for n in numbers]
    return [Block("same", tuple((Cell(n, text), Cell(n + shift, text)) for n, text in rows))] if rows else []


def changed(old: Lines, new: Lines, hunk: Hunk, labels: tuple[str, ...]) -> Block:
    left = [(n, old[n - 1]) for n in range(hunk.first, hunk.last + 1)]
    right = [(n, new[n - 1]) for n in range(hunk.new_first, hunk.new_last + 1)]
    rows = tuple(pair(a, b) for a, b in zip_longest(left, right))
    return Block("change", rows, hunk=hunk, labels=labels)


Numbered = tuple[int, tuple[Piece, ...]]


def pair(left: Numbered | None, right: Numbered | None) -> tuple[Cell | None, Cell | None]:
    if left is None or right is None:
        return cell(left), cell(right)
    gone, come = inner_changes(plain(left[1]), plain(right[1]))
    return cell(left, gone), cell(right, come)


def cell(line: Numbered | None, marks: Sequence[Span] = ()) -> Cell | None:
    return None if line is None else Cell(line[0], markup(line[1], marks))


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
