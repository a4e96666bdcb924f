"""What models write, read into edits or refused with what is wrong."""

from __future__ import annotations

import json
from time import process_time

import pytest

from optimizer.answer import read
from optimizer.types import Answer

EDIT = {
    "file": "ponds.cu",
    "start_line": 3,
    "end_line": 4,
    "original_text": "  a();\n  b();\n",
    "new_text": "  b();\n",
    "evidence": ["S1", "R1"],
    "rationale": "one call less",
    "expect": [{"evidence": "S1", "direction": "down", "by_percent": 40}],
}
ANSWER = {"summary": "less", "edits": [EDIT], "not_applied": [{"evidence": ["H2"], "reason": "too risky"}]}
GOOD = json.dumps(ANSWER, indent=1)


def same_edit(answer: Answer) -> bool:
    return answer.outcome == "edits" and answer.edits == read(GOOD).edits


def test_the_contract_is_read_whole() -> None:
    answer = read(GOOD)
    (edit,) = answer.edits
    assert (answer.outcome, answer.summary, answer.form, answer.notes) == ("edits", "less", "json", ())
    assert (edit.file, edit.start_line, edit.end_line, edit.evidence) == ("ponds.cu", 3, 4, ("S1", "R1"))
    assert (edit.expect[0].evidence, edit.expect[0].direction, edit.expect[0].by_percent) == ("S1", "down", 40.0)
    assert answer.not_applied[0].evidence == ("H2",)


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{GOOD}\n```",
        f"Here it is {{as asked}}:\n\n```json\n{GOOD}\n```\nIt saves a call: {{ b(); }}",
        f"\ufeff{GOOD}",
        GOOD.replace("\n", "\r\n"),
        GOOD.replace('"evidence": [\n    "S1",\n    "R1"\n   ]', '"evidence": "S1, R1"'),
        GOOD.replace('"S1",\n    "R1"', '"[S1]",\n    "[R1]"'),
        GOOD.replace('"start_line": 3', '"start_line": "3"').replace('"end_line": 4', '"end_line": 4.0'),
        "<think>maybe " + GOOD.replace("less", "more") + "</think>\n\n" + GOOD,
        "<think>a</think><think>{\"edits\": []}</think>" + GOOD,
        "the tag was swallowed </think>" + GOOD,
        GOOD + "\n" + GOOD,
    ],
)  # fmt: skip
def test_wrapping_does_not_change_the_edit(text: str) -> None:
    assert same_edit(read(text))


@pytest.mark.parametrize(
    "text", [GOOD.replace("40\n    }", "40,\n    },"), GOOD[:-1] + ",}", GOOD.replace('"  b();\\n"', '"  b();\n"')]
)
def test_small_repairs_are_made_and_named(text: str) -> None:
    answer = read(text)
    assert same_edit(answer)
    assert answer.notes


def test_commas_and_brackets_inside_code_survive_the_repair() -> None:
    text = json.dumps({"edits": [{**EDIT, "new_text": 'int a[] = {1, 2,}; f("x,]");\n'}]})[:-1] + ",}"
    assert read(text).edits[0].new_text == 'int a[] = {1, 2,}; f("x,]");\n'


@pytest.mark.parametrize(
    ("text", "outcome", "words"),
    [
        ("", "empty", "nothing"),
        (" \n ", "empty", "nothing"),
        ("<think>all I have</think>  ", "empty", "thought"),
        ('<think>\nI would answer {"edits": []} but first', "cut_off", "thinking"),
        (GOOD[: len(GOOD) // 2], "cut_off", "middle"),
        ("```json\n" + GOOD[: len(GOOD) // 2], "cut_off", "middle"),
        ('{"edits": [], "summary": "already optimal"}', "no_change", "already optimal"),
        (
            '{"summary": "none", "edits": [], "not_applied": [{"evidence": ["S1"], "reason": "x"}]}',
            "no_change",
            "no edit",
        ),
        ("I'm sorry, but I can't help with that.", "declined", "sorry"),
        ("I cannot assist with this request.", "declined", "cannot"),
        ('{"error": {"message": "rate limit", "code": 429}}', "unreadable", "error message"),
        ("<html><body>502 Bad Gateway</body></html>", "unreadable", "error message"),
        ("The kernel is slow because of strided loads.", "unreadable", "no edits"),
        ("{'edits': [], 'summary': 'x', // none\n}", "unreadable", "single quotes"),
        ('{"edits": [] // none\n}', "unreadable", "comment"),
        ('{"edits": [/* none */]}', "unreadable", "comment"),
        ('{"edits": [NaN]}', "unreadable", "NaN"),
        ('{"edits": [], "edits": [1]}', "unreadable", "same key twice"),
        ('{"edits": {}}', "unreadable", "Edits is an object"),
        ('{"edits": [3]}', "unreadable", "Edit 1 is a number"),
        ('{"edits": [{"file": "a"}]}', "unreadable", "no new_text"),
        ('{"edits": [{"file": "a", "new_text": null}]}', "unreadable", "new_text is null"),
        ('{"edits": [{"file": "a", "new_text": "x", "start_line": 2.5}]}', "unreadable", "not a line number"),
        ('{"edits": [{"file": "a", "new_text": "x", "start_line": -1}]}', "unreadable", "no file has"),
        ('{"edits": [{"file": "a", "new_text": "x", "start_line": 99999999}]}', "unreadable", "no file has"),
        ('{"edits": [{"file": "a", "new_text": "x", "start_line": true}]}', "unreadable", "not a line number"),
        (
            '{"edits": [{"file": "a", "new_text": "x", "expect": [{"direction": "sideways"}]}]}',
            "unreadable",
            "down or up",
        ),
        ('{"edits": []}\n{"edits": [{"file": "a", "new_text": "b"}]}', "unreadable", "2 different"),
        ('{"edits": ' + "[" * 100_000 + "]" * 100_000 + "}", "unreadable", "nested"),
        ('{"edits": [{"file": "a", "new_text": "x", "start_line": ' + "9" * 5000 + "}]}", "unreadable", "too long"),
        (GOOD.replace("40", "1e999"), "unreadable", "by_percent"),
        (GOOD.replace("40", "9" * 400), "unreadable", "by_percent"),
        ("--- a/x.cpp\n+++ b/x.cpp\n@@ -" + "9" * 5000 + ",1 +1,1 @@\n-x\n+y\n", "unreadable", "no edits"),
    ],
)
def test_what_cannot_be_used_is_named(text: str, outcome: str, words: str) -> None:
    answer = read(text)
    assert answer.outcome == outcome
    assert words in answer.message
    assert answer.edits == ()


