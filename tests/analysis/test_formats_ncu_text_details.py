"""The details page of every version, and both pages together."""

from __future__ import annotations

from pathlib import Path

import pytest
from ncu_pages import (
    BYTES,
    COSTS,
    DRAIN,
    IDENTITY,
    MEMORY,
    RAW,
    RULES,
    SETTLE,
    SOL,
    TIME,
    VALUES,
    costs,
    details,
    launch,
    quoted,
    raw,
    read_text,
    rule,
    value,
)  # fmt: skip

from analysis.hotspots import rank
from analysis.pipeline import analyse
from analysis.types import Finding
from optimas_web.errors import UserError


def test_details_are_values_by_section_label_and_unit(tmp_path: Path) -> None:
    rows = [
        value(0, "Memory Throughput", "%", "46.51"),
        value(0, "Duration", "us", "147.58"),
        value(0, "Memory Throughput", "Tbyte/s", "2.24", MEMORY),
        value(0, "Brand New", "Kbyte", "3", "New Section"),
        value(1, "Memory Throughput", "%", "46.24"),
        value(1, "Duration", "ms", "1.25"),
        value(1, "Memory Throughput", "Gbyte/s", "987.65", MEMORY),
    ]
    profile = read_text(tmp_path, details(rows))
    assert costs(profile) == [("settle", 147_580), ("settle", 1_250_000)]
    share, rate = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "dram__bytes.sum.per_second"
    assert profile.launches[0].load().metrics == {
        share: 46.51,
        TIME: 147_580,
        rate: 2_240_000_000_000,
        "New Section: Brand New [byte]": 3_000,
    }
    assert profile.launches[1].load().metrics == {share: 46.24, TIME: 1_250_000, rate: 987_650_000_000}


def test_rules_are_findings_and_no_metrics(tmp_path: Path) -> None:
    message = 'Look at ""latency"", first:\nstalls, occupancy.'
    rows = [
        value(0, "Duration", "us", "147.58"),
        rule(0, "SOLBottleneck", "OPT", message, "local", "53.49"),
        rule(0, "Basics", "INF", "All is well.", "", ""),
        value(0, "SM Frequency", "Ghz", "1.97"),
        rule(0, "Occupied", "OPT", "Use more.", "global", "12.5", section="Occupancy"),
    ]
    detail = read_text(tmp_path, details(rows)).launches[0].load()
    assert detail.metrics == {TIME: 147_580, "gpc__cycles_elapsed.avg.per_second": 1_970_000_000}
    assert detail.findings == (
        Finding("SOLBottleneck", "OPT", message, 0.5349, "SpeedOfLight", "local"),
        Finding("Basics", "INF", "All is well.", None, "SpeedOfLight", None),
        Finding("Occupied", "OPT", "Use more.", 0.125, "Occupancy", "global"),
    )


@pytest.mark.parametrize(
    ("time", "rate", "clock"),
    [(("us", "41.28"), "Gbyte/s", "Ghz"), (("usecond", "41.28"), "Gbyte/second", "cycle/nsecond")],
)
def test_old_and_new_spellings_of_units_agree(tmp_path: Path, time: tuple[str, str], rate: str, clock: str) -> None:
    rows = [
        value(0, "Duration", *time),
        value(0, "Memory Throughput", rate, "900.50", MEMORY),
        value(0, "SM Frequency", clock, "1.41"),
    ]
    assert read_text(tmp_path, details(rows)).launches[0].load().metrics == {
        TIME: 41_280,
        "dram__bytes.sum.per_second": 900_500_000_000,
        "gpc__cycles_elapsed.avg.per_second": 1_410_000_000,
    }


def test_columns_are_found_by_name_as_old_versions_and_nvtx_have_them(tmp_path: Path) -> None:
    old = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream", *VALUES)
    told = ["0", "4711", "ponds", "127.0.0.1", SETTLE, "2021-Mar-03 10:33:15", "1", "7"]
    profile = read_text(tmp_path, details([[*told, "GPU Speed Of Light", "Duration", "usecond", "41.28"]], old))
    assert costs(profile) == [("settle", 41_280)] and profile.launches[0].grid is None
    ranged = (*IDENTITY[:4], "thread Domain:Push/Pop_Range:Text", "Id:Domain:Start/Stop_Range:Text", *IDENTITY[4:])
    row = [*launch(0)[:4], "a, b", "", *launch(0)[4:], "41.28"]
    assert costs(read_text(tmp_path, "".join(map(quoted, [[*ranged, TIME], [""] * 13 + ["us"], row])))) == [
        ("settle", 41_280)
    ]


def test_names_of_metrics_may_stand_instead_of_labels(tmp_path: Path) -> None:
    rows = [
        value(0, TIME, "nsecond", "10,776,576", "Command line profiler metrics"),
        value(0, "DRAM Bytes (dram__bytes.sum)", "byte", "32,746,880", "Command line profiler metrics"),
        value(0, "flop_count_hp.sum", "", "n/a", "Command line profiler metrics"),
    ]
    profile = read_text(tmp_path, details(rows))
    assert costs(profile) == [("settle", 10_776_576)]
    metrics = profile.launches[0].load().metrics
    assert metrics[BYTES] == 32_746_880
    assert metrics["flop_count_hp.sum"] is None


