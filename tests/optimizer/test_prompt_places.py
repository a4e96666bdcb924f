"""Every place that a prompt of a sample names is the real one: its lines, marks, evidence, regions and example."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from analysis.formats import read
from analysis.pipeline import analyse
from analysis.source import split_lines
from analysis.types import SOURCE_KINDS, Analysis, SourceKind
from optimizer.prompt import build
from optimizer.types import Prompt
from projects.types import ToolchainName

ROOT = Path(__file__).parents[2]
SAMPLES: dict[str, tuple[str, ToolchainName]] = {
    "rowrank/rowrank.cu": ("samples/rowrank/rowrank.ncu-rep", "cuda"),
    "heat2d/heat2d.cpp": ("tests/data/profiles/callgrind/callgrind.out.heat2d", "cpu"),
}
SUBSETS = [chosen for size in range(len(SOURCE_KINDS) + 1) for chosen in combinations(SOURCE_KINDS, size)]


@cache
def analysed(sample: str) -> Analysis:
    text = (ROOT / "samples" / sample).read_text()
    return analyse(read(ROOT / SAMPLES[sample][0]), {sample.split("/")[1]: text})


def prompts() -> Iterator[tuple[str, Collection[SourceKind], str | None]]:
    for sample in SAMPLES:
        for kinds in SUBSETS:
            yield sample, kinds, None
    for kernel in ("rank_rows", "fill_scores"):
        yield "rowrank/rowrank.cu", SOURCE_KINDS, kernel


@pytest.fixture(params=list(prompts()), ids=lambda found: f"{found[0]}-{'+'.join(found[1])}-{found[2]}")
def asked(request: pytest.FixtureRequest) -> tuple[Prompt, Analysis, list[str]]:
    sample, kinds, kernel = request.param
    found = analysed(sample)
    chosen = [kernel] if kernel else None
    prompt = build(found, sources=found.sources, toolchain=SAMPLES[sample][1], kernels=chosen, kinds=kinds)
    (text,) = found.sources.values()
    return prompt, found, [line.rstrip("\n") for line in split_lines(text)]


def test_every_line_that_is_named_is_that_line(asked: tuple[Prompt, Analysis, list[str]]) -> None:
    prompt, analysis, lines = asked
    assert prompt.tokens_estimated <= 8_000
    shown = dict(re.findall(r"^(\d+)\| (.*)$", prompt.text, re.MULTILINE))
    assert shown
    assert all(lines[int(number) - 1] == text for number, text in shown.items())
    (file,) = analysis.sources
    named = {int(number) for number in re.findall(rf"{re.escape(file)}:(\d+)", prompt.text)}
    assert {str(number) for number in named} <= shown.keys()
    for region in prompt.regions:
        assert f"{file}, lines {region.first} to {region.last}: {region.function}" in prompt.text
        assert {str(number) for number in range(region.first, region.last + 1)} <= shown.keys()


def test_evidence_and_its_marks_stand_at_their_lines(asked: tuple[Prompt, Analysis, list[str]]) -> None:
    prompt, analysis, lines = asked
    offered = {item.label: item for item in analysis.evidence if item.label in prompt.labels}
    for item in offered.values():
        if item.lines and item.text is not None:
            assert item.text.strip() == lines[item.lines[0] - 1].strip()
            assert f"{item.file}:{item.lines[0]}" in item.statement
    marked = re.findall(r"^(\d+)\| .*\n\^ (\w+): ", prompt.text, re.MULTILINE)
    assert all(offered[label].lines == (int(number), int(number)) for number, label in marked)
    stalls = {item.label for item in offered.values() if item.kind == "stalls" and item.lines}
    assert {label for _, label in marked} <= stalls


def test_the_example_repeats_the_lines_it_names(asked: tuple[Prompt, Analysis, list[str]]) -> None:
    prompt, _, lines = asked
    (edit,) = json.loads(prompt.text[prompt.text.index("An answer has this form") :].split("\n\n", 1)[1])["edits"]
    assert edit["original_text"] == "\n".join(lines[edit["start_line"] - 1 : edit["end_line"]])
    assert set(edit["evidence"]) <= set(prompt.labels)
