"""One process tree from start to end: its output read as it comes, its limits held while it runs."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from evaluation.sandbox.profiles import Bounds
from evaluation.sandbox.watch import cpu_ns, descendants, folder_bytes, held_by, open_up
from evaluation.types import Ended

TICK_S = 0.25
"""How often cancellation and limits are looked at."""

_CHUNK = 65_536
_TAIL_BYTES = 65_536
_DISK_SHARE = 20  # after a count of the job folder that took t, none for 20 t: at most 5 % of one core
_GRACE_S = 5.0


class Stop(NamedTuple):
    """Why a tree was ended."""

    ended: Ended
    reason: str


@dataclass(slots=True)
class Kept:
    """A stream's first bytes and its last ones; together at most ``limit``."""

    limit: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    total: int = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = max(0, self.limit - _TAIL_BYTES - len(self.head))
        self.head += data[:room]
        self.tail += data[room:]
        del self.tail[: -min(_TAIL_BYTES, self.limit)]

    @property
    def data(self) -> bytes:
        return bytes(self.head + self.tail)

    @property
    def dropped(self) -> int:
        return self.total - len(self.head) - len(self.tail)


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known of a tree that has ended. ``code`` is the shell's: 128 + n for signal n. Times in ns.

    ``started``: the sandbox was set up and the command was called. Both times count from there; processor time is
    that of the program and all children it waited for, and 0 when it was killed.
    """

    started: bool
    stop: Stop | None
    code: int
    stdout: Kept
    stderr: Kept
    wall_ns: int
    cpu_ns: int


def supervise(
    arguments: Sequence[str],
    folder: Path,
    bounds: Bounds,
    *,
    seccomp_fd: int,
    cancelled: Callable[[], bool] | None = None,
    on_output: Callable[[bytes], None] | None = None,
) -> Ending:
    """Start ``arguments`` (made by ``profiles.command_line``) in a session of its own; stay until all of it is gone."""
    start_read, start_write = os.pipe()
    try:
        process = subprocess.Popen(
            arguments,
            stdin=start_write,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(seccomp_fd,),
            env={"PATH": os.defpath, "LANG": "C.UTF-8"},
        )
        os.close(start_write)
        with process:
            return _followed(_Tree(process, start_read, folder, bounds, cancelled, on_output))
    finally:
        os.close(start_read)


def _followed(tree: _Tree) -> Ending:
    """A caller's callback may raise, and a worker may be interrupted: then nothing may go on running."""
    try:
        return tree.follow()
    except BaseException:
        tree.end_namespace()
        _signal(os.killpg, tree.process.pid)
        raise


