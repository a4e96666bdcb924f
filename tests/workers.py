"""Real Celery workers for tests, in process groups of their own that are gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def worker(environment: dict[str, str], queues: str, concurrency: int = 1) -> Iterator[subprocess.Popen[bytes]]:
    options = ["-Q", queues, "-c", str(concurrency), "-n", "w@%h", "--without-mingle", "--without-gossip"]
    command = [sys.executable, "-m", "celery", "-A", "optimas_web", "worker", *options]
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(what: Callable[[], object], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.2)
