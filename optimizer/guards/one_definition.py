"""Every kernel stays defined once in each branch of the preprocessor, under its own name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from analysis.source import Function, functions
from analysis.tokens import Token, code
from optimizer.structure import changed_files, original_line
from optimizer.types import GuardContext, Severity, Violation

RULE = "one_definition"
DEFAULT: Severity = "block"
WORDS = "Define every selected function exactly once in each #if branch that has it, under the name that it has now."

Branch = tuple[str, ...]
"""The conditionals around a place, from the outermost in, each with its branch."""


def check(before: Mapping[str, str], after: Mapping[str, str], context: GuardContext) -> list[Violation]:
    found: list[Violation] = []
    for file in changed_files(before, after):
        selected = {region.function for region in context.regions if region.file == file}
        found += _counted(file, before[file], after[file], selected)
        found += _lost(file, before[file], after[file])
    return found


def _counted(file: str, before: str, after: str, selected: set[str]) -> Iterator[Violation]:
    old, new = _definitions(before, selected), _definitions(after, selected)
    had, has = (Counter((each.qualified, branch) for each, branch in found) for found in (old, new))
    for each, branch in new:
        if has[each.qualified, branch] > had[each.qualified, branch]:
            has[each.qualified, branch] -= 1
            line = original_line(before, after, each.first_line)
            again = each.qualified in {known.qualified for known, _ in old}
            what = "is defined once more" if again else "is a definition that was not there"
            message = f"{each.qualified}{_under(branch)} {what} (near line {line} of {file}). Leave one, with its name."
            yield Violation(RULE, DEFAULT, file, line, message)
    for each, branch in old:
        if had[each.qualified, branch] > has[each.qualified, branch]:
            had[each.qualified, branch] -= 1
            message = (
                f"{each.qualified} ({file}:{each.first_line}){_under(branch)} is gone or has another name. Put it back."
            )
            yield Violation(RULE, DEFAULT, file, each.first_line, message)


def _definitions(text: str, selected: set[str]) -> list[tuple[Function, Branch]]:
    """Kernels, and functions that were selected, with the branches they stand in."""
    branches = _branches(text)
    wanted = [each for each in functions(text) if each.kind == "kernel" or each.qualified in selected]
    return [(each, next((b for start, b in reversed(branches) if start <= each.start), ())) for each in wanted]


def _branches(text: str) -> list[tuple[int, Branch]]:
    """From which offset on which branch holds."""
    open_: list[str] = []
    found: list[tuple[int, Branch]] = []
    for token in code(text):
        word = re.split(r"\W", token.text[1:].lstrip(), maxsplit=1)[0] if token.kind == "directive" else ""
        if word in ("if", "ifdef", "ifndef"):
            open_.append(token.text)
        elif word in ("else", "elif", "elifdef", "elifndef") and open_:
            open_[-1] += f" ... {token.text}"
        elif word == "endif" and open_:
            open_.pop()
        else:
            continue
        found.append((token.end, tuple(open_)))
    return found


def _under(branch: Branch) -> str:
    return f" under `{branch[-1]}`" if branch else ""


def _lost(file: str, before: str, after: str) -> Iterator[Violation]:
    """Kernels that the parser does not see: they can only be told from their mark."""
    old, new = _unseen(before), _unseen(after)
    left = Counter(head for head, _ in old)
    for head, at in new:
        left[head] -= 1
        if left[head] < 0:
            line = original_line(before, after, at)
            message = f"`{head}` near line {line} of {file} cannot be checked: the parser sees no whole kernel there."
            yield Violation(RULE, DEFAULT, file, line, message, cannot_check=True)


def _unseen(text: str) -> list[tuple[str, int]]:
    found = code(text)
    heads = [(each.start, each.body) for each in functions(text)]
    return [
        (_head(found[position:]), token.line)
        for position, token in enumerate(found)
        if token.text == "__global__" and not any(start <= token.start < body for start, body in heads)
    ]


def _head(found: Sequence[Token]) -> str:
    return " ".join(token.text for token in found[:8])
