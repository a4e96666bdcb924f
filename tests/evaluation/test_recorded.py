"""Evaluations made elsewhere: found by what they judged, shown as what they are."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from analysis.formats import read as read_profile
from analysis.pipeline import analyse
from evaluation import recorded
from optimas_web.errors import UserError
from optimizer.backends.replay import text_of
from optimizer.check import check
from optimizer.prompt import build
from projects.management.base import read_sources
from projects.snapshot import from_folder

SAMPLES = Path(__file__).parents[2] / "samples"


def test_the_sample_taken_on_the_gpu_judged_this_very_program_and_answer() -> None:
    sources = read_sources(SAMPLES / "rowrank")
    analysis = analyse(read_profile(SAMPLES / "rowrank" / "rowrank.ncu-rep"), sources)
    prompt = build(analysis, sources=sources, toolchain="cuda")
    answer = (SAMPLES / "recorded" / "rowrank.answer.json").read_text()
    checked = check(text_of(answer, prompt, analysis.evidence), prompt, sources)
    assert checked.passed
    snapshot = from_folder(SAMPLES / "rowrank").sha256
    found = recorded.find([SAMPLES / "recorded"], snapshot, hashlib.sha256(checked.diff.encode()).hexdigest())
    assert found is not None
    assert found.said == "recorded on NVIDIA H200 on 2026-12-01"
    assert found.document["environment"]["tool GPU"] == "NVIDIA H200"


def test_another_patch_or_program_finds_nothing(tmp_path: Path) -> None:
    value = recorded.recording({"verdict": "faster"}, snapshot="a", patch_sha256="b", said="recorded on X on Y")
    (tmp_path / "one.evaluation.json").write_text(json.dumps(value))
    assert recorded.find([tmp_path], "a", "c") is None
    assert recorded.find([tmp_path], "c", "b") is None
    found = recorded.find([tmp_path], "a", "b")
    assert found is not None
    assert found.document == {"verdict": "faster"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "optimas.evaluation/1"}'])
def test_what_is_no_recorded_evaluation_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "broken.evaluation.json").write_text(text)
    with pytest.raises(UserError, match="broken.evaluation.json is not a recorded evaluation"):
        recorded.find([tmp_path], "a", "b")
