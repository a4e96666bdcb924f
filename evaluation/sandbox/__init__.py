"""Running programs that nobody vouches for: bubblewrap, a system call filter, limits, a watchdog.

``docs/sandbox.md`` says what is held, how it was tried, and what is not contained.
"""

from __future__ import annotations

import os
import platform
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evaluation.sandbox.bwrap import sandbox_uid
from evaluation.sandbox.profiles import PROFILES, Bounds, ProfileName, Rules, command_line
from evaluation.sandbox.seccomp import MACHINES, filter_bytes
from evaluation.sandbox.supervise import Ending, Stop, size_text, supervise
from evaluation.types import Limits, Ran
from optimas_web.errors import UserError

__all__ = ["PROFILES", "Limits", "ProfileName", "Ran", "run"]

_NAMESPACE_HINT = (
    "Programs are only run inside user namespaces. Allow them: sysctl kernel.unprivileged_userns_clone=1, "
    "sysctl kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), sysctl user.max_user_namespaces=10000; "
    "in a container start it with --security-opt seccomp=unconfined."
)
_NO_MEMORY = (b"std::bad_alloc", b"MemoryError", b"Cannot allocate memory", b"out of memory", b"memory exhausted")
_NO_PROCESS = (b"Cannot fork", b"fork: retry", b"fork: Resource temporarily unavailable", b"pthread_create failed")


def run(
    command: str | Sequence[str],
    folder: Path,
    *,
    profile: ProfileName,
    limits: Limits,
    env: Mapping[str, str] | None = None,
    readable: Sequence[Path] = (),
    gpu: int = 0,
    cancelled: Callable[[], bool] | None = None,
    on_output: Callable[[bytes], None] | None = None,
) -> Ran:
    """Run ``command`` (text: by ``sh``) with ``folder`` as ``/job``, the only place it can write to and keep.

    ``env`` is all that the program sees besides PATH, HOME, TMPDIR and LANG. ``readable``: further paths it may
    read. ``gpu``: the N of ``/dev/nvidiaN`` (profiles ``gpu`` and ``tools``). ``cancelled`` is asked every
    ``TICK_S``; ``on_output`` gets what the program prints, as it comes.

    However it ends is a value. Raises UserError when there is no working sandbox here: nothing ever runs without.
    """
    rules, bounds = PROFILES[profile], Bounds.of(limits)
    _check_owner(folder)
    seccomp_fd = _seccomp_fd(rules)
    try:
        words = ["sh", "-c", command] if isinstance(command, str) else list(command)
        arguments = command_line(
            words, folder, rules, bounds, seccomp_fd=seccomp_fd, env=env or {}, readable=readable, gpu=gpu
        )
        ending = supervise(arguments, folder, bounds, seccomp_fd=seccomp_fd, cancelled=cancelled, on_output=on_output)
    except FileNotFoundError as missing:
        raise UserError(f"The sandbox cannot start: {missing.filename} was not found.", "Install util-linux.") from None
    finally:
        os.close(seccomp_fd)
    if not ending.started and not ending.stop:
        raise _not_usable(ending)
    return _as_ran(ending, rules, bounds)


def _check_owner(folder: Path) -> None:
    owner = folder.stat().st_uid
    if owner != sandbox_uid():
        raise UserError(
            f"The job folder {folder} belongs to uid {owner}, sandboxed programs run as uid {sandbox_uid()}.",
            "Make job folders with evaluation.workspace.",
        )


def _seccomp_fd(rules: Rules) -> int:
    """A file in memory that holds the filter, for bubblewrap to read."""
    machine = platform.machine()
    if machine not in MACHINES:
        raise UserError(f"There is no system call filter for {machine}.", f"Run on one of {', '.join(MACHINES)}.")
    fd = os.memfd_create("seccomp")
    os.write(fd, filter_bytes(machine, sockets=rules.sockets))
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _not_usable(ending: Ending) -> UserError:
    said = ending.stderr.data.decode(errors="replace").strip().splitlines()[:1] or [f"status {ending.code}"]
    return UserError(f"The sandbox cannot start: {said[0]}.", _NAMESPACE_HINT)


def _as_ran(ending: Ending, rules: Rules, bounds: Bounds) -> Ran:
    stop = ending.stop or _own_end(ending, rules, bounds)
    killed = ending.stop is not None and ending.stop.reason.endswith("killed")
    return Ran(
        ended=stop.ended,
        status=None if killed else ending.code,
        reason=stop.reason,
        stdout=ending.stdout.data,
        stderr=ending.stderr.data,
        dropped_bytes=ending.stdout.dropped + ending.stderr.dropped,
        wall_ns=ending.wall_ns,
        cpu_ns=None if killed else ending.cpu_ns,
    )


def _own_end(ending: Ending, rules: Rules, bounds: Bounds) -> Stop:
    """How a tree ended that was not stopped from here. Refused memory and processes show in what it printed."""
    if ending.code == 0:
        return Stop("exited", "")
    printed = ending.stderr.data[-4096:]
    if rules.data_limit and not rules.gpu and any(words in printed for words in _NO_MEMORY):
        return Stop("memory_limit", f"asked for more than {size_text(bounds.limits.memory_bytes)} of memory: refused")
    if any(words in printed for words in _NO_PROCESS):
        return Stop("process_limit", f"asked for more than {bounds.processes} processes and threads: refused")
    return _by_signal(ending.code - 128, bounds)


def _by_signal(number: int, bounds: Bounds) -> Stop:
    if number == signal.SIGXCPU:
        return Stop("timeout", f"used more than {bounds.cpu_s} s of processor time: killed")
    if number == signal.SIGXFSZ:
        return Stop("disk_limit", f"wrote a file of more than {size_text(bounds.limits.file_bytes)}: killed")
    if number in set(signal.Signals):
        return Stop("signalled", f"ended by {signal.Signals(number).name}")
    return Stop("exited", "")
