from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from optimas_web import figures

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u2212", "-")


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (None, "n/a"),
        (0, "0 ns"),
        (0.31, "0.310 ns"),
        (412, "412 ns"),
        (999.4, "999 ns"),
        (999.9, "1.00 µs"),
        (1840, "1.84 µs"),
        (12_345_678, "12.3 ms"),
        (999_999_999, "1.00 s"),
        (4_560_000_000, "4.56 s"),
        (59_940_000_000, "59.9 s"),
        (59_960_000_000, "1 min 00 s"),
        (125_000_000_000, "2 min 05 s"),
        (4_320_000_000_000, "1 h 12 min"),
        (180_000_000_000_000, "2 days 2 h"),
        (-1840, "-1.84 µs"),
    ],
)
def test_durations(nanoseconds, text):
    assert plain(figures.duration(nanoseconds)) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "B/s", "n/a"),
        (0, "B", "0 B"),
        (843, "samples", "843 samples"),
        (1.64e12, "B/s", "1.64 TB/s"),
        (999_999, "B", "1.00 MB"),
        (16_106_127_360, "B", "16.1 GB"),
        (0.0123, "", "0.0123"),
        (812_400, "ns", "812 µs"),
    ],
)
def test_quantities(value, unit, text):
    assert plain(figures.quantity(value, unit)) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "n/a"),
        (0, "0 %"),
        (0.0004, "< 0.1 %"),
        (0.041, "4.1 %"),
        (0.5, "50 %"),
        (0.6474, "64.7 %"),
        (0.9999, "> 99.9 %"),
        (1, "100 %"),
        (-0.05, "-5 %"),
    ],
)
def test_shares(share, text):
    assert plain(figures.percent(share)) == text


@pytest.mark.parametrize(("share", "text"), [(0.123, "+12.3 %"), (-0.041, "-4.1 %"), (0, "0 %"), (None, "n/a")])
def test_changes_have_a_sign(share, text):
    assert plain(figures.signed_percent(share)) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (None, "n/a"),
        (1.8412, "1.84×"),
        (12.34, "12.3×"),
        (0.853, "0.85×"),
        (1, "1.00×"),
        (1.003, "1.003×"),
        (0.9961, "0.996×"),
    ],
)
def test_speedups(ratio, text):
    assert figures.speedup(ratio) == text


@pytest.mark.parametrize(
    ("value", "text"), [(9.999, "10.0"), (99.99, "100"), (0.09999, "0.100"), (12345.6, "12,346"), (-1.5, "-1.50")]
)
def test_three_digits_also_where_rounding_makes_a_longer_number(value, text):
    assert plain(figures.significant(value)) == text


@pytest.mark.parametrize(
    ("passed", "text"),
    [
        (timedelta(seconds=3), "just now"),
        (timedelta(minutes=5), "5 min ago"),
        (timedelta(hours=3), "3 h ago"),
        (timedelta(hours=30), "yesterday"),
        (timedelta(days=4), "4 days ago"),
        (timedelta(days=30), "1 Nov 2026"),
    ],
)
def test_how_long_ago(passed, text):
    assert figures.ago(NOW - passed, NOW) == text


def test_counts_and_hashes():
    assert figures.count(1234567) == "1,234,567"
    assert figures.count(None) == figures.short_hash("") == "n/a"
    assert figures.short_hash("9f86d081884c7d659a2f") == "9f86d081884c"
