"""What a running process tree holds: memory, processes, disk. Read from /proc and the job folder."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SMALLEST_FILE = 4096


@dataclass(frozen=True, slots=True)
class Held:
    """Memory of a tree in bytes (private and shared pages, without mapped files) and its threads."""

    memory_bytes: int
    tasks: int


def descendants(pid: int) -> Iterator[int]:
    """All processes below ``pid``, itself not included. A process that has just ended has none."""
    for child in _children(pid):
        yield child
        yield from descendants(child)


def _children(pid: int) -> list[int]:
    """Children hang on the thread that made them."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_bytes().split())
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def held_by(pid: int) -> Held:
    """What the processes below ``pid`` hold together."""
    states = [_status(child) for child in descendants(pid)]
    memory = sum(state.get("RssAnon", 0) + state.get("RssShmem", 0) for state in states)
    return Held(memory * 1024, sum(state.get("Threads", 0) for state in states))


def cpu_ns(pid: int) -> int:
    """Processor time of ``pid`` and the processes below it so far, in ns; 0 where the kernel does not count it."""
    try:
        return sum(int(Path(f"/proc/{p}/schedstat").read_text().split()[0]) for p in (pid, *descendants(pid)))
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _status(pid: int) -> dict[str, int]:
    """The numbers of /proc/PID/status; memory in KiB."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {name: int(value.split()[0]) for name, value in pairs if value.split()[:1] and value.split()[0].isdigit()}


def folder_bytes(folder: str | Path, enough: int) -> int | None:
    """Disk space that a folder takes, in bytes; counting stops at ``enough``. Links are not followed.

    An empty file counts as one block, so that a million of them are seen. None where a folder cannot be read, or its
    path is too long: what is inside cannot be bounded.
    """
    total = 0
    pending = [str(folder)]  # no recursion: the program decides how deep its folders go
    while pending and total < enough:
        try:
            entries = list(os.scandir(pending.pop()))
        except FileNotFoundError:
            continue
        except OSError:
            return None
        total += sum(map(_size, entries))
        pending += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return total


def open_up(folder: str | Path) -> None:
    """Make all that a program has closed readable for us again. Call it when nothing runs; root need not ask.

    Other people's files, and nests that are too deep to be named, stay as they are.
    """
    pending = [str(folder)] if os.geteuid() else []
    while pending:
        path = pending.pop()
        with contextlib.suppress(OSError):
            os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) | stat.S_IRWXU)
            for entry in list(os.scandir(path)):
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    _make_readable(entry)


def _make_readable(entry: os.DirEntry[str]) -> None:
    mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
    if not mode & stat.S_IRUSR:
        os.chmod(entry.path, mode | stat.S_IRUSR)


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return max(_SMALLEST_FILE, entry.stat(follow_symlinks=False).st_blocks * 512)
    except OSError:
        return 0
