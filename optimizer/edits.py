"""From what an answer says to exact line edits, and from those to changed files. All edits or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff

from analysis.source import split_lines
from optimizer.placing import Misplaced, cleaned, overlaps, placed, text_lines
from optimizer.types import Edit
from optimizer.whole import WHOLE, expand


@dataclass(frozen=True, slots=True)
class Resolved:
    """Edits with the places they really have, in the order of the answer; or why they cannot be placed.

    ``edits`` is empty when there is a problem. Each problem is a sentence that names edit, file and line.
    """

    edits: tuple[Edit, ...]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def resolve(edits: Sequence[Edit], sources: Mapping[str, str]) -> Resolved:
    """Places every edit in the original files.

    An edit stays at its numbers when its original text stands there (white space at both ends of lines aside), moves
    when that text stands once in the file or once nearby, and is refused otherwise. Edits that overlap are refused.
    """
    found: list[Edit] = []
    problems: list[str] = []
    notes: list[str] = []
    for number, edit in enumerate(edits, 1):
        try:
            found.extend(_resolved(edit, sources, notes, number))
        except Misplaced as why:
            problems.append(f"Edit {number} {why}")
    problems = problems or list(overlaps(found))
    return Resolved(() if problems else tuple(found), tuple(problems), tuple(notes))


def _resolved(edit: Edit, sources: Mapping[str, str], notes: list[str], number: int) -> tuple[Edit, ...]:
    if edit.end_line == WHOLE:
        return expand(edit, sources, notes, number)
    clean = cleaned(edit, sources, notes, number)
    return (placed(clean, split_lines(sources[clean.file]), notes, number),)


def apply(edits: Iterable[Edit], sources: Mapping[str, str]) -> Mapping[str, str]:
    """All files with the edits made. Numbers refer to the original; line ends and a missing final newline stay.

    ``edits`` must come from :func:`resolve`.
    """
    changed: dict[str, list[Edit]] = {}
    for edit in edits:
        changed.setdefault(edit.file, []).append(edit)
    return {file: _edited(text, changed[file]) if file in changed else text for file, text in sources.items()}


def diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """A unified diff of all files that ``git apply`` takes; empty when nothing differs."""
    return "".join(
        line
        for file in sorted(before)
        if before[file] != after[file]
        for line in _diff(file, before[file], after[file])
    )


# --- applying ----------------------------------------------------------------------------------


def _edited(text: str, edits: Sequence[Edit]) -> str:
    lines = split_lines(text)
    # from the end, so that numbers stay true; of two insertions at one place the later one goes in first
    for _, edit in sorted(enumerate(edits), key=lambda each: (each[1].start_line, each[1].end_line, each[0]))[::-1]:
        lines[edit.start_line - 1 : edit.end_line] = _with_ends(edit, lines)
    joined = "".join(_ended(line, lines) for line in lines[:-1]) + (lines[-1] if lines else "")
    return joined if text.endswith("\n") or not text else joined.removesuffix("\n").removesuffix("\r")


def _with_ends(edit: Edit, lines: Sequence[str]) -> list[str]:
    """The new lines with the line ends of those they replace; unchanged lines inside keep their own."""
    old = lines[edit.start_line - 1 : edit.end_line]
    new = [line + _end_near(edit.start_line, lines) for line in text_lines(edit.new_text)]
    bare = [line.rstrip("\r\n") for line in old]
    for tag, i, j, k, m in SequenceMatcher(None, bare, text_lines(edit.new_text), autojunk=False).get_opcodes():
        if tag == "equal":
            new[k:m] = old[i:j]
    return new


def _end_near(line: int, lines: Sequence[str]) -> str:
    nearby = lines[line - 1 : line] or lines[line - 2 : line - 1] or lines[:1]
    if nearby and not nearby[0].endswith("\n"):  # the last line of a file without a final newline
        nearby = lines[-2:-1]
    return "\r\n" if nearby and nearby[0].endswith("\r\n") else "\n"


def _ended(line: str, lines: Sequence[str]) -> str:
    """A last line without an end that is no longer last gets the file's line end."""
    return line if line.endswith("\n") else line + _end_near(1, lines)


def _diff(file: str, before: str, after: str) -> Iterable[str]:
    # git ends a name that holds a space with a tab, so that it can tell where the name ends
    shown = f"{file}\t" if " " in file else file
    for line in unified_diff(split_lines(before), split_lines(after), f"a/{shown}", f"b/{shown}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
