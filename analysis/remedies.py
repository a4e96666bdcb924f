"""The doctor's notes for a page: what to read apart from what to run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.types import DoctorNote

_COMMAND = re.compile(r"(?:^|: )((?:ncu|nsys|valgrind) .*)$", re.DOTALL)
_WORDS = {"error": ("error", "errors"), "warning": ("warning", "warnings"), "info": ("note", "notes")}


@dataclass(frozen=True, slots=True)
class Remedy:
    """``words`` stand before ``command``, which may be several lines; either may be empty. ``number`` counts from 1."""

    number: str
    severity: str
    message: str
    words: str
    command: str


def remedies(notes: Sequence[DoctorNote]) -> tuple[Remedy, ...]:
    return tuple(_remedy(number, note) for number, note in enumerate(notes, 1))


def _remedy(number: int, note: DoctorNote) -> Remedy:
    found = _COMMAND.search(note.remedy)
    command = found[1].replace(", then ", "\n") if found else ""
    words = note.remedy[: found.start()] if found else note.remedy
    missing = f"Concerns the {note.page}." if note.page else ""
    return Remedy(f"{number}", note.severity, note.message, " ".join(filter(None, [missing, _ended(words)])), command)


def _ended(words: str) -> str:
    return words if not words or words.endswith((".", ":", "?")) else f"{words}:"


def counted(notes: Sequence[DoctorNote]) -> str:
    """1 warning, 3 notes."""
    counts: Counter[str] = Counter(note.severity for note in notes)
    said = (f"{counts[kind]} {forms[counts[kind] != 1]}" for kind, forms in _WORDS.items() if counts[kind])
    return ", ".join(said)
