"""Job folders: a snapshot written out for a sandbox to build and run in, and removed again.

Original and candidate are both seen as ``/job`` inside the sandbox, because compilers hash paths into names.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from evaluation.sandbox.bwrap import sandbox_uid, scratch_base
from evaluation.types import OutputFile
from optimas_web.errors import UserError

KEPT_FILE_BYTES = 67_108_864
"""Output files up to this size are kept whole, so that a difference can be placed to the byte."""

_SCRIPTS = (".sh", ".py", ".pl")
_SCRIPT_NAMES = ("configure",)


@contextmanager
def opened(files: Mapping[str, bytes], base: Path | None = None) -> Iterator[Path]:
    """A fresh job folder with ``files`` (relative POSIX path -> bytes) in it, gone afterwards.

    ``base``: where job folders are made (default ``/tmp/optimas-<uid>``). Raises UserError for a path that leads
    out of the folder.
    """
    folder = Path(tempfile.mkdtemp(prefix="job-", dir=base or scratch_base()))
    try:
        write(folder, files)
        yield folder
    finally:
        remove(folder)


def apply(files: Mapping[str, bytes], texts: Mapping[str, str]) -> dict[str, bytes]:
    """The snapshot with some files' text replaced. Raises UserError for a file the snapshot does not have."""
    unknown = sorted(set(texts) - set(files))
    if unknown:
        raise UserError(f"The edit changes {unknown[0]}, which is not a file of the program.")
    return {**files, **{path: text.encode("utf-8", "surrogateescape") for path, text in texts.items()}}


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` below ``folder``, which nobody else writes to yet, and give all of it to the sandbox's user."""
    for name, content in files.items():
        path = folder / safe_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if _runs(name, content) else 0o644)
    _give_away(folder)


def safe_path(name: str) -> PurePosixPath:
    """``name`` as a path that stays below the folder it is joined to, or UserError."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name:
        raise UserError(f"The file name {name!r} leads out of the program's folder.", "Use plain relative paths.")
    return path


def _runs(name: str, content: bytes) -> bool:
    """Snapshots carry no modes: scripts are made executable by what they are."""
    path = PurePosixPath(name)
    return content.startswith(b"#!") or path.suffix in _SCRIPTS or path.name in _SCRIPT_NAMES


def _give_away(folder: Path) -> None:
    uid = sandbox_uid()
    if uid == os.geteuid():
        return
    for parent, names, files in os.walk(folder):
        for name in (*names, *files):
            os.chown(os.path.join(parent, name), uid, uid, follow_symlinks=False)
    os.chown(folder, uid, uid)


def remove(folder: Path) -> None:
    """Remove a job folder, whatever the program left in it: closed folders, and nests too deep for recursion."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=False, capture_output=True)
        subprocess.run(["rm", "-rf", "--", str(folder)], check=False, capture_output=True)


@contextmanager
def copied(folder: Path, base: Path | None = None) -> Iterator[Path]:
    """A fresh copy of a built job folder, gone afterwards: nothing that one run leaves is seen by the next."""
    copy = Path(tempfile.mkdtemp(prefix="job-", dir=base or scratch_base()))
    try:
        subprocess.run(["cp", "-a", "--", f"{folder}/.", str(copy)], check=True, capture_output=True)
        os.chown(copy, sandbox_uid(), -1)
        yield copy
    finally:
        remove(copy)


def find(folder: Path, patterns: Sequence[str]) -> tuple[str, ...]:
    """Relative paths of the regular files that match a glob (``*`` stays in a folder, ``**`` does not), sorted.

    Links are neither followed nor returned: a program may have put them there. Call it when no program runs.
    """
    split = [PurePosixPath(pattern).parts for pattern in patterns]
    names = (PurePosixPath(name) for name in _files(folder))
    return tuple(sorted(str(name) for name in names if any(_matches(name.parts, pattern) for pattern in split)))


def _files(folder: Path) -> Iterator[str]:
    pending = [str(folder)]
    while pending:
        for entry in _entries(pending.pop()):
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield os.path.relpath(entry.path, folder)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What lies in a folder; nothing where its path is too long: the sandbox says that such a run broke its limits."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[skip:], pattern[1:]) for skip in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def clear(folder: Path, patterns: Sequence[str]) -> None:
    """Remove the files that match, so that one found later was written since."""
    for name in find(folder, patterns):
        (folder / name).unlink()


def outputs_of(folder: Path, patterns: Sequence[str]) -> tuple[OutputFile, ...]:
    """The files that match the globs, hashed; small ones with their content."""
    return tuple(_output(folder, name) for name in find(folder, patterns))


def _output(folder: Path, name: str) -> OutputFile:
    with (folder / name).open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        size = stream.tell()
        stream.seek(0)
        return OutputFile(name, size, digest, stream.read() if size <= KEPT_FILE_BYTES else None)
