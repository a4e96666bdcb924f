from __future__ import annotations

import re
from html import unescape

import pytest

from analysis.source import split_lines
from optimas_web.difference import inner_changes, side_by_side
from optimas_web.listing import code_lines, heat_level, language

HOSTILE = "int a = 1 < 2; // <script>alert(\"x\")</script> & 'quotes'\n/* over\n  two lines */ char c = '\\n';\r\nend"


def text_of(markup: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", markup))


@pytest.mark.parametrize(
    "path", ["a.cu", "a.cpp", "a.h", "Makefile", "optimas.toml", "a.json", "a.patch", "notes.txt", "a.sh"]
)
@pytest.mark.parametrize("text", [HOSTILE, "", "\n", "a\n\n\nb\n", "no end", "\r\n\r\n", "\f\x0b one line\n"])
def test_lines_are_the_ones_compilers_count_and_their_text_is_kept(path, text):
    lines = code_lines(text, path)
    assert [text_of(line.markup) for line in lines] == [line.rstrip("\n").rstrip("\r") for line in split_lines(text)]
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))


def test_text_of_others_never_becomes_markup():
    source = "".join(line.markup for line in code_lines(HOSTILE, "a.cu"))
    assert set(re.findall(r"</?(\w+)", source)) == {"span"}
    assert "<script" not in source


def test_code_is_coloured_by_class_names():
    assert '<span class="kt">int</span>' in code_lines("int a;", "a.cu")[0].markup
    assert language("deep/Makefile") == "make"
    assert language("LICENSE") == "text"


@pytest.mark.parametrize(
    ("share", "level"), [(None, 0), (0, 0), (0.0001, 1), (0.01, 1), (0.05, 3), (0.25, 5), (0.6, 7), (1, 9)]
)
def test_heat_goes_by_the_root_of_the_share(share, level):
    assert heat_level(share) == level


def rows(before: str, after: str) -> list[tuple[str, int | None, int | None]]:
    return [
        (block.kind, old.number if old else None, new.number if new else None)
        for block in side_by_side(before, after, "a.cu").blocks
        for old, new in block.rows
    ]


def test_changed_lines_stand_beside_each_other_and_the_rest_keeps_both_numbers():
    assert rows("a\nb\nc\n", "a\nB\nX\nc\n") == [("same", 1, 1), ("change", 2, 2), ("change", None, 3), ("same", 3, 4)]


def test_long_unchanged_stretches_are_left_out_but_for_their_ends():
    before = "".join(f"line {n}\n" for n in range(1, 41))
    found = side_by_side(before, before.replace("line 20\n", "line twenty\n"), "a.txt")
    assert [(b.kind, len(b.rows), b.skipped) for b in found.blocks] == [
        ("skipped", 0, 16),
        ("same", 3, 0),
        ("change", 1, 0),
        ("same", 3, 0),
        ("skipped", 0, 17),
    ]
    assert (found.added, found.removed) == (1, 1)


def test_every_line_of_both_versions_is_shown_or_counted_once():
    before = "".join(f"{n}\n" for n in range(60))
    after = "top\n" + before.replace("10\n", "").replace("30\n31\n", "x\ny\nz\n")
    blocks = side_by_side(before, after, "a.txt").blocks
    skipped = sum(block.skipped for block in blocks)
    for side, total in ((0, 60), (1, len(split_lines(after)))):
        numbers = [cell.number for block in blocks for row in block.rows if (cell := row[side])]
        assert numbers == sorted(set(numbers))
        assert len(numbers) + skipped == total


def test_evidence_stands_with_its_change():
    found = side_by_side("a\nb\nc\n", "A\nb\nC\n", "a.txt", {1: ["S1", "R1"]})
    assert [block.labels for block in found.blocks if block.kind == "change"] == [(), ("S1", "R1")]


def test_words_that_differ_are_marked_inside_a_line():
    assert inner_changes("x = a[i * n];", "x = a[j * n];") == ([(6, 7)], [(6, 7)])
    assert inner_changes("completely", "different words here") == ([], [])
    cells = side_by_side("x = a[i];\n", "x = a[j];\n", "a.cu").blocks[0].rows[0]
    assert ["<mark>" in cell.markup for cell in cells if cell] == [True, True]
    assert [text_of(cell.markup) for cell in cells if cell] == ["x = a[i];", "x = a[j];"]


def test_equal_versions_have_nothing_to_show():
    assert [block.kind for block in side_by_side("a\n" * 9, "a\n" * 9, "a.txt").blocks] == ["skipped"]
