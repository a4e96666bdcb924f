"""Answers that are not JSON: SEARCH/REPLACE blocks, unified diffs, whole files or functions in code fences.

They name their evidence on a line ``Evidence: S1, R1`` in front of each block, or behind each block. A block without
a line of its own shares its neighbour's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from analysis.source import functions
from analysis.tokens import tokens
from optimizer.placing import without_numbers
from optimizer.types import Answer, Edit
from optimizer.whole import WHOLE

_LABEL = re.compile(r"\b[A-Z]{1,3}\d+\b")
_EVIDENCE = re.compile(r"^[\s#>*_/-]*evidence[\s*_]*:[\s*_]*(.+)$", re.IGNORECASE)
_SEARCH = re.compile(r"^<{5,9} ?SEARCH\b")
_DIVIDER = re.compile(r"^={5,9}\s*$")
_REPLACE = re.compile(r"^>{5,9} ?REPLACE\b")
_PATH = re.compile(r"[\w./+-]+\.(?:cu|cuh|c|cc|cpp|cxx|h|hh|hpp|hxx|inc|inl)\b")
_HUNK = re.compile(r"^@@(?: -(\d{1,9})(?:,(\d+))? \+\d+(?:,\d+)?)? ?(?:@@.*)?$")
_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})\s*([^`]*)$")
_CODE_WORDS = frozenset({"", "c", "cc", "cpp", "c++", "cxx", "cu", "cuda", "cuda-c++", "cuh", "h", "hpp"})


MOST_CLOSINGS = 20
"""Fences that are looked at for the end of one code block."""


class CutOff(Exception):
    """The text ends inside a block."""


class Unreadable(Exception):
    """What is wrong with an answer, as a sentence."""


@dataclass(frozen=True, slots=True)
class _Block:
    """One edit as written. ``first`` and ``last`` are the lines of the answer that it takes up, from 0."""

    first: int
    last: int
    file: str
    start: int
    count: int
    original: str
    new: str


def labels(text: str) -> list[str]:
    """Evidence ids in a text; the whole text when none is in it, so that it can be shown as unknown."""
    return _LABEL.findall(text) or ([text.strip()] if text.strip() else [])


def present(text: str) -> bool:
    """Whether the text has the marks of one of these forms."""
    return any(_SEARCH.match(line) or line.startswith("+++ ") for line in text.split("\n"))


def read(text: str) -> Answer | None:
    """The answer in the first form that the text has, or None."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    try:
        for form, reader in (("search_replace", _search_replace), ("diff", _diff), ("file", _files)):
            if blocks := list(reader(lines)):
                return _answer(form, blocks, lines)
    except CutOff:
        return Answer("cut_off", "The answer ends in the middle of an edit; nothing of it is used.")
    return None


def _answer(form: str, blocks: Sequence[_Block], lines: Sequence[str]) -> Answer:
    cited = _cited(blocks, lines)
    edits = tuple(
        Edit(block.file, block.start, _last(form, block), block.original, block.new, ids)
        for block, ids in zip(blocks, cited, strict=True)
    )
    many = "1 edit" if len(edits) == 1 else f"{len(edits)} edits"
    shown = {"search_replace": "SEARCH/REPLACE blocks", "diff": "a unified diff", "file": "whole code"}[form]
    return Answer("edits", f"The answer has {many}, written as {shown}.", "", edits, (), form, ())


def _last(form: str, block: _Block) -> int:
    if form == "file":
        return WHOLE
    return block.start + block.count - 1 if block.start else 0


def _cited(blocks: Sequence[_Block], lines: Sequence[str]) -> list[tuple[str, ...]]:
    inside = {line for block in blocks for line in range(block.first, block.last + 1)}
    named = {
        number: tuple(dict.fromkeys(_LABEL.findall(found.group(1))))
        for number, line in enumerate(lines)
        if number not in inside and (found := _EVIDENCE.match(line))
    }
    leads = any(number < blocks[0].first for number in named)
    cited = []
    for block in blocks:
        before = [number for number in named if number < block.first]
        behind = [number for number in named if number > block.last]
        nearest = max(before, default=None) if leads else min(behind, default=max(before, default=None))
        cited.append(named[nearest] if nearest is not None else ())
    return cited


# --- SEARCH/REPLACE ----------------------------------------------------------------------------


def _search_replace(lines: Sequence[str]) -> Iterator[_Block]:
    file, line = "", 0
    while line < len(lines):
        if not _SEARCH.match(lines[line]):
            line += 1
            continue
        middle = _find(lines, line + 1, _DIVIDER)
        end = _find(lines, middle + 1, _REPLACE)
        file = _named_before(lines, line) or file
        old, new = lines[line + 1 : middle], lines[middle + 1 : end]
        yield _Block(line, end, file, 0, 0, _joined(old), _joined(new))
        line = end + 1


