"""Whole files and whole functions, turned into the line edits that they amount to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from analysis.align import Hunk, hunks
from analysis.source import Function, functions, split_lines
from analysis.tokens import code, tokens
from optimizer.placing import Misplaced, file_named, refuse_odd_characters
from optimizer.types import Edit

WHOLE = 10_000_000
"""The last line of an edit that gives a whole file, or whole functions, instead of lines; more than any file has."""


def expand(edit: Edit, sources: Mapping[str, str], notes: list[str], number: int) -> tuple[Edit, ...]:
    """Line edits for an edit that gives only code: of the whole file when it defines all the functions that the file
    does, else of the functions it defines, each of which must exist exactly once, and nothing beside them may be new
    but comments. Raises Misplaced.
    """
    refuse_odd_characters(edit)
    file = file_named(edit.file, sources) if edit.file else _file_for(edit.new_text, sources)
    text, given = sources[file], functions(edit.new_text)
    if {each.qualified for each in functions(text)} <= {each.qualified for each in given}:
        wanted = edit.new_text
    else:
        beside = _beside(edit.new_text, given)
        _refuse_new_code(file, text, beside)
        if any(token.kind == "comment" and token.text not in text for token in tokens(beside)):
            notes.append(f"Edit {number}: comments beside the functions were left out.")
        wanted = _with_functions(file, text, edit.new_text, given)
    found = tuple(_line_edit(edit, file, text, wanted, hunk) for hunk in hunks(text.replace("\r\n", "\n"), wanted))
    if not found:
        raise Misplaced(f"gives code of {file} without any change.")
    return found


def _line_edit(edit: Edit, file: str, text: str, wanted: str, hunk: Hunk) -> Edit:
    old, new = _part(text, hunk.first, hunk.last), _part(wanted, hunk.new_first, hunk.new_last)
    return replace(edit, file=file, start_line=hunk.first, end_line=hunk.last, original_text=old, new_text=new)


def _beside(new: str, given: tuple[Function, ...]) -> str:
    """The text without its functions; their lines stay, empty."""
    for each in given:
        new = new[: each.start] + re.sub(r"[^\n]", " ", new[each.start : each.end]) + new[each.end :]
    return new


def _refuse_new_code(file: str, text: str, beside: str) -> None:
    """A macro or a constant that the functions need would be lost without a word."""
    known = {line.strip() for line in split_lines(text)}
    lines = split_lines(beside)
    for line in sorted({token.line for token in code(beside)}):
        if (found := lines[line - 1].strip()) not in known:
            raise Misplaced(
                f"gives `{found[:80]}` beside its functions, which {file} does not hold: only functions fit."
            )


def _with_functions(file: str, text: str, new: str, given: tuple[Function, ...]) -> str:
    wanted = text.replace("\r\n", "\n")
    for each in given:
        here = [old for old in functions(wanted) if old.qualified == each.qualified]
        if len(here) != 1:
            many = "does not define" if not here else f"defines {len(here)} times"
            raise Misplaced(f"gives the function {each.qualified}, which {file} {many}.")
        wanted = wanted[: here[0].start] + new[each.start : each.end] + wanted[here[0].end :]
    return wanted


def _file_for(text: str, sources: Mapping[str, str]) -> str:
    names = {each.qualified for each in functions(text)}
    fits = [file for file in sorted(sources) if names & {each.qualified for each in functions(sources[file])}]
    if len(fits) == 1:
        return fits[0]
    listed = ", ".join(sorted(names)[:4])
    raise Misplaced(f"gives code without a file name, and {len(fits)} files define {listed}.")


def _part(text: str, first: int, last: int) -> str:
    return "".join(split_lines(text)[first - 1 : last])
