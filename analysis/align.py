"""Which lines of an edited file an original line lives on in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from analysis.source import split_lines


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
