"""Where an edit really goes: its file, its lines, and whether its numbers can be believed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from analysis.source import split_lines
from optimizer.types import Edit

NEAR_LINES = 20
"""An edit whose text stands several times in a file is moved only within this many lines of its numbers."""

_NUMBERED = re.compile(r"^\s*(\d{1,9})\s*[|:] ?(.*)$", re.DOTALL)
# A lone carriage return ends a line for some compilers and not for others; the rest has no place in a source.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Misplaced(Exception):
    """Why one edit has no place, as a sentence that begins with a verb."""


# --- cleaning ----------------------------------------------------------------------------------


def cleaned(edit: Edit, sources: Mapping[str, str], notes: list[str], number: int) -> Edit:
    refuse_odd_characters(edit)
    original, first = without_numbers(edit.original_text.replace("\r\n", "\n"), edit.start_line)
    new, second = without_numbers(edit.new_text.replace("\r\n", "\n"), edit.start_line)
    if first or second:
        notes.append(f"Edit {number}: line numbers copied from the prompt were removed.")
    return replace(edit, file=file_named(edit.file, sources), original_text=original, new_text=new)


def refuse_odd_characters(edit: Edit) -> None:
    """Raises Misplaced for characters that no source file should get."""
    for what, text in (("new_text", edit.new_text), ("original_text", edit.original_text)):
        if found := _CONTROL.search(text.replace("\r\n", "\n")):
            raise Misplaced(f"has the control character {ascii(found.group())} in its {what}; sources have none.")
        if what == "new_text" and _SURROGATE.search(text):
            raise Misplaced("has half a character (a lone surrogate) in its new_text, which no file can hold.")


def file_named(name: str, sources: Mapping[str, str]) -> str:
    """The source that an answer means: by its path, or the end of it when only one fits. Raises Misplaced."""
    if name in sources:
        return name
    if not name.strip() and len(sources) == 1:
        return next(iter(sources))
    plain = name.strip().removeprefix("./").replace("\\", "/")
    if plain.startswith("/") or ".." in plain.split("/"):
        raise Misplaced(f"names {name!r}, which lies outside the program.")
    fits = [file for file in sources if plain and (file == plain or file.endswith(f"/{plain}"))]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise Misplaced(f"names {name!r}, which could be any of {', '.join(sorted(fits))}.")
    raise Misplaced(f"names {name!r}, which is not a file of the program ({', '.join(sorted(sources)) or 'none'}).")


def without_numbers(text: str, start: int = 0) -> tuple[str, bool]:
    """Strips ``12| `` in front of lines when all have it, in ascending order. A single line must fit ``start``."""
    lines = split_lines(text)
    found = [_NUMBERED.match(line) for line in lines if line.strip()]
    numbers = [int(match.group(1)) for match in found if match]
    if not numbers or len(numbers) != len(found) or any(two <= one for one, two in pairwise(numbers)):
        return text, False
    if len(numbers) == 1 and numbers[0] != start:
        return text, False
    return "".join(match.group(2) if (match := _NUMBERED.match(line)) else line for line in lines), True


# --- placing -----------------------------------------------------------------------------------


def placed(edit: Edit, lines: Sequence[str], notes: list[str], number: int) -> Edit:
    start, end, count = edit.start_line, edit.end_line, len(lines)
    if start < 0 or (start == 0 and not edit.original_text.strip()):
        raise Misplaced(f"in {edit.file} has neither line numbers nor original text to find its place by.")
    if start > 0 and end < start - 1:
        raise Misplaced(f"in {edit.file} ends at line {end}, before it starts at line {start}.")
    wanted = text_lines(edit.original_text)
    if (end > count or start > count + 1) and (end < start or len(wanted) != end - start + 1):
        raise Misplaced(f"reaches line {max(start, end)} of {edit.file}, which has only {count} lines.")
    if not edit.original_text.strip():
        if not (end < start and start == 1):
            notes.append(f"Edit {number} gives no original text and was placed by its line numbers alone.")
        return edit
    return _inserted(edit, wanted, lines) if start > 0 and end < start else _replaced(edit, wanted, lines)


def _replaced(edit: Edit, wanted: list[str], lines: Sequence[str]) -> Edit:
    span = edit.end_line - edit.start_line + 1
    if edit.start_line > 0 and len(wanted) == span and _stands_at(wanted, lines, edit.start_line):
        return edit
    if edit.start_line > 0 and abs(len(wanted) - span) > 2:
        raise Misplaced(
            f"replaces lines {edit.start_line} to {edit.end_line} of {edit.file}, but its original text has "
            f"{len(wanted)} lines."
        )
    start = _search(edit, wanted, lines)
    return replace(edit, start_line=start, end_line=start + len(wanted) - 1, anchored=True)


def _inserted(edit: Edit, wanted: list[str], lines: Sequence[str]) -> Edit:
    """The original text of an insertion is the line before it; the line it is put in front of is taken too."""
    if _stands_at(wanted, lines, edit.start_line - len(wanted)) or _stands_at(wanted, lines, edit.start_line):
        return edit
    start = _search(edit, wanted, lines) + len(wanted)
    return replace(edit, start_line=start, end_line=start - 1, anchored=True)


def _search(edit: Edit, wanted: list[str], lines: Sequence[str]) -> int:
    places = [line for line in range(1, len(lines) - len(wanted) + 2) if _stands_at(wanted, lines, line)]
    near = [line for line in places if abs(line - edit.start_line) <= NEAR_LINES] if edit.start_line else []
    for found in (places, near):
        if len(found) == 1:
            return found[0]
    shown = repr(wanted[0].strip()[:80])
    if places:
        where = ", ".join(map(str, places[:6]))
        raise Misplaced(f"cannot be placed in {edit.file}: its original text ({shown}) stands at lines {where}.")
    raise Misplaced(
        f"does not fit {edit.file}: its original text ({shown}) is not there{_difference(edit, wanted, lines)}."
    )


def _difference(edit: Edit, wanted: Sequence[str], lines: Sequence[str]) -> str:
    """The first line at the edit's numbers that is not what it takes it for."""
    for offset, line in enumerate(wanted):
        number = edit.start_line + offset
        if 1 <= number <= len(lines) and _loose(line) != _loose(lines[number - 1]):
            return f"; line {number} is {lines[number - 1].strip()[:80]!r}, not {line.strip()[:80]!r}"
    return ""


