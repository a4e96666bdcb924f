"""Reports written here: unusual, damaged and hostile ones."""

from __future__ import annotations

import random
import re
import struct
import tracemalloc
from pathlib import Path

import pytest
from backports import zstd

from analysis.formats import read
from analysis.types import Place, Profile
from optimas_web.errors import UserError
from tests.analysis import ncu_writer
from tests.analysis.damage import HOSTILE, everything, mutate, read_everything
from tests.analysis.ncu_writer import CODE_AT, KERNEL, Metric, Report, default_metrics


def read_report(tmp_path: Path, content: bytes | Report) -> Profile:
    path = tmp_path / "report.ncu-rep"
    path.write_bytes(content.write() if isinstance(content, Report) else content)
    return read(path)


def test_a_small_report_is_read_whole(tmp_path: Path) -> None:
    profile = read_report(tmp_path, Report())
    (launch,) = profile.launches
    detail = launch.load()
    assert (launch.mangled, launch.name, launch.short_name) == (KERNEL, "scale(float*, int)", "scale")
    assert (launch.grid, launch.block, launch.cost) == ((8, 2, 1), (128, 1, 0), 1500.0)
    assert [(c.function, c.offset, c.mnemonic) for c in detail.code] == [
        (KERNEL, 0, "LDG"),
        (KERNEL, 16, "FMUL"),
        (KERNEL, 32, "EXIT"),
    ]
    assert detail.code[1].costs == {
        "samples": 40,
        "long_scoreboard": 40,
        "long_scoreboard_not_issued": 30,
        "inst_executed": 32,
    }
    assert detail.samples_total == 47
    assert detail.metrics["device__attribute_display_name"] == "Test GPU"
    assert profile.sources == {"/opt/ada/code/scale.cu": "// scale\n"}
    assert profile.warnings == ()


def test_inline_stacks_go_from_the_innermost_place_to_the_kernels_line(tmp_path: Path) -> None:
    code = read_report(tmp_path, Report()).launches[0].load().code
    kernel = "/opt/ada/code/scale.cu"
    assert [cost.places for cost in code] == [
        (Place(kernel, 10),),
        (Place("/usr/include/cuda/mul.h", 3), Place(kernel, 11)),
        (Place(kernel, 12),),
    ]


def test_what_is_no_number_is_not_available(tmp_path: Path) -> None:
    metrics = read_report(tmp_path, Report()).launches[0].load().metrics
    assert metrics["dram__bytes.sum"] is None
    assert "breakdown:sm__throughput" not in metrics


def test_hosts_users_and_environments_are_dropped(tmp_path: Path) -> None:
    profile = read_report(tmp_path, Report())
    everything = repr((profile, profile.launches[0].load()))
    assert "secret" not in everything and "10.1.2.3" not in everything
    assert profile.command == "ncu ./app 7"


def test_a_launch_is_decoded_from_the_file_when_it_is_loaded(tmp_path: Path) -> None:
    (launch,) = read_report(tmp_path, Report()).launches
    (tmp_path / "report.ncu-rep").unlink()
    with pytest.raises(UserError, match="Launch 0 of report.ncu-rep cannot be read"):
        launch.load()


@pytest.mark.parametrize("locked", [True, False])
def test_the_report_says_whether_clocks_were_locked(tmp_path: Path, locked: bool) -> None:
    assert read_report(tmp_path, Report(clocks_locked=locked)).clocks_locked is locked


def test_without_machine_code_there_are_offsets_but_no_lines(tmp_path: Path) -> None:
    profile = read_report(tmp_path, Report(code=b""))
    code = profile.launches[0].load().code
    assert [(cost.offset, cost.mnemonic, cost.places) for cost in code] == [
        (0, None, ()),
        (16, None, ()),
        (32, None, ()),
    ]
    assert profile.binary_sha256 is None


def test_old_reports_without_addresses_use_the_launches_own(tmp_path: Path) -> None:
    metrics = {**default_metrics(), "launch__function_pcs": Metric(1, {0: CODE_AT})}
    by_metric = read_report(tmp_path, Report(functions={}, launches=[metrics])).launches[0].load()
    by_least = read_report(tmp_path, Report(functions={})).launches[0].load()
    assert [cost.mnemonic for cost in by_metric.code] == ["LDG", "FMUL", "EXIT"]
    assert [cost.mnemonic for cost in by_least.code] == ["LDG", "FMUL", "EXIT"]


def test_samples_outside_of_the_code_are_counted_and_named(tmp_path: Path) -> None:
    metrics = {**default_metrics(), "smsp__pcsamp_sample_count": Metric(50, {CODE_AT: 5, CODE_AT + 4096: 45})}
    detail = read_report(tmp_path, Report(launches=[metrics])).launches[0].load()
    assert detail.warnings == ("Launch 0: 45 samples belong to no known instruction.",)


