"""An edit changes code, not only comments or white space."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.align import hunks
from analysis.tokens import words
from optimizer.structure import changed_files
from optimizer.types import GuardContext, Severity, Violation

RULE = "no_op"
DEFAULT: Severity = "block"
WORDS = "Change code, not only comments or white space."


def check(before: Mapping[str, str], after: Mapping[str, str], context: GuardContext) -> list[Violation]:
    changed = changed_files(before, after)
    if before.keys() != after.keys() or any(words(before[file]) != words(after[file]) for file in changed):
        return []
    if not changed:
        file, line = next(((edit.file, edit.start_line) for edit in context.edits), (min(before, default=""), 1))
        return [Violation(RULE, DEFAULT, file, line, f"The edit at line {line} of {file} changes nothing.")]
    places = [(file, hunk.lines[0]) for file in changed for hunk in hunks(before[file], after[file])]
    return [
        Violation(RULE, DEFAULT, file, line, f"Line {line} of {file} changes only in comments or white space.")
        for file, line in places
    ]
