"""One timing at a time on this host, whoever runs it: locks in files that all users share.

A lock is ``flock`` on ``/tmp/optimas-locks/<name>``. The kernel lets go of it when the holder dies, however it dies.
Reading permission is enough for flock, so the files belong to whoever came first and nobody else can change them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from optimas_web.errors import UserError

FOLDER = Path("/tmp/optimas-locks")  # noqa: S108 - sticky like /tmp itself, and checked
_POLL_S = 0.2


class LockCancelled(Exception):
    """The work was cancelled while it waited for the lock."""


@contextmanager
def host_lock(
    name: str,
    *,
    cancelled: Callable[[], bool] | None = None,
    waiting: Callable[[float], None] | None = None,
    folder: Path = FOLDER,
) -> Iterator[None]:
    """Hold the lock ``name`` (``cpu``, or a GPU's UUID) while the block runs.

    While another process holds it, ``waiting`` is called with the seconds waited so far and ``cancelled`` is asked,
    five times a second. Raises LockCancelled when that says yes, UserError when the lock folder cannot be used.
    """
    if not re.fullmatch(r"[\w-]+", name):
        raise ValueError(f"{name!r} is no name for a lock")
    fd = _opened(_shared(folder) / f"{name}.lock")
    try:
        _acquire(fd, cancelled, waiting)
        yield
    finally:
        os.close(fd)  # lets go


def _acquire(fd: int, cancelled: Callable[[], bool] | None, waiting: Callable[[float], None] | None) -> None:
    began = time.monotonic()
    while not _taken(fd):
        if cancelled and cancelled():
            raise LockCancelled
        if waiting:
            waiting(time.monotonic() - began)
        time.sleep(_POLL_S)


def _taken(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _shared(folder: Path) -> Path:
    """The folder, open to all users, in which nobody can remove another's file."""
    try:
        folder.mkdir(mode=0o1777)
        folder.chmod(0o1777)
    except FileExistsError:
        pass
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or not found.st_mode & stat.S_ISVTX:
        raise UserError(
            f"{folder} is not the shared folder for locks that it should be.", f"Remove it: rm -r {folder}."
        )
    return folder


def _opened(path: Path) -> int:
    """The lock file, made when missing. Never through a link; O_CREAT only when it is not there, because kernels
    refuse it on other users' files in sticky folders."""
    while True:
        try:
            return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            _make(path)
        except OSError as error:
            why = "it is a link" if error.errno == errno.ELOOP else error.strerror
            raise UserError(f"The lock {path} cannot be opened: {why}.", f"Ask its owner to remove {path}.") from None


def _make(path: Path) -> None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        return
    os.fchmod(fd, 0o644)  # whatever the umask is
    os.close(fd)
