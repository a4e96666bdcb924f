"""Where Optimas keeps what it remembers on this machine, and who may use it at the moment.

``var/`` in the checkout (or ``$OPTIMAS_STATE``) holds stores, logs and uploads. Sockets need a short path (107 bytes
at most), so they lie in ``/tmp/optimas-<uid>-<hash of the state folder>``, which only its owner can enter.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import stat
from pathlib import Path
from typing import IO

from optimas_web.errors import UserError

BASE_DIR = Path(__file__).resolve().parent.parent


def state_folder() -> Path:
    return Path(os.environ.get("OPTIMAS_STATE") or BASE_DIR / "var").resolve()


def run_folder(state: Path) -> Path:
    """The folder of the sockets that belong to ``state``. It may not exist yet."""
    digest = hashlib.sha256(str(state).encode()).hexdigest()[:12]
    return Path(f"/tmp/optimas-{os.geteuid()}-{digest}")  # noqa: S108 (private_folder checks owner and mode)


def private_folder(path: Path) -> Path:
    """Make ``path`` with mode 0700, or make sure that nobody else can look into it. UserError when somebody can."""
    try:
        make_closed(path)
        found = path.lstat()
    except OSError as error:
        raise UserError(
            f"{path} cannot be made: {error.strerror}.", "Set OPTIMAS_STATE to a folder of yours."
        ) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o067:
        raise UserError(
            f"{path} is not a folder of yours that is closed to others.", "Remove it, or chmod it to 0700, and retry."
        )
    return path


def make_closed(path: Path) -> None:
    """Make the folder, and all that are missing above it, for its owner only: mkdir gives those the usual mode."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)


def remove_run_folder(state: Path) -> None:
    """Take away what stopped stores leave in /tmp: empty folders. One that is not empty is still used, and stays."""
    for folder in (run_folder(state) / "postgres", run_folder(state)):
        with contextlib.suppress(OSError):
            folder.rmdir()


def secret_key(state: Path) -> str:
    """The key that signs sessions: made once per state folder, readable by its owner only."""
    path = state / "secret_key"
    try:
        return path.read_text()
    except FileNotFoundError:
        make_closed(state)
    draft = state / f"secret_key.{os.getpid()}"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(50))
    try:
        os.link(draft, path)  # the first of several processes wins, and all read the winner's key
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text()


def open_lock(path: Path) -> IO[str]:
    """A file to lock with flock. The kernel lets go of it when its process ends, however it ends."""
    make_closed(path.parent)
    return path.open("a+")


def try_lock(path: Path) -> IO[str] | None:
    """The file, locked for as long as it stays open and with our process id in it; None while someone else holds it."""
    file = open_lock(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file
