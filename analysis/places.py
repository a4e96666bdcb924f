"""Which of our source texts a path in a profile means, and which line of it a cost belongs to.

Profiles name files as the compiler saw them: absolute build paths, bare names, headers of the toolkit. Texts are
matched by the end of the path, never by bare name alone when two would fit, and refused when they are too short.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from analysis.source import split_lines
from analysis.types import CodeCost, Place

_TOOLKIT = re.compile(
    r"(^|/)usr/(include|lib\w*|local/include)/|/cuda[^/]*/(.*/)?include/|/targets/[^/]+/include/|/nvidia/[^/]+/include/"
    r"|/lib/gcc/|/c\+\+/\d|(^|/)sysdeps/|(^|/)(cub|thrust|libcudacxx|cuda/std)/"
)


@dataclass(frozen=True, slots=True)
class Sources:
    """``texts``: our name of a file -> its text. ``keys``: path in the profile -> our name. ``problems``: sentences."""

    texts: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def place(self, places: Sequence[Place]) -> Place | None:
        """The innermost place in the user's sources, under our name; else the innermost that is no toolkit header.

        ``places`` run from the innermost to the outermost. A line of an included file keeps its own file. None: no
        line is known.
        """
        known = [place for place in places if place.line > 0]
        for place in known:
            if place.file in self.keys:
                return Place(self.keys[place.file], place.line)
        return next((place for place in known if not is_toolkit(place.file)), known[0] if known else None)

    def line(self, file: str | None, line: int | None) -> str:
        """The text of one line without its end, fit for any store; empty when it is not known."""
        if file is None or line is None or file not in self.texts:
            return ""
        lines = _split(self.texts[file])
        return _shown(lines[line - 1].rstrip("\r\n")) if 0 < line <= len(lines) else ""


@lru_cache(maxsize=64)
def _split(text: str) -> list[str]:
    """Kept, since every line of a hot file is asked for by itself."""
    return split_lines(text)


@lru_cache(maxsize=4096)
def is_toolkit(path: str) -> bool:
    """Whether ``path`` looks like a header or source of a compiler, CUDA or a system library."""
    return bool(_TOOLKIT.search(path.replace("\\", "/")))


def files_used(code: Iterable[CodeCost]) -> dict[str, int]:
    """File -> greatest line that any cost lies on, in the profile's own paths."""
    used: dict[str, int] = {}
    for cost in code:
        for place in cost.places:
            used[place.file] = max(place.line, used.get(place.file, 0))
    return used


def resolve(given: Mapping[str, str], embedded: Mapping[str, str], used: Mapping[str, int]) -> Sources:
    """Match ``given`` (what the user holds) and ``embedded`` (what the profile brought) to the files ``used``.

    A given text wins over an embedded one; that they differ is a problem worth saying, because then lines may not
    agree. Embedded toolkit headers are not the user's sources.
    """
    keys, problems = match(given, used)
    own = _shortened(
        {path: text for path, text in embedded.items() if path not in keys and not is_toolkit(path)}, given
    )
    problems += [
        f"The source given for {keys[path]} differs from the text inside the profile: lines may not agree."
        for path, text in embedded.items()
        if path in keys and _differ(given[keys[path]], text)
    ]
    texts = {**given, **{name: embedded[path] for path, name in own.items()}}
    return Sources(texts, {**keys, **own}, tuple(problems))


def match(given: Mapping[str, str], used: Mapping[str, int]) -> tuple[dict[str, str], list[str]]:
    """Path in the profile -> key of ``given``, and a sentence for every one that was not clear.

    One of the two paths has to be the end of the other. Refused: several texts that fit equally well, one text that
    two paths claim, and a text with fewer lines than the profile uses.
    """
    chosen = {path: _best(path, given) for path in used if not is_toolkit(path) or path in given}
    claims = Counter(keys[0] for keys in chosen.values() if len(keys) == 1)
    matched: dict[str, str] = {}
    problems: list[str] = []
    for path, keys in chosen.items():
        problem = _problem(path, keys, claims, given, used[path])
        if problem:
            problems.append(problem)
        elif keys:
            matched[path] = keys[0]
    return matched, problems


def _problem(path: str, keys: Sequence[str], claims: Counter[str], given: Mapping[str, str], last: int) -> str:
    if len(keys) > 1:
        return f"{path} could be {' or '.join(keys)}: none of them is used."
    if keys and claims[keys[0]] > 1:
        return f"{path} and another file of the profile both look like {keys[0]}: it is used for neither."
    if keys and (length := len(split_lines(given[keys[0]]))) < last:
        return f"{keys[0]} has {length} lines, but the profile counts costs at line {last} of {path}: it is not used."
    return ""


def _best(path: str, given: Mapping[str, str]) -> list[str]:
    """The keys that agree with ``path`` over the most parts, the exact one alone when there is one."""
    parts = _parts(path)
    scores = {key: _agreement(parts, _parts(key)) for key in given}
    best = max(scores.values(), default=0)
    keys = sorted(key for key, score in scores.items() if score == best > 0)
    exact = [key for key in keys if len(_parts(key)) == best]
    return exact if len(exact) == 1 else keys


def _agreement(one: Sequence[str], other: Sequence[str]) -> int:
    shorter = min(len(one), len(other))
    return shorter if shorter and one[-shorter:] == other[-shorter:] else 0


def _parts(path: str) -> list[str]:
    return [part for part in posixpath.normpath(path.replace("\\", "/")).split("/") if part]


def _shortened(embedded: Mapping[str, str], taken: Mapping[str, str]) -> dict[str, str]:
    """Path -> the path without the folders that all of them share, so that no build path is shown."""
    folders = [_parts(path)[:-1] for path in embedded]
    shared = 0
    while folders and all(len(folder) > shared and folder[shared] == folders[0][shared] for folder in folders):
        shared += 1
    names = {path: "/".join(_parts(path)[shared:]) for path in embedded}
    return {path: name if name not in taken else path for path, name in names.items()}


def _shown(text: str) -> str:
    """Bytes that are no UTF-8, and NUL, as replacement characters: databases refuse both."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "\ufffd")


def _differ(given: str, embedded: str) -> bool:
    """Pages of text hold some lines of a file only and without what stands before them: empty lines say nothing."""
    ours, theirs = _lines(given), _lines(embedded)
    return len(theirs) > len(ours) or any(
        line.strip() and line.strip() != own.strip() for own, line in zip(ours, theirs, strict=False)
    )


def _lines(text: str) -> list[str]:
    return [line.rstrip("\r\n") for line in split_lines(text)]
