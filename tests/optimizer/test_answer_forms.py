"""SEARCH/REPLACE blocks, unified diffs and whole code, as chat windows produce them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from optimizer.answer import read
from optimizer.check import check_edits
from optimizer.regions import regions

SOURCE = """#include <cstdio>

/* a plain loop */
void spread(const float* from, float* to, int n) {
    for (int i = 1; i < n - 1; ++i) {
        float west = from[i - 1];
        float east = from[i + 1];
        float mean = 0.5f * (west + east);
        to[i] = mean;
    }
}

int main() {
    return 0;
}
"""
SOURCES: Mapping[str, str] = {"src/pond.cpp": SOURCE}
AFTER = SOURCE.replace("0.5f * (west + east)", "(west + east) * 0.5f")


def judged(text: str):
    return check_edits(text, SOURCES, ("S1", "R1"), regions(SOURCES, ("spread",)), ("spread",))


BLOCK = """Evidence: S1, R1

src/pond.cpp
```cpp
<<<<<<< SEARCH
        float mean = 0.5f * (west + east);
=======
        float mean = (west + east) * 0.5f;
>>>>>>> REPLACE
```
"""
DIFF = """--- a/src/pond.cpp
+++ b/src/pond.cpp
@@ -6,4 +6,4 @@ void spread(const float* from, float* to, int n) {
         float west = from[i - 1];
         float east = from[i + 1];
-        float mean = 0.5f * (west + east);
+        float mean = (west + east) * 0.5f;
         to[i] = mean;

Evidence: S1
"""
WHOLE = f"Evidence: **S1**\n\n```cpp\n{AFTER}```\n"
FUNCTION = "Evidence: S1\n```cpp\n" + AFTER[AFTER.index("/* a plain") : AFTER.index("\nint main")] + "```\n"


@pytest.mark.parametrize(
    ("text", "form", "cited"),
    [
        (BLOCK, "search_replace", ("S1", "R1")),
        ("Sure.\n" + BLOCK.replace("```cpp\n", "").replace("```\n", ""), "search_replace", ("S1", "R1")),
        (BLOCK.replace("src/pond.cpp", "`pond.cpp`"), "search_replace", ("S1", "R1")),
        (DIFF, "diff", ("S1",)),
        (f"```diff\n{DIFF.replace('Evidence: S1', '')}```\n**Evidence:** S1", "diff", ("S1",)),
        (DIFF.replace("-6,4 +6,4", "-6,4 +6,9"), "diff", ("S1",)),
        (DIFF.replace("@@ -6,4 +6,4 @@ void spread(const float* from, float* to, int n) {", "@@"), "diff", ("S1",)),
        (DIFF.replace("\n", "\r\n"), "diff", ("S1",)),
        (WHOLE, "file", ("S1",)),
        (FUNCTION, "file", ("S1",)),
        (FUNCTION.replace("/* a plain loop */", "/* run as\n```\npond 20\n```\n(20 steps) */"), "file", ("S1",)),
    ],
)
def test_each_form_comes_to_the_same_change(text: str, form: str, cited: tuple[str, ...]) -> None:
    checked = judged(text)
    assert checked.passed, (checked.gates, checked.answer)
    assert checked.answer.form == form
    assert checked.cited == cited
    assert checked.after["src/pond.cpp"] == AFTER


def test_a_hunk_far_from_its_numbers_is_placed_by_its_text() -> None:
    checked = judged(DIFF.replace("-6,4 +6,4", "-130,4 +130,4"))
    assert checked.passed
    assert checked.answer.edits[0].anchored


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (DIFF.replace("float mean = 0.5f *", "float mean  = 0.5f *"), "is not there"),
        (BLOCK.replace("        float mean = 0.5f", "        float middle = 0.5f"), "is not there"),
        (BLOCK.replace("src/pond.cpp", "src/lake.cpp"), "not a file of the program"),
        (BLOCK.replace("        float mean = 0.5f * (west + east);\n", ""), "neither line numbers nor original text"),
        (WHOLE.replace("(west + east) * 0.5f", "0.5f * (west + east)"), "without any change"),
        (FUNCTION.replace("spread(", "spill("), "0 files define"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_was_found(text: str, words: str) -> None:
    gate = judged(text).gates[0]
    assert gate.status == "failed"
    assert words in gate.reason


@pytest.mark.parametrize(
    "text", [BLOCK[: BLOCK.index(">>>>")], BLOCK[: BLOCK.index("=====")], WHOLE[: len(WHOLE) // 2]]
)
def test_a_block_without_an_end_is_cut_off(text: str) -> None:
    assert read(text).outcome == "cut_off"


def test_a_diff_that_makes_a_file_is_refused() -> None:
    answer = read("--- /dev/null\n+++ b/new.cpp\n@@ -0,0 +1 @@\n+int x;\n")
    assert answer.outcome == "unreadable"
    assert "new.cpp" in answer.message


def test_ids_behind_each_block_belong_to_it() -> None:
    second = BLOCK.replace("float mean = 0.5f * (west + east)", "float west = from[i - 1]").replace(
        "Evidence: S1, R1\n\n", ""
    )
    first = BLOCK.replace("Evidence: S1, R1\n\n", "")
    behind = read(f"{first}\nEvidence: S1\n\n{second}\nEvidence: R1\n")
    assert [edit.evidence for edit in behind.edits] == [("S1",), ("R1",)]
    before = read(f"Evidence: S1\n\n{first}\nEvidence: R1\n{second}")
    assert [edit.evidence for edit in before.edits] == [("S1",), ("R1",)]


def test_a_block_without_ids_fails_the_citations() -> None:
    checked = judged(BLOCK.replace("Evidence: S1, R1\n", ""))
    assert [gate.status for gate in checked.gates] == ["passed", "failed", "not_run"]


def test_a_comment_in_front_of_a_function_is_left_out_and_said_to_be() -> None:
    checked = judged(FUNCTION.replace("/* a plain loop */", "/* run as\n```\npond 20\n```\n(20 steps) */"))
    assert checked.after["src/pond.cpp"] == AFTER
    assert checked.answer.notes == ("Edit 1: comments beside the functions were left out.",)


@pytest.mark.parametrize("line", ["#define TILE 32", "constexpr int TILE = 32;", "static float cache[32];"])
def test_new_code_beside_a_function_is_not_dropped_without_a_word(line: str) -> None:
    gate = judged(FUNCTION.replace("void spread", f"{line}\nvoid spread")).gates[0]
    assert gate.status == "failed"
    assert f"gives `{line}` beside its functions, which src/pond.cpp does not hold" in gate.reason
    known = judged(FUNCTION.replace("/* a plain", "#include <cstdio>\n/* a plain"))
    assert known.passed


def test_prose_with_a_snippet_that_defines_nothing_is_no_answer() -> None:
    assert read("Use this:\n```cpp\nfloat mean = 1;\n```\n").outcome == "unreadable"
