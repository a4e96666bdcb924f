"""Numbers with units, as profilers print them, brought to base units with exact factors.

Base units are those of ``.ncu-rep`` reports: ns, Hz, byte, byte/s, %, and counts. Prefixes are decimal (32.77 Kbyte is
32,770 byte), as ncu's own are; below a line too they multiply (``%/Kbyte``), since ncu divides the value by 1,000 and
writes a K wherever the byte stands. A unit that is not known is an error that names it: a factor is never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

LONGEST_NUMBER = 40
"""More digits than any counter has; a longer one would not fit a float."""

TIMES = {
    "ns": 1, "nsecond": 1, "us": 10**3, "usecond": 10**3, "ms": 10**6, "msecond": 10**6, "s": 10**9, "second": 10**9,
}  # fmt: skip
_HERTZ = {"hz": 1, "khz": 10**3, "mhz": 10**6, "ghz": 10**9}
_BYTES = {"byte": 1, "Kbyte": 10**3, "Mbyte": 10**6, "Gbyte": 10**9, "Tbyte": 10**12, "Pbyte": 10**15}
_PLURALS = {"branches": "branch", "sectors": "sector", "requests": "request", "warps": "warp", "threads": "thread"}
COUNTS = frozenset(
    {
        "block", "branch", "cluster", "cycle", "inst", "pass", "register", "request", "sample", "sector", "SM",
        "thread", "warp",
    }
)  # fmt: skip


class UnknownUnit(ValueError):
    """``str()`` is the unit as it was printed."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A value in base units is the printed one times ``factor``."""

    base: str
    factor: Fraction


@lru_cache(maxsize=1024)
def unit(printed: str) -> Unit:
    """What ``printed`` (``Gbyte/second``, ``cycle/nsecond``, ``%``, nothing) stands for. Raises UnknownUnit."""
    if not printed.strip():
        return Unit("", Fraction(1))
    over, slash, under = printed.strip().partition("/")
    base, factor = _atom(over, printed)
    if not slash:
        return Unit(base, factor)
    if under in TIMES:
        a_second = factor * Fraction(10**9, TIMES[under])
        return Unit("Hz" if base == "cycle" else f"{base}/s", a_second)
    below, scale = _atom(under, printed)
    return Unit(f"{base}/{below}", factor * scale)


def _atom(word: str, printed: str) -> tuple[str, Fraction]:
    for base, factors in (("ns", TIMES), ("byte", _BYTES)):
        if word in factors:
            return base, Fraction(factors[word])
    if word.lower() in _HERTZ:
        return "Hz", Fraction(_HERTZ[word.lower()])
    one = _PLURALS.get(word, word)
    if one in COUNTS or one == "%":
        return one, Fraction(1)
    raise UnknownUnit(printed)


def in_base(digits: str, of: Unit) -> float | int:
    """``digits`` (``-1408.50``, ``1e3``: a decimal point, nothing between thousands) in base units; whole ones as int.

    Raises ValueError when it is no number or has too many digits.
    """
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits)} digits")
    if of.factor == 1 and digits.isdecimal():
        return int(digits)
    try:
        exact = Decimal(digits) * of.factor.numerator / of.factor.denominator
    except ArithmeticError as error:
        raise ValueError(f"{digits!r} is no number") from error
    if not exact.is_finite() or exact.adjusted() > LONGEST_NUMBER:
        raise ValueError(f"{digits!r} is no number that a counter reaches")
    return int(exact) if of.factor != 1 and exact == exact.to_integral_value() else float(exact)
