"""Backends: what they share, and recorded answers with labels that have changed since."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from analysis.types import Evidence
from optimas_web.errors import UserError
from optimizer import backends
from optimizer.backends import replay
from optimizer.types import BackendOptions, Completion, Prompt, Region
from tests.repository import ROOT

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "recorded.schema.json").read_text())
SNAPSHOT = "ab" * 32


def item(label: str, kind: str, line: int | None, metric: str = "m") -> Evidence:
    lines = (line, line) if line else None
    return Evidence(label, kind, "k(int)", "", metric, 1.0, "", 0.01, "down", 0.2, "a.cu" if line else None, lines)  # type: ignore[arg-type]


EVIDENCE = (item("R1", "roofline", None), item("S1", "stalls", 5), item("S2", "stalls", 6))
PROMPT = Prompt("ask", 1, ("k",), ("roofline", "stalls"), ("R1", "S1", "S2"), (Region("a.cu", 4, 8, "k", "selected"),))
EDIT = {
    "file": "a.cu",
    "start_line": 5,
    "end_line": 5,
    "original_text": "  x();",
    "new_text": "  y();",
    "evidence": ["S1", "R1"],
    "rationale": "because",
    "expect": [{"evidence": "S1", "direction": "down", "by_percent": 20.0}],
}
ANSWER = {"summary": "one call", "edits": [EDIT], "not_applied": [{"evidence": ["S2"], "reason": "no need"}]}


def recorded(**more: object) -> Mapping[str, object]:
    return {
        **replay.record(
            json.dumps(ANSWER),
            PROMPT,
            EVIDENCE,
            snapshot=SNAPSHOT,
            model="a-model",
            answered_by="A model that read this prompt.",
            recorded="2026-12-01",
        ),
        **more,
    }


HERE = [name for name in backends.BACKENDS if backends.backend(name).ORIGIN != "model"]
"""Those that ask nobody. The others are held to test_backend_contract.py."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "first.answer.json").write_text(json.dumps(recorded()))
    (tmp_path / "README.md").write_text("not an answer")
    return tmp_path


def options(folder: Path, evidence: tuple[Evidence, ...] = EVIDENCE, snapshot: str = SNAPSHOT) -> BackendOptions:
    return BackendOptions(snapshot=snapshot, evidence=evidence, recordings=(folder,))


@pytest.mark.parametrize("name", HERE)
def test_every_backend_answers_with_a_completion_and_has_a_title(name: str, folder: Path) -> None:
    found = backends.complete(name, PROMPT, replace(options(folder), text=json.dumps(ANSWER)))
    assert isinstance(found, Completion)
    assert found.stop == "end"
    assert json.loads(found.text)["edits"]
    assert backends.backend(name).TITLE


@pytest.mark.parametrize("name", list(backends.BACKENDS))
def test_every_backend_tells_beforehand_what_leaves_and_what_to_expect(name: str, folder: Path) -> None:
    assert "leaves this server" in backends.backend(name).LEAVES
    assert backends.backend(name).outlook(PROMPT, options(folder)).endswith(".")