def test_dropped_samples_are_a_warning(tmp_path: Path) -> None:
    metrics = {**default_metrics(), "smsp__pcsamp_dropped_bytes": Metric(640)}
    profile = read_report(tmp_path, Report(launches=[default_metrics(), metrics]))
    assert profile.warnings == (
        "The sampling buffer overflowed in 1 of 2 launches: 640 bytes of samples were dropped.",
    )


def test_other_versions_and_devices_are_warnings(tmp_path: Path) -> None:
    warnings = read_report(tmp_path, Report(version=8, devices=2)).warnings
    assert warnings == (
        "The file says format version 8; only version 7 was tested.",
        "The report names 2 devices; the first is shown.",
    )


def test_range_results_are_counted(tmp_path: Path) -> None:
    profile = read_report(tmp_path, Report(others={"range": 3, "graph": 1}))
    assert len(profile.launches) == 1
    assert profile.warnings[0].startswith("Not shown: 3 range results, 1 graph result. Each is of several kernels")
    with pytest.raises(UserError, match="holds 3 range results and no single kernel launch"):
        read_report(tmp_path, Report(others={"range": 3}, launches=[]))


def test_a_launch_that_says_it_is_a_range_is_never_taken_for_a_kernel(tmp_path: Path) -> None:
    profile = read_report(tmp_path, Report(launches=[default_metrics() for _ in range(3)], scopes=(1, 2, 3)))
    assert [launch.index for launch in profile.launches] == [0]
    assert profile.warnings[0].startswith("Not shown: 1 range result, 1 command list result.")


def test_a_cut_file_gives_the_launches_before_the_cut(tmp_path: Path) -> None:
    whole = Report(launches=[default_metrics() for _ in range(3)]).write()
    profile = read_report(tmp_path, whole[:-100])
    assert [launch.index for launch in profile.launches] == [0, 1]
    assert len(profile.warnings) == 1 and "100 bytes too early" in profile.warnings[0]


def test_one_damaged_launch_does_not_lose_the_others(tmp_path: Path) -> None:
    marked = [default_metrics() for _ in range(3)]
    marked[1]["damage__here"] = Metric("x" * 10)
    content = Report(launches=marked).write()
    at = content.rindex(b"x" * 10)
    content = content[: at - 8] + b"\xff" * 18 + content[at + 10 :]
    profile = read_report(tmp_path, content)
    assert [launch.index for launch in profile.launches] == [0, 2]
    assert profile.warnings[0].startswith("Launch 1 is damaged and left out")


def test_a_damaged_metric_does_not_lose_its_launch(tmp_path: Path) -> None:
    good = ncu_writer.block(1, "Test GPU")
    broken = Report().write().replace(good, b"\x0f" + good[1:])  # a wire type that does not exist
    detail = read_report(tmp_path, broken).launches[0].load()
    assert detail.samples_total == 47
    assert len(detail.warnings) == 1 and "device__attribute_display_name" in detail.warnings[0]


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (
            ncu_writer.cubin().replace(b"\x7fELF", b"\x7fELG"),
            "machine code cannot be read: a cubin is not a 64-bit ELF",
        ),
        (ncu_writer.cubin()[:-1], "machine code cannot be read: the section table of a cubin is damaged"),
        (ncu_writer.cubin(line_version=5), "line table cannot be read: line tables of DWARF version 5 are not read"),
        (
            ncu_writer.cubin().replace(ncu_writer.line_program()[:4], b"\xff" * 4),
            "line table cannot be read: a line table is longer than its section",
        ),
    ],
)
def test_damaged_code_is_named_and_samples_stay(tmp_path: Path, code: bytes, problem: str) -> None:
    detail = read_report(tmp_path, Report(code=code)).launches[0].load()
    assert sum(cost.costs["samples"] for cost in detail.code) == 47
    assert len(detail.warnings) == 1 and problem in detail.warnings[0]


def test_thousands_of_damaged_launches_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    broken = default_metrics() | {"damage__here": Metric("x" * 10)}
    content = Report(launches=[default_metrics(), *[broken for _ in range(100)]]).write()
    profile = read_report(tmp_path, re.sub(rb"(?s).{8}x{10}", b"\xff" * 18, content))
    assert len(profile.launches) == 1
    assert len(profile.warnings) == 21
    assert profile.warnings[-1] == "80 more launches are damaged and left out."


def test_a_loop_of_inlined_rows_ends(tmp_path: Path) -> None:
    code = ncu_writer.cubin().replace(b"\0\3\x90\2\0", b"\0\3\x90\3\0")
    places = read_report(tmp_path, Report(code=code)).launches[0].load().code[1].places
    assert 1 <= len(places) <= 64


