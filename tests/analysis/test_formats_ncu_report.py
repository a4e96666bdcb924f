"""The real report of rowrank, taken on an H200."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.formats import read
from analysis.types import LaunchDetail, Profile

REPORT = Path(__file__).parents[2] / "samples" / "rowrank" / "rowrank.ncu-rep"


@pytest.fixture(scope="module")
def profile() -> Profile:
    return read(REPORT)


@pytest.fixture(scope="module")
def details(profile: Profile) -> list[LaunchDetail]:
    return [launch.load() for launch in profile.launches]


def test_the_report_says_what_was_profiled_and_on_what(profile: Profile) -> None:
    assert profile.tool == "Nsight Compute 2025.3.1.0"
    assert profile.device is not None
    assert (profile.device.name, profile.device.compute_capability) == ("NVIDIA H200", (9, 0))
    assert profile.versions["CUDA Version"] == "13.0"
    assert profile.clocks_locked is False
    assert profile.cost_unit == "ns" and not profile.whole_run
    assert profile.command is not None and profile.command.endswith("./rowrank 8192 4096 3")
    assert profile.warnings == ()


def test_launches_stand_in_the_order_of_the_run(profile: Profile) -> None:
    found = [(launch.index, launch.short_name, launch.grid, launch.block) for launch in profile.launches]
    assert found == [
        (0, "fill_scores", (131072, 1, 1), (256, 1, 1)),
        (1, "rank_rows", (8192, 1, 1), (256, 1, 1)),
        (2, "rank_rows", (8192, 1, 1), (256, 1, 1)),
        (3, "rank_rows", (8192, 1, 1), (256, 1, 1)),
        (4, "count_top", (32, 1, 1), (256, 1, 1)),
    ]
    assert [launch.cost for launch in profile.launches] == [80896, 84352, 83936, 84032, 2368]
    assert profile.launches[1].mangled == "_Z9rank_rowsPKfPKiPiii"
    assert profile.launches[1].name == "rank_rows(const float*, const int*, int*, int, int)"


def test_embedded_sources_have_the_paths_that_places_name(profile: Profile, details: list[LaunchDetail]) -> None:
    named = {place.file for detail in details for cost in detail.code for place in cost.places}
    assert named == set(profile.sources)
    sample = (REPORT.parent / "rowrank.cu").read_text()
    assert profile.sources["/tmp/rr/rowrank.cu"] == sample


def test_every_sample_is_on_a_line(details: list[LaunchDetail]) -> None:
    for detail in details:
        placed = sum(cost.costs.get("samples", 0) for cost in detail.code if cost.places)
        assert placed == detail.samples_total
        assert detail.warnings == ()


def test_stall_reasons_add_up_to_the_samples_of_every_address(details: list[LaunchDetail]) -> None:
    reasons = {
        name.removeprefix("smsp__pcsamp_warps_issue_stalled_")
        for name in details[0].metrics
        if name.startswith("smsp__pcsamp_warps_issue_stalled_") and not name.endswith("_not_issued")
    }
    sampled = [cost for detail in details for cost in detail.code if "samples" in cost.costs]
    assert len(reasons) == 19
    assert len(sampled) > 400
    for cost in sampled:
        assert sum(cost.costs[reason] for reason in reasons) == cost.costs["samples"]


def test_inlined_code_leads_to_the_kernels_own_line(details: list[LaunchDetail]) -> None:
    atomics = [cost for cost in details[1].code if cost.mnemonic == "ATOMS"]
    assert atomics
    for cost in atomics:
        assert cost.places[0].file.endswith("device_atomic_functions.hpp")
        assert (cost.places[-1].file, cost.places[-1].line) == ("/tmp/rr/rowrank.cu", 59)


def test_nothing_about_the_machine_or_its_user_is_kept(profile: Profile) -> None:
    kept = repr((profile.tool, profile.versions, profile.device, profile.sources.keys(), profile.warnings))
    assert "127.0.0.1" not in kept and "Linux" not in kept
