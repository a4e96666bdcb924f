"""The attempt page: evidence, change and proof of one attempt, put together from what is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.types import Evidence
from reviews import changes, proof
from reviews.types import Change, FileChange, Item, Known, Page


def page(known: Known) -> Page:
    found = changes.changes(known)
    files = changes.files(known, found)
    document = known.document
    return Page(
        headline=proof.headline(known),
        labels=frozenset(item.label for item in known.offered),
        items=items(known, found, files),
        files=files,
        unplaced=changes.unplaced(known, found),
        gates=proof.all_gates(known),
        scopes=proof.timings(document, known.names) if document else (),
        pairs=proof.raw_pairs(document, known.names) if document else {},
        outputs=tuple(document.get("outputs") or ()) if document else (),
        scores=proof.scores(document) if document else (),
        cost_unit=next((stalls.unit for stalls in known.stalls.values()), ""),
    )


def items(known: Known, found: Iterable[Change], files: Iterable[FileChange]) -> tuple[Item, ...]:
    """The offered evidence in its own order, with what became of it."""
    ear = (known.document or {}).get("ear") or {}
    measured = {row["label"]: row for row in ear.get("direction", {}).get("parts", {}).get("evidence", ())}
    anchors = {file.path: file.anchor for file in files}
    turned_down = {label for entry in known.not_applied for label in entry.evidence}
    citing = [(change.number, change.evidence) for change in found]
    return tuple(
        Item(
            evidence=each,
            kernel=known.names.get(each.kernel, each.kernel),
            anchor=anchor(each, anchors),
            changes=tuple(number for number, labels in citing if each.label in labels),
            turned_down=each.label in turned_down,
            **again(measured.get(each.label, {})),
        )
        for each in known.offered
    )


def anchor(item: Evidence, anchors: Mapping[str, str]) -> str:
    """Where its first line stands on the page."""
    return f"{anchors[item.file]}L{item.lines[0]}" if item.lines and item.file and item.file in anchors else ""


def again(row: Mapping[str, Any]) -> dict[str, Any]:
    """An evidence metric measured again, as fields of an `Item`."""
    if not row:
        return {}
    return {
        "before": row["before"],
        "after": row["after"],
        "change": share(row["change_percent"]),
        "noise": share(row["noise_percent"]),
        "moved": row["moved_as_expected"],
    }


def share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def named_files(edited: Sequence[str], offered: Iterable[Evidence]) -> set[str]:
    """The files that the page needs the text of."""
    return {*edited, *(item.file for item in offered if item.file)}
