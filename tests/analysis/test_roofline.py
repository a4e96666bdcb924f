"""The DRAM roofline, on numbers that can be checked by hand."""

import json
from collections.abc import Mapping
from math import isfinite

import pytest

from analysis import roofline
from analysis.types import Measures

S = "smsp__sass_thread_inst_executed_op_"
PEAKS = {
    "dram__bytes.sum.peak_sustained": 1000.0,
    "dram__cycles_elapsed.avg.per_second": 2e9,  # 2 TB/s
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 10_000.0,
    "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained": 5_000.0,
    "sm__cycles_elapsed.avg.per_second": 1e9,  # 20 and 10 TFLOP/s
    "smsp__cycles_elapsed.avg.per_second": 1e9,
    "gpu__time_duration.sum": 1e6,
}
FP64 = {f"{S}d{op}_pred_on.sum.per_cycle_elapsed": 0.0 for op in ("add", "mul", "fma")}


def measures(*launches: Mapping[str, float]) -> Measures:
    from analysis.measures import medians

    return Measures(per_launch=launches, metrics=medians(launches))


def rates(bytes_per_s: float, add: float = 0, mul: float = 0, fma: float = 0) -> dict[str, float]:
    """Metrics of a kernel with this traffic and these single-precision instructions a cycle."""
    counts = {"add": add, "mul": mul, "fma": fma}
    work = {f"{S}f{op}_pred_on.sum.per_cycle_elapsed": count for op, count in counts.items()}
    return {**PEAKS, **FP64, **work, "dram__bytes.sum.per_second": bytes_per_s}


def test_work_counts_a_fused_multiply_add_twice():
    (point,) = roofline.of(measures(rates(1e12, add=100, mul=200, fma=300))).points
    assert point.flop_per_s == (100 + 200 + 2 * 300) * 1e9
    assert (point.peak_flop_per_s, point.peak_bytes_per_s) == (20e12, 2e12)
    assert point.flop_per_byte == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("metrics", "bound", "saved"),
    [
        (rates(1.9e12, fma=100), "at_roof", 0.05),
        (rates(1.4e12, fma=100), "memory", 0.3),
        (rates(1e10, fma=7000), "compute", 0.3),
        (rates(1e10, fma=9500), "at_roof", 0.05),
        (rates(4e11, fma=1000), "latency", 0.8),
        (rates(4e11), "no_flops", 0.8),
        (rates(1.4e12), "memory", 0.3),
        (rates(1.9e12), "at_roof", 0.05),
    ],
)
def test_the_nearest_ceiling_decides_and_bounds_what_can_be_saved(metrics: dict, bound: str, saved: float):
    roof = roofline.of(measures(metrics))
    assert roof.bound == bound
    assert roof.at_most_saved == pytest.approx(saved)
    assert "%" in roof.reason


def test_both_precisions_are_shown_when_a_kernel_uses_both():
    mixed = rates(1e11, fma=10) | {f"{S}dadd_pred_on.sum.per_cycle_elapsed": 4000.0}
    roof = roofline.of(measures(mixed))
    assert [point.precision for point in roof.points] == ["fp32", "fp64"]
    assert roof.at_most_saved == pytest.approx(1 - 4e12 / 10e12)


def test_sums_are_divided_by_the_time_when_rates_were_not_collected():
    """Everything served from cache: no DRAM traffic, so no intensity, and never an infinite one."""
    sums = {f"{S}f{op}_pred_on.sum": count for op, count in (("add", 0.0), ("mul", 0.0), ("fma", 1e6))}
    cached = sums | {"gpu__time_duration.sum": 20_000.0, "dram__bytes_read.sum": 0.0, "dram__bytes_write.sum": 0.0}
    (point,) = roofline.of(measures(cached)).points
    assert point.flop_per_s == pytest.approx(100e9)
    assert point.flop_per_byte is None
    half = sums | {"gpu__time_duration.sum": 2000.0, "dram__bytes_write.sum": 1e5}
    assert roofline.of(measures(half)).points[0].flop_per_byte is None


def test_a_kernel_that_does_nothing_has_no_point_but_a_reason():
    idle = {f"{S}f{op}_pred_on.sum": 0.0 for op in ("add", "mul", "fma")}
    roof = roofline.of(measures(idle | {"gpu__time_duration.sum": 1500.0, "dram__bytes.sum": 0.0}))
    assert (roof.points, roof.bound, roof.at_most_saved) == ((), "not_measurable", None)
    assert roof.reason


@pytest.mark.parametrize(
    "metrics",
    [
        {"dram__bytes.sum": 300e6, "dram__bytes_read.sum": 200e6, "dram__bytes_write.sum": 100e6},
        {"dram__bytes_read.sum": 200e6, "dram__bytes_write.sum": 100e6},
        {"dram__bytes.sum": 300e6},
    ],
)
def test_a_total_and_its_parts_are_never_added(metrics: dict[str, float]):
    assert roofline.bytes_moved(metrics) == 300e6
    assert roofline.bytes_per_s(metrics | {"gpu__time_duration.sum": 1e5}) == pytest.approx(3e12)


