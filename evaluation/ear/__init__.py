"""Evidence-aligned reasoning: how well an answer's edits fit the evidence that it cites.

Each score is one file with ``score(reasoning) -> Score``. All look at the same hunks: one hunk an edit, with the
original lines that it really changes and the labels that it cites.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

from analysis import align
from analysis.source import split_lines
from analysis.tokens import words
from analysis.types import Evidence
from evaluation.types import Measured, Score, ScoreName
from optimizer.types import Edit, NotApplied, Region

SCORES: Mapping[ScoreName, str] = {
    "coverage": "evaluation.ear.coverage",
    "location": "evaluation.ear.location",
    "direction": "evaluation.ear.direction",
}


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What a score may look at. ``regions`` are the functions that may be edited, ``before`` the original sources.

    ``measured``: label -> both sides' metric; a label that was not measured is absent or has a None.
    """

    offered: tuple[Evidence, ...]
    edits: tuple[Edit, ...]
    not_applied: tuple[NotApplied, ...] = ()
    regions: tuple[Region, ...] = ()
    before: Mapping[str, str] = field(default_factory=dict)
    measured: Mapping[str, Measured] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hunk:
    """The changed original lines of one edit; an insertion counts as the line it stands behind."""

    file: str
    lines: frozenset[int]
    cited: tuple[str, ...]


def scores(reasoning: Reasoning) -> tuple[Score, ...]:
    """All scores, in the order of the registry."""
    found = (import_module(module).score(reasoning) for module in SCORES.values())
    return tuple(found)


def hunks(reasoning: Reasoning) -> tuple[Hunk, ...]:
    """One hunk for each edit that changes code; comments and white space are not code."""
    found = (Hunk(edit.file, changed_lines(edit, reasoning.before), edit.evidence) for edit in reasoning.edits)
    return tuple(hunk for hunk in found if hunk.lines)


def changed_lines(edit: Edit, before: Mapping[str, str]) -> frozenset[int]:
    """The original lines that ``edit`` changes, found by a diff of its two texts; empty when no code changes.

    Lines added in front of all that it replaces count as the first of those, so that a swap stays where it is.
    """
    old = "".join(split_lines(before[edit.file])[edit.start_line - 1 : edit.end_line])
    if words(old) == words(edit.new_text):
        return frozenset()
    found = align.hunks(_plain(old), _plain(edit.new_text))
    places = (place for hunk in found for place in range(hunk.first, hunk.last + 1) or (hunk.first - 1,))
    least = edit.start_line if old else 1
    return frozenset(max(least, edit.start_line - 1 + place) for place in places)


def cited_labels(found: Iterable[Hunk], offered: Iterable[Evidence]) -> frozenset[str]:
    """The offered labels that at least one hunk cites."""
    labels = {item.label for item in offered}
    return frozenset(label for hunk in found for label in hunk.cited if label in labels)


def _plain(text: str) -> str:
    """The same lines without indentation, so that a loop moved to the right is not a changed line."""
    return "".join(" ".join(line.split()) + "\n" for line in split_lines(text))