def test_print_details_all_gives_the_roofline(tmp_path: Path) -> None:
    columns = (*IDENTITY, "Section Name", "Body Item Label", *VALUES[1:], *RULES[:3])
    chart = "GPU Speed Of Light Roofline Chart"
    ops = ((op, f"Predicated-On {op} Thread Instructions Executed Per Cycle") for op in ("FADD", "FMUL"))
    told = [
        ("", "Theoretical Predicated-On FFMA Thread Instructions Executed", "inst/cycle", "21,760"),
        ("", "Predicated-On FFMA Thread Instructions Executed Per Cycle", "inst/cycle", "83.00"),
        ("Single Precision Roofline", "SM Frequency", "Ghz", "2.14"),
        ("Single Precision Roofline", "Theoretical DRAM Bytes Accessible", "byte/cycle", "128"),
        ("Single Precision Roofline", "DRAM Frequency", "Ghz", "13.72"),
        ("Single Precision Achieved Value", "SM Frequency", "Ghz", "2.14"),
        *(("Single Precision Achieved Value", label, "inst/cycle", "2.00") for _, label in ops),
        ("Single Precision Achieved Value", "DRAM Bandwidth", "Gbyte/s", "360.51"),
    ]
    rows = [[*launch(0), chart, item, label, unit, cell, ""] for item, label, unit, cell in told]
    found = analyse(read_text(tmp_path, details(rows, columns)), {})
    (point,) = found.kernels[0].roofline.points
    assert point.flop_per_s == pytest.approx((2 + 2 + 2 * 83) * 2.14e9)
    assert point.peak_flop_per_s == pytest.approx(2 * 21_760 * 2.14e9)
    assert point.peak_bytes_per_s == pytest.approx(128 * 13.72e9)
    assert point.bytes_per_s == 360_510_000_000


def test_two_values_of_one_name_are_both_kept(tmp_path: Path) -> None:
    rows = [value(0, "Odd", "%", cell) for cell in ("1.5", "2.5", "1.5")]
    assert read_text(tmp_path, details(rows)).launches[0].load().metrics == {
        f"{SOL}: Odd [%]": 1.5,
        f"{SOL}: Odd [%] #2": 2.5,
    }


def test_a_launch_whose_rows_are_apart_is_one(tmp_path: Path) -> None:
    rows = [
        value(0, "Duration", "us", "1.50"),
        value(1, "Duration", "us", "2.50", kernel=DRAIN),
        value(0, "SM Frequency", "Ghz", "1.97"),
        value(1, "SM Frequency", "Ghz", "1.50", kernel=DRAIN),
    ]
    profile = read_text(tmp_path, details(rows))
    assert costs(profile) == [("settle", 1_500), ("drain", 2_500)]
    assert [each.load().metrics["gpc__cycles_elapsed.avg.per_second"] for each in profile.launches] == [1.97e9, 1.5e9]


def test_both_pages_of_one_report_in_one_file_are_joined_launch_by_launch(tmp_path: Path) -> None:
    rows = [value(n, "Duration", "us", cell, kernel=k) for n, cell, k in ((0, "12.50", SETTLE), (1, "3.00", DRAIN))]
    profile = read_text(tmp_path, details(rows) + RAW)
    assert costs(profile) == COSTS
    assert profile.launches[1].load().metrics[BYTES] == 7_168


def test_ids_that_mean_another_kernel_in_another_table_are_reported_and_not_joined(tmp_path: Path) -> None:
    rows = [value(0, "Duration", "us", "3.00", kernel=DRAIN)]
    profile = read_text(tmp_path, details(rows) + RAW)
    assert len(profile.launches) == 4
    assert BYTES not in profile.launches[0].load().metrics
    assert profile.warnings == (
        "ID 0 is drain and settle in different tables: they are kept apart as different launches.",
    )


def test_a_summary_by_kernel_is_as_many_launches(tmp_path: Path) -> None:
    columns = (
        "Process ID",
        "Kernel Name",
        "Context",
        "Stream",
        "Block Size",
        "Grid Size",
        "Device",
        "CC",
        "Invocations",
    )
    columns += ("Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average")
    row = [
        "4711",
        SETTLE,
        "1",
        "7",
        "(128, 1, 1)",
        "(64, 1, 1)",
        "0",
        "9.0",
        "10",
        SOL,
        "Duration",
        "us",
        "1.50",
        "3.50",
        "2.25",
    ]
    profile = read_text(tmp_path, details([row], columns))
    (kernel,) = rank(profile)
    assert (kernel.launch_count, kernel.total_cost) == (10, 22_500)
    assert profile.warnings == (
        "settle(const float*, float*, int): printed as the average of 10 launches, not one by one.",
    )


def test_values_without_an_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the table has no column ID, so launches cannot be told apart"):
        read_text(tmp_path, details([[SETTLE, SOL, "Duration", "us", "1.5"]], ("Kernel Name", *VALUES)))


def test_several_devices_are_told(tmp_path: Path) -> None:
    rows = [[*launch(0)[:9], device, capability, "1.5"] for device, capability in (("0", "9.0"), ("1", "8.6"))]
    profile = read_text(tmp_path, raw({TIME: "us"}, rows))
    assert profile.device and profile.device.compute_capability == (9, 0)
    assert profile.warnings == ("The launches ran on 2 devices; the first is shown.",)


def test_nothing_but_the_kernel_and_its_numbers_is_kept(tmp_path: Path) -> None:
    profile = read_text(tmp_path, RAW.replace("127.0.0.1", "login7.example").replace("ponds", "secretapp"))
    everything = repr((profile, [each.load() for each in profile.launches]))
    assert "login7" not in everything and "secretapp" not in everything
