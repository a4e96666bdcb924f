"""A unified diff becomes exact edits, or one sentence why not."""

import subprocess

import pytest

from analysis.source import split_lines
from evaluation.patch import read

TEXT = "".join(f"line {n}\n" for n in range(1, 21))


def applied(edits, text):
    lines = split_lines(text)
    for edit in sorted(edits, key=lambda each: -each.start_line):
        lines[edit.start_line - 1 : edit.end_line] = split_lines(edit.new_text)
    return "".join(lines)


CHANGES = {
    "one line": TEXT.replace("line 7\n", "seven\n"),
    "two places in one hunk": TEXT.replace("line 7\n", "seven\n").replace("line 9\n", "nine\nmore\n"),
    "far apart": TEXT.replace("line 2\n", "").replace("line 19\n", "-- nineteen\n++ more\n"),
    "insertion": TEXT.replace("line 7\n", "line 7\n\nnew\n"),
    "at the top": "new\n" + TEXT,
    "at the end": TEXT + "new\n",
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("context", [0, 3])
def test_what_diff_writes_is_read_back(name, context, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "k.cpp").write_text(TEXT)
    (tmp_path / "b.cpp").write_text(CHANGES[name])
    written = subprocess.run(
        ["diff", f"-U{context}", "--label", "a/k.cpp", "--label", "b/k.cpp", "a/k.cpp", "b.cpp"],
        cwd=tmp_path, capture_output=True, text=True,
    ).stdout  # fmt: skip
    answer = read(written, {"k.cpp": TEXT})
    assert answer.outcome == "edits"
    assert applied(answer.edits, TEXT) == CHANGES[name]
    for edit in answer.edits:
        assert "".join(split_lines(TEXT)[edit.start_line - 1 : edit.end_line]) == edit.original_text


def test_only_changed_lines_are_part_of_an_edit():
    patch = "--- a/k.cpp\n+++ b/k.cpp\n@@ -5,5 +5,5 @@ void f()\n line 5\n line 6\n-line 7\n+seven\n line 8\n line 9\n"
    (edit,) = read(patch, {"k.cpp": TEXT}).edits
    assert (edit.start_line, edit.end_line, edit.new_text) == (7, 7, "seven\n")


def test_a_hunk_that_stands_elsewhere_is_moved_to_its_text():
    patch = "--- k.cpp\n+++ k.cpp\n@@ -2,2 +2,2 @@\n line 14\n-line 15\n+fifteen\n"
    assert [edit.start_line for edit in read(patch, {"k.cpp": TEXT}).edits] == [15]


def test_a_missing_last_newline_is_kept_as_it_is():
    no_newline = "\\ No newline at end of file\n"
    patch = f"--- a/k.cpp\n+++ b/k.cpp\n@@ -1 +1 @@\n-old\n{no_newline}+new\n{no_newline}"
    (edit,) = read(patch, {"k.cpp": "old"}).edits
    assert (edit.original_text, edit.new_text) == ("old", "new")


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ("--- a/x.cpp\n+++ b/x.cpp\n@@ -1 +1 @@\n-a\n+b\n", "x.cpp, which is no source file"),
        ("--- /dev/null\n+++ b/new.cpp\n@@ -0,0 +1 @@\n+b\n", "new files are not taken"),
        ("--- a/k.cpp\n+++ /dev/null\n@@ -1 +0,0 @@\n-line 1\n", "changes /dev/null"),
        ("@@ -1 +1 @@\n-line 1\n+b\n", "before any line that names a file"),
        ("+++ b/k.cpp\n@@ -1,3 +1,3 @@\n-line 1\n+b\n", "shorter than its header"),
        ("+++ b/k.cpp\n@@ -1 +1 @@\n-line one\n+b\n", "line 1 of k.cpp does not stand in that file"),
        (f"+++ b/k.cpp\n@@ -{'9' * 5000} +1 @@\n-line one\n+b\n", "line 2 of the patch is no hunk"),
    ],
)
def test_what_does_not_apply_is_said_in_a_sentence(patch, words):
    answer = read(patch, {"k.cpp": TEXT})
    assert (answer.outcome, answer.edits) == ("unreadable", ())
    assert words in answer.message


@pytest.mark.parametrize("patch", ["", "nothing here\n", "--- a/k.cpp\n+++ b/k.cpp\n"])
def test_a_patch_without_hunks_changes_nothing(patch):
    assert read(patch, {"k.cpp": TEXT}).outcome == "no_change"