@pytest.mark.parametrize(
    ("content", "seems"),
    [
        (b"", "empty"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"PK\x03\x04", "zip archive"),
        (b"NVIDIA Tegra Profiler Report 2025@2@1\n", "Nsight Systems"),
        (b"\x7fELF\2\1\1", "a program (ELF)"),
        (b"a,b,c\n1,2,3\n", "a CSV table"),
        (b"\xef\xbb\xbfa,b,c\n", "a CSV table"),
        ("a,b,c\r\n".encode("utf-16"), "a CSV table"),
        (b"hello\n", "no Nsight Compute report, whatever its name says"),
        (b"\0\1\2\3", "no Nsight Compute report, whatever its name says"),
    ],
)
def test_files_that_are_no_profile_are_recognised_and_a_remedy_is_named(
    tmp_path: Path, content: bytes, seems: str
) -> None:
    with pytest.raises(UserError) as failure:
        read_report(tmp_path, content)
    assert failure.value.message.startswith("report.ncu-rep is not a profile that can be read: it seems to be")
    assert seems in failure.value.message
    assert failure.value.hint


@pytest.mark.parametrize(
    ("name", "content", "seems"),
    [
        ("old.qdrep", b"\5\0\1", "a report of Nsight Systems"),
        ("trace.SQLITE", b"SQLite format 2\0", "no SQLite database, whatever its name says"),
        ("notes.txt", b"hello\n", "a text file"),
        ("core.1234", b"\0\1\2\3", "a binary file of an unknown kind"),
    ],
)
def test_where_the_content_is_nothing_known_the_name_helps(
    tmp_path: Path, name: str, content: bytes, seems: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError) as failure:
        read(tmp_path / name)
    assert failure.value.message.startswith(f"{name} is not a profile that can be read: it seems to be {seems}")
    assert ("nsys export" if name == "old.qdrep" else "ncu --set full") in failure.value.hint


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="gone.ncu-rep cannot be opened: No such file or directory"):
        read(tmp_path / "gone.ncu-rep")


@pytest.mark.parametrize(
    "content",
    [
        b"NVR\0",
        b"NVR\0\xff\xff\xff\xff",
        b"NVR\0\2\0\0\0\x08\x07" + b"\xff\xff\xff\xff",
        b"NVR\0\2\0\0\0\x08\x07" + b"\0\0\0\0" * 1000,
        b"NVR\0\2\0\0\0\x08\x07" + struct.pack("<I", 11) + b"\x10" + b"\xff" * 9 + b"\x01",
    ],
)
def test_hostile_beginnings_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UserError, match="report.ncu-rep"):
        read_report(tmp_path, content)


def test_counts_that_promise_too_much_cost_nothing(tmp_path: Path) -> None:
    """2^60 results are promised, and a payload of zeros follows."""
    header = ncu_writer.number(2, 2**60) + ncu_writer.number(5, 2**20)
    content = b"NVR\0\2\0\0\0\x08\x07" + struct.pack("<I", len(header)) + header + bytes(2**20)
    tracemalloc.start()
    with pytest.raises(UserError, match="no readable kernel launch"):
        read_report(tmp_path, content)
    assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    tracemalloc.stop()


# --- fuzz -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_no_damage_to_a_report_brings_out_anything_but_a_sentence(tmp_path: Path, seed: int) -> None:
    readable, peak = read_mutations(tmp_path / "report.ncu-rep", everything(), random.Random(seed), 15)
    assert 0 < readable < 30
    assert peak < 8 * 2**20


@pytest.mark.parametrize("seed", range(5))
def test_nor_does_damage_to_a_compressed_one(tmp_path: Path, seed: int) -> None:
    packed = zstd.compress(everything())
    dice = random.Random(seed)
    for _ in range(10):
        (tmp_path / "report.ncu-repz").write_bytes(mutate(packed, dice))
        read_everything(tmp_path / "report.ncu-repz")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_report_costs_little_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "report.ncu-rep"
    path.write_bytes(HOSTILE[name]())
    tracemalloc.start()
    read_everything(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 2**20


@pytest.mark.parametrize("seed", range(4))
def test_no_damage_to_a_callgrind_file_brings_out_anything_but_a_sentence(tmp_path: Path, seed: int) -> None:
    callgrind = Path(__file__).parents[1] / "data" / "profiles" / "callgrind" / "callgrind.out.heat2d.parts"
    readable, peak = read_mutations(
        tmp_path / "callgrind.out.1", callgrind.read_bytes()[:12_000], random.Random(seed), 10
    )
    assert readable > 0
    assert peak < 8 * 2**20


def read_mutations(path: Path, whole: bytes, dice: random.Random, rounds: int) -> tuple[int, int]:
    """How many launches could be read of all damaged copies, and the most memory used, in bytes."""
    readable = 0
    tracemalloc.start()
    for _ in range(rounds):
        path.write_bytes(mutate(whole, dice))
        readable += read_everything(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return readable, peak
