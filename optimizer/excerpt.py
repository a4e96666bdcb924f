"""The parts of a program that a prompt shows: numbered lines, the most relevant first."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.source import functions, split_lines
from optimizer.regions import Placed, called, matches
from optimizer.types import Region

# How far a part is from what may change. Everything up to ALLOWED is always shown.
ALLOWED, CALLED, DECLARED, CALLER = range(4)

Marks = Mapping[tuple[str, int], str]
"""(file, line) -> what is to be said below that line."""


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of one file that are shown or left out together. ``what`` names them for a person."""

    rank: int
    file: str
    lines: tuple[int, ...]
    what: str


def parts(sources: Mapping[str, str], regions: Sequence[Region], kernels: Sequence[str]) -> tuple[Part, ...]:
    """What may change, what that calls, what stands outside functions in those files, and who calls the kernels."""
    everything = [(file, each) for file in sorted(sources) for each in functions(sources[file])]
    places = {(region.file, region.first) for region in regions}
    open_ = [placed for placed in everything if (placed[0], placed[1].first_line) in places]
    found = [_part(ALLOWED, placed) for placed in open_]
    found += [_part(CALLED, placed) for placed in called(everything, open_) if placed[1].name != "main"]
    for file in sorted({file for file, _ in open_}):
        if lines := _declarations(sources[file]):
            found.append(Part(DECLARED, file, lines, f"what stands outside functions in {file}"))
    names = [each.name for _, each in everything if any(matches(each, kernel) for kernel in kernels)]
    callers = [placed for placed in everything if placed not in open_ and set(names) & set(placed[1].calls)]
    shown = {(part.file, part.lines) for part in found}
    found += [part for part in (_part(CALLER, each) for each in callers) if (part.file, part.lines) not in shown]
    return tuple(found)


def numbered(sources: Mapping[str, str], shown: Iterable[Part], marks: Marks) -> tuple[str, ...]:
    """One text a file: ``number| text`` lines with the marks below them and ``...`` for what is left out."""
    wanted: dict[str, set[int]] = {}
    for part in shown:
        wanted.setdefault(part.file, set()).update(part.lines)
    return tuple(
        "\n".join([f"file {file}", *_lines(file, split_lines(sources[file]), sorted(lines), marks)])
        for file, lines in sorted(wanted.items())
    )


def fence(*texts: str) -> str:
    """A word that none of the texts holds, always the same for the same texts."""
    joined = "\n".join(texts)
    word = hashlib.sha256(joined.encode()).hexdigest()[:12]
    while word in joined:
        word = hashlib.sha256(word.encode()).hexdigest()[:12]
    return word


def plain(text: str) -> str:
    """Text that any encoding takes: bytes that were no UTF-8 become a replacement sign."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _part(rank: int, placed: Placed) -> Part:
    file, each = placed
    return Part(
        rank, file, tuple(range(each.first_line, each.last_line + 1)), f"{each.qualified} ({file}:{each.first_line})"
    )


def _declarations(text: str) -> tuple[int, ...]:
    inside = {line for each in functions(text) for line in range(each.first_line, each.last_line + 1)}
    return tuple(n for n, line in enumerate(split_lines(text), 1) if n not in inside and line.strip())


def _lines(file: str, text: Sequence[str], wanted: Sequence[int], marks: Marks) -> Iterator[str]:
    last = 0
    for line in wanted:
        if any(skipped.strip() for skipped in text[last : line - 1]):
            yield "..."
        yield f"{line}| {plain(text[line - 1]).removesuffix(chr(10)).removesuffix(chr(13))}"
        if mark := marks.get((file, line)):
            yield f"^ {mark}"
        last = line
    if any(skipped.strip() for skipped in text[last:]):
        yield "..."
