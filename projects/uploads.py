"""Large files on their way in: pieces appended to a partial file, then one atomic move to a name made of the content.

Edge: writes below ``root`` and nowhere else. Memory holds one chunk, whatever the size of the file. Layout:
``partial/KEY`` while it comes in, ``files/ab/abcdef...`` (SHA-256 in hex) once whole. Nothing stays below
``files/`` that is not whole and on disk.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from typing import Literal

from optimas_web.errors import UserError
from projects.unpacking import size as for_people


@dataclass(frozen=True, slots=True)
class Stored:
    """A whole file. ``path`` is relative to the root."""

    path: str
    size: int
    sha256: str


def limit_told(limit: int) -> str:
    """The sentence to show beside the form, before anybody waits for an upload."""
    return f"A file may have up to {for_people(limit)} ({limit:,} bytes)."


def refuse_size(size: int, limit: int, root: Path) -> None:
    """Raise UserError before the first byte when a file of ``size`` bytes cannot be taken."""
    if size > limit:
        raise _too_large(f"The file has {for_people(size)}.", limit)
    root.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(root).free
    if size > free:
        left = for_people(free)
        raise UserError(
            f"The file has {for_people(size)}, and the server has {left} left.", "Tell who runs the server."
        )


def offset(root: Path, key: str) -> int:
    """Bytes received so far: where the next piece must start."""
    try:
        return _partial(root, key).stat().st_size
    except FileNotFoundError:
        return 0


def append(root: Path, key: str, start: int, chunks: Iterable[bytes], limit: int) -> int:
    """Write chunks from byte ``start`` on; returns the new offset.

    What arrived stays when ``chunks`` fails half-way, so that the upload resumes at ``offset``. Raises UserError:
    ``start`` is not the offset, another request writes this upload at the moment, or the limit is passed (then the
    partial file is removed).
    """
    with _opened(root, key, "a+b") as file:
        return _write(root, key, file, start, chunks, limit)


def finish(root: Path, key: str, size: int, sha256: str = "") -> Stored:
    """Move a whole upload to its place. Raises UserError when bytes are missing or the checksum is another one."""
    with _opened(root, key, "r+b") as file:
        have = _length(file)
        if have != size:
            raise UserError(f"{have:,} of {size:,} bytes have arrived.", f"Send the rest from byte {have} on.")
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        if sha256 and digest != sha256.lower():
            discard(root, key)
            raise UserError("The file changed on its way: its SHA-256 is another one.", "Upload it again.")
        return _keep(root, key, file, digest)


def store(root: Path, key: str, chunks: Iterable[bytes], limit: int) -> Stored:
    """Take a whole file in one go; the hash is computed on the way. Raises UserError past the limit."""
    digest = hashlib.sha256()
    with _opened(root, key, "a+b") as file:
        file.truncate(0)
        _write(root, key, file, 0, _hashed(chunks, digest.update), limit)
        return _keep(root, key, file, digest.hexdigest())


def discard(root: Path, key: str) -> None:
    """Forget what arrived of an upload."""
    _partial(root, key).unlink(missing_ok=True)


def discard_older(root: Path, before: float) -> int:
    """Remove partial files last written before that time (seconds since 1970); returns how many."""
    removed = 0
    for path in (root / "partial").glob("*"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                path.unlink()
                removed += 1
    return removed


@contextmanager
def _opened(root: Path, key: str, mode: Literal["a+b", "r+b"]) -> Iterator[BufferedRandom]:
    """The partial file, for us alone. ``a+b`` makes it when it is not there, and always writes at its end."""
    path = _partial(root, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        file = path.open(mode)
    except FileNotFoundError as error:
        raise UserError("Nothing of this upload has arrived.", "Send it from byte 0 on.") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                "Another request is writing this upload.", "Wait for it, then ask for the offset."
            ) from error
        # Whoever held the lock before may have finished: then this is a stored file, and must not grow.
        if not path.exists() or not os.path.samestat(path.stat(), os.fstat(file.fileno())):
            raise UserError("This upload was finished or removed just now.", "Ask for its state before sending more.")
        yield file


def _write(root: Path, key: str, file: BufferedRandom, start: int, chunks: Iterable[bytes], limit: int) -> int:
    have = _length(file)
    if start != have:
        raise UserError(
            f"This piece starts at byte {start}, but {have} bytes have arrived.", f"Send it from byte {have} on."
        )
    for chunk in chunks:
        have += len(chunk)
        if have > limit:
            discard(root, key)
            raise _too_large("The file is larger.", limit)
        file.write(chunk)
    file.flush()
    return have


def _keep(root: Path, key: str, file: BufferedRandom, sha256: str) -> Stored:
    """Whole and on disk before it gets its name; a file of the same content is replaced by itself."""
    file.flush()
    os.fsync(file.fileno())
    path = Path("files", sha256[:2], sha256)
    folder = root / path.parent
    folder.mkdir(parents=True, exist_ok=True)
    os.replace(_partial(root, key), root / path)
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    return Stored(str(path), _length(file), sha256)


def _hashed(chunks: Iterable[bytes], update: Callable[[bytes], None]) -> Iterator[bytes]:
    for chunk in chunks:
        update(chunk)
        yield chunk


def _length(file: BufferedRandom) -> int:
    return os.fstat(file.fileno()).st_size


def _partial(root: Path, key: str) -> Path:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", key):
        raise ValueError(f"no key of an upload: {key!r}")
    return root / "partial" / key


def _too_large(problem: str, limit: int) -> UserError:
    return UserError(f"{problem} {limit_told(limit)}", "Upload a smaller one, for instance of fewer launches.")
