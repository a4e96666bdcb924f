"""What runs, times, checks and prints stays: main, host code, launches, preprocessor lines, timers, input and output.

It does not rest on line numbers: whatever the other rules allow, these parts are compared token by token.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from analysis.source import Function, functions
from analysis.tokens import Token, code, words
from optimizer.guards.launches import settled
from optimizer.launches import launches
from optimizer.reach import bound, free, is_member, leading
from optimizer.structure import Match, changed_files, matched, open_matches, original_line
from optimizer.types import GuardContext, Severity, Violation

RULE = "harness"
DEFAULT: Severity = "block"
WORDS = (
    "Do not touch main, host code, timers, verification, input and output or repeat counts. Start nothing more. Add or "
    "change no preprocessor line; only unroll pragmas are free."
)

_FREE_PRAGMA = re.compile(r"^#pragma (?:(?:GCC |clang loop )?(?:no)?unroll\b|GCC ivdep$|omp simd\b)")
# Calls that measure, print, read, write or end the program, or talk to the driver.
_WATCHED_CALL = re.compile(
    r"^(?:v?[fsdw]?n?w?printf|f?putw?[sc]|putw?char|perror|print|println|f?w?scanf|fopen|freopen|fclose|fread|fwrite"
    r"|fflush|open|close|read|write"
    r"|mmap|clock|clock64|time|gettimeofday|clock_gettime|__?rdtscp?|omp_get_wtime|_?exit|_Exit|quick_exit|abort|atexit"
    r"|system|popen|fork|vfork|exec[lv]p?e?|kill|raise|signal|sleep|usleep|nanosleep|getenv|setenv|putenv|_Pragma"
    r"|cu(?:da)?[A-Z]\w*|nvtx\w+)$"
)
_WATCHED_NAME = frozenset(
    {"main", "chrono", "cout", "cerr", "clog", "wcout", "stdout", "stderr", "stdin", "ofstream", "ifstream", "fstream"}
    | {"_Pragma", "__pragma"}
)


def check(before: Mapping[str, str], after: Mapping[str, str], context: GuardContext) -> list[Violation]:
    found: list[Violation] = []
    paths = leading(before.values(), _watched_at)
    for file in changed_files(before, after):
        old, new = before[file], after[file]
        pairs = open_matches(old, new, file, context.regions)
        place = _placer(file, old, new)
        found += [place(*each) for each in _sequences(old, new)]
        found += [place(*each) for each in _host_functions(old, new, pairs, context)]
        found += [place(*each) for each in _declarations(old, new)]
        found += [place(*each) for each in _watched(old, new, pairs, paths)]
    return found


Finding = tuple[str, int, bool]
"""What, at which line, and whether that line is one of the new text."""


def _placer(file: str, before: str, after: str) -> Callable[[str, int, bool], Violation]:
    def place(what: str, line: int, new: bool) -> Violation:
        here = original_line(before, after, line) if new else line
        return Violation(RULE, DEFAULT, file, here, f"{what} (line {here} of {file}).")

    return place


def _sequences(before: str, after: str) -> Iterator[Finding]:
    """Preprocessor lines and launches, in order."""
    for what, reader in (("preprocessor line", _directives), ("launch", _launches)):
        old, new = reader(before), reader(after)
        matcher = SequenceMatcher(None, [text for text, _ in old], [text for text, _ in new], autojunk=False)
        for tag, i, _, k, m in matcher.get_opcodes():
            if tag == "insert":
                yield f"The {what} `{new[k][0]}` is added", new[k][1], True
            elif tag != "equal":
                to = f"changes to `{new[k][0]}`" if m > k else "is removed"
                yield f"The {what} `{old[i][0]}` {to}", old[i][1], False


def _directives(text: str) -> list[tuple[str, int]]:
    found = (token for token in code(text) if token.kind == "directive" and not _FREE_PRAGMA.match(token.text))
    return [(token.text, token.line) for token in found]


def _launches(text: str) -> list[tuple[str, int]]:
    return [(f"{each.name}<<<...>>>", each.line) for each in launches(text)]


def _host_functions(before: str, after: str, open_: Sequence[Match], context: GuardContext) -> Iterator[Finding]:
    free = {pair.before.start for pair in open_ if pair.before and pair.before.name != "main"}
    for old, new in ((pair.before, pair.after) for pair in matched(before, after)):
        if old is None or old.start in free or old.kind != "host":
            continue  # kernels and device functions outside the regions are the rule "region"
        had = settled(before[old.start : old.end], context)
        if new is None or words(had) != words(settled(after[new.start : new.end], context)):
            yield f"{'' if old.name == 'main' else 'The host function '}{old.qualified} changes", old.first_line, False


def _declarations(before: str, after: str) -> Iterator[Finding]:
    """Everything that is in no function: types, globals, constants."""
    old, new = _between(before), _between(after)
    matcher = SequenceMatcher(None, [token.text for token in old], [token.text for token in new], autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "insert":
            yield f"Code outside all functions is added: `{_some(new[k:m])}`", new[k].line, True
        elif tag != "equal":
            yield f"Code outside all functions changes: `{_some(old[i:j])}`", old[i].line, False


def _between(text: str) -> list[Token]:
    spans = iter([(each.start, each.end) for each in functions(text)] + [(len(text), len(text))])
    start, end = next(spans)
    kept = []
    for token in code(text):
        while token.start >= end < len(text):
            start, end = next(spans)
        if token.start < start and token.kind != "directive":
            kept.append(token)
    return kept


def _some(found: Sequence[Token]) -> str:
    return " ".join(token.text for token in found[:8])


def _watched(before: str, after: str, open_: Sequence[Match], paths: Mapping[str, str]) -> Iterator[Finding]:
    """Timers, input, output and driver calls inside the functions that may change: exactly as many as before."""
    for old, new in ((pair.before, pair.after) for pair in open_):
        if old is None or new is None:
            continue
        one, two = _calls(before, old, paths), _calls(after, new, paths)
        had, has = Counter(name for name, _ in one), Counter(name for name, _ in two)
        for name, line in two:
            if has[name] > had[name]:
                behind = f", and so {paths[name]}" if paths.get(name) else ""
                yield f"{old.qualified} now uses {name}{behind}", line, True
                break
        gone = sorted(name for name in (had - has) if not paths.get(name))
        if gone:
            yield f"{old.qualified} no longer uses {gone[0]}", old.first_line, False


def _calls(text: str, function: Function, paths: Mapping[str, str]) -> list[tuple[str, int]]:
    found, known = [token for token in code(text) if function.body <= token.start < function.end], bound(text)
    return [
        (token.text, token.line)
        for position, token in enumerate(found)
        if (_watched_at(found, position, known) and not _own_method(found, position, paths))
        or (paths.get(token.text) and free(found, position, known))
    ]


def _own_method(found: Sequence[Token], position: int, paths: Mapping[str, str]) -> bool:
    """``x.read()`` where the program has a ``read`` of its own that leads nowhere."""
    return is_member(found, position) and paths.get(found[position].text) == ""


def _watched_at(found: Sequence[Token], position: int, known: frozenset[int]) -> str:
    """The name at this place, when it is one that measures, prints, reads, writes or talks to the driver."""
    token = found[position]
    if token.kind != "name":
        return ""
    meant = _WATCHED_CALL.match(token.text) and free(found, position, known)
    return token.text if token.text in _WATCHED_NAME or meant else ""
