"""What we read of ncu's own prints of a report equals what we read of the report itself."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from analysis.formats import read
from analysis.types import Launch, Profile

ROOT = Path(__file__).parents[2]
PRINTS = ROOT / "tests" / "data" / "profiles" / "ncu_rep"


@pytest.fixture(scope="module")
def report() -> Profile:
    return read(ROOT / "samples" / "rowrank" / "rowrank.ncu-rep")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Profile]:
    folder = tmp_path_factory.mktemp("prints")
    for page in ("raw", "details", "sass", "cuda_sass"):
        (folder / f"{page}.csv").write_bytes(gzip.decompress((PRINTS / f"rowrank.{page}.csv.gz").read_bytes()))
    return {path.stem: read(path) for path in folder.iterdir()}


@pytest.mark.parametrize("page", ["raw", "details", "sass", "cuda_sass"])
def test_the_launches_agree_and_nothing_is_passed_over(report: Profile, pages: dict[str, Profile], page: str) -> None:
    def told(profile: Profile) -> list[object]:
        sizes = page in ("raw", "details")
        return [(each.name, *((each.grid, each.block, each.cost) if sizes else ())) for each in profile.launches]

    assert told(pages[page]) == told(report)
    assert pages[page].warnings == ()


def same(printed: object, ours: object) -> bool:
    """ncu prints two decimals; what it has no value for is empty."""
    if isinstance(printed, int | float) and isinstance(ours, int | float):
        return abs(printed - ours) <= 0.005 * (1 + 1e-6) + 1e-12 * abs(ours)
    return printed == ours or (not printed and not ours)


@pytest.mark.parametrize(("page", "least"), [("raw", 2227), ("details", 67)])
def test_the_metrics_agree_by_name(report: Profile, pages: dict[str, Profile], page: str, least: int) -> None:
    for launch, printed in zip(report.launches, pages[page].launches, strict=True):
        ours, theirs = launch.load().metrics, printed.load().metrics
        compared = {name: (value, ours[name]) for name, value in theirs.items() if name in ours}
        assert len(compared) == least
        assert {name: pair for name, pair in compared.items() if not same(*pair)} == {}


def test_the_device_agrees(report: Profile, pages: dict[str, Profile]) -> None:
    assert report.device and pages["raw"].device
    assert pages["raw"].device.name == report.device.name == "NVIDIA H200"
    assert pages["raw"].device.compute_capability == report.device.compute_capability == (9, 0)


def code(launch: Launch) -> dict[int, tuple[str | None, dict[str, float]]]:
    kept = {"samples", "inst_executed", "thread_inst_executed", "long_scoreboard", "wait", "barrier_not_issued"}
    return {
        each.offset: (each.mnemonic, {name: count for name, count in each.costs.items() if count and name in kept})
        for each in launch.load().code
    }


def test_every_instruction_agrees(report: Profile, pages: dict[str, Profile]) -> None:
    for launch, printed in zip(report.launches, pages["sass"].launches, strict=True):
        assert code(printed) == code(launch)


def test_every_line_agrees(report: Profile, pages: dict[str, Profile]) -> None:
    for launch, printed in zip(report.launches, pages["cuda_sass"].launches, strict=True):
        ours = [each for each in launch.load().code if each.places]
        theirs = printed.load().code
        assert [each.places[0] for each in theirs] == [each.places[0] for each in ours]
        assert [each.costs.get("samples") for each in theirs] == [each.costs.get("samples") for each in ours]


def test_the_rules_are_there_with_their_speed_ups(pages: dict[str, Profile]) -> None:
    findings = [finding for launch in pages["details"].launches for finding in launch.load().findings]
    assert len(findings) == 55
    assert {finding.kind for finding in findings} == {"OPT", "INF", "WRN"}
    assert all(finding.message and finding.rule and finding.section for finding in findings)
    assert all(0 <= finding.speedup <= 1 for finding in findings if finding.speedup is not None)
