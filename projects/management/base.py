"""What every Optimas command shares: two formats, three exit codes, sentences instead of traces.

    class Command(DocumentCommand):
        def answer(self, **options) -> Reply: ...

Exit codes: 0 done, 1 the answer is no, 2 bad input or usage (one sentence on standard error).
"""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from optimas_web.errors import UserError
from projects.snapshot import SOURCE_SUFFIXES, from_folder, source_texts

LARGEST_SOURCE = 8_000_000


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command found: ``document`` for ``--format json``, ``text`` for people, ``yes`` False for exit code 1."""

    document: Mapping[str, object]
    text: str
    yes: bool = True


class DocumentCommand(BaseCommand):
    """A command that answers with one document. Subclasses add ``add_options`` and ``answer``."""

    requires_stores = False  # whether ./optimas manage has to have Postgres and Valkey up for it
    requires_system_checks: Any = ()  # none of them is about a profile, and some want the stores

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--format", choices=("table", "json"), default="table", help="default: a table")
        self.add_options(parser)

    def add_options(self, parser: CommandParser) -> None:
        """The command's own arguments."""

    def answer(self, **options: Any) -> Reply:
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            reply = self.answer(**options)
        except UserError as error:
            self.stderr.write(printable(str(error)))
            raise SystemExit(2) from error
        self._write(json_text(reply.document) if options["format"] == "json" else printable(reply.text))
        if not reply.yes:
            raise SystemExit(1)

    def _write(self, text: str) -> None:
        try:
            self.stdout.write(text)
            self.stdout.flush()
        except BrokenPipeError:
            # The reader has seen enough (`| head`); without this Python complains once more while exiting.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def json_text(document: Mapping[str, object]) -> str:
    """One JSON document in ASCII, so that it survives any locale and odd bytes in sources.

    A NaN or an infinity in it is our mistake and raises ValueError.
    """
    return json.dumps(document, indent=2, allow_nan=False)


def printable(text: str) -> str:
    """``text`` with everything that could steer a terminal made visible: names come from foreign files."""
    return "".join(f"\\u{ord(c):04x}" if _steers(c) else c for c in text)


def _steers(character: str) -> bool:
    return character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cf", "Cs")


def read_sources(folder: str | Path) -> dict[str, str]:
    """Source text of every C, C++ and CUDA file under ``folder``, keyed by POSIX path relative to it.

    Line ends are kept, bytes that are not UTF-8 survive as surrogates. Links are not followed and files over
    ``LARGEST_SOURCE`` bytes are left out. Raises UserError when ``folder`` is no folder, or holds no source.
    """
    root = Path(folder)
    if not root.is_dir():
        raise UserError(f"{root} is not a folder.", "Give --source the folder that holds the program's sources.")
    try:
        found = {
            path.relative_to(root).as_posix(): path.read_bytes().decode("utf-8", "surrogateescape")
            for path in sorted(root.rglob("*"))
            if _is_source(path)
        }
    except OSError as error:
        raise UserError(f"{error.filename} cannot be read: {error.strerror}.", "Check its permissions.") from error
    return _some(root, found)


def program_sources(folder: Path) -> dict[str, str]:
    """The sources of a program that is to be changed: those that its snapshot holds. Raises UserError."""
    return _some(folder, source_texts(from_folder(folder).files))


def _some(folder: Path, found: dict[str, str]) -> dict[str, str]:
    if not found:
        raise UserError(f"{folder} holds no C, C++ or CUDA source file.", "Give --source the folder that holds them.")
    return found


def _is_source(path: Path) -> bool:
    return (
        path.suffix.lower() in SOURCE_SUFFIXES
        and path.is_file()
        and not path.is_symlink()
        and path.stat().st_size <= LARGEST_SOURCE
    )
