"""New text is code, not a promise of code: no "rest unchanged", no emptied body."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from analysis.tokens import Token, code, tokens
from optimizer.structure import Match, changed_files, open_matches, original_line
from optimizer.types import GuardContext, Severity, Violation

RULE = "placeholder"
DEFAULT: Severity = "block"
WORDS = 'Write all code out. No comment may stand for code ("... rest unchanged"), and no body may be emptied.'

_WHAT = r"\b(?:rest|remain\w*|other|existing|original|previous|same|your|more|kernel|function|code|body|lines?|loop)\b"
_KEPT = r"(?:unchanged|un-?modified|as (?:is|before|above|in the original)|omitted|elided|(?:stays?|is|are) the same)"
_DOTS = r"(?:\.\.\.|…)"
_PROMISE = re.compile(
    rf"^\W*{_DOTS}\W*$|{_WHAT}.*\b{_KEPT}\b|{_DOTS}.*{_WHAT}|{_WHAT}.*{_DOTS}|^\W*{_KEPT}\W*$"
    r"|\b(?:your|insert|add) (?:\w+ )?code (?:goes )?here\b",
    re.IGNORECASE | re.DOTALL,
)


def check(before: Mapping[str, str], after: Mapping[str, str], context: GuardContext) -> list[Violation]:
    found: list[Violation] = []
    for file in changed_files(before, after):
        old, new = before[file], after[file]
        found += _promises(file, old, new)
        found += _emptied(file, old, new, open_matches(old, new, file, context.regions))
    return found


def _promises(file: str, before: str, after: str) -> Iterator[Violation]:
    """Comments that were not there before and speak of code that is not there."""
    known = Counter(token.text for token in _comments(before))
    for token in _comments(after):
        known[token.text] -= 1
        if known[token.text] < 0 and _PROMISE.search(token.text):
            line = original_line(before, after, token.line)
            shown = " ".join(token.text.split())[:80]
            message = f"A comment stands for code near line {line} of {file}: `{shown}`."
            yield Violation(RULE, DEFAULT, file, line, message)


def _comments(text: str) -> list[Token]:
    return [token for token in tokens(text) if token.kind == "comment"]


def _emptied(file: str, before: str, after: str, pairs: Sequence[Match]) -> Iterator[Violation]:
    for old, new in ((pair.before, pair.after) for pair in pairs):
        if old is None or new is None:
            continue
        if len(code(before[old.body : old.end])) > 2 and len(code(after[new.body : new.end])) <= 2:
            message = f"The body of {old.qualified} ({file}:{old.first_line}) is emptied."
            yield Violation(RULE, DEFAULT, file, old.first_line, message)
