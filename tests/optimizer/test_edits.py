"""Placing edits and applying them: numbers of the original, all or nothing, bytes kept."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.source import split_lines
from optimizer.edits import apply, diff, resolve
from optimizer.types import Edit

LINES = "".join(f"line {number};\n" for number in range(1, 11))
REPEATED = "top\n{\n  x();\n}\nmiddle\n{\n  x();\n}\n" + "filler\n" * 60 + "{\n  x();\n}\n"


def edit(start: int, end: int, new: str, original: str = "", file: str = "a.cu") -> Edit:
    return Edit(file, start, end, original, new, ("S1",))


def applied(text: str, *edits: Edit) -> str:
    found = resolve(edits, {"a.cu": text})
    assert found.problems == ()
    return apply(found.edits, {"a.cu": text})["a.cu"]


def problem(text: str, *edits: Edit) -> str:
    found = resolve(edits, {"a.cu": text})
    assert found.edits == ()
    return found.problems[0]


def test_numbers_refer_to_the_original_in_any_order() -> None:
    text = applied(
        LINES,
        edit(9, 9, "nine\n", "line 9;"),
        edit(2, 2, "two\nand more\n", "line 2;"),
        edit(4, 5, "", "line 4;\nline 5;"),
    )
    assert text == LINES.replace("line 9;", "nine").replace("line 2;", "two\nand more").replace(
        "line 4;\nline 5;\n", ""
    )


@pytest.mark.parametrize(
    ("start", "original", "expected"),
    [(3, "line 2;", 3), (3, "line 3;", 3), (1, "", 1), (11, "line 10;", 11), (5, "line 7;", 8)],
)
def test_an_insertion_stands_behind_its_anchor(start: int, original: str, expected: int) -> None:
    (found,) = resolve([edit(start, start - 1, "new\n", original)], {"a.cu": LINES}).edits
    assert (found.start_line, found.end_line, found.anchored) == (expected, expected - 1, expected != start)


def test_two_insertions_at_one_place_keep_their_order() -> None:
    assert applied("a\nb\n", edit(2, 1, "1\n", "a"), edit(2, 1, "2\n", "a")) == "a\n1\n2\nb\n"


def test_wrong_numbers_are_mended_by_the_text_when_it_stands_once() -> None:
    (found,) = resolve([edit(2, 3, "x\n", "line 6;\nline 7;")], {"a.cu": LINES}).edits
    assert (found.start_line, found.end_line, found.anchored) == (6, 7, True)


def test_of_several_places_the_only_near_one_counts() -> None:
    (found,) = resolve([edit(66, 68, "y\n", "{\n  x();\n}")], {"a.cu": REPEATED}).edits
    assert found.start_line == 69
    assert "stands at lines 2, 6, 69" in problem(REPEATED, edit(4, 6, "y\n", "{\n  x();\n}"))


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([edit(2, 3, "x", "line 2;\nline 4;")], "is not there; line 3 is 'line 3;', not 'line 4;'"),
        ([edit(8, 3400, "x", "line 8;")], "only 10 lines"),
        ([edit(13, 12, "x", "line 10;")], "only 10 lines"),
        ([edit(13, 13, "x", "line 11;")], "is not there"),
        ([edit(-1, 2, "x", "line 8;")], "neither line numbers"),
        ([edit(5, 3, "x", "line 5;")], "before it starts"),
        ([edit(2, 9, "x", "line 2;")], "original text has 1 lines"),
        ([edit(2, 4, "x"), edit(4, 5, "y")], "Edits 1 and 2 overlap"),
        ([edit(2, 6, "x"), edit(4, 3, "y")], "overlap"),
        ([edit(2, 2, "x"), edit(2, 2, "x")], "overlap"),
        ([edit(2, 2, "a\rb")], "control character"),
        ([edit(2, 2, "a\0b")], "control character"),
        ([edit(2, 2, "a\x0cb")], "control character"),
        ([edit(2, 2, "\ud800")], "half a character"),
        ([edit(2, 2, "x", file="b.cu")], "not a file of the program (a.cu)"),
        ([edit(2, 2, "x", file="../a.cu")], "outside the program"),
        ([edit(2, 2, "x", file="/etc/a.cu")], "outside the program"),
    ],
)
def test_what_cannot_be_placed_is_refused_whole(edits: list[Edit], words: str) -> None:
    assert words in problem(LINES, edit(1, 1, "fine\n", "line 1;"), *edits).replace("Edits 2 and 3", "Edits 1 and 2")


def test_a_file_may_be_named_by_its_end_when_that_is_clear() -> None:
    one = {"src/a.cu": LINES}
    assert resolve([edit(1, 1, "x\n")], one).edits[0].file == "src/a.cu"
    two = {**one, "lib/a.cu": LINES}
    assert "any of lib/a.cu, src/a.cu" in resolve([edit(1, 1, "x\n")], two).problems[0]


@pytest.mark.parametrize("mark", ["|", ":", " |", "| "])
def test_line_numbers_copied_from_the_prompt_are_removed(mark: str) -> None:
    def number(text: str) -> str:
        return "".join(f"{n}{mark} {line}" for n, line in enumerate(split_lines(text), 2))

    found = resolve([edit(2, 3, number("a();\n\n  b();\n"), number("line 2;\nline 3;\n"))], {"a.cu": LINES})
    assert applied(LINES, *found.edits).startswith("line 1;\n")
    assert [line.strip() for line in found.edits[0].new_text.split("\n")] == ["a();", "", "b();", ""]
    assert found.notes


def test_labels_that_look_like_numbers_stay() -> None:
    assert applied(LINES, edit(2, 2, "5: x();\n3: y();\n", "line 2;")) == LINES.replace("line 2;", "5: x();\n3: y();")


def test_tabs_and_trailing_blanks_do_not_keep_text_from_matching() -> None:
    assert applied("\tint a;  \n\tint b;\n", edit(1, 1, "\tint c;\n", "    int a;\n")) == "\tint c;\n\tint b;\n"


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        ("a\r\nb\r\nc\r\n", edit(2, 2, "x\ny\n", "b"), "a\r\nx\r\ny\r\nc\r\n"),
        ("a\r\nb\nc\r\n", edit(1, 3, "a\nb\nd\n", "a\nb\nc"), "a\r\nb\nd\r\n"),
        ("a\nb", edit(2, 2, "x\n", "b"), "a\nx"),
        ("a\nb", edit(3, 2, "x\n", "b"), "a\nb\nx"),
        ("a\r\nb", edit(2, 2, "x\ny", "b"), "a\r\nx\r\ny"),
        ("a\nb", edit(2, 2, "", "b"), "a"),
        ("a\nb\n", edit(2, 2, "", "b"), "a\n"),
        ("a\nb\n", edit(2, 2, "x", "b"), "a\nx\n"),
        ("a\nb\n", edit(1, 1, "\n", "a"), "\nb\n"),
        ("a\x0cb\u2028c\nd\n", edit(2, 2, "e\n", "d"), "a\x0cb\u2028c\ne\n"),
        ("caf\udce9\nb\n", edit(2, 2, "c\n", "b"), "caf\udce9\nc\n"),
        ("caf\udce9\nb\n", edit(1, 1, "tea\n", "caf\ufffd"), "tea\nb\n"),
    ],
)
def test_line_ends_and_odd_bytes_are_kept(text: str, change: Edit, expected: str) -> None:
    assert applied(text, change) == expected


@given(st.lists(st.sampled_from(["a", "b", ""]), max_size=8), st.data(), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_lines_outside_the_edit_never_change(lines: list[str], data: st.DataObject, ended: bool, end: str) -> None:
    text = end.join(lines) + (end if ended and lines else "")
    count = len(split_lines(text))
    start = data.draw(st.integers(1, count + 1))
    stop = data.draw(st.integers(start - 1, count))
    after = applied(text, edit(start, stop, data.draw(st.sampled_from(["", "new\n", "new\n\nnew"])) or "x\n"))
    old, new = [line.rstrip("\r\n") for line in split_lines(text)], [line.rstrip("\r\n") for line in split_lines(after)]
    assert new[: start - 1] == old[: start - 1]
    assert new[len(new) - (count - stop) :] == old[stop:] or count == stop
    assert after.endswith("\n") == text.endswith("\n") or not text or not after


@pytest.mark.parametrize("before", [LINES, LINES.rstrip("\n"), LINES.replace("\n", "\r\n"), "a\x0cb\n" + LINES])
def test_git_applies_the_diff(tmp_path: Path, before: str) -> None:
    name = "with space.cu"
    after = apply(
        resolve([edit(10, 10, "x\ny\n", file=name), edit(1, 0, "top\n", file=name)], {name: before}).edits,
        {name: before},
    )
    (tmp_path / name).write_bytes(before.encode())
    patch = diff({name: before}, after).encode()
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=patch, cwd=tmp_path, check=True)
    assert (tmp_path / name).read_bytes() == after[name].encode()
