"""Numbers as people read them: base units in, text with a unit and sensible digits out. None is "n/a", never 0."""

from __future__ import annotations

from datetime import datetime, timedelta

NONE = "n/a"
MINUS = "\u2212"
SPACE = "\u00a0"  # between a number and its unit, so that no line breaks there

DURATIONS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def significant(value: float, digits: int = 3) -> str:
    """``digits`` significant digits, no exponent, thousands separated: 0.0123, 1.84, 12.3, 12,345."""
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])  # after rounding: 9.999 is 1.00e1
    return f"{value:,.{max(0, digits - 1 - exponent)}f}".replace("-", MINUS)


def duration(nanoseconds: float | None) -> str:
    """412 ns, 1.84 µs, 12.3 ms, 4.56 s, 2 min 05 s, 1 h 12 min."""
    if nanoseconds is None:
        return NONE
    size = abs(nanoseconds)
    if size >= 59.95e9:
        return long_duration(round(nanoseconds / 1e9))
    # A value that would round up to 1000 of a unit is told in the next one.
    scale, unit = next((pair for pair in DURATIONS if size >= 0.9995 * pair[0]), DURATIONS[-1])
    return f"{significant(nanoseconds / scale)}{SPACE}{unit}"


def long_duration(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}{SPACE}min{SPACE}{rest:02d}{SPACE}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours}{SPACE}h{SPACE}{minutes:02d}{SPACE}min"
    return f"{hours // 24}{SPACE}days{SPACE}{hours % 24}{SPACE}h"


def quantity(value: float | None, unit: str = "") -> str:
    """SI prefixes: 1.64 TB/s, 12.1 Gflop/s, 843 samples. ``unit`` "ns" is told as a duration."""
    if value is None:
        return NONE
    if unit == "ns":
        return duration(value)
    scale, prefix = next((pair for pair in PREFIXES if abs(value) >= 0.9995 * pair[0]), (1.0, ""))
    return f"{significant(value / scale)}{SPACE}{prefix}{unit}".rstrip(SPACE)


def size(count: float | None) -> str:
    """Bytes in powers of ten: 843 B, 1.64 MB, 16.1 GB."""
    return quantity(count, "B")


def percent(share: float | None) -> str:
    """A share, 0..1: 12.3 %, 4.1 %, < 0.1 %. Less than all is never told as 100 %."""
    if share is None:
        return NONE
    value = share * 100
    if 0 < value < 0.1:
        return f"<{SPACE}0.1{SPACE}%"
    if 99.95 <= value < 100:
        return f">{SPACE}99.9{SPACE}%"
    text = f"{value:.1f}".removesuffix(".0").replace("-", MINUS)
    return f"{text}{SPACE}%"


def signed_percent(share: float | None) -> str:
    """A change, 0.123 for twelve percent more: +12.3 %, -4.1 % (with a real minus)."""
    if share is None:
        return NONE
    return ("+" if share > 0 else "") + percent(share).replace(f"<{SPACE}", "")


def count(number: float | None) -> str:
    """12,345."""
    return NONE if number is None else f"{number:,.0f}".replace("-", MINUS)


def speedup(ratio: float | None) -> str:
    """t_before / t_after: 1.84×; under 1 it got slower."""
    if ratio is None:
        return NONE
    if 0.995 <= ratio < 1.005 and ratio != 1:
        return f"{ratio:.3f}×"  # a little off 1 is not told as 1.00
    return f"{significant(ratio, 3 if ratio >= 1 else 2)}×"


def short_hash(digest: str | None) -> str:
    return digest[:12] if digest else NONE


def ago(moment: datetime | None, now: datetime) -> str:
    """just now, 5 min ago, 3 h ago, yesterday, 4 days ago, then the date."""
    if moment is None:
        return NONE
    passed = now - moment
    if passed < timedelta(minutes=1):
        return "just now"
    if passed < timedelta(hours=1):
        return f"{passed.seconds // 60} min ago"
    if passed < timedelta(days=1):
        return f"{passed.seconds // 3600} h ago"
    if passed < timedelta(days=7):
        return "yesterday" if passed.days == 1 else f"{passed.days} days ago"
    return f"{moment.day} {moment:%b %Y}"
