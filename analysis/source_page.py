"""What the source page says: one file of one kernel, line by line, with what each line costs and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis import reasons
from analysis.stalls import leading
from analysis.statements import AT_MOST_LINES, LINES_HOLD
from analysis.types import Evidence, KernelAnalysis, StallLine

NOTES = 12
"""So many lines have notes where none is hot."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line that costs something. ``parts`` are drawn as long as its share of the costliest line's.

    ``gap``: it is hot and the line before it is not.
    """

    number: int
    cost: StallLine
    parts: tuple[reasons.Part, ...]
    hot: bool
    gap: bool


@dataclass(frozen=True, slots=True)
class LineNotes:
    """What is known of a line that has samples or evidence."""

    number: int
    text: str
    cost: StallLine | None
    parts: tuple[reasons.Part, ...]
    evidence: tuple[Evidence, ...]
    hot: bool

    @property
    def reasons(self) -> list[reasons.Part]:
        """``parts``, the largest first."""
        return sorted(self.parts, key=lambda part: -part.share)


@dataclass(frozen=True, slots=True)
class FileTab:
    """A file of the switcher. ``share``: of the kernel's stalls or cycles; None: it has none."""

    file: str
    share: float | None
    has_text: bool
    here: bool


@dataclass(frozen=True, slots=True)
class SourcePage:
    """``text``: None when nobody has it. ``lines``: those that cost something. ``notes``: what to read beside them.

    ``unplaced``: share of what has no source line. ``elsewhere``: hot lines of other files.
    """

    file: str
    text: str | None
    unit: str
    total: float
    lines: tuple[SourceLine, ...]
    notes: tuple[LineNotes, ...]
    tabs: tuple[FileTab, ...]
    others: tuple[str, ...]
    elsewhere: tuple[StallLine, ...]
    legend: tuple[reasons.Group, ...]
    unplaced: float

    @property
    def hot(self) -> tuple[int, ...]:
        return tuple(line.number for line in self.lines if line.hot)


def first_file(found: KernelAnalysis, known: Sequence[str]) -> str:
    """The file to open when none is asked for: the costliest with text, else the costliest, else the first."""
    ranked = list(shares(found))
    return next((file for file in ranked if file in known), next(iter([*ranked, *known]), ""))


def shares(found: KernelAnalysis) -> dict[str, float]:
    """File -> share of the kernel's stalls or cycles, largest first."""
    held: dict[str, float] = defaultdict(float)
    for line in _lines(found):
        if line.file:
            held[line.file] += line.share
    return dict(sorted(held.items(), key=lambda item: -item[1]))


def page(found: KernelAnalysis, file: str, text: str | None, known: Collection[str]) -> SourcePage:
    """``file`` as this kernel sees it. ``text``: None when nobody has it. ``known``: files whose text is there."""
    here = {line.line: line for line in _lines(found) if line.file == file and line.line is not None}
    hot = leading([line for line in _lines(found) if line.file], LINES_HOLD, AT_MOST_LINES)
    held = shares(found)
    evidence = _by_line(item for item in found.evidence if item.file == file)
    return SourcePage(
        file=file,
        text=text,
        unit=found.stalls.unit if found.stalls else "",
        total=found.stalls.total if found.stalls else 0.0,
        lines=tuple(_listing(here, {line.line for line in hot if line.file == file})),
        notes=tuple(_notes(here, evidence, hot)),
        tabs=tuple(FileTab(name, share, name in known, name == file) for name, share in held.items()),
        others=tuple(sorted(name for name in known if name not in held)),
        elsewhere=tuple(line for line in hot if line.file != file),
        legend=reasons.legend(reason for line in here.values() for reason in line.reasons),
        unplaced=sum(line.share for line in _lines(found) if not line.file),
    )


def _lines(found: KernelAnalysis) -> tuple[StallLine, ...]:
    return found.stalls.lines if found.stalls else ()


def _listing(here: Mapping[int, StallLine], hot: Collection[int | None]) -> Iterable[SourceLine]:
    most = max((line.share for line in here.values()), default=0.0)
    for number, cost in sorted(here.items()):
        parts = reasons.parts(cost.reasons, cost.share / most if most else 0.0)
        yield SourceLine(number, cost, parts, number in hot, number in hot and number - 1 not in hot)


def _by_line(items: Iterable[Evidence]) -> dict[int, list[Evidence]]:
    """Evidence by the first line that it points at."""
    found: dict[int, list[Evidence]] = defaultdict(list)
    for item in items:
        if item.lines:
            found[item.lines[0]].append(item)
    return found


def _notes(
    here: Mapping[int, StallLine], evidence: Mapping[int, Sequence[Evidence]], hot: Sequence[StallLine]
) -> Iterable[LineNotes]:
    """Costliest lines first, then those that only have evidence. A cold line says what it has to say in the listing."""
    costly = sorted(here.values(), key=lambda line: -line.value)
    for line in [line for line in costly if line in hot or line.line in evidence] or costly[:NOTES]:
        number = line.line or 0
        items = tuple(evidence.get(number, ()))
        yield LineNotes(number, line.text, line, reasons.parts(line.reasons), items, line in hot)
    for number in sorted(set(evidence) - set(here)):
        yield LineNotes(number, evidence[number][0].text, None, (), tuple(evidence[number]), False)