def test_looking_at_the_choices_imports_no_client_of_a_vendor() -> None:
    code = (
        "import sys; from optimizer.backends import BACKENDS, backend; [backend(name).TITLE for name in BACKENDS];"
        "print(sorted({'openai', 'anthropic', 'google.genai', 'ollama', 'httpx', 'httpx2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_only_who_asks_a_model_is_a_vendor() -> None:
    assert backends.vendor("openai").NEEDS_KEY
    with pytest.raises(UserError, match="asks no vendor"):
        backends.vendor("paste")


def test_a_replay_without_a_recording_is_told_beforehand(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No answer is recorded"):
        backends.backend("replay").outlook(PROMPT, options(tmp_path))


@pytest.mark.parametrize("name", HERE)
def test_every_backend_without_what_it_needs_says_so(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        backends.complete(name, PROMPT, BackendOptions(recordings=(tmp_path,)))
    assert caught.value.message.endswith(".")
    assert caught.value.hint


def test_an_unknown_backend_is_named() -> None:
    with pytest.raises(UserError, match="no backend gpt"):
        backends.backend("gpt")


def test_an_empty_paste_is_an_empty_completion() -> None:
    assert backends.complete("paste", PROMPT, BackendOptions(text=" \n")).stop == "empty"


def test_a_recording_fits_its_schema_and_comes_back_as_it_was(folder: Path) -> None:
    Draft202012Validator(SCHEMA).validate(recorded())
    found = backends.complete("replay", PROMPT, options(folder))
    assert json.loads(found.text) == ANSWER
    assert found.model == "a-model"
    assert found.recorded == "Recorded on 2026-12-01: A model that read this prompt. (first.answer.json)."


def test_citations_follow_their_lines_to_new_labels(folder: Path) -> None:
    now = (item("R3", "roofline", None), item("S7", "stalls", 6), item("S9", "stalls", 5))
    prompt = replace(PROMPT, labels=("R3", "S7", "S9"))
    answer = json.loads(backends.complete("replay", prompt, options(folder, now)).text)
    assert answer["edits"][0]["evidence"] == ["S9", "R3"]
    assert answer["edits"][0]["expect"][0]["evidence"] == "S9"
    assert answer["not_applied"][0]["evidence"] == ["S7"]


@pytest.mark.parametrize(
    "now",
    [
        (item("R1", "roofline", None), item("S1", "stalls", 7)),
        (item("R1", "roofline", None), item("S1", "counters", 5)),
        (item("R1", "roofline", None), replace(item("S1", "stalls", 5), file="b.cu")),
    ],
)
def test_a_citation_without_a_match_is_not_quietly_changed(folder: Path, now: tuple[Evidence, ...]) -> None:
    prompt = replace(PROMPT, labels=("R1", "S1"))
    answer = json.loads(backends.complete("replay", prompt, options(folder, now)).text)
    assert answer["edits"][0]["evidence"] == ["?S1?", "R1"]


def test_evidence_that_is_not_offered_is_no_match(folder: Path) -> None:
    prompt = replace(PROMPT, labels=("S1", "S2"))
    answer = json.loads(backends.complete("replay", prompt, options(folder)).text)
    assert answer["edits"][0]["evidence"] == ["S1", "?R1?"]


def test_another_prompt_is_said(folder: Path) -> None:
    found = backends.complete("replay", replace(PROMPT, text="ask again"), options(folder))
    assert found.recorded.endswith("It was recorded for another prompt.")


@pytest.mark.parametrize(
    ("prompt", "snapshot"),
    [
        (PROMPT, "cd" * 32),
        (replace(PROMPT, kernels=("k", "l")), SNAPSHOT),
        (replace(PROMPT, sources=("stalls",)), SNAPSHOT),
    ],
)
def test_what_was_not_recorded_is_refused_and_the_keys_are_listed(folder: Path, prompt: Prompt, snapshot: str) -> None:
    with pytest.raises(UserError, match="No answer is recorded for snapshot") as caught:
        backends.complete("replay", prompt, options(folder, snapshot=snapshot))
    assert "snapshot abababababab, kernels k, evidence roofline, stalls" in caught.value.hint


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"schema": "optimas.recorded/2"}', '{"schema": "optimas.recorded/1"}']
)
def test_a_broken_recording_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "bad.answer.json").write_text(content)
    with pytest.raises(UserError, match=r"bad.answer.json is not a recorded answer"):
        backends.complete("replay", PROMPT, options(tmp_path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I can't help with that.", "declined"),
        ('{"edits": [], "summary": "fine"}', "makes no edit"),
        (json.dumps({**ANSWER, "edits": [{**EDIT, "evidence": ["S8"]}]}), "cites S8"),
    ],
)
def test_only_answers_that_can_be_replayed_are_recorded(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        replay.record(text, PROMPT, EVIDENCE, snapshot=SNAPSHOT, model="m", answered_by="x", recorded="2026-12-01")


def test_an_answer_file_may_be_a_recording_or_anything_else() -> None:
    assert json.loads(replay.text_of(json.dumps(recorded()), PROMPT, EVIDENCE)) == ANSWER
    assert replay.text_of("plain words", PROMPT, EVIDENCE) == "plain words"
    assert replay.text_of(json.dumps(ANSWER), PROMPT, EVIDENCE) == json.dumps(ANSWER)


@pytest.mark.parametrize(
    "broken",
    [
        {"evidence": {"S1": []}},
        {"evidence": {"S1": {"kind": "stalls", "file": "a.cu", "line": "3"}}},
        {"answer": {}},
        {"answer": {"edits": [1]}},
        {"answer": {"edits": [{"expect": [{}]}]}},
        {"answer": {"edits": {}, "not_applied": [None]}},
    ],
)
def test_an_answer_file_that_is_a_broken_recording_is_named(broken: dict) -> None:
    with pytest.raises(UserError, match=r"is not a recorded answer"):
        replay.text_of(json.dumps({**recorded(), **broken}), PROMPT, EVIDENCE)
