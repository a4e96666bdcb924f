"""An edit works on what its function is given: no assembly, no outside world, no thread of its own, nothing kept.

Every name counts as often as it stands in each function, before and after: what was there may stay, more may not
come. A macro or function of the program that leads to such a name counts like the name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.source import Function, functions, variables
from analysis.tokens import Token, code
from optimizer.reach import bound, free, is_member, leading
from optimizer.structure import changed_files, original_line
from optimizer.types import GuardContext, Severity, Violation

RULE = "escape"
DEFAULT: Severity = "block"
WORDS = (
    "Work with the arguments alone: no assembly, no new include, no file, network, process, signal or jump out, no "
    "thread, stream or graph, no static or extern variable, no global variable that the function did not use before, "
    "no attribute that reaches the linker."
)


@dataclass(frozen=True, slots=True)
class Way:
    """One way out. ``names`` count wherever they stand; ``words`` are common, and count where they mean no variable."""

    what: str
    names: re.Pattern[str]
    words: re.Pattern[str]


def _way(what: str, names: str, words: str = "$.") -> Way:
    return Way(what, re.compile(f"(?:{names})$"), re.compile(f"(?:{words})$"))


_WAYS = (
    _way("assembly is not read by any rule: write C++, or use an intrinsic", "_{0,2}asm|__asm__|__asm_volatile__"),
    _way(
        "processes, signals, mappings and jumps are out of bounds: compute, and return",
        r"popen|pclose|v?fork|posix_spawnp?|exec[lv]p?e?|fexecve|syscall|ptrace|prctl|sig(?:action|procmask|queue)"
        r"|waitpid|setrlimit|sched_\w+|setpriority|dl(?:m?open|v?sym|close)|mprotect|mmap|munmap|mremap|shm_open|shmget"
        r"|shmat|ioctl|fcntl|secure_getenv|putenv|setenv|unsetenv|environ|_?(?:sig)?(?:set|long)jmp|set_terminate"
        r"|at_quick_exit|atexit|on_exit|quick_exit|_Exit|_exit|__trap|__brkpt|__nanosleep|__builtin_(?:trap|setjmp"
        r"|longjmp|apply\w*|return\w*|(?:extract_return|frob_return|frame)_addr\w*|eh_\w+|unwind_init)",
        "system|exit|abort|kill|raise|signal|clone|nice|getenv|u?sleep|nanosleep|wait",
    ),
    _way(
        "files and the network are out of bounds: use what the arguments hold",
        r"fopen(?:64)?|freopen|fdopen|tmpfile|mkstemp|mkdir|rmdir|unlink(?:at)?|openat|creat|opendir|readdir|pread|pwrite"
        r"|readv|writev|sendto|recvfrom|sendmsg|recvmsg|sendfile|socket(?:pair)?|getaddrinfo|gethostbyname|inet_\w+"
        r"|w?[io]?fstream|basic_[io]?f(?:stream|ilebuf)|filesystem|FILE|syslog",
        "open|close|read|write|send|recv|connect|bind|listen|accept|remove|rename|pipe|dup2?|link|symlink|truncate|stat",
    ),
    _way(
        "work stays on the thread or launch that does it now: start none, and wait for none",
        r"pthread_\w+|thrd_\w+|jthread|packaged_task|cuda[A-Z]\w*|cu(?:Stream|Graph|Event|Launch|Mem|Ctx|Device|Module"
        r"|Func)[A-Z]\w*|omp_\w+|cilk_\w+|tbb|this_(?:multi_)?grid|(?:multi_)?grid_group|griddepcontrol",
        "thread|async|execution|clone",
    ),
)  # fmt: skip
_KEPT = "nothing is kept from one call to the next: use local variables, or make it constexpr"
_ELSEWHERE = "an edit brings in no text and no symbol from elsewhere: write the code out"
_LINKER = "such an attribute changes how a function is compiled or linked: leave it out"
_THROWN = "an exception leaves the function as no caller expects: return instead"
_INCLUDE = re.compile(r"#(?:include|include_next|import|embed)\b")
_PARALLEL = re.compile(r"#pragma (?:omp (?!simd\b)|acc\b)")
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl")
_HEAP = frozenset({"malloc", "calloc", "realloc", "free"})
_RANDOM = frozenset({"rand", "srand", "random", "srandom", "drand48", "lrand48", "random_device"})
_KEEPING = frozenset({"thread_local", "__thread", "_Thread_local", "__managed__", "__constant__"})
_PLAIN_ATTRIBUTES = frozenset(
    {"aligned", "unused", "maybe_unused", "likely", "unlikely", "fallthrough", "assume", "always_inline", "noinline"}
    | {"vector_size", "may_alias", "assume_aligned", "hot", "pure", "const", "gnu", "clang", "packed", "host", "device"}
)

Found = tuple[str, str, int]
"""What is written, what is wrong with it, and its line."""


def check(before: Mapping[str, str], after: Mapping[str, str], context: GuardContext) -> list[Violation]:
    paths = leading(before.values(), _behind)
    shared = {name for file, text in before.items() if file.endswith(_HEADERS) for name in _globals(text)}
    return [
        each
        for file in changed_files(before, after)
        for each in _file(file, before[file], after[file], _globals(before[file]) | shared, paths)
    ]


def _file(file: str, before: str, after: str, known: frozenset[str], paths: Mapping[str, str]) -> Iterator[Violation]:
    had = Counter((owner, shown) for owner, (shown, _, _) in _found(before, known, paths))
    left = had.copy()
    for owner, (shown, wrong, at) in _found(after, known, paths):
        left[owner, shown] -= 1
        if left[owner, shown] == -1 and not (shown in known and (owner, shown) in had):
            line = original_line(before, after, at)
            where = owner or "The code outside all functions"
            yield Violation(RULE, DEFAULT, file, line, f"{where} now has `{shown}` (line {line} of {file}): {wrong}.")


def _found(text: str, known: frozenset[str], paths: Mapping[str, str]) -> Iterator[tuple[str, Found]]:
    """Everything in the text that leads out, with the function that it stands in."""
    found, bounded = code(text), bound(text)
    owners = _owners(text, found)
    for position, (token, owner) in enumerate(zip(found, owners, strict=True)):
        wrong = _directive(token) if token.kind == "directive" else _outside(found, position, bounded)
        if not wrong and owner is not None:
            wrong = _inside(found, position, owner, known, bounded)
        if not wrong and paths.get(token.text) and free(found, position, bounded) and not _own(token, owner):
            wrong = f"behind it, {paths[token.text]}"
        if wrong:
            yield owner.qualified if owner else "", (token.text, wrong, token.line)


def _owners(text: str, found: Sequence[Token]) -> Iterator[Function | None]:
    """For each token the function in whose body it stands, or None."""
    bodies = iter(functions(text))
    body = next(bodies, None)
    for token in found:
        while body is not None and token.start >= body.end:
            body = next(bodies, None)
        yield body if body is not None and token.start >= body.body else None


def _own(token: Token, owner: Function | None) -> bool:
    """Whether the name stands outside all bodies, as in front of its own, or is a call of the function to itself."""
    return owner is None or token.text == owner.name


def _directive(token: Token) -> str:
    if _INCLUDE.match(token.text):
        return _ELSEWHERE
    return _WAYS[-1].what if _PARALLEL.match(token.text) else ""


def _outside(found: Sequence[Token], position: int, bounded: frozenset[int]) -> str:
    """Names that lead out of every function."""
    token = found[position]
    if token.kind != "name":
        return ""
    meant = free(found, position, bounded) and not is_member(found, position)
    for way in _WAYS:
        if way.names.match(token.text) or (meant and way.words.match(token.text)):
            return way.what
    return ""


def _behind(found: Sequence[Token], position: int, bounded: frozenset[int]) -> str:
    """What a macro or function of the program may hide: names that lead out, and words that keep something."""
    token = found[position]
    if token.text in ("__attribute__", "__attribute"):
        return _LINKER if set(_attributes(found, position + 1)) - _PLAIN_ATTRIBUTES else ""
    if token.text in ("thread_local", "static") and not _constant(found, position):
        return _KEPT
    return _outside(found, position, bounded)


def _inside(
    found: Sequence[Token], position: int, owner: Function, known: frozenset[str], bounded: frozenset[int]
) -> str:
    """What is wrong inside a body only."""
    token, before, after = found[position], found[position - 1].text, _text(found, position + 1)
    name = token.text
    if name in ("__attribute__", "__attribute") or (name == "[" and after == "["):
        return _LINKER if set(_attributes(found, position + (name != "["))) - _PLAIN_ATTRIBUTES else ""
    if name == "extern":
        return "" if after == "__shared__" else _ELSEWHERE
    if name == "throw":
        return _THROWN
    heap = name in ("new", "delete") or (name in _HEAP and free(found, position, bounded))
    kept = (
        name in _KEEPING
        or name in known
        or (name == "static" and not _constant(found, position))
        or (name == "__device__" and before not in ("]", ")"))
        or (heap and owner.kind != "host")
        or (name in _RANDOM and free(found, position, bounded))
    )
    return _KEPT if kept else ""


def _constant(found: Sequence[Token], position: int) -> bool:
    """Whether the ``static`` at this place is one of a constant whose value is written out."""
    if {_text(found, position + 1), found[position - 1].text} & {"constexpr", "__shared__"}:
        return True
    end = next((at for at in range(position, len(found)) if found[at].text == ";"), position)
    words = found[position + 1 : end]
    value = next((at for at, token in enumerate(words) if token.text in ("=", "{", "(")), len(words))
    return (
        "const" in [token.text for token in words[:value]]
        and not any(token.text in ("*", "&") for token in words[:value])
        and not any(token.kind == "name" for token in words[value:])
    )


def _attributes(found: Sequence[Token], start: int) -> Iterator[str]:
    """Names of the attributes in the brackets that open at ``start``; their arguments are left out."""
    depth = 0
    for token in found[start:]:
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if token.kind == "name" and depth <= 2:
            yield token.text.strip("_")
        if depth <= 0:
            return


def _text(found: Sequence[Token], position: int) -> str:
    return found[position].text if position < len(found) else ""


def _globals(text: str) -> frozenset[str]:
    """Variables outside all functions that can hold something from one call to the next."""
    spans = [(each.start, each.end) for each in functions(text)]
    return frozenset(
        each.name
        for each in variables(text)
        if not each.field
        and not {"const", "constexpr", "__constant__", "__shared__"} & set(each.type.split())
        and not any(start <= each.start < end for start, end in spans)
    )
