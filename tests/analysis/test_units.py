"""Printed units become base units with exact factors, and an unknown one is named."""

from __future__ import annotations

import pytest

from analysis.formats.units import UnknownUnit, in_base, unit


@pytest.mark.parametrize(
    ("digits", "printed", "value", "base"),
    [
        ("812", "nsecond", 812, "ns"),
        ("812", "ns", 812, "ns"),
        ("41.28", "usecond", 41_280, "ns"),
        ("41.28", "us", 41_280, "ns"),
        ("7.5", "msecond", 7_500_000, "ns"),
        ("7.5", "ms", 7_500_000, "ns"),
        ("1.25", "second", 1_250_000_000, "ns"),
        ("1.25", "s", 1_250_000_000, "ns"),
        ("1.41", "cycle/nsecond", 1_410_000_000, "Hz"),
        ("1410", "cycle/usecond", 1_410_000_000, "Hz"),
        ("1.41", "Ghz", 1_410_000_000, "Hz"),
        ("780", "Mhz", 780_000_000, "Hz"),
        ("3", "Khz", 3_000, "Hz"),
        ("1977637954.91", "hz", 1977637954.91, "Hz"),
        ("32.77", "Kbyte", 32_770, "byte"),
        ("1.572864", "Mbyte", 1_572_864, "byte"),
        ("1.5", "Gbyte", 1_500_000_000, "byte"),
        ("900.50", "Gbyte/second", 900_500_000_000, "byte/s"),
        ("2.24", "Tbyte/s", 2_240_000_000_000, "byte/s"),
        ("1.02", "Kbyte/block", 1_020, "byte/block"),
        ("1.504", "Kbyte/cycle", 1_504, "byte/cycle"),
        ("16.5", "byte/sector", 16.5, "byte/sector"),
        ("2.5", "sector/us", 2_500_000, "sector/s"),
        ("2.5", "sector/ns", 2_500_000_000, "sector/s"),
        ("2.5", "sector/ms", 2_500, "sector/s"),
        ("2.61", "%/Kbyte", 2_610, "%/byte"),
        ("0.5", "%/register", 0.5, "%/register"),
        ("24", "register/thread", 24, "register/thread"),
        ("1.79", "inst/cycle", 1.79, "inst/cycle"),
        ("7", "branches", 7, "branch"),
        ("7", "sectors", 7, "sector"),
        ("132", "SM", 132, "SM"),
        ("8", "cluster", 8, "cluster"),
        ("9", "pass", 9, "pass"),
        ("4", "sample", 4, "sample"),
        ("46.51", "%", 46.51, "%"),
        ("0.45", "", 0.45, ""),
        ("-1e3", "", -1000, ""),
    ],
)
def test_a_value_in_base_units(digits: str, printed: str, value: float, base: str) -> None:
    assert in_base(digits, unit(printed)) == value
    assert unit(printed).base == base


@pytest.mark.parametrize("printed", ["furlong", "furlong/s", "byte/furlong", "mbyte", "KiB", "/s", "byte/", "Byte"])
def test_an_unknown_unit_is_an_error_that_names_it(printed: str) -> None:
    with pytest.raises(UnknownUnit) as failure:
        unit(printed)
    assert str(failure.value) == printed


def test_whole_numbers_stay_whole_and_large_ones_exact() -> None:
    assert in_base("9007199254740993", unit("inst")) == 9_007_199_254_740_993
    assert in_base("0.000000001", unit("s")) == 1
    assert isinstance(in_base("41.28", unit("us")), int)


@pytest.mark.parametrize("digits", ["1" * 41, "", "x", "1.2.3", "1e999", "1e99999999", "nan", "inf"])
def test_what_is_no_number_of_a_counter_is_an_error(digits: str) -> None:
    for printed in ("inst", "us"):
        with pytest.raises(ValueError):
            in_base(digits, unit(printed))
