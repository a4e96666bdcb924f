from __future__ import annotations

from dataclasses import dataclass

import pytest

from optimas_web.drawing import Axis, Bar, Place, Timed, bar_list, interval_plot


@dataclass
class Example:
    scope: str
    speedup: float | None
    low: float | None
    high: float | None
    verdict: str


def place(speedup: float, low: float | None = None, high: float | None = None, *others: Timed) -> Place:
    found = interval_plot([Example("a", speedup, low, high, "faster"), *others]).rows[0].place
    assert found is not None
    return found


def test_an_interval_lies_between_its_bounds_on_a_logarithmic_axis():
    found = place(2.0, 1.0, 4.0)
    assert found.middle == pytest.approx((found.low + found.high) / 2, abs=0.02)
    assert found.width == pytest.approx(found.high - found.low)


def test_twice_as_fast_and_twice_as_slow_lie_equally_far_from_one():
    axis = Axis(0.5, 2.0)
    assert [axis.place(ratio) for ratio in (0.5, 1.0, 2.0)] == [4.0, 50.0, 96.0]


def test_a_speedup_without_bounds_is_a_point():
    assert place(1.5).width == 0


@pytest.mark.parametrize("speedup", [0.003, 0.97, 1.0, 1.04, 35.0, 4000.0])
def test_ticks_do_not_touch_and_one_is_always_among_them(speedup):
    ticks = interval_plot([Example("a", speedup, speedup, speedup, "faster")]).ticks
    assert [tick.text for tick in ticks if tick.is_one] == ["1×"]
    assert all(b.x - a.x >= 12 for a, b in zip(ticks, ticks[1:], strict=False))
    assert all(0 <= tick.x <= 100 for tick in ticks)


def test_what_was_not_measured_has_no_place():
    (row,) = interval_plot([Example("rain", None, None, None, "same_machine_code")]).rows
    assert (row.place, row.value, row.tone) == (None, None, "idle")


def test_bars_fall_and_their_sum_runs_to_the_80_percent_line():
    drawn = bar_list([Bar("b", 0.3), Bar("a", 0.5), Bar("c", 0.2)])
    assert [(row.bar.name, row.width, row.x, row.x_before) for row in drawn.rows] == [
        ("a", 50.0, 50.0, None),
        ("b", 30.0, 80.0, 50.0),
        ("c", 20.0, 100.0, 80.0),
    ]
    assert (drawn.x_hot, drawn.needed) == (80.0, 2)


def test_shares_among_profiled_launches_need_not_reach_the_line():
    assert bar_list([Bar("a", 0.4)]).needed is None
    assert bar_list([]).rows == ()
