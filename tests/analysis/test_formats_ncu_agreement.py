"""What we read of the rowrank report equals what ncu printed of it, value by value."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from analysis.formats import read
from analysis.types import LaunchDetail, Profile
from benchmarks.ncu_agreement import CALLERS, Rows, Tally, compare_lines, compare_raw, compare_sass, load_rows, main

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "samples" / "rowrank" / "rowrank.ncu-rep"
PRINTS = ROOT / "tests" / "data" / "profiles" / "ncu_rep"


@pytest.fixture(scope="module")
def profile() -> Profile:
    return read(REPORT)


def printed(page: str) -> Rows:
    return load_rows(PRINTS / f"rowrank.{page}.csv.gz")


def test_every_metric_of_every_launch_agrees(profile: Profile) -> None:
    tally = compare_raw(profile, printed("raw"))
    assert tally.disagreed == []
    assert tally.agreed > 5 * 2227
    assert sum(tally.explained.values()) == 5 * 6


def test_every_count_of_every_instruction_agrees(profile: Profile) -> None:
    tally = compare_sass(profile, printed("sass"))
    assert tally.disagreed == []
    assert tally.agreed > 39_000
    assert not tally.explained


def test_every_instruction_has_the_line_that_ncu_gives_it_and_lines_add_up(profile: Profile) -> None:
    tally = compare_lines(profile, printed("cuda_sass"))
    assert tally.disagreed == []
    assert tally.agreed > 5_000
    assert tally.explained[CALLERS] == 78


def test_a_wrong_value_would_be_noticed(profile: Profile) -> None:
    first = profile.launches[0]
    detail = first.load()
    metrics = {**detail.metrics, "gpu__time_duration.sum": 80895, "made__up": 1}
    code = (dataclasses.replace(detail.code[0], costs={**detail.code[0].costs, "samples": 1}), *detail.code[1:])

    def load() -> LaunchDetail:
        return dataclasses.replace(detail, metrics=metrics, code=code)

    wrong = dataclasses.replace(profile, launches=(dataclasses.replace(first, load=load), *profile.launches[1:]))
    assert _sentences(compare_raw(wrong, printed("raw"))) == {
        "launch 0, gpu__time_duration.sum: ncu prints '80,896', we read 80895",
        "launch 0: made__up is not on ncu's page",
    }
    assert "launch 0, instruction 0x0, # Samples: ncu prints '258', we read 1" in _sentences(
        compare_sass(wrong, printed("sass"))
    )
    assert compare_lines(wrong, printed("cuda_sass")).disagreed


def _sentences(tally: Tally) -> set[str]:
    return set(tally.disagreed)


def test_the_command_prints_counts_and_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(REPORT), "--raw", str(PRINTS / "rowrank.raw.csv.gz")]) == 0
    assert capsys.readouterr().out.startswith("raw: 11161 agree, 0 disagree, 30 explained")
