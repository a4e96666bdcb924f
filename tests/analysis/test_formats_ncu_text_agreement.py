"""What we read of ncu's own prints of a report equals what we read of the report itself."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from analysis.formats import read
from analysis.hotspots import rank
from analysis.types import Finding, Launch, Profile

ROOT = Path(__file__).parents[2]
PRINTS = ROOT / "tests" / "data" / "profiles" / "ncu_rep"


@pytest.fixture(scope="module")
def report() -> Profile:
    return read(ROOT / "samples" / "rowrank" / "rowrank.ncu-rep")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Profile]:
    folder = tmp_path_factory.mktemp("prints")
    for page in PRINTS.glob("rowrank.*.gz"):
        (folder / page.name.split(".")[1]).write_bytes(gzip.decompress(page.read_bytes()))
    return {path.name: read(path) for path in folder.iterdir()}


SIZED = ["raw", "details", "raw_de", "details_de", "console", "console_de"]
"""Pages that show grids, blocks and times; ``_de`` were printed in a German locale, with scaled units."""


@pytest.mark.parametrize("page", [*SIZED, "sass", "cuda_sass"])
def test_the_launches_agree_and_nothing_is_passed_over(report: Profile, pages: dict[str, Profile], page: str) -> None:
    assert [each.name for each in pages[page].launches] == [each.name for each in report.launches]
    assert pages[page].warnings == ()
    for ours, printed in zip(report.launches, pages[page].launches, strict=True) if page in SIZED else ():
        assert (printed.grid, printed.block) == (ours.grid, ours.block)
        assert same(printed.cost, ours.cost)


def same(printed: object, ours: object) -> bool:
    """ncu prints two decimals, of thousands of the base unit at times; what it has no value for is empty."""
    if isinstance(printed, int | float) and isinstance(ours, int | float):
        return abs(printed - ours) <= 0.005 * (1 + 1e-6) + 0.005 * abs(ours)
    return printed == ours or (not printed and not ours)


@pytest.mark.parametrize(
    ("page", "least"),
    [("raw", 2227), ("raw_de", 2227), ("details", 67), ("details_de", 67), ("console", 67), ("console_de", 67)],
)
def test_the_metrics_agree_by_name(report: Profile, pages: dict[str, Profile], page: str, least: int) -> None:
    for launch, printed in zip(report.launches, pages[page].launches, strict=True):
        ours, theirs = launch.load().metrics, printed.load().metrics
        compared = {name: (value, ours[name]) for name, value in theirs.items() if name in ours}
        assert len(compared) == least
        assert {name: pair for name, pair in compared.items() if not same(*pair)} == {}


def test_base_units_agree_to_the_last_digit(report: Profile, pages: dict[str, Profile]) -> None:
    for launch, printed in zip(report.launches, pages["raw"].launches, strict=True):
        ours = launch.load().metrics
        for name, value in printed.load().metrics.items():
            if isinstance(value, int | float):
                assert value == pytest.approx(ours[name], rel=1e-12, abs=0.00501), name


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


@pytest.mark.parametrize("page", ["details", "details_de", "console", "console_de"])
def test_the_rules_agree(report: Profile, pages: dict[str, Profile], page: str) -> None:
    for launch, printed in zip(report.launches, pages[page].launches, strict=True):
        ours, theirs = (sorted(each.load().findings, key=strength) for each in (launch, printed))
        assert [(each.kind, each.scope) for each in theirs] == [(each.kind, each.scope) for each in ours]
        for one, other in zip(ours, theirs, strict=True):
            assert other.speedup == pytest.approx(one.speedup, abs=5e-5)


def strength(finding: Finding) -> tuple[float, ...]:
    return finding.speedup or 0, finding.scope == "local", finding.kind == "OPT", finding.kind == "WRN"


def test_only_the_console_tells_whether_clocks_were_locked(report: Profile, pages: dict[str, Profile]) -> None:
    assert pages["console"].clocks_locked is report.clocks_locked is False
    assert pages["details"].clocks_locked is None


def test_a_summary_has_the_launches_and_times_of_its_report(report: Profile, pages: dict[str, Profile]) -> None:
    ours, printed = ({kernel.name: kernel for kernel in rank(profile)} for profile in (report, pages["summary"]))
    assert {name: kernel.launch_count for name, kernel in printed.items()} == {
        name: kernel.launch_count for name, kernel in ours.items()
    }
    assert all(same(kernel.total_cost, ours[name].total_cost) for name, kernel in printed.items())