@pytest.mark.parametrize(
    ("stop", "outcome"), [("length", "cut_off"), ("refusal", "declined"), ("filter", "filtered"), ("empty", "empty")]
)
def test_why_the_model_stopped_decides_before_its_text(stop: str, outcome: str) -> None:
    assert read(GOOD, stop).outcome == outcome  # type: ignore[arg-type]
    assert read(GOOD, stop).edits == ()  # type: ignore[arg-type]


def test_a_think_tag_inside_code_stays() -> None:
    text = json.dumps({"edits": [{**EDIT, "new_text": "// <think> never closed\nb();\n"}]})
    assert read(text).edits[0].new_text == "// <think> never closed\nb();\n"


def test_characters_that_no_database_stores_are_shown_as_signs_in_prose() -> None:
    answer = read(json.dumps({"summary": "a\0b\ud800c", "edits": [EDIT]}))
    assert answer.summary == "a\ufffdb\ufffdc"


def test_a_huge_answer_is_refused_at_once() -> None:
    assert "characters" in read("x" * 4_000_001).message


@pytest.mark.parametrize(
    "piece",
    ["{", '{"edits":', '{"edits":[],"a":', '"edits":"\\', '"edits":[,', "```\n", "```cpp\n", '{"a":"{"}', "<think>"],
)
def test_an_answer_made_to_cost_time_is_read_in_moments(piece: str) -> None:
    """Each of these took minutes when every place was looked at anew."""
    start = process_time()
    assert read('{"edits":' + piece * (200_000 // len(piece))).edits == ()
    assert process_time() - start < 15