class _Tree:
    """The state of one supervision: clocks, streams, and what to ask at every tick."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        start_fd: int,
        folder: Path,
        bounds: Bounds,
        cancelled: Callable[[], bool] | None,
        on_output: Callable[[bytes], None] | None,
    ) -> None:
        assert process.stdout and process.stderr
        self.process, self.start_fd, self.folder = process, start_fd, folder
        self.bounds, self.limits = bounds, bounds.limits
        self.cancelled, self.on_output = cancelled, on_output
        self.streams: Mapping[int, Kept] = {
            process.stdout.fileno(): Kept(bounds.limits.output_bytes),
            process.stderr.fileno(): Kept(bounds.limits.output_bytes),
        }
        self.began = time.perf_counter_ns()
        self.started = False
        self.setup_cpu_ns = 0
        self.exited = 0
        self.next_tick = time.monotonic() + TICK_S
        self.next_count = 0.0

    def follow(self) -> Ending:
        exit_fd = os.pidfd_open(self.process.pid)
        try:
            with selectors.DefaultSelector() as selector:
                for fd in (*self.streams, self.start_fd, exit_fd):
                    selector.register(fd, selectors.EVENT_READ)
                stop = self._watch(selector, exit_fd)
                if stop:
                    self._kill(selector, exit_fd)
                self._drain(selector)
        finally:
            os.close(exit_fd)
        open_up(self.folder)
        return self._ending(stop or self._left_behind())

    def _watch(self, selector: selectors.BaseSelector, exit_fd: int) -> Stop | None:
        """Read and look until the tree has exited (None) or has to be stopped."""
        while not self.exited:
            self._read(selector, exit_fd, TICK_S)
            stop = (
                self._over_output()
                or self._over_time()
                or (self._at_tick() if time.monotonic() >= self.next_tick else None)
            )
            if stop and not self.exited:
                return stop
        return None

    def _read(self, selector: selectors.BaseSelector, exit_fd: int, timeout_s: float) -> None:
        for key, _ in sorted(selector.select(timeout_s), key=self._start_first):
            if key.fd == exit_fd:
                self.exited = self.exited or time.perf_counter_ns()
                selector.unregister(exit_fd)
            elif not self._read_one(key.fd):
                selector.unregister(key.fd)

    def _start_first(self, event: tuple[selectors.SelectorKey, int]) -> bool:
        """A program can be over before its start was read; the clock must not run backwards."""
        return event[0].fd != self.start_fd

    def _read_one(self, fd: int) -> bool:
        """Take what is there; False at the end of the stream."""
        data = os.read(fd, _CHUNK)
        if fd == self.start_fd:
            self._start(data)
        elif data:
            self.streams[fd].add(data)
            if self.on_output:
                self.on_output(data)
        return bool(data)

    def _start(self, data: bytes) -> None:
        if data and not self.started:
            self.started, self.began = True, time.perf_counter_ns()
            self.setup_cpu_ns = cpu_ns(self.process.pid)

    def _over_output(self) -> Stop | None:
        if sum(kept.total for kept in self.streams.values()) <= self.limits.output_bytes:
            return None
        return Stop("output_limit", f"printed more than {size_text(self.limits.output_bytes)}: killed")

    def _over_time(self) -> Stop | None:
        if time.perf_counter_ns() - self.began > self.limits.wall_s * 1e9:
            return Stop("timeout", f"no end after {self.limits.wall_s:g} s: killed")
        return None

    def _at_tick(self) -> Stop | None:
        self.next_tick = time.monotonic() + TICK_S
        if self.cancelled and self.cancelled():
            return Stop("cancelled", "cancelled on request: killed")
        return self._over_held() or self._over_disk()

    def _over_held(self) -> Stop | None:
        held = held_by(self.process.pid)
        if held.memory_bytes > self.limits.memory_bytes:
            return Stop("memory_limit", f"held more than {size_text(self.limits.memory_bytes)} of memory: killed")
        if held.tasks >= self.bounds.processes:
            return Stop(
                "process_limit", f"ran {self.bounds.processes} processes and threads at once, the limit: killed"
            )
        return None

    def _over_disk(self) -> Stop | None:
        if time.monotonic() < self.next_count:
            return None
        before = time.monotonic()
        used = folder_bytes(self.folder, self.limits.job_bytes + 1)
        self.next_count = time.monotonic() + _DISK_SHARE * (time.monotonic() - before)
        if used is None:
            return Stop("disk_limit", "made folders that cannot be counted, too deep or closed: killed")
        if used <= self.limits.job_bytes:
            return None
        return Stop("disk_limit", f"filled its folder with more than {size_text(self.limits.job_bytes)}: killed")

    def _left_behind(self) -> Stop | None:
        """A program can write a lot and exit between two looks: nothing was killed, but it is over its limits."""
        self.next_count = 0.0
        over = self._over_output() or self._over_disk()
        return over and Stop(over.ended, over.reason.removesuffix(": killed"))

    def _kill(self, selector: selectors.BaseSelector, exit_fd: int) -> None:
        """The namespace first; then bubblewrap, if it lingers."""
        self.end_namespace()
        self._await_exit(selector, exit_fd, _GRACE_S)
        if not self.exited:
            _signal(os.killpg, self.process.pid)
            self._await_exit(selector, exit_fd, _GRACE_S)

    def end_namespace(self) -> None:
        """Kill its process 1: the kernel ends all that is in it."""
        for pid in list(descendants(self.process.pid))[:1]:
            _signal(os.kill, pid)

    def _await_exit(self, selector: selectors.BaseSelector, exit_fd: int, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self.exited and time.monotonic() < deadline:
            self._read(selector, exit_fd, 0.05)

    def _drain(self, selector: selectors.BaseSelector) -> None:
        """Read what lies in the pipes. All writers are dead, so their ends come at once; the deadline is a belt."""
        deadline = time.monotonic() + 1.0
        open_streams = set(self.streams)
        while open_streams & set(selector.get_map()) and time.monotonic() < deadline:
            self._read(selector, -1, 0.05)

    def _ending(self, stop: Stop | None) -> Ending:
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        stdout, stderr = self.streams.values()
        wall_ns = (self.exited or time.perf_counter_ns()) - self.began
        used_ns = max(0, round((usage.ru_utime + usage.ru_stime) * 1e9) - self.setup_cpu_ns)
        return Ending(self.started, stop, self.process.returncode, stdout, stderr, wall_ns, used_ns)


def _signal(send: Callable[[int, int], None], pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        send(pid, signal.SIGKILL)


def size_text(count: int) -> str:
    """Bytes for people: ``16 MiB``, ``1.5 GiB``."""
    value, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.4g} {unit}"
