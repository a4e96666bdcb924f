"""Original lines in the edited text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.align import hunks, map_lines, mapped, pairs, together


def test_unchanged_lines_move_with_what_is_added_above() -> None:
    assert map_lines("a\nb\n", "new\na\nb\n") == {1: (1, 2), 2: (3,)}


def test_lines_added_belong_to_the_line_before_them() -> None:
    assert map_lines("a\nb\nc\n", "a\nb\nx\ny\nc\n") == {1: (1,), 2: (2, 3, 4), 3: (5,)}


def test_a_replaced_stretch_maps_as_a_whole() -> None:
    assert map_lines("a\nb\nc\nd\n", "a\nx\ny\nz\nd\n") == {1: (1,), 2: (2, 3, 4), 3: (2, 3, 4), 4: (5,)}


def test_lines_of_a_replaced_stretch_can_only_be_compared_together() -> None:
    mapping = map_lines("a\nb\nc\nd\n", "a\nx\ny\nd\n")
    assert together([2], mapping) == (2, 3)
    assert together([1], mapping) == (1,)
    assert together([4], mapping) == (4,)


def test_a_removed_line_is_compared_alone() -> None:
    assert together([2], map_lines("a\nb\nc\n", "a\nc\n")) == (2,)


def test_removed_lines_map_to_nothing() -> None:
    assert map_lines("a\nb\nc\n", "a\nc\n") == {1: (1,), 2: (), 3: (2,)}


def test_an_empty_file_that_gets_text_has_no_original_lines_to_map() -> None:
    assert map_lines("", "a\n") == {1: (1,)}


def test_mapped_collects_each_place_once() -> None:
    assert mapped((2, 3, 99), map_lines("a\nb\nc\nd\n", "a\nx\ny\nd\n")) == (2, 3)


def test_hunks_name_what_they_stand_for() -> None:
    found = hunks("a\nb\nc\n", "top\na\nB\nc\nend\n")
    assert [each.lines for each in found] == [(1,), (2,), (3,)]
    assert [(each.first, each.last) for each in found] == [(1, 0), (2, 2), (4, 3)]


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_every_new_line_that_differs_is_reached_from_somewhere(before: list[str], after: list[str]) -> None:
    old, new = "".join(f"{x}\n" for x in before), "".join(f"{x}\n" for x in after)
    mapping = map_lines(old, new)
    assert set(range(1, len(before) + 1)) <= set(mapping)
    if before:
        assert {place for places in mapping.values() for place in places} == set(range(1, len(after) + 1))


@pytest.mark.parametrize(
    ("old", "new", "beside"),
    [
        ([], [], []),
        (["a = 1;"], [], [(0, None)]),
        (["x"], ["y", "z"], [(0, 0), (None, 1)]),
        (["int row = 1;"], ["int width = 4;", "int row = 2;"], [(None, 0), (0, 1)]),
        (["for (i)", "sum += a[i];"], ["for (j)", "const x = 3;", "sum += b[i];"], [(0, 0), (None, 1), (1, 2)]),
        (["sum += a[i];"], [*["x"] * 12, "sum += b[i];"], [(0, 0), *[(None, n) for n in range(1, 13)]]),
    ],
)
def test_lines_that_are_alike_stand_beside_each_other_unless_they_are_far_apart(old, new, beside):
    assert pairs(old, new) == beside


def test_every_line_of_a_replaced_stretch_is_paired_once_and_in_order():
    old = [f"value_{n} = table[{n}] * {n % 7};" for n in range(40)]
    new = [f"value_{n} = table[{n}] + {n % 5};" for n in range(0, 80, 2)] + ["}"] * 9
    found = pairs(old, new)
    assert [a for a, _ in found if a is not None] == list(range(len(old)))
    assert [b for _, b in found if b is not None] == list(range(len(new)))
