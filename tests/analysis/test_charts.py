"""Charts as descriptions: the numbers drawn, what is listed instead, and the same in words."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from profile_builder import cpu, function, gpu

from analysis import charts, formats
from analysis.charts.chart import amount, document
from analysis.pipeline import analyse
from analysis.types import Analysis, Kernel, KernelAnalysis, Roofline, RooflinePoint

ROWRANK = Path(__file__).parents[2] / "samples" / "rowrank"
EMPTY = gpu()


def kernel(name: str, share: float | None, *points: RooflinePoint, rank: int = 1, **roof: object) -> KernelAnalysis:
    cost = None if share is None else share * 1e9
    shown = Kernel(name, name, name.split("(")[0], 2, cost, cost, share, rank, hot=rank <= 2, launches=())
    said = {"bound": "latency", "reason": "Neither ceiling is near.", "at_most_saved": 0.5} | roof
    return KernelAnalysis(shown, Roofline(points=points, **said), None, ())  # type: ignore[arg-type]


def point(intensity: float | None, rate: float | None, precision: str = "fp32", level: str = "dram") -> RooflinePoint:
    return RooflinePoint(precision, level, intensity, rate, 60e12, 1e12, 4e12)


def of(*kernels: KernelAnalysis) -> Analysis:
    return Analysis(EMPTY, kernels, (), {})


def drawn(chart: charts.Chart, kind: str) -> list[charts.chart.Series]:
    return [series for series in chart.series if series.kind == kind]


@pytest.fixture(scope="module")
def rowrank() -> Analysis:
    return analyse(formats.read(ROWRANK / "rowrank.ncu-rep"), {"rowrank.cu": (ROWRANK / "rowrank.cu").read_text()})


def test_bars_run_from_the_costliest_with_their_sum(rowrank: Analysis):
    chart = charts.make("kernel_bars", rowrank)
    bars = drawn(chart, "bars")
    assert [bar.name.split("(")[0] for bar in bars] == ["rank_rows", "fill_scores", "count_top"]
    assert [bar.chosen for bar in bars] == [True, True, False]
    (line,) = drawn(chart, "line")
    assert line.marks[-1].x == pytest.approx(1.0)
    assert chart.caption.startswith("2 of 3 hold 80\u00a0% of the time of the profiled launches.")
    assert chart.table.rows[0][2:] == ("75.2\u00a0%", "75.2\u00a0%", "252\u00a0µs", "3", "yes")


def test_bars_say_how_many_of_many_are_shown():
    many = [kernel(f"k{number}(int)", 1 / 30, rank=number) for number in range(1, 31)]
    chart = charts.make("kernel_bars", of(*many))
    assert len(drawn(chart, "bars")) == 8
    assert "8 of 30 are shown; the others hold 73.3\u00a0%." in chart.caption


def test_bars_reach_down_to_the_last_chosen_kernel():
    many = [kernel(f"k{number}(int)", 1 / 30, rank=number) for number in range(1, 31)]
    many[11] = replace(many[11], kernel=replace(many[11].kernel, hot=True))
    assert len(drawn(charts.make("kernel_bars", of(*many)), "bars")) == 12


def test_kernels_without_a_cost_are_listed_and_not_drawn_as_zero():
    chart = charts.make("kernel_bars", of(kernel("a()", 1.0), kernel("b()", None, rank=2)))
    assert [bar.name for bar in drawn(chart, "bars")] == ["a()"]
    assert [(left.name, left.reason) for left in chart.omitted] == [("b()", "no cost is known")]


def test_the_roofline_of_a_real_report(rowrank: Analysis):
    chart = charts.make("roofline", rowrank)
    (markers,) = drawn(chart, "points")
    (mark,) = markers.marks
    assert markers.name.startswith("fill_scores")
    assert mark.x == pytest.approx(0.31288, rel=1e-4)
    assert mark.y == pytest.approx(414.78e9, rel=1e-4)
    assert [line.name for line in drawn(chart, "line")] == ["DRAM 4.81\u00a0TB/s", "fp32 66.7\u00a0Tflop/s"]
    left = {each.name.split("(")[0]: each.reason for each in chart.omitted}
    assert (
        left["rank_rows"] == "No floating-point work. It moves 1.63\u00a0TB/s of 4.81\u00a0TB/s at DRAM (33.8\u00a0%)."
    )
    assert "count_top" in left
    assert "fill_scores" in chart.alternative
    assert chart.table.rows[0][3:5] == ("0.313\u00a0flop/byte", "415\u00a0Gflop/s")


@pytest.mark.parametrize("bad", [(None, 1e9), (0.0, 1e9), (1.0, 0.0), (1.0, None), (math.inf, 1e9), (math.nan, 1e9)])
def test_what_has_no_place_on_a_logarithmic_axis_is_listed_with_its_reason(bad: tuple[float | None, float | None]):
    chart = charts.make("roofline", of(kernel("odd(int)", 0.4, point(*bad)), kernel("good(int)", 0.6, point(2, 1e12))))
    assert [series.name for series in drawn(chart, "points")] == ["good(int)"]
    assert [left.name for left in chart.omitted] == ["odd(int)"]
    assert "Its work per byte is not defined" in chart.omitted[0].reason
    json.dumps(document(chart), allow_nan=False)


def test_lines_reach_the_right_most_kernel_and_ridges_lie_inside():
    chart = charts.make("roofline", of(kernel("far(int)", 1.0, point(4e7, 50e12))))
    (flat,) = [line for line in drawn(chart, "line") if line.name.startswith("fp32")]
    assert flat.marks[-1].x == chart.x.high >= 4e7
    assert flat.marks[0].x == pytest.approx(60e12 / 4e12)
    (slope,) = [line for line in drawn(chart, "line") if line.name.startswith("DRAM")]
    assert slope.marks[-1].y == pytest.approx(60e12)


def test_one_kernel_may_have_points_in_several_precisions_and_levels():
    chart = charts.make(
        "roofline",
        of(
            kernel(
                "mixed(int)", 1.0, point(1, 1e12), point(2, 1e12, level="l2"), replace(point(1, 2e12), precision="fp64")
            )
        ),
    )
    (markers,) = drawn(chart, "points")
    assert len(markers.marks) == 3
    assert [line.name.split()[0] for line in drawn(chart, "line")] == ["DRAM", "L2", "fp32", "fp64"]


def test_a_kernel_above_its_roof_says_why():
    chart = charts.make("roofline", of(kernel("proud(int)", 1.0, point(0.25, 1.05e12))))
    assert chart.notes == (
        "proud(int) lies above the fp32 roof (105.0\u00a0% of it): the counters of one launch come from several passes,"
        " whose clocks differed.",
    )


def test_only_the_first_kernels_have_a_colour_of_their_own():
    many = [kernel(f"k{number}(int)", 0.1, point(1, 1e11 * number), rank=number) for number in range(1, 10)]
    chart = charts.make("roofline", of(*many))
    assert len({(each.colour, each.symbol) for each in drawn(chart, "points")}) == 6
    (cloud,) = drawn(chart, "cloud")
    assert cloud.name == "3 other kernels"
    assert [mark.name for mark in cloud.marks] == ["k7(int)", "k8(int)", "k9(int)"]
    assert len(chart.table.rows) == 9


def test_a_roofline_of_very_many_kernels_says_how_many_are_drawn():
    many = [kernel(f"k{number}(int)", 0.01, point(1, 1e11), rank=number) for number in range(1, 61)]
    chart = charts.make("roofline", of(*many))
    assert len(chart.table.rows) == sum(len(each.marks) for each in chart.series if each.kind != "line") == 50
    assert chart.caption.endswith("The costliest 50 of 60 kernels are drawn.")


def test_a_processor_profile_has_bars_in_cycles_and_no_roofline():
    profile = cpu(function("step(int)"), function("main"))
    roof = Roofline("not_measurable", "Callgrind counts neither.", None)
    hot = replace(kernel("step(int)", 0.9), roofline=roof)
    analysis = Analysis(profile, (hot,), (), {})
    bars = charts.make("kernel_bars", analysis)
    assert bars.title == "Kernels by share of all estimated cycles"
    assert bars.table.rows[0][4] == "900\u00a0Mcycles"
    chart = charts.make("roofline", analysis)
    assert chart.series == ()
    assert chart.omitted[0].reason == "Callgrind counts neither."


def test_an_empty_profile_gives_charts_that_say_so():
    assert charts.make("kernel_bars", of()).caption == "No kernel has a cost."
    assert charts.make("roofline", of()).series == ()


def test_names_pass_through_as_they_are():
    name = "void applyAll<Halve<float>, float>(T2 *, int) & row<br>"
    chart = charts.make("roofline", of(kernel(name, 1.0, point(1, 1e12))))
    assert document(chart)["series"][-1]["name"] == name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.627e12, "1.63\u00a0TB/s"),
        (999.6, "1.00\u00a0kB/s"),
        (0.0123, "0.0123\u00a0B/s"),
        (0, "0\u00a0B/s"),
        (12.34, "12.3\u00a0B/s"),
        (None, "not known"),
    ],
)
def test_amounts_have_three_digits(value: float | None, text: str):
    assert amount(value, "B/s") == text
