"""The samples as source, and short ways to put an edit through gates 1 to 3."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from optimizer.check import check_edits
from optimizer.regions import regions
from optimizer.types import Checked

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture
def rowrank() -> Mapping[str, str]:
    return {"rowrank.cu": (SAMPLES / "rowrank" / "rowrank.cu").read_text()}


@pytest.fixture
def heat2d() -> Mapping[str, str]:
    return {"heat2d.cpp": (SAMPLES / "heat2d" / "heat2d.cpp").read_text()}


Judge = Callable[..., Checked]


@pytest.fixture
def judge() -> Judge:
    """judge(sources, kernels, *(start, end, new_text), evidence=..., labels=..., severities=...): the checked answer.

    The original text of each edit is taken from the source, so that only what the edit does is at stake.
    """

    def run(
        sources: Mapping[str, str], kernels: tuple[str, ...], *changes: tuple[int, int, str], **more: object
    ) -> Checked:
        (file,) = sources
        lines = sources[file].split("\n")
        listed = [
            {
                "file": file,
                "start_line": start,
                "end_line": end,
                "original_text": "\n".join(lines[start - 1 : end] or lines[start - 2 : start - 1]),
                "new_text": new,
                "evidence": more.get("evidence", ["S1"]),
            }
            for start, end, new in changes
        ]
        return check_edits(
            json.dumps({"summary": "", "edits": listed}),
            sources,
            more.get("labels", ("S1",)),  # type: ignore[arg-type]
            regions(sources, kernels),
            kernels,
            more.get("severities"),  # type: ignore[arg-type]
        )

    return run


@pytest.fixture(scope="session")
def clients() -> None:
    """The vendors' clients, imported beforehand: that takes longer than what is timed."""
    import anthropic  # noqa: F401
    import ollama  # noqa: F401
    import openai  # noqa: F401
    from google import genai  # noqa: F401
