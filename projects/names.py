"""File names inside a snapshot: relative, POSIX, UTF-8, and safe to write below any folder.

Pure. Names come from archives, browsers and foreign file systems; nothing else in Optimas checks them again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from optimas_web.errors import UserError

MAX_PART_BYTES = 255
# Postgres indexes texts up to about 2,700 bytes, and Linux opens paths up to 4,096, the job's own folder included.
MAX_PATH_BYTES = 1024
MAX_DEPTH = 64

_DRIVE = re.compile(r"[A-Za-z]:")


def shown(name: str) -> str:
    """The name for a sentence: quoted, cut to 120 characters, control and undecodable characters escaped."""
    text = name if len(name) <= 120 else name[:117] + "..."
    return "'" + "".join(c if _printable(c) else c.encode("unicode_escape").decode() for c in text) + "'"


def clean(name: str) -> str:
    """``name`` as a relative POSIX path without empty and ``.`` parts.

    Raises UserError for a name that is absolute, leaves the folder, or cannot be stored everywhere.
    """
    problem = _problem(name)
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not problem and not parts:
        problem = "is empty"
    if not problem and any(len(part.encode()) > MAX_PART_BYTES for part in parts):
        problem = f"has a part longer than {MAX_PART_BYTES} bytes"
    if not problem and len(parts) > MAX_DEPTH:
        problem = f"lies deeper than {MAX_DEPTH} folders"
    if problem:
        raise UserError(f"The file name {shown(name)} {problem}.", "Rename the file, or leave it out, and try again.")
    return "/".join(parts)


def folders_of(path: str) -> tuple[str, ...]:
    """All folders above a relative path, innermost first: a/b/c -> a/b, a."""
    return tuple(str(folder) for folder in PurePosixPath(path).parents if str(folder) != ".")


def refuse_file_as_folder(paths: Iterable[str]) -> None:
    """Raise UserError when one path is a file and, in another path, a folder."""
    files = set(paths)
    for path in sorted(files):
        for folder in folders_of(path):
            if folder in files:
                raise UserError(
                    f"{shown(folder)} is a file, and {shown(path)} needs it to be a folder.", "Rename one of the two."
                )


def look_alikes(paths: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of names that some file systems take for one: they differ only in case or in Unicode form."""
    first: dict[str, str] = {}
    pairs = []
    for path in sorted(paths):
        key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        if key in first:
            pairs.append((first[key], path))
        first.setdefault(key, path)
    return tuple(pairs)


def _problem(name: str) -> str:
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "is not UTF-8"
    if "\0" in name:
        return "holds a NUL character"
    if any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in name):
        return "holds a control character or a line break"
    if "\\" in name:
        return "holds a backslash"
    if name.startswith("/") or _DRIVE.match(name):
        return "is absolute"
    if ".." in name.split("/"):
        return "leads out of its folder with '..'"
    return f"is longer than {MAX_PATH_BYTES} bytes" if size > MAX_PATH_BYTES else ""


def _printable(char: str) -> bool:
    return char == " " or unicodedata.category(char)[0] not in "CZ"
