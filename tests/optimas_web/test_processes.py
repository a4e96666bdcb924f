"""Children are watched, stopped together, and never outlive us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from optimas_web.errors import UserError
from optimas_web.processes import Processes

SLEEP = [sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(600)"]
# A parent of a parent that does not care for SIGTERM, as a worker in the middle of a job.
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, subprocess; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "p = subprocess.Popen(['sleep', '600']); print(p.pid, flush=True); p.wait()",
]
SUPERVISOR = """
import sys, time
from pathlib import Path
from optimas_web.processes import Processes
with Processes(Path(sys.argv[1])) as processes:
    print(processes.start("sleeper", ["sleep", "600"]).process.pid, flush=True)
    processes.watch()
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition, seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(condition())


def test_a_child_that_dies_is_told_with_its_last_lines(tmp_path):
    with Processes(tmp_path) as processes:
        processes.start("teller", ["sh", "-c", "echo first; echo the reason; exit 7"])
        with pytest.raises(UserError, match=r"teller ended with exit status 7(.|\n)*the reason$"):
            processes.watch()


def test_a_child_that_was_killed_is_told_with_the_signal(tmp_path):
    with Processes(tmp_path) as processes:
        child = processes.start("victim", ["sleep", "600"])
        child.process.kill()
        with pytest.raises(UserError, match="victim was ended by SIGKILL"):
            processes.watch()


def test_a_death_ends_the_wait_for_something_else(tmp_path):
    with Processes(tmp_path) as processes, pytest.raises(UserError, match="server ended with exit status 1"):
        processes.start("server", ["false"])
        processes.wait_until(lambda: False, "The server", 30)


def test_waiting_has_an_end(tmp_path):
    with Processes(tmp_path) as processes, pytest.raises(UserError, match="The server was not ready after 0 seconds"):
        processes.wait_until(lambda: False, "The server", 0.1)


def test_run_gives_the_exit_status_and_ends_when_another_child_dies(tmp_path):
    with Processes(tmp_path) as processes:
        assert processes.run("three", ["sh", "-c", "exit 3"]) == 3
        processes.start("mortal", ["sleep", "0.2"])
        with pytest.raises(UserError, match="mortal ended with exit status 0"):
            processes.run("long", SLEEP)
        assert processes.children[0].name == "mortal"


def test_stopping_ends_the_children_of_a_child_that_ignores_the_request(tmp_path, monkeypatch):
    monkeypatch.setattr("optimas_web.processes.GRACE_S", 0.2)
    with Processes(tmp_path) as processes:
        child = processes.start("stubborn", STUBBORN)
        assert child.log
        assert wait_for(lambda: child.log.read_text().strip())
        grandchild = int(child.log.read_text())
        assert alive(grandchild)
    assert not alive(child.process.pid)
    assert wait_for(lambda: not alive(grandchild))


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_child_outlives_a_supervisor_however_it_ends(ending, tmp_path):
    command = ["env", "--default-signal=INT,TERM", sys.executable, "-c", SUPERVISOR, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as supervisor:
        assert supervisor.stdout
        child = int(supervisor.stdout.readline())
        assert wait_for(lambda: Path(f"/proc/{child}/comm").read_text() == "sleep\n")  # before, it is still setpriv
        supervisor.send_signal(ending)
    assert wait_for(lambda: not alive(child))


def test_the_log_of_the_run_before_is_kept(tmp_path):
    for word in ("old", "new"):
        with Processes(tmp_path) as processes:
            processes.run("echo", ["echo", word])
    assert (tmp_path / "echo.log").read_text() == "new\n"
    assert (tmp_path / "echo.previous.log").read_text() == "old\n"


def test_a_child_leads_a_process_group_of_its_own(tmp_path):
    """So that Ctrl-C in a terminal reaches the supervisor alone, which then stops its children in order."""
    with Processes(tmp_path) as processes:
        child = processes.start("sleeper", ["sleep", "600"])
        assert os.getpgid(child.process.pid) == child.process.pid != os.getpgrp()
