"""From edits to files before and after, with the evidence and the cost of their lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis import align
from analysis.align import Hunk
from analysis.source import split_lines
from analysis.types import Evidence
from optimizer import edits as line_edits
from optimizer.placing import text_lines
from optimizer.types import Edit
from reviews.types import Change, Document, FileChange, Known, Promise


def changes(known: Known) -> tuple[Change, ...]:
    """The edits in the order of the answer, each with what it promised and what came of that."""
    ledger = iter(_ledger(known.document))
    return tuple(
        Change(
            number=number,
            edit=edit,
            evidence=edit.evidence,
            promises=tuple(_promises(edit, ledger)),
        )
        for number, edit in enumerate(known.edits, 1)
    )


def _ledger(document: Document | None) -> Sequence[Mapping[str, Any]]:
    """What became of the promises of all edits, in their order; empty when nothing was scored."""
    ear = (document or {}).get("ear") or {}
    rows: Sequence[Mapping[str, Any]] = ear.get("direction", {}).get("parts", {}).get("promises", ())
    return rows


def _promises(edit: Edit, ledger: Iterator[Mapping[str, Any]]) -> Iterator[Promise]:
    for expected in edit.expect:
        row = next(ledger, {})
        sign = -1 if expected.direction == "down" else 1
        yield Promise(
            label=expected.evidence,
            direction=expected.direction,
            predicted=None if expected.by_percent is None else sign * expected.by_percent / 100,
            measured=_share(row.get("measured_percent")),
            outcome=row.get("outcome", "not_measured"),
        )


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def placed(known: Known) -> bool:
    """Whether the edits fit the files: gate 1 moved them to where they belong, or refused them as written."""
    return any(gate.name == "parse" and gate.status == "passed" for gate in known.gates)


def files(known: Known, found: Sequence[Change]) -> tuple[FileChange, ...]:
    """Changed files in the order of the answer, then files that only evidence points at."""
    changed = found if placed(known) else ()
    paths = dict.fromkeys([each.edit.file for each in changed] + [item.file for item in known.offered if item.file])
    held = [path for path in paths if path in known.sources]
    after = line_edits.apply([each.edit for each in changed], {path: known.sources[path] for path in held})
    return tuple(
        _file(known, path, after[path], [each for each in changed if each.edit.file == path], f"f{index}-")
        for index, path in enumerate(held)
    )


def _file(known: Known, path: str, after: str, found: Sequence[Change], anchor: str) -> FileChange:
    before = known.sources[path]
    noted = list(_hunks(before, after, found))
    return FileChange(
        path=path,
        before=before,
        after=after,
        hunks=tuple(hunk for hunk, _ in noted),
        notes=tuple(change for _, change in noted),
        heat=heat(known, path),
        marks=marks(known.offered, path, len(split_lines(before))),
        anchor=anchor,
    )


def _hunks(before: str, after: str, found: Sequence[Change]) -> Iterator[tuple[Hunk, Change]]:
    """What each edit really changes, in the order of lines. Only the edits' own lines are compared, so that a long
    file costs nothing."""
    old, new = split_lines(before), split_lines(after)
    ahead = 0
    for change in sorted(found, key=lambda each: (each.edit.start_line, each.edit.end_line, each.number)):
        start, end = change.edit.start_line - 1, change.edit.end_line
        count = len(text_lines(change.edit.new_text))
        here = slice(start + ahead, start + ahead + count)
        for hunk in align.hunks("".join(old[start:end]), "".join(new[here])):
            yield _moved(hunk, start, start + ahead), change
        ahead += count - (end - start)


def _moved(hunk: Hunk, by: int, new_by: int) -> Hunk:
    return Hunk(hunk.first + by, hunk.last + by, hunk.new_first + new_by, hunk.new_last + new_by)


def unplaced(known: Known, found: Iterable[Change]) -> tuple[FileChange, ...]:
    """Edits that gate 1 could not place, as they were written: their own two texts, with numbers from 1."""
    return () if placed(known) else tuple(_as_written(change) for change in found)


def _as_written(change: Change) -> FileChange:
    before, after = change.edit.original_text, change.edit.new_text
    hunks = align.hunks(before, after)
    return FileChange(change.edit.file, before, after, hunks, (change,) * len(hunks), {}, {}, "")


def heat(known: Known, path: str) -> Mapping[int, float]:
    """Line -> share of its kernel's cost; the larger one where two kernels share a line."""
    found: dict[int, float] = {}
    for stalls in known.stalls.values():
        for line in stalls.lines:
            if line.file == path and line.line is not None:
                found[line.line] = max(line.share, found.get(line.line, 0.0))
    return found


def marks(offered: Iterable[Evidence], path: str, last: int) -> Mapping[int, Sequence[str]]:
    """Line -> labels of the evidence that points at it; ``last``: how many lines there are."""
    found: dict[int, list[str]] = defaultdict(list)
    for item in offered:
        if item.file == path and item.lines:
            for line in range(max(1, item.lines[0]), min(last, item.lines[1]) + 1):
                found[line].append(item.label)
    return found
