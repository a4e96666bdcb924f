"""The locale of a print is told by its numbers, and never guessed."""

from __future__ import annotations

import pytest

from analysis.formats.ncu_text.numbers import Numbers, whole
from analysis.formats.units import unit


@pytest.mark.parametrize(
    ("cell", "decimal"),
    [
        ("12,196,559.5", "."),
        ("1,234,567", "."),
        ("12,34,567", "."),
        ("41.28", "."),
        ("0.004", "."),
        ("1408.500", "."),
        ("1.5e+06", "."),
        ("1'408.5", "."),
        ("12.196.559,5", ","),
        ("1.234.567", ","),
        ("41,28", ","),
        ("0,004", ","),
        ("1408,500", ","),
        ("1\u202f408,5", ","),
        ("1,408", None),
        ("1.408", None),
        ("1408", None),
        ("1, 2, 3", None),
        ("PreferNone", None),
    ],
)
def test_one_number_can_tell_the_decimal_sign(cell: str, decimal: str | None) -> None:
    numbers = Numbers()
    numbers.look(cell, counted=False)
    assert numbers.decimal == decimal


def test_counts_settle_what_could_be_read_both_ways() -> None:
    numbers = Numbers()
    numbers.look("1,408", counted=False)
    assert (numbers.decimal, numbers.doubtful) == (None, "1,408")
    numbers.look("2,097", counted=True)
    assert numbers.decimal == "."


def test_the_first_sign_counts() -> None:
    numbers = Numbers()
    for cell in ("41,28", "41.28"):
        numbers.look(cell, counted=False)
    assert numbers.decimal == ","


@pytest.mark.parametrize(
    ("decimal", "cell", "value"),
    [
        (".", "1,408", 1408),
        (".", "1,048,576", 1048576),
        (".", "1'408.5", 1408.5),
        (".", "-3.25", -3.25),
        (".", "5 (1; 2; 2)", 5),
        (",", "1.408", 1408),
        (",", "2.391,07", 2391.07),
        (",", "1 408,5", 1408.5),
        (None, "1408.5", 1408.5),
        (".", "n/a", None),
        (".", "(!) nan", None),
        (".", "nan", None),
        (".", "inf", None),
        (".", "no data", None),
        (".", "-", None),
        (".", "", None),
    ],
)
def test_values(decimal: str | None, cell: str, value: float | None) -> None:
    assert Numbers(decimal).value(cell, unit("inst")) == value


def test_text_is_text_only_where_there_is_no_unit() -> None:
    assert Numbers(".").value("PreferNone", unit("")) == "PreferNone"
    assert Numbers(".").number("PreferNone", unit("")) is None
    with pytest.raises(ValueError, match="'41,28' is no number"):
        Numbers(".").value("41,28", unit("us"))


def test_only_sums_and_sizes_of_a_launch_have_no_decimals() -> None:
    assert whole("smsp__inst_executed.sum", unit("inst"))
    assert whole("launch__grid_size", unit(""))
    assert not whole("smsp__inst_executed.avg", unit("inst"))
    assert not whole("dram__bytes.sum", unit("Mbyte"))
    assert not whole("gpu__time_duration.sum", unit("us"))
