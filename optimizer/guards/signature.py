"""Names, parameters, template heads, linkage and attributes stay; no function appears or disappears."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from optimizer.headers import header, same_header, without_bounds
from optimizer.structure import changed_files, matched, original_line
from optimizer.types import GuardContext, Severity, Violation

RULE = "signature"
DEFAULT: Severity = "block"
WORDS = (
    "Keep the name, template head, parameters, attributes and linkage of every function. You may add const and "
    "__restrict__ to pointer parameters that exist. Add, remove, copy or rename no function."
)


def check(before: Mapping[str, str], after: Mapping[str, str], context: GuardContext) -> list[Violation]:
    return [each for file in changed_files(before, after) for each in _file(file, before[file], after[file])]


def _file(file: str, before: str, after: str) -> Iterator[Violation]:
    for pair in matched(before, after):
        old, new = pair.before, pair.after
        if old is None and new is not None:
            line = original_line(before, after, new.first_line)
            message = f"The {new.kind} function {new.qualified} is added near line {line} of {file}."
            yield Violation(RULE, DEFAULT, file, line, message)
        elif old is not None and new is None:
            message = f"The {old.kind} function {old.qualified} ({file}:{old.first_line}) is gone or has another name."
            yield Violation(RULE, DEFAULT, file, old.first_line, message)
        elif old is not None and new is not None:
            one, two = without_bounds(header(before, old))[0], without_bounds(header(after, new))[0]
            if not same_header(one, two, old.name):
                message = f"The signature of {old.qualified} ({file}:{old.first_line}) changes: {_changes(one, two)}."
                yield Violation(RULE, DEFAULT, file, old.first_line, message)


def _changes(before: Sequence[str], after: Sequence[str]) -> str:
    """What differs, token by token."""
    said = []
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        old, new = " ".join(before[i:j]), " ".join(after[k:m])
        if tag == "insert":
            said.append(f"`{new}` is added")
        elif tag != "equal":
            said.append(f"`{old}` is removed" if tag == "delete" else f"`{old}` becomes `{new}`")
    return ", ".join(said)
