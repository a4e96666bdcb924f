"""Exports of Nsight Systems: launches counted exactly, whatever the version left out, and hostile ones refused."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from nsys_writer import Export, Ran

from analysis.documents import analysis_document
from analysis.formats import read
from analysis.pipeline import analyse
from analysis.types import Kernel, Profile
from optimas_web.errors import UserError

SMOOTH, ONCE = "smoothRow(float *, int)", "oneShot(float *, int)"
REPEATED = [
    Ran(SMOOTH, 0, 10_000),
    Ran(SMOOTH, 20_000, 32_000),
    Ran(SMOOTH, 40_000, 130_000, grid=(4096, 1, 1)),
    Ran(SMOOTH, 140_000, 151_000),
    Ran(ONCE, 160_000, 255_000),
]


def exported(tmp_path: Path, **fields: object) -> Profile:
    return read(Export(**fields).write(tmp_path / "run.sqlite"))  # type: ignore[arg-type]


def kernels(profile: Profile) -> dict[str, Kernel]:
    return {each.kernel.short_name: each.kernel for each in analyse(profile, {}).kernels}


def test_launches_of_one_kernel_are_added_up_over_its_shapes(tmp_path: Path) -> None:
    profile = exported(tmp_path, launches=REPEATED)
    smooth, once = kernels(profile).values()
    assert (smooth.short_name, smooth.launch_count, smooth.total_cost, smooth.median_cost) == (
        "smoothRow", 4, 123_000, 11_500,
    )  # fmt: skip
    assert (once.launch_count, once.total_cost, profile.launch_count) == (1, 95_000, 5)
    assert [(tally.grid, tally.count) for tally in profile.tallies][:2] == [((64, 1, 1), 3), ((4096, 1, 1), 1)]
    assert {tally.block for tally in profile.tallies} == {(256, 1, 1)}


def test_the_profile_says_what_took_it_and_where(tmp_path: Path) -> None:
    capture = {"PROCESS_0:COMMAND": "./ponds", "PROCESS_0:ARGUMENT_0": "512", "PROCESS_0:USER_NAME": "ada"}
    profile = exported(tmp_path, launches=REPEATED, capture=capture)
    assert (profile.format, profile.tool, profile.cost_unit) == ("nsys_sqlite", "Nsight Systems 2025.3.1", "ns")
    assert profile.device is not None
    assert (profile.device.name, profile.device.compute_capability) == ("NVIDIA H200", (9, 0))
    assert profile.command == "./ponds 512"
    assert "ada" not in repr(profile)


def test_what_a_time_line_cannot_tell_is_said_with_the_command_that_can(tmp_path: Path) -> None:
    analysis = analyse(exported(tmp_path, launches=REPEATED), {})
    notes = {note.page: note for note in analysis.doctor if note.severity == "warning"}
    assert {"stalls", "roofline"} <= set(notes)
    assert "-k 'regex:^(smoothRow|oneShot)$'" in notes["stalls"].remedy
    assert all(each.roofline.bound == "not_measurable" and each.stalls is None for each in analysis.kernels)


def test_single_launches_are_read_from_the_file_when_they_are_asked_for(tmp_path: Path) -> None:
    profile = exported(tmp_path, launches=REPEATED)
    document = analysis_document(analyse(profile, {}, kernels="smooth"), launches=True)
    launches = document["launches"]
    assert isinstance(launches, list)
    assert [launch["duration_ns"] for launch in launches] == [10_000, 12_000, 90_000, 11_000]
    assert launches[2]["grid"] == [4096, 1, 1]
    assert launches[0]["metrics"]["registersPerThread"] == 32
    shapes = document["kernels"][0]["shapes"]  # type: ignore[index]
    assert [(shape["grid"], shape["launch_count"]) for shape in shapes] == [([4096, 1, 1], 1), ([64, 1, 1], 3)]


def test_kernels_with_one_short_name_stay_two(tmp_path: Path) -> None:
    launches = [Ran("void scale<float>(float *)", mangled="_Z5scaleIfEvPf"), Ran("void scale<double>(double *)")]
    assert len(analyse(exported(tmp_path, launches=launches), {}).kernels) == 2


def test_times_on_several_devices_are_labelled(tmp_path: Path) -> None:
    launches = [Ran(SMOOTH, 0, 3_000_000), Ran(SMOOTH, 0, 1_000_000, device=1)]
    profile = exported(tmp_path, launches=launches, gpus=[(0, "A"), (1, "B")])
    assert [tally.device for tally in profile.tallies] == ["0: A", "1: B"]
    told = " ".join(note.message for note in analyse(profile, {}).doctor)
    assert "2 devices, and times are sums over them: 0: A 3.000 ms, 1: B 1.000 ms" in told


def test_kernels_of_a_graph_traced_by_node_are_launches_like_others(tmp_path: Path) -> None:
    launches = [Ran("solve(float *)", at, at + 400, node=2**32 + at) for at in (0, 1000)]
    profile = exported(tmp_path, launches=launches)
    assert kernels(profile)["solve"].total_cost == 800
    assert profile.whole_run


def test_a_graph_captured_as_one_is_refused_or_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="2 CUDA graph launches were captured as one") as refused:
        exported(tmp_path, graphs=2)
    assert "--cuda-graph-trace=node" in refused.value.hint
    partly = read(Export(launches=REPEATED, graphs=3).write(tmp_path / "partly.sqlite"))
    assert not partly.whole_run
    assert "3 CUDA graph launches" in partly.warnings[0]


def test_an_export_without_cuda_is_refused_and_an_empty_one_has_no_kernel(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no GPU kernels in this capture"):
        exported(tmp_path, table=None)
    empty = read(Export().write(tmp_path / "empty.sqlite"))
    analysis = analyse(empty, {})
    assert (analysis.kernels, empty.launch_count) == ((), 0)
    assert "empty" in empty.warnings[0]


def test_a_table_with_a_suffix_is_read_and_named(tmp_path: Path) -> None:
    profile = exported(tmp_path, launches=REPEATED, table="CUPTI_ACTIVITY_KIND_KERNEL_V2")
    assert profile.launch_count == 5
    assert "CUPTI_ACTIVITY_KIND_KERNEL_V2" in profile.warnings[0]


@pytest.mark.parametrize(
    "without", ["mangledName", "demangledName", "shortName", "deviceId", "gridY", "registersPerThread", "streamId"]
)
def test_a_missing_column_costs_no_more_than_what_it_told(tmp_path: Path, without: str) -> None:
    profile = exported(tmp_path, launches=REPEATED, without=[without])
    assert profile.launch_count == 5
    assert sum(tally.total or 0 for tally in profile.tallies) == 218_000
    assert (profile.tallies[0].grid is None) == (without == "gridY")
    assert (profile.tallies[0].device is None) == (without == "deviceId")
    assert profile.timeline is not None
    assert len(list(profile.timeline())) == 5


def test_an_export_of_2020_has_its_facts_elsewhere(tmp_path: Path) -> None:
    facts = {"EXPORT_PRODUCT_VERSION": "2020.4.1", "EXPORT_USER": "ada"}
    profile = exported(tmp_path, launches=REPEATED, facts=facts, facts_table="EXPORT_META_DATA", gpus=())
    assert (profile.tool, profile.device) == ("Nsight Systems 2020.4.1", None)
    assert "ada" not in repr(profile)


@pytest.mark.parametrize(
    ("start", "end"), [(None, None), (5000, None), (5000, 4000), (0, 0), ("x", 3), (2**62, -(2**62)), (5000, "later")]
)
def test_a_launch_without_valid_times_counts_as_a_launch_and_not_as_0(
    tmp_path: Path, start: object, end: object
) -> None:
    profile = exported(tmp_path, launches=[Ran(SMOOTH, 0, 1000), Ran(SMOOTH, start, end)])
    smooth = kernels(profile)["smoothRow"]
    assert (smooth.launch_count, smooth.total_cost, smooth.median_cost) == (2, 1000, 1000)
    assert "1 launches have no valid times" in profile.warnings[0]


def test_text_that_is_no_utf8_is_read_with_marks(tmp_path: Path) -> None:
    more = ["UPDATE StringIds SET value = CAST(x'6b5ffc28696e7429' AS TEXT) WHERE id = 1"]
    profile = exported(tmp_path, launches=[Ran("k(int)")], more=more)
    assert profile.tallies[0].name == "k_�(int)"


def test_names_that_are_missing_are_numbers(tmp_path: Path) -> None:
    profile = exported(tmp_path, launches=[Ran("k(int)")], strings=False)
    assert profile.tallies[0].name == "(kernel without a name, 1)"
    assert any("strings is missing" in warning for warning in profile.warnings)


def test_a_view_in_the_place_of_the_table_is_not_looked_at(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS start, x AS end FROM n"
    more = [f"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS {endless}"]
    with pytest.raises(UserError, match="holds no GPU kernels"):
        exported(tmp_path, table=None, more=more)


def test_more_work_than_the_size_of_the_file_explains_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"STEPS_A_LOOK": 1000, "LEAST_STEPS": 20_000, "STEPS_A_BYTE": 0}
    for name, limit in limits.items():
        monkeypatch.setattr(f"analysis.formats.sqlite.database.{name}", limit)
    assert exported(tmp_path, launches=REPEATED).launch_count == 5
    with pytest.raises(UserError, match="interrupted"):
        read(Export(launches=REPEATED * 1000).write(tmp_path / "long.sqlite"))


def test_other_databases_are_refused_with_their_tables(tmp_path: Path) -> None:
    path = tmp_path / "music.db"
    with sqlite3.connect(path) as to:
        to.execute("CREATE TABLE songs (id)")
    to.close()
    with pytest.raises(
        UserError, match=r"music\.db is an SQLite database, but of no known profiler. Its tables: songs"
    ):
        read(path)


def test_damaged_exports_end_in_a_sentence(tmp_path: Path) -> None:
    whole = Export(launches=REPEATED * 40).write(tmp_path / "whole.sqlite").read_bytes()
    chance = random.Random(4)
    path = tmp_path / "damaged.sqlite"
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 30)):
            damaged[chance.randrange(16, len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged[: chance.randrange(100, len(damaged))] if chance.random() < 0.3 else damaged)
        try:
            analyse(read(path), {})
        except UserError as refused:
            assert "damaged.sqlite" in str(refused)
