"""Which lines of an edited file an original line lives on in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from analysis.source import split_lines

ALIKE = 0.5
"""Share of words that two lines must have in common to be taken for one line that was changed."""
WORTH = 0.1
"""Likeness that lines must have in all for each row that is left empty to set them beside each other."""
MOST_COMPARED = 10_000
"""Pairs of lines looked at in one replaced stretch; a larger one is paired line by line."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One stretch of change, lines from 1 inclusive. Nothing removed: ``last == first - 1``; likewise for added."""

    first: int
    last: int
    new_first: int
    new_last: int

    @property
    def lines(self) -> tuple[int, ...]:
        """The original lines it stands for: those it replaces, or the line before an insertion (line 1 at the top)."""
        return tuple(range(self.first, self.last + 1)) or (max(1, self.first - 1),)


def hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """The changes that turn ``before`` into ``after``, in order."""
    matcher = SequenceMatcher(None, split_lines(before), split_lines(after), autojunk=False)
    return tuple(Hunk(i + 1, j, k + 1, m) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal")


def map_lines(before: str, after: str) -> Mapping[int, tuple[int, ...]]:
    """Original line -> its lines in the edited text.

    An unchanged line maps to itself, a replaced stretch maps as a whole, each of its lines to all the lines that took
    its place; lines only added belong to the line before them. A removed line maps to nothing.
    """
    old, new = split_lines(before), split_lines(after)
    mapped: dict[int, list[int]] = {line: [] for line in range(1, len(old) + 1)}
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            for offset in range(j - i):
                mapped[i + 1 + offset].append(k + 1 + offset)
            continue
        for line in range(i + 1, j + 1) if j > i else [max(1, i)]:
            mapped.setdefault(line, []).extend(range(k + 1, m + 1))
    return {line: tuple(sorted(places)) for line, places in mapped.items()}


def together(lines: Iterable[int], mapping: Mapping[int, tuple[int, ...]]) -> tuple[int, ...]:
    """These original lines and all others that share a place with them now, ascending.

    What was measured on one line of a replaced stretch can only be compared as a whole: nobody can say which of the
    new lines do the work of the old one.
    """
    places = set(mapped(lines, mapping))
    return tuple(sorted({*lines, *(line for line, now in mapping.items() if places.intersection(now))}))


def mapped(lines: Iterable[int], mapping: Mapping[int, tuple[int, ...]]) -> tuple[int, ...]:
    """Where these original lines are now, ascending, each once."""
    return tuple(sorted({place for line in lines for place in mapping.get(line, ())}))


def pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Which lines of a replaced stretch to set beside which, as indices; None where a side has no counterpart.

    Lines that are alike are paired so that as much as possible is alike in all, without crossing, unless that tears
    the old lines too far apart; what lies between two such pairs is paired one by one.
    """
    found: list[tuple[int | None, int | None]] = []
    i = j = 0
    for a, b in [*_worthwhile(_alike(old, new)), (len(old), len(new))]:
        found += zip_longest(range(i, a), range(j, b))
        if a < len(old):
            found.append((a, b))
        i, j = a + 1, b + 1
    return found


def _worthwhile(alike: Iterable[tuple[int, int, float]]) -> Iterator[tuple[int, int]]:
    """Those pairs that are worth the empty rows before them; pairs that follow each other without a gap are one."""
    i = j = 0
    for group in _runs(alike):
        (a, b, _), (last_a, last_b, _) = group[0], group[-1]
        empty = (b - j) - (a - i)
        if sum(likeness for _, _, likeness in group) >= WORTH * empty:
            yield from ((a, b) for a, b, _ in group)
            i, j = last_a + 1, last_b + 1


def _runs(alike: Iterable[tuple[int, int, float]]) -> Iterator[list[tuple[int, int, float]]]:
    group: list[tuple[int, int, float]] = []
    for pair in alike:
        if group and pair[1] - pair[0] != group[-1][1] - group[-1][0]:
            yield group
            group = []
        group.append(pair)
    if group:
        yield group


def _alike(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Pairs of lines that are alike, and how much; ascending on both sides, of the largest likeness in all."""
    if not 0 < len(old) * len(new) <= MOST_COMPARED:
        return
    left, right = [_words(line) for line in old], [_words(line) for line in new]
    likeness = [[_likeness(a, b) for b in right] for a in left]
    best = _best(likeness)
    i = j = 0
    while i < len(old) and j < len(new):
        if likeness[i][j] and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            yield i, j, likeness[i][j]
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1


def _best(likeness: Sequence[Sequence[float]]) -> list[list[float]]:
    """``[i][j]``: the most likeness that the lines from i and from j on can have in all."""
    rows, columns = len(likeness), len(likeness[0])
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            both = likeness[i][j] + best[i + 1][j + 1] if likeness[i][j] else 0.0
            best[i][j] = max(both, best[i + 1][j], best[i][j + 1])
    return best


def _words(line: str) -> Counter[str]:
    return Counter(re.findall(r"\w+|[^\w\s]", line))


def _likeness(a: Counter[str], b: Counter[str]) -> float:
    """Share of common words (Dice), 0 when under `ALIKE`."""
    total = a.total() + b.total()
    share = 2 * (a & b).total() / total if total else 0.0
    return share if share >= ALIKE else 0.0
