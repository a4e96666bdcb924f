"""The whole of ``./optimas up`` on stores of its own, with stand-ins for the sweeper and the sample run."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from optimas_web.state import BASE_DIR


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One state folder for all: its database is made by the first start, as on anybody's machine."""
    state = tmp_path_factory.mktemp("up") / "state"
    own = {"DJANGO_SETTINGS_MODULE": "tests.standin.settings", "OPTIMAS_STATE": str(state)}
    others = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    return others | own


def up(environment: dict[str, str], *options: str) -> subprocess.Popen[str]:
    # pytest's own parent may have told it to ignore Ctrl-C, which children inherit.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "optimas_web.supervisor", "up", *options]
    return subprocess.Popen(
        command, cwd=BASE_DIR, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def descendants(pid: int) -> set[int]:
    """Process ids of the children of ``pid``, theirs, and so on."""
    found = {pid}
    parents = {int(stat.parent.name): parent(stat) for stat in Path("/proc").glob("[0-9]*/stat")}
    while more := {child for child, its_parent in parents.items() if its_parent in found} - found:
        found |= more
    return found - {pid}


def parent(stat: Path) -> int:
    try:
        return int(stat.read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def living(pids: set[int]) -> set[int]:
    return {pid for pid in pids if command_line(pid)}


def command_line(pid: int) -> bytes:
    """Empty for a process that has ended, also between two looks at it."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def read_until(lines: Iterator[str], word: str) -> str:
    for line in lines:
        if word in line:
            return line
    raise AssertionError(f"{word!r} was not printed")


def test_up_serves_refuses_a_second_start_and_leaves_nothing_after_kill_9(environment):
    with up(environment) as supervisor:
        assert supervisor.stdout
        line = read_until(supervisor.stdout, "Ctrl-C stops it")
        address = re.search(r"http://127.0.0.1:\d+/", line)
        assert address
        with urllib.request.urlopen(address[0]) as page:
            assert "Optimas" in page.read().decode()

        with up(environment, "--once") as second:
            assert second.wait(20) == 2
            assert second.stderr
            assert (
                f"Optimas already runs on {environment['OPTIMAS_STATE']} (process {supervisor.pid})"
                in second.stderr.read()
            )

        children = living(descendants(supervisor.pid))
        assert len(children) >= 10  # Postgres with its own, Valkey, gunicorn's two, Celery's five, the sweeper
        supervisor.kill()
        supervisor.wait()
        deadline = time.monotonic() + 10
        while living(children) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not living(children)

    with up(environment | {"STANDIN_RESULT": "3"}, "--once") as again:
        assert again.stdout
        assert "stand-in result" in again.stdout.read()
        assert again.wait(60) == 3


def test_a_port_that_is_named_and_busy_ends_with_a_sentence(environment):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with up(environment, "--port", str(port)) as supervisor:
            assert supervisor.wait(20) == 2
            assert supervisor.stderr
            assert f"Port {port} cannot be used: Address already in use" in supervisor.stderr.read()


def test_a_dead_child_ends_everything_with_its_last_lines(environment):
    with up(environment | {"STANDIN_SWEEP": "the broom is broken"}) as supervisor:
        assert supervisor.stderr
        told = supervisor.stderr.read()
        assert supervisor.wait(60) == 2
    assert re.search(r"sweeper ended with exit status 1. Its last lines (.|\n)*the broom is broken", told)


def test_ctrl_c_while_starting_stops_what_has_started(environment):
    with up(environment) as supervisor:
        deadline = time.monotonic() + 30
        while not living(descendants(supervisor.pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        children = living(descendants(supervisor.pid))
        assert children
        supervisor.send_signal(signal.SIGINT)
        # Python dies of the signal itself when it interrupted an eval() of a string; shells call both 130.
        assert supervisor.wait(30) in (130, -signal.SIGINT)
        assert not living(children)
