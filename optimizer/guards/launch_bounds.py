"""Launch bounds and register limits stay: they trade registers for occupancy on one GPU and fail on another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from optimizer.headers import header, without_bounds
from optimizer.structure import changed_files, matched
from optimizer.types import GuardContext, Severity, Violation

RULE = "launch_bounds"
DEFAULT: Severity = "warn"
WORDS = "Leave __launch_bounds__ and __maxnreg__ as they are."


def check(before: Mapping[str, str], after: Mapping[str, str], context: GuardContext) -> list[Violation]:
    return [each for file in changed_files(before, after) for each in _file(file, before[file], after[file])]


def _file(file: str, before: str, after: str) -> Iterator[Violation]:
    for old, new in ((pair.before, pair.after) for pair in matched(before, after)):
        if old is None or new is None:
            continue
        one, two = without_bounds(header(before, old))[1], without_bounds(header(after, new))[1]
        if one != two:
            shown = " to ".join(f"`{''.join(each) or 'none'}`" for each in (one, two))
            message = f"The launch bounds of {old.qualified} ({file}:{old.first_line}) change from {shown}."
            yield Violation(RULE, DEFAULT, file, old.first_line, message)