def _stands_at(wanted: Sequence[str], lines: Sequence[str], start: int) -> bool:
    if start < 1 or start + len(wanted) - 1 > len(lines):
        return False
    here = lines[start - 1 : start - 1 + len(wanted)]
    return all(_loose(one) == _loose(two) for one, two in zip(wanted, here, strict=True))


def _loose(line: str) -> str:
    """What two copies of a line share: models change tabs and trailing blanks, prompts show odd bytes as a sign."""
    return _SURROGATE.sub("\ufffd", line).strip()


def text_lines(text: str) -> list[str]:
    return [line.rstrip("\n") for line in split_lines(text)]


def overlaps(edits: Sequence[Edit]) -> Iterator[str]:
    numbered = sorted(enumerate(edits, 1), key=lambda pair: (pair[1].file, pair[1].start_line, pair[1].end_line))
    reach: tuple[int, Edit] | None = None
    for number, edit in numbered:
        if reach and reach[1].file == edit.file and edit.start_line <= reach[1].end_line:
            yield (
                f"Edits {reach[0]} and {number} overlap in {edit.file}: lines {reach[1].start_line} to "
                f"{reach[1].end_line} and {edit.start_line} to {edit.end_line}."
            )
        if not reach or reach[1].file != edit.file or edit.end_line > reach[1].end_line:
            reach = (number, edit)
