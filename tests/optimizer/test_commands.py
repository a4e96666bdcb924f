"""``prompt`` and ``check_answer`` from the shell: documents that fit their schemas, exit codes, sentences."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from jsonschema import Draft202012Validator

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "samples" / "rowrank" / "rowrank.ncu-rep"
SOURCE = ROOT / "samples" / "rowrank"
GOOD = {
    "summary": "",
    "edits": [
        {
            "file": "rowrank.cu",
            "start_line": 57,
            "end_line": 57,
            "original_text": "            float labelled = scores[(long long)row * cols + labels[row]];",
            "new_text": "            const float labelled = scores[(long long)row * cols + labels[row]];\n",
            "evidence": ["S1"],
            "rationale": "",
            "expect": [],
        }
    ],
    "not_applied": [],
}


def run(*words: object) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(*map(str, words), stdout=out, stderr=err)
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, out.getvalue(), err.getvalue()


def valid(name: str, text: str) -> dict[str, Any]:
    document = json.loads(text)
    schema = json.loads((ROOT / "docs" / "schemas" / f"{name}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(document)
    return document


def check_answer(tmp_path: Path, answer: object, *words: object) -> tuple[int, str, str]:
    file = tmp_path / "answer.txt"
    file.write_text(answer if isinstance(answer, str) else json.dumps(answer))
    return run("check_answer", file, "--report", REPORT, "--source", SOURCE, *words)


def test_prompt_prints_the_text_and_its_size_apart() -> None:
    code, text, aside = run("prompt", REPORT, "--source", SOURCE)
    assert code == 0
    document = valid("prompt", run("prompt", REPORT, "--source", SOURCE, "--format", "json")[1])
    assert text.strip() == document["text"].strip()
    assert f"about {document['tokens_estimated']:,} tokens" in aside
    assert document["kernels"] == ["rank_rows", "fill_scores"]
    assert document["sources"] == ["roofline", "stalls", "counters", "findings"]


def test_prompt_takes_kinds_and_kernels() -> None:
    words = ("prompt", REPORT, "--source", SOURCE, "--kernel", "rank_rows", "--evidence", "none", "--format", "json")
    document = valid("prompt", run(*words)[1])
    assert (document["kernels"], document["sources"], document["labels"]) == (["rank_rows"], [], [])


def test_the_kernels_of_the_manifest_stand_in_for_the_hot_ones(tmp_path: Path) -> None:
    (tmp_path / "rowrank.cu").write_bytes((SOURCE / "rowrank.cu").read_bytes())
    (tmp_path / "optimas.toml").write_text(
        (SOURCE / "optimas.toml").read_text() + '\n[kernels]\ninclude = ["count_top"]\n'
    )
    assert json.loads(run("prompt", REPORT, "--source", tmp_path, "--format", "json")[1])["kernels"] == ["count_top"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((REPORT, "--source", SOURCE, "--kernel", "nope"), "no kernel nope"),
        ((REPORT, "--source", SOURCE, "--evidence", "guesses"), "names no kind"),
        ((REPORT, "--source", ROOT / "nowhere"), "is not a folder"),
        ((SOURCE / "rowrank.cu", "--source", SOURCE), "rowrank.cu"),
        ((REPORT, "--source", SOURCE, "--budget", "10"), "more than the budget"),
    ],
)
def test_bad_input_ends_with_2_and_a_sentence(words: tuple[object, ...], said: str) -> None:
    code, out, err = run("prompt", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_a_good_answer_ends_with_0_and_its_diff(tmp_path: Path) -> None:
    code, text, _ = check_answer(tmp_path, GOOD, "--format", "json")
    document = valid("answer", text)
    assert code == 0
    assert [gate["status"] for gate in document["gates"]] == ["passed", "passed", "passed"]
    assert document["citations"]["cited"] == ["S1"]
    assert "+            const float labelled" in document["diff"]
    assert "+            const float labelled" in check_answer(tmp_path, GOOD)[1]


@pytest.mark.parametrize(
    ("change", "gate", "words"),
    [
        ({"original_text": "nowhere to be found"}, 0, "is not there"),
        ({"evidence": ["E99"]}, 1, "cites E99"),
        ({"evidence": []}, 1, "cites no evidence"),
        ({"expect": [{"evidence": "E99", "direction": "up", "by_percent": None}]}, 1, "cites E99"),
        ({"start_line": 80, "end_line": 80, "original_text": ""}, 2, "region: Line 80 of rowrank.cu"),
        ({"new_text": GOOD["edits"][0]["original_text"] + " // faster\n"}, 2, "no_op: Line 57 of rowrank.cu"),  # type: ignore[index]
    ],
)
def test_a_bad_answer_ends_with_1_at_the_right_gate(
    tmp_path: Path, change: dict[str, object], gate: int, words: str
) -> None:
    answer = {**GOOD, "edits": [{**GOOD["edits"][0], **change}]}  # type: ignore[index, dict-item]
    code, text, _ = check_answer(tmp_path, answer, "--format", "json")
    document = valid("answer", text)
    assert code == 1
    assert [each["status"] for each in document["gates"]][gate] == "failed"
    assert {each["status"] for each in document["gates"][gate + 1 :]} <= {"not_run"}
    assert words in document["gates"][gate]["reason"]


@pytest.mark.parametrize(
    "answer", ["", "I cannot help.", "{", '{"edits": []}', "\0\1\2", '{"edits": [{"file": "\\ud800", "new_text": ""}]}']
)
def test_any_text_is_an_answer_with_a_document(tmp_path: Path, answer: str) -> None:
    code, text, err = check_answer(tmp_path, answer, "--format", "json")
    assert (code, err) == (1, "")
    assert valid("answer", text)["message"]


def test_code_only_prompts_need_no_citations(tmp_path: Path) -> None:
    answer = {**GOOD, "edits": [{**GOOD["edits"][0], "evidence": []}]}  # type: ignore[index, dict-item]
    code, text, _ = check_answer(tmp_path, answer, "--evidence", "none", "--format", "json")
    assert code == 0
    assert valid("answer", text)["gates"][1]["status"] == "not_applicable"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_an_answer_may_carry_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "answer.json"
    file.write_bytes(json.dumps(GOOD).encode(encoding))
    assert run("check_answer", file, "--report", REPORT, "--source", SOURCE)[0] == 0


def test_a_missing_answer_ends_with_2(tmp_path: Path) -> None:
    code, _, err = run("check_answer", tmp_path / "none.txt", "--report", REPORT, "--source", SOURCE)
    assert code == 2
    assert "none.txt cannot be read" in err


def test_every_rule_and_every_form_is_documented() -> None:
    from optimizer.guards import GUARDS

    guards = (ROOT / "docs" / "guards.md").read_text()
    answers = (ROOT / "docs" / "answers.md").read_text()
    assert all(f"| `{rule}` |" in guards for rule in GUARDS)
    schema = json.loads((ROOT / "docs" / "schemas" / "answer.schema.json").read_text())
    assert all(f"| `{outcome}` |" in answers for outcome in schema["properties"]["outcome"]["enum"])
