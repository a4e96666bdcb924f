"""Location agreement: do the edits change the lines that their own evidence points at?"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from evaluation.ear import Hunk, Reasoning, hunks
from evaluation.types import Score
from optimizer.types import Region

NEAR = 3
"""Lines on either side of an evidence line that still count as there."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One hunk against the lines near its evidence; ``by_chance`` is None where no region holds the hunk."""

    hunk: Hunk
    hits: int
    by_chance: float | None


def score(reasoning: Reasoning) -> Score:
    """Changed lines near cited evidence over all changed lines, of the hunks whose citations have lines.

    Chance: the hunk's pattern of lines moved to every place of its function where it fits, all places alike. A hunk
    as long as its function fits in one place only, and evidence that covers every line is met everywhere: both have
    a chance as high as their score, and a lift of 1.
    """
    found = hunks(reasoning)
    placed = [place for hunk in found if (place := placement(hunk, reasoning)) is not None]
    numerator, denominator = sum(place.hits for place in placed), sum(len(place.hunk.lines) for place in placed)
    value = numerator / denominator if denominator else None
    chance = _chance(placed, denominator)
    parts: dict[str, object] = {
        "hunks": [_row(place) for place in placed],
        "hunks_citing_no_lines": len(found) - len(placed),
        "near_lines": NEAR,
        "lift": value / chance if value is not None and chance else None,
    }
    return Score("location", value, numerator, denominator, chance, parts, _sentence(numerator, denominator, chance))


def placement(hunk: Hunk, reasoning: Reasoning) -> Placed | None:
    """How ``hunk`` lies to its evidence; None when nothing that it cites has lines."""
    near = near_lines(hunk, reasoning)
    if near is None:
        return None
    region = home(hunk, reasoning.regions)
    by_chance = expected_hits(hunk.lines, near, region) if region else None
    return Placed(hunk, len(hunk.lines & near), by_chance)


def near_lines(hunk: Hunk, reasoning: Reasoning) -> frozenset[int] | None:
    """Lines of the hunk's file within `NEAR` of what it cites; None when no cited evidence has lines in any file."""
    cited = [item for item in reasoning.offered if item.label in hunk.cited and item.lines]
    if not cited:
        return None
    here = [item.lines for item in cited if item.file == hunk.file and item.lines]
    return frozenset(line for first, last in here for line in range(first - NEAR, last + NEAR + 1))


def home(hunk: Hunk, regions: tuple[Region, ...]) -> Region | None:
    """The region that holds most of the hunk's lines; None when none holds any."""
    held = [(len(hunk.lines & set(range(r.first, r.last + 1))), r) for r in regions if r.file == hunk.file]
    most = max(held, key=lambda pair: pair[0], default=(0, None))
    return most[1] if most[0] else None


def expected_hits(lines: frozenset[int], near: frozenset[int], region: Region) -> float:
    """Mean of |lines + s in near| over every shift s that keeps the pattern inside the region, by enumeration."""
    first, last = min(region.first, min(lines)), max(region.last, max(lines))
    shifts = range(first - min(lines), last - max(lines) + 1)
    return fmean(sum(line + shift in near for line in lines) for shift in shifts)


def _chance(placed: list[Placed], denominator: int) -> float | None:
    expected = [place.by_chance for place in placed if place.by_chance is not None]
    return sum(expected) / denominator if denominator and len(expected) == len(placed) else None


def _row(place: Placed) -> dict[str, object]:
    return {
        "file": place.hunk.file,
        "lines": sorted(place.hunk.lines),
        "evidence": list(place.hunk.cited),
        "hits": place.hits,
        "by_chance": place.by_chance,
    }


def _sentence(numerator: int, denominator: int, chance: float | None) -> str:
    if not denominator:
        return "No edit cites evidence that has lines, so there is no place to compare."
    at_random = "not known" if chance is None else f"{chance:.0%}"
    return (
        f"{numerator} of {denominator} changed lines lie within {NEAR} lines of the evidence they cite; "
        f"edits of the same shape put anywhere in the same functions: {at_random}."
    )