def test_one_part_alone_is_not_the_whole():
    assert roofline.bytes_moved({"dram__bytes_read.sum": 200e6}) is None


def test_a_clock_of_zero_gives_no_peak_instead_of_a_share():
    roof = roofline.of(measures(rates(1e12, fma=10) | {"dram__cycles_elapsed.avg.per_second": 0.0}))
    assert roof.points[0].peak_bytes_per_s is None
    assert all(isfinite(value) for value in (roof.at_most_saved or 0, *filter(None, json_numbers(roof))))


def json_numbers(roof: object) -> list[float]:
    from dataclasses import asdict

    points = json.loads(json.dumps(asdict(roof), allow_nan=False))["points"]  # type: ignore[call-overload]
    return [value for point in points for value in point.values() if isinstance(value, float)]


def test_medians_over_the_launches_decide():
    roof = roofline.of(measures(rates(1e12), rates(1.9e12), rates(1.95e12)))
    assert roof.bound == "at_roof"
    assert roof.at_most_saved == pytest.approx(0.05)


def test_above_the_roof_is_said_and_saves_nothing():
    roof = roofline.of(measures(rates(2.2e12)))
    assert roof.at_most_saved == 0
    assert "Above the roof" in roof.reason


def test_tensor_work_is_never_taken_for_none():
    tensor = rates(4e11) | {"sm__inst_executed_pipe_tensor_op_hmma.sum": 1000.0}
    roof = roofline.of(measures(tensor))
    assert roof.bound == "not_measurable"
    assert "tensor cores" in roof.reason
    assert roof.at_most_saved is None
    percent = rates(4e11) | {"sm__inst_executed_pipe_tensor_op_imma.avg.pct_of_peak_sustained_active": 54.0}
    assert roofline.of(measures(percent)).bound == "not_measurable"
    assert roofline.of(measures(tensor | {"sm__inst_executed_pipe_tensor_op_hmma.sum": 0.0})).bound == "no_flops"


def test_the_report_s_own_percentage_serves_where_bytes_are_missing():
    roof = roofline.of(measures({"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 71.0}))
    assert roof.bound == "memory"
    assert "71.0% of the DRAM peak" in roof.reason
    assert "not counted" in roof.reason


def test_what_uncounted_work_may_limit_is_not_called_latency():
    """A dense product in a report without counters of work: little traffic, and nobody knows how near its peak."""
    roof = roofline.of(measures({"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 8.0}))
    assert (roof.bound, roof.at_most_saved) == ("not_measurable", None)
    assert "Neither ceiling" not in roof.reason


def test_a_short_launch_is_marked():
    roof = roofline.of(measures(rates(4e11, fma=10) | {"gpu__time_duration.sum": 2368.0}))
    assert "takes only 2.4 us" in roof.reason


def test_a_cpu_profile_has_no_roofline_and_says_why():
    roof = roofline.of(measures({"Ir": 1.0}), "cycle")
    assert (roof.bound, roof.points, roof.at_most_saved) == ("not_measurable", (), None)
    assert "Callgrind counts neither" in roof.reason


def test_only_metrics_that_are_looked_at_are_kept():
    needed = [*rates(1.0), "sm__throughput.avg.pct_of_peak_sustained_elapsed", "sm__ops_path_tensor_src_fp16.sum"]
    assert all(map(roofline.wanted, needed))
    assert not roofline.wanted("launch__block_size")


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        (16.0, "Its 16 blocks leave at least 92 of 108 multiprocessors without work."),
        (1.0, "Its only block leaves at least 107 of 108"),
        (108.0, ""),
    ],
)
def test_a_grid_too_small_for_the_gpu_is_named(blocks: float, said: str):
    small = rates(4e11, fma=10) | {"launch__grid_size": blocks, "device__attribute_multiprocessor_count": 108.0}
    reason = roofline.of(measures(small)).reason
    assert said in reason
    assert ("without work" in reason) == bool(said)


def test_the_busiest_unit_is_named_though_nobody_counted_the_work():
    busy = {
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 8.0,
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": 64.9,
        "lts__throughput.avg.pct_of_peak_sustained_elapsed": 16.3,
    }
    roof = roofline.of(measures(busy))
    assert roof.bound == "not_measurable"
    assert "Busiest is the SM, at 64.9% of its peak." in roof.reason


def test_rates_are_told_though_the_report_knows_no_peaks():
    work = {f"{S}f{op}_pred_on.sum": count for op, count in (("add", 0.0), ("mul", 0.0), ("fma", 1e6))}
    roof = roofline.of(measures(work | {"gpu__time_duration.sum": 20_000.0, "dram__bytes.sum": 4e6}))
    assert (
        roof.reason == "It does 100.0 GFLOP/s in fp32 and 200.0 GB/s at DRAM, but the report does not tell the peaks."
    )
