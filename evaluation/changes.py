"""The files that edits change, and which evidence each stretch of change was made for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.align import Hunk, hunks
from optimizer.types import Edit


@dataclass(frozen=True, slots=True)
class Cited:
    """The evidence that a stretch of change was made for."""

    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileChange:
    """Both versions of a file, ready to be shown as a difference; ``notes``: one for each hunk."""

    path: str
    before: str
    after: str
    hunks: tuple[Hunk, ...]
    notes: tuple[Cited, ...]
    heat: Mapping[int, float] = field(default_factory=dict)
    marks: Mapping[int, Sequence[str]] = field(default_factory=dict)
    anchor: str = ""


def changes(before: Mapping[str, str], after: Mapping[str, str], edits: Sequence[Edit]) -> tuple[FileChange, ...]:
    """The files that differ, by name. ``edits`` are those that turn ``before`` into ``after``, with their places."""
    differing = [path for path in sorted(after) if before.get(path, "") != after[path]]
    return tuple(_change(path, before[path], after[path], edits) for path in differing)


def _change(path: str, before: str, after: str, edits: Iterable[Edit]) -> FileChange:
    here, found = [edit for edit in edits if edit.file == path], hunks(before, after)
    notes = tuple(Cited(_cited(edit for edit in here if _made(edit, hunk))) for hunk in found)
    return FileChange(path, before, after, found, notes)


def _cited(edits: Iterable[Edit]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label for edit in edits for label in edit.evidence))


def _made(edit: Edit, hunk: Hunk) -> bool:
    """Whether the edit's lines meet the hunk's; a hunk that only adds lies between two lines, edge included."""
    if hunk.last < hunk.first:
        return edit.start_line <= hunk.first <= edit.end_line + 1
    return edit.start_line <= hunk.last and hunk.first <= edit.end_line
