"""What ncu prints on the console reads like its details page."""

from __future__ import annotations

from pathlib import Path

import pytest
from ncu_pages import TIME, costs, read_text

from analysis.hotspots import rank
from analysis.types import Finding

CONSOLE = """\
==PROF== Connected to process 4711 (/srv/ponds)
step 1: residual, 0.5
==PROF== Profiling "settle" - 0: 0%....50%....100% - 9 passes
[4711] ponds@127.0.0.1
  settle(const float *, float *, int) (64, 2, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
    Section: GPU Speed Of Light Throughput
    ----------------------- ------------- ------------
    Metric Name               Metric Unit Metric Value
    ----------------------- ------------- ------------
    SM Frequency                      Ghz         1.97
    Elapsed Cycles                  cycle      160,124
    Memory Throughput                   %        46.51
    Duration                           us        41.28
    ----------------------- ------------- ------------

    OPT   Est. Local Speedup: 53.49%
          This kernel grid is too small, so look at "latency" first: it fills
          a part of the device.
    ----- --------------------------------------------------------------------------------------------------------------
    INF   All is well.

    Section: Memory Workload Analysis
    ----------------- ------------- ------------
    Metric Name         Metric Unit Metric Value
    ----------------- ------------- ------------
    Memory Throughput   Gbyte/second      900.50
    Odd               furlong/s            1
    ----------------- ------------- ------------

  void drain<(int)4, Order<settle>>(float *, int) (1, 1, 1)x(32, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
    Section: GPU Speed Of Light Throughput
    -------------- ------------- ------------
    Metric Name      Metric Unit Metric Value
    -------------- ------------- ------------
    Duration                  ms         1.25
    -------------- ------------- ------------

==PROF== Disconnected from process 4711
"""
RATE = "dram__bytes.sum.per_second"


def test_the_console_is_launches_with_metrics_and_findings(tmp_path: Path) -> None:
    profile = read_text(tmp_path, CONSOLE, "log.txt")
    assert costs(profile) == [("settle", 41_280), ("drain", 1_250_000)]
    settle, drain = profile.launches
    assert (settle.grid, settle.block, drain.grid) == ((64, 2, 1), (128, 1, 1), (1, 1, 1))
    assert drain.name == "void drain<4, Order<settle>>(float*, int)"
    detail = settle.load()
    assert detail.metrics == {
        "gpc__cycles_elapsed.avg.per_second": 1_970_000_000,
        "gpc__cycles_elapsed.max": 160_124,
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": 46.51,
        TIME: 41_280,
        RATE: 900_500_000_000,
        "Memory Workload Analysis: Odd": None,
    }
    advice = 'This kernel grid is too small, so look at "latency" first: it fills a part of the device.'
    assert detail.findings == (
        Finding("", "OPT", advice, 0.5349, "SpeedOfLight", "local"),
        Finding("", "INF", "All is well.", None, "SpeedOfLight", None),
    )
    assert profile.device and profile.device.compute_capability == (9, 0)
    assert drain.load().metrics == {TIME: 1_250_000} and drain.load().findings == ()


def test_what_is_not_known_or_not_of_a_launch_is_said(tmp_path: Path) -> None:
    assert read_text(tmp_path, CONSOLE, "log.txt").warnings == (
        "Line 27: the unit 'furlong/s' of Memory Workload Analysis: Odd is not known: its values are left out.",
        "4 lines of log.txt belong to no table and were passed over.",
    )


def test_launches_of_one_kernel_and_size_are_not_merged(tmp_path: Path) -> None:
    once = CONSOLE[CONSOLE.index("  void drain") : CONSOLE.index("==PROF== Disc")]
    (kernel,) = rank(read_text(tmp_path, once * 3))
    assert (kernel.launch_count, kernel.total_cost) == (3, 3_750_000)


def test_old_headers_have_a_date_for_the_sizes(tmp_path: Path) -> None:
    old = CONSOLE.replace(
        " (64, 2, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 9.0", ", 2021-Mar-03 10:33:15, Context 1, Stream 7"
    )
    settle = read_text(tmp_path, old).launches[0]
    assert (settle.short_name, settle.grid, settle.cost) == ("settle", None, 41_280)


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig"])
def test_a_redirected_console(tmp_path: Path, codec: str) -> None:
    text = CONSOLE.replace("\n", "\r\n").encode(codec)
    assert costs(read_text(tmp_path, text)) == [("settle", 41_280), ("drain", 1_250_000)]


def test_a_console_with_decimal_commas(tmp_path: Path) -> None:
    numbers = {"1.97": "1,97", "160,124": "160.124", "46.51": "46,51", "41.28": "41,28", "900.50": "900,50"}
    german = CONSOLE.replace(" 1.25", " 1,25")
    for english, local in numbers.items():
        german = german.replace(english, local)
    profile = read_text(tmp_path, german)
    assert costs(profile) == [("settle", 41_280), ("drain", 1_250_000)]
    assert profile.launches[0].load().metrics["gpc__cycles_elapsed.max"] == 160_124


def test_a_summary_by_kernel_is_as_many_launches(tmp_path: Path) -> None:
    text = """\
  settle(float *) (64, 2, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 9.0, Invocations 10
    Section: GPU Speed Of Light Throughput
    -------------- ------------- ------------ ------------ ------------
    Metric Name      Metric Unit      Minimum      Maximum      Average
    -------------- ------------- ------------ ------------ ------------
    Duration                  us         1.50         3.50         2.25
    -------------- ------------- ------------ ------------ ------------
"""
    profile = read_text(tmp_path, text)
    (kernel,) = rank(profile)
    assert (kernel.launch_count, kernel.total_cost) == (10, 22_500)
    assert profile.warnings == ("settle(float*): printed as the average of 10 launches, not one by one.",)
