"""Numbers as the locale of the profiling shell prints them: ``1,408.5``, ``1.408,5``, ``1 408,5``, ``1408.5``.

One file has one locale, except for what ncu prints with a point in every locale: numbers with six decimals on the raw
page, and speed-ups. The locale is told by the first number that only one locale can have written: one with both signs
(the last is the decimal sign), one with a sign that comes again (it stands between thousands), or one whose digits
after the sign are not three. ``1,408`` alone could be both: it is settled by counts, which have no decimals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from analysis.formats.units import COUNTS, Unit, in_base
from analysis.types import Value

MISSING = frozenset(
    {"", "-", "--", "n/a", "na", "no data", "nan", "-nan", "(!) nan", "(!) n/a", "inf", "-inf", "+inf", "<na>", "none"}
)
_THIN = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'\u2019](?=\d{3}(?!\d))")
_INSTANCES = re.compile(r"\s+\(.*;.*\)$")
_IN_ANY_LOCALE = re.compile(r"[+-]?\d+\.\d{6}")
_CUT_OFF = re.compile(r"(?=.*[.,])[+-]?[\d.,]{15,}")
"""The console cuts numbers to the width of their column."""
_BOTH_WAYS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
_SHAPES = {
    point: re.compile(
        rf"[+-]?(?:[1-9]\d{{0,2}}(?:{between}\d{{2,3}})*{between}\d{{3}}|\d+)(?:{point}\d+)?(?:[eE][+-]?\d+)?"
    )
    for point, between in ((r"\.", ","), (",", r"\."))
}
_POINT, _COMMA = _SHAPES[r"\."], _SHAPES[","]


def whole(metric: str, unit: Unit) -> bool:
    """Whether ``metric`` counts something, so that its values have no decimals."""
    counted = unit.base in COUNTS or unit.base in ("byte", "ns", "register/thread", "byte/block", "")
    return counted and unit.factor == 1 and (metric.endswith(".sum") or metric.startswith("launch__"))


@dataclass(slots=True)
class Numbers:
    """``decimal``: the decimal sign, None until a number tells. ``doubtful``: the first that could be both ways."""

    decimal: str | None = None
    doubtful: str | None = None

    def look(self, cell: str, counted: bool) -> None:
        """Learn from one cell. ``counted``: its value cannot have decimals."""
        if self.decimal is not None or not ("," in cell or "." in cell):
            return
        text = _THIN.sub("", cell.strip())
        if _IN_ANY_LOCALE.fullmatch(text):
            return
        if _BOTH_WAYS.fullmatch(text):
            if counted:
                self.decimal = "." if "," in text else ","
            elif self.doubtful is None:
                self.doubtful = text
        elif _POINT.fullmatch(text):
            self.decimal = "."
        elif _COMMA.fullmatch(text):
            self.decimal = ","

    def value(self, cell: str, unit: Unit) -> Value:
        """In base units; None when the tool had no value, text where there is no unit. Raises ValueError for what is
        no number but has a unit."""
        text = cell.strip()
        if text.isdecimal() and text.isascii():
            return in_base(text, unit)
        digits = self._plain(text)
        if digits is None:
            if text.lower() in MISSING:
                return None
            digits = self._plain(_THIN.sub("", _INSTANCES.sub("", text)))
        if digits is not None:
            return in_base(digits, unit)
        if unit.base or _CUT_OFF.fullmatch(text):
            raise ValueError(f"{text!r} is no number")
        return text

    def number(self, cell: str, unit: Unit) -> float | None:
        """The same where only a number will do: None for everything else."""
        try:
            value = self.value(cell, unit)
        except ValueError:
            return None
        return float(value) if isinstance(value, int | float) else None

    def _plain(self, text: str) -> str | None:
        if self.decimal == "," and not _IN_ANY_LOCALE.fullmatch(text):
            return text.replace(".", "").replace(",", ".") if _COMMA.fullmatch(text) else None
        return text.replace(",", "") if _POINT.fullmatch(text) else None
