"""Job folders: a snapshot written out for a sandbox to build and run in, and removed again.

Original and candidate are both seen as ``/job`` inside the sandbox, because compilers hash paths into names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from evaluation.sandbox.bwrap import sandbox_uid, scratch_base
from optimas_web.errors import UserError

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
    return {**files, **{path: text.encode() for path, text in texts.items()}}


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
