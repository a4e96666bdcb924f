"""New text is code, not a promise of code: no "rest unchanged", no body that does nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from analysis.tokens import Token, code, tokens
from optimizer.structure import Match, changed_files, open_matches, original_line
from optimizer.types import GuardContext, Severity, Violation

RULE = "placeholder"
DEFAULT: Severity = "block"
WORDS = (
    'Write all code out. No comment may stand for code ("... rest unchanged"); no body may be emptied, and no code be '
    "written that never runs."
)

_CODE = r"(?:code|lines?|body|kernel|function|loop|logic|implementation|statements?|part)"
_REST = rf"\b(?:rest|remain(?:ing|der)|existing|your|(?:same|other|original|previous|more|all) (?:\w+ )?{_CODE})\b"
_KEPT = (
    r"\b(?:unchanged|un-?modified|as (?:is|before|above|in the original)|omitted|elided|skipped|goes here"
    r"|(?:stays?|is|are|remains?) the same)\b"
)
_DOTS = r"(?:\.\.\.|\u2026)"
_ACTS = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"])
_NO_CALL = frozenset({"if", "while", "for", "switch", "return", "sizeof", "void", "decltype", "alignof", "assert"})
_NEVER = (["(", "0", ")"], ["(", "false", ")"])
_PROMISE = re.compile(
    rf"^\W*{_DOTS}\W*$|^\W*{_DOTS}.*(?:{_REST}|\b{_CODE}\b)|{_REST}.*{_DOTS}\W*$"
    rf"|{_REST}.{{0,40}}{_KEPT}|^\W*(?:(?:the|same|{_CODE}) ){{0,3}}{_KEPT}\W*$"
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
    """Bodies that do nothing any more, and code that never runs: it only looks as if it were there."""
    for old, new in ((pair.before, pair.after) for pair in pairs):
        if old is None or new is None:
            continue
        had, has = code(before[old.body : old.end]), code(after[new.body : new.end])
        if _acts(had) and not _acts(has):
            message = f"The body of {old.qualified} ({file}:{old.first_line}) is emptied. Write its code out."
            yield Violation(RULE, DEFAULT, file, old.first_line, message)
        dead = _dead(has)
        if len(dead) > len(_dead(had)):
            line = original_line(before, after, new.body_first_line + dead[0].line - 1)
            message = f"Code of {old.qualified} never runs because of `{dead[0].text}` near line {line} of {file}."
            yield Violation(RULE, DEFAULT, file, line, f"{message} Leave out what is not needed.")


def _acts(body: Sequence[Token]) -> bool:
    """Whether anything is assigned, counted or called."""
    following = [token.text for token in body[1:]] + [""]
    return any(
        token.text in _ACTS or (token.kind == "name" and token.text not in _NO_CALL and after == "(")
        for token, after in zip(body, following, strict=True)
    )


def _dead(body: Sequence[Token]) -> list[Token]:
    """Returns that nothing guards with code behind them, and conditions that never hold."""
    found, depth = [], 0
    words = [token.text for token in body] + [""] * 4
    for position, token in enumerate(body):
        depth += (token.text == "{") - (token.text == "}")
        if token.text == "return" and depth == 1 and words[position - 1] in ("{", "}", ";"):
            end = words.index(";", position)
            if words[end + 1] != "}" and words[end + 2] != ":":
                found.append(token)
        asked = position + (words[position + 1] == "constexpr")
        if token.text in ("if", "while") and words[asked + 1 : asked + 4] in _NEVER and words[asked + 4] != ";":
            found.append(token)
    return found
