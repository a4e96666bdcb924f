"""Which evidence a stretch of change was made for."""

from __future__ import annotations

import pytest

from evaluation.changes import changes
from optimizer import edits as line_edits
from optimizer.types import Edit

BEFORE = {"a.cu": "".join(f"line {n};\n" for n in range(1, 13)), "b.cu": "x;\n"}


def edit(first: int, last: int, text: str, *labels: str) -> Edit:
    lines = BEFORE["a.cu"].splitlines()
    return Edit("a.cu", first, last, "\n".join(lines[first - 1 : last]), text, labels)


def labels(*edits: Edit) -> list[tuple[str, ...]]:
    (found,) = changes(BEFORE, line_edits.apply(edits, BEFORE), edits)
    assert found.path == "a.cu"
    return [note.evidence for note in found.notes]


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([edit(3, 3, "new;", "S1")], [("S1",)]),
        ([edit(3, 3, "new;", "S1"), edit(9, 10, "other;", "S2", "H1")], [("S1",), ("S2", "H1")]),
        ([edit(3, 3, "new;", "S1"), edit(4, 4, "next;", "R1", "S1")], [("S1", "R1")]),
        ([edit(5, 4, "added;", "S1")], [("S1",)]),
        ([edit(5, 6, "added;\nline 5;\nline 6;", "S1")], [("S1",)]),
        ([edit(5, 6, "line 5;\nline 6;\nadded;", "S1")], [("S1",)]),
        ([edit(5, 6, "", "S1"), edit(8, 8, "new;")], [("S1",), ()]),
    ],
)
def test_a_hunk_carries_the_evidence_of_the_edits_that_made_it(edits, expected):
    assert labels(*edits) == expected


def test_files_that_stay_are_left_out():
    assert changes(BEFORE, BEFORE, ()) == ()
