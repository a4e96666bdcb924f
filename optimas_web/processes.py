"""Children of this process: started so that none outlives it, watched, and stopped together.

Each child asks the kernel (``setpriv --pdeathsig``) to be ended when we die, so even ``kill -9`` leaves nothing behind,
but for a child that is milliseconds old, in which setpriv has not run yet. Each leads a process group of its own, so
that Ctrl-C reaches us alone and stopping reaches its own children too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from optimas_web.errors import UserError

TAIL_LINES = 20
GRACE_S = 5.0  # to end by themselves
STORE_GRACE_S = 20.0  # to write down what they hold


@dataclass(frozen=True)
class Child:
    """``log`` is None when the child prints where we print. ``stop_signal`` asks it to end by itself."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path | None
    stop_signal: signal.Signals

    def ended(self) -> bool:
        return self.process.poll() is not None

    def last_lines(self) -> str:
        if self.log is None:
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:])

    def signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def death(self) -> UserError:
        status = self.process.returncode
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"
        where = f" Its last lines ({self.log}):\n{self.last_lines()}" if self.log else ""
        return UserError(f"{self.name} {how}.{where}")


class Processes:
    """The children that live and die together. Use as a context manager: leaving it stops them all."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self.children: list[Child] = []
        logs.mkdir(mode=0o700, parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        before: Sequence[str] = (),
        stop_signal: signal.Signals = signal.SIGTERM,
        death_signal: signal.Signals = signal.SIGTERM,
        log: bool = True,
        pass_fds: Sequence[int] = (),
        env: dict[str, str] | None = None,
    ) -> Child:
        """Start ``command``. ``before`` is a command that runs another one (unshare, say): the kernel forgets the wish
        to die with the parent when credentials change, so setpriv has to come after it."""
        path = self._fresh_log(name) if log else None
        output = path.open("wb") if path else None
        death = ["setpriv", "--pdeathsig", death_signal.name.removeprefix("SIG"), "--"]
        try:
            process = subprocess.Popen(
                [*before, *death, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output else None,
                start_new_session=True,
                pass_fds=pass_fds,
                env=env,
            )
        except FileNotFoundError as error:
            raise UserError(f"{error.filename} is missing.", "It is in Debian's util-linux.") from error
        finally:
            if output:
                output.close()
        child = Child(name, process, path, stop_signal)
        self.children.append(child)
        return child

    def _fresh_log(self, name: str) -> Path:
        path = self.logs / f"{name}.log"
        if path.exists():
            path.replace(self.logs / f"{name}.previous.log")
        return path

    def check(self) -> None:
        """Raise UserError with the last lines of the first child that has ended."""
        for child in self.children:
            if child.ended():
                raise child.death()

    def wait_until(self, ready: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait for ``ready``, and no longer than ``seconds``; UserError when a child ends meanwhile."""
        deadline = time.monotonic() + seconds
        while not ready():
            self.check()
            if time.monotonic() > deadline:
                raise UserError(f"{what} was not ready after {seconds:.0f} seconds.", f"See the logs in {self.logs}.")
            time.sleep(0.05)

    def run(self, name: str, command: Sequence[str], *, log: bool = True) -> int:
        """Run ``command`` to its end, watching the others; its exit status."""
        child = self.start(name, command, log=log, death_signal=signal.SIGKILL)
        self.children.remove(child)
        try:
            while not child.ended():
                self.check()
                time.sleep(0.05)
        finally:
            stop([child], GRACE_S)
        return child.process.returncode

    def watch(self) -> None:
        """Watch until a child ends, which it should not: always raises UserError."""
        while True:
            self.check()
            time.sleep(0.2)

    def stop(self) -> None:
        """Stop those that were started last first, in two waves: what uses the stores, then the stores."""
        stores = [child for child in self.children if child.stop_signal == signal.SIGINT or child.name == "valkey"]
        stop([child for child in self.children if child not in stores], GRACE_S)
        stop(stores, STORE_GRACE_S)
        self.children.clear()


def stop(children: Sequence[Child], seconds: float) -> None:
    """Ask each to end, wait ``seconds`` at most for all of them, then kill what is left of their process groups."""
    for child in children:
        if not child.ended():
            child.process.send_signal(child.stop_signal)
    deadline = time.monotonic() + seconds
    for child in children:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.process.wait(max(0.0, deadline - time.monotonic()))
        child.signal_group(signal.SIGKILL)
        child.process.wait()