def _find(lines: Sequence[str], start: int, mark: re.Pattern[str]) -> int:
    for number in range(start, len(lines)):
        if mark.match(lines[number]):
            return number
    raise CutOff


def _named_before(lines: Sequence[str], line: int) -> str:
    """A path in one of the three lines before, fences and blank lines left out."""
    seen = [each for each in lines[max(0, line - 6) : line] if each.strip() and not each.strip().startswith("```")]
    fence = [each for each in lines[max(0, line - 2) : line] if each.strip().startswith("```")]
    for each in reversed([*seen[-3:], *fence]):
        if not _EVIDENCE.match(each) and (found := _PATH.search(each)):
            return found.group()
    return ""


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


# --- unified diffs -----------------------------------------------------------------------------


def _diff(lines: Sequence[str]) -> Iterator[_Block]:
    file, line = "", 0
    while line < len(lines):
        if _starts_file(lines, line):
            file = _diff_path(lines[line + 1][4:], lines[line][4:])
            line += 2
        elif file and (header := _HUNK.match(lines[line])):
            end = _end_of_hunk(lines, line + 1)
            _refuse_broken(lines, end)
            yield _hunk(file, line, end, header, lines[line + 1 : end])
            line = end
        else:
            line += 1


def _starts_file(lines: Sequence[str], line: int) -> bool:
    return lines[line].startswith("--- ") and line + 1 < len(lines) and lines[line + 1].startswith("+++ ")


def _diff_path(new: str, old: str) -> str:
    names = [name.split("\t")[0].strip().strip('"') for name in (new, old)]
    if "/dev/null" in names:
        raise Unreadable(
            f"The diff adds or removes a file ({names[names[0] == '/dev/null']}); only edits inside files are read."
        )
    return re.sub(r"^[ab]/", "", names[0])


def _end_of_hunk(lines: Sequence[str], start: int) -> int:
    line = start
    while line < len(lines) and not _starts_file(lines, line):
        blank = not lines[line] and line + 1 < len(lines) and lines[line + 1][:1] in (" ", "+", "-")
        if lines[line][:1] not in (" ", "+", "-", "\\") and not blank:
            break
        line += 1
    return line


def _refuse_broken(lines: Sequence[str], end: int) -> None:
    """Changes behind a line that no hunk can have would be dropped, and half an edit made."""
    for number in range(end, len(lines)):
        if not lines[number].strip() or lines[number].startswith("```") or _HUNK.match(lines[number]):
            return
        if number > end and lines[number][0] in "+-" and not _starts_file(lines, number):
            raise Unreadable(
                f"The diff goes on behind `{lines[end].strip()[:80]}`, which begins with neither a blank, + nor -."
            )


def _hunk(file: str, first: int, end: int, header: re.Match[str], body: Sequence[str]) -> _Block:
    kept = [(each[:1] or " ", each[1:]) for each in body if not each.startswith("\\")]
    old = [text for mark, text in kept if mark in " -"]
    new = [text for mark, text in kept if mark in " +"]
    start = int(header.group(1) or 0)
    if not old and header.group(1):
        start += 1  # "-7,0" means behind line 7
    return _Block(first, end - 1, file, start, len(old), _joined(old), _joined(new))


# --- whole files and functions -----------------------------------------------------------------


def _files(lines: Sequence[str]) -> Iterator[_Block]:
    line = 0
    while line < len(lines):
        opening = _FENCE.match(lines[line])
        if not opening:
            line += 1
            continue
        word, _, rest = opening.group(2).strip().partition(" ")
        end = _end_of_fence(lines, line, opening.group(1))
        text, _ = without_numbers(_joined(lines[line + 1 : end]))
        if word.split(":")[0].lower() in _CODE_WORDS and functions(text):
            named = _PATH.search(f"{word} {rest}")
            yield _Block(line, end, named.group() if named else _named_before(lines, line), 0, 0, "", text)
        line = end + 1


def _end_of_fence(lines: Sequence[str], start: int, fence: str) -> int:
    """The first closing fence at which the code is whole: a fence may stand in a comment of the code."""
    every = (
        number
        for number in range(start + 1, len(lines))
        if lines[number].strip().startswith(fence) and not lines[number].strip().strip(fence[0])
    )
    closings = list(islice(every, MOST_CLOSINGS))
    if not closings:
        raise CutOff
    return next((each for each in closings if _whole(_joined(lines[start + 1 : each]))), closings[0])


def _whole(text: str) -> bool:
    found = tokens(text)
    opened = [token for token in found if token.kind == "comment" and token.text.startswith("/*")]
    if any(not token.text.endswith("*/") or len(token.text) < 4 for token in opened):
        return False
    marks = [token.text for token in found if token.kind == "punct"]
    return marks.count("{") == marks.count("}")
