"""JSON out of what models write: read strictly first, then with small repairs, each of which is named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

# A string that never ends is taken to the end of the text: looked at once, not again from each of its quotes.
_STRING = r'"(?:\\.|[^"\\])*'
_OPEN = r"\\?\Z"
_TRAILING_COMMA = re.compile(rf'({_STRING}(?:"|{_OPEN}))|,(?=\s*[}}\]])', re.DOTALL)
_OUTSIDE = re.compile(rf"""{_STRING}(?:"|({_OPEN}))|(//|/\*|'|#)|([{{\[])|([}}\]])""", re.DOTALL)
_BEGINNING = re.compile(r'\{(?=\s*["}])')
LARGEST = 4_000_000
"""Characters of the longest answer that is read."""
MOST_TRIES = 2_000
"""Places of one answer at which an object is looked for: every one that leads to nothing costs time."""


class NotJson(Exception):
    """Why the text is no JSON, as a sentence."""


@dataclass(frozen=True, slots=True)
class Found:
    """One JSON object in a text. ``start`` and ``end`` are offsets; ``notes`` name the repairs."""

    value: dict[str, object]
    start: int
    end: int
    notes: tuple[str, ...] = ()


def objects(text: str) -> Iterator[Found]:
    """Outermost objects, wherever they stand in the text. Text that only looks like one is passed over.

    One that is nested too deeply ends the search: it would be met again at each of its levels.
    """
    position = 0
    for _ in range(MOST_TRIES):
        beginning = _BEGINNING.search(text, position)
        if not beginning:
            return
        try:
            found = _object_at(text, beginning.start())
        except RecursionError:
            return
        if found:
            yield found
        position = found.end if found else beginning.end()


def repaired(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without commas before a closing bracket, and what was done."""
    mended = _TRAILING_COMMA.sub(lambda found: found.group(1) or "", text)
    return (mended, ("Commas before a closing bracket were removed.",)) if mended != text else (text, ())


def complaint(text: str) -> str:
    """What keeps the text from being JSON, from its first bracket on."""
    start = text.find("{")
    for found in _OUTSIDE.finditer(text, max(start, 0)):
        if found.group(2) == "'":
            return "it uses single quotes where JSON has double quotes"
        if found.group(2):
            return f"it has a comment ({found.group(2)} ...), which JSON does not allow"
    try:
        _decoder().raw_decode(text, max(start, 0))
    except json.JSONDecodeError as error:
        return f"{error.msg.lower()} at line {error.lineno}, column {error.colno}"
    except NotJson as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError:  # Python reads no numbers of more than 4,300 digits
        return "it holds a number that is far too long"
    return "it has no object with edits"


def unfinished(text: str) -> bool:
    """Whether the text stops in the middle of an object: more brackets open than closed, or an open string."""
    depth = 0
    for found in _OUTSIDE.finditer(text, max(text.find("{"), 0)):
        if found.group(1) is not None:
            return True
        depth += bool(found.group(3)) - bool(found.group(4))
    return depth > 0


def _object_at(text: str, position: int) -> Found | None:
    for strict, note in ((True, ()), (False, ("Line breaks inside strings were taken as they stand.",))):
        try:
            value, end = _decoder(strict).raw_decode(text, position)
        except (ValueError, NotJson):
            continue
        return Found(value, position, end, note) if isinstance(value, dict) else None
    return None


def _decoder(strict: bool = True) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, strict=strict)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    seen = dict(pairs)
    if len(seen) != len(pairs):
        raise NotJson("it gives the same key twice in one object")
    return seen


def _no_constant(name: str) -> object:
    raise NotJson(f"it holds {name}, which is no JSON number")
