"""Profile files of all kinds. ``read`` tells them apart by their content and returns a typed ``Profile``.

A format is a module with ``detect(head, name) -> bool`` (first bytes of the file, file name as a mere hint) and
``parse(path) -> Profile``, and a line in ``FORMATS``.
"""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from analysis.types import Profile
from optimas_web.errors import UserError

FORMATS: dict[str, str] = {
    "ncu_rep": "analysis.formats.ncu_rep",
    "callgrind": "analysis.formats.callgrind",
    "sqlite": "analysis.formats.sqlite",
    "nsys_stats": "analysis.formats.nsys_stats",
    "rocprof": "analysis.formats.rocprof",
    "ncu_text": "analysis.formats.ncu_text",
}
HEAD_BYTES = 65_536
"""Enough to find the head of a table below what a program and its tools print before it."""
NCU = "Upload the report that `ncu --set full --import-source yes -o report ./program` writes (report.ncu-rep)."
CALLGRIND = "For a CPU program upload the file that `valgrind --tool=callgrind --cache-sim=yes ./program` writes."

NSYS = "Where Nsight Systems is installed: `nsys export --type sqlite -o run.sqlite {name}`, and upload run.sqlite."

_NSYS = "a report of Nsight Systems (.nsys-rep or .qdrep), which only its own tools can read"

# What files begin with that people upload instead of a report: the bytes, what the file is, what to do.
_LOOKALIKES: tuple[tuple[bytes, str, str], ...] = (
    (rb"\x1f\x8b", "a gzip file", "Unpack it with `gunzip` and upload what is in it."),
    (rb"PK\x03\x04", "a zip archive", "Unpack it and upload the report that is in it."),
    (rb"NVIDIA Tegra Profiler Report", _NSYS, NSYS),
    (rb"\x7fELF", "a program (ELF), not a profile of it", f"{NCU} {CALLGRIND}"),
    (rb"[^\n]*,[^\n]*,", "a CSV table", f"{NCU} {CALLGRIND}"),
)

# What the name of a file promises whose content is nothing known.
_PROMISES: tuple[tuple[str, str, str], ...] = (
    (r"\.(qdrep|qdstrm|nsys-rep)$", f"{_NSYS}, or was one once", NSYS),
    (r"\.(sqlite3?|db)$", "no SQLite database, whatever its name says: damaged, or of another kind", f"{NSYS} {NCU}"),
    (r"\.ncu-repz?$", "no Nsight Compute report, whatever its name says: damaged, or of another kind", NCU),
)


class Format(Protocol):
    """What a format's module offers."""

    def detect(self, head: bytes, name: str) -> bool: ...

    def parse(self, path: Path) -> Profile: ...


def read(path: Path) -> Profile:
    """Read a profile of any known format. The file must stay in place while its launches are loaded.

    Raises UserError when the file is of no known format (with what it seems to be) or cannot be read.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise UserError(f"{path.name} cannot be opened: {error.strerror}.") from error
    for dotted in FORMATS.values():
        reader = cast(Format, import_module(dotted))
        if reader.detect(head, path.name):
            return reader.parse(path)
    what, remedy = _seems(_unmarked(head), path.name)
    raise UserError(
        f"{path.name} is not a profile that can be read: it seems to be {what}.",
        remedy.replace("{name}", shlex.quote(path.name)),
    )


def _unmarked(head: bytes) -> bytes:
    """Without a byte order mark, and UTF-16 as UTF-8: what some shells make of a redirected text."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return head.decode("utf-16", "replace").encode()
    return head.removeprefix(b"\xef\xbb\xbf")


def _seems(head: bytes, name: str) -> tuple[str, str]:
    both = f"{NCU} {CALLGRIND}"
    if not head:
        return "empty", f"{both} An empty file often means that the disk was full or the profiler was stopped."
    for pattern, what, remedy in _LOOKALIKES:
        if re.match(pattern, head):
            return what, remedy
    for ending, what, remedy in _PROMISES:
        if re.search(ending, name, re.IGNORECASE):
            return what, remedy
    return ("a binary file of an unknown kind" if b"\0" in head else "a text file"), both
