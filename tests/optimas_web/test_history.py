"""Where results over time are drawn."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from optimas_web.history import Result, history

WHEN = datetime(2026, 12, 1, tzinfo=UTC)


def result(speedup: float, proven: bool = True, width: float = 0.02) -> Result:
    verdict = "faster" if proven else "cannot_tell"
    return Result("Run 1", "/runs/1/", WHEN, speedup, speedup - width, speedup + width, verdict, proven)


def test_results_stand_at_equal_distances_and_higher_the_faster():
    marks = history([result(1.1), result(1.5), result(1.3)]).marks
    assert [mark.x for mark in marks] == [16.67, 50.0, 83.33]
    assert marks[1].y < marks[2].y < marks[0].y
    assert all(mark.y_high < mark.y < mark.y_low for mark in marks)


def test_the_best_so_far_rises_with_proven_results_only():
    best = history([result(1.2), result(9.0, proven=False), result(1.1), result(1.5)]).best
    assert [(step.x, step.x_end) for step in best] == [(12.5, 87.5), (87.5, 100.0)]
    assert best[0].y_next == best[1].y and best[1].y_next is None


@pytest.mark.parametrize("speedups", [[1.0], [0.02], [300.0], [0.5, 2.0]])
def test_every_mark_lies_inside_and_no_change_is_on_the_scale(speedups):
    drawn = history([result(speedup, width=0.001) for speedup in speedups])
    assert all(0 <= y <= 100 for mark in drawn.marks for y in (mark.y_low, mark.y, mark.y_high))
    assert [level.text for level in drawn.scale if level.is_one] == ["1×"]


def test_a_result_without_an_interval_is_told_without_one():
    (mark,) = history([Result("Run 1", "/", WHEN, 1.5, None, None, "faster", True)]).marks
    assert mark.words == "Run 1: 1.50× (n/a), Faster, 2026-12-01 00:00"


def test_nothing_is_drawn_of_nothing():
    drawn = history([])
    assert (drawn.marks, drawn.best) == ((), ())
