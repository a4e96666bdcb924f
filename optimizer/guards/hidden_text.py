"""New text shows what it is: nothing invisible, nothing that turns its direction, no letter that imitates another."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping

from analysis.align import hunks
from analysis.source import split_lines
from analysis.tokens import code
from optimizer.structure import changed_files, original_line
from optimizer.types import GuardContext, Severity, Violation

RULE = "hidden_text"
DEFAULT: Severity = "block"
WORDS = (
    "Add only characters that can be seen: no control, zero-width or direction mark, no space but the plain one. Write "
    "new names in ASCII."
)

# Characters that are drawn as nothing though Unicode calls them letters or marks.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {chr(code) for code in range(0xFE00, 0xFE10)}
_UNSEEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp", "Zs")


def check(before: Mapping[str, str], after: Mapping[str, str], context: GuardContext) -> list[Violation]:
    return [
        each
        for file in changed_files(before, after)
        for each in (*_unseen(file, before[file], after[file]), *_foreign_names(file, before[file], after[file]))
    ]


def hidden(character: str) -> bool:
    """Whether a reader cannot see this character, or sees a plain space or another order because of it."""
    if character in " \t\n\r":
        return False
    return character in _BLANK or unicodedata.category(character) in _UNSEEN or ord(character) >= 0xE0000


def _unseen(file: str, before: str, after: str) -> Iterator[Violation]:
    """One violation a hunk that has more of such characters than the lines it replaces."""
    old, new = split_lines(before), split_lines(after)
    for hunk in hunks(before, after):
        left = Counter("".join(old[hunk.first - 1 : hunk.last]))
        for at in range(hunk.new_first, hunk.new_last + 1):
            left.subtract(new[at - 1])
            if found := next((each for each in new[at - 1] if left[each] < 0 and hidden(each)), ""):
                line = original_line(before, after, at)
                what = f"The character {_named(found)} is added near line {line} of {file}"
                yield Violation(RULE, DEFAULT, file, line, f"{what}: readers cannot see it. Leave it out.")
                break


def _foreign_names(file: str, before: str, after: str) -> Iterator[Violation]:
    known = {token.text for token in code(before) if token.kind == "name"}
    for token in code(after):
        odd = next((each for each in token.text if not each.isascii()), "") if token.kind == "name" else ""
        if odd and token.text not in known:
            known.add(token.text)
            line = original_line(before, after, token.line)
            what = f"The name `{token.text}` near line {line} of {file} holds {_named(odd)}"
            yield Violation(
                RULE, DEFAULT, file, line, f"{what}, which may look like another letter. Write it in ASCII."
            )


def _named(character: str) -> str:
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'unnamed').lower()})"
