"""One holder at a time on a host, whoever it is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluation.locks import LockCancelled, host_lock
from optimas_web.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
HOLD = """
import sys, time
from pathlib import Path
from evaluation.locks import host_lock
with host_lock("cpu", folder=Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def holder(folder: Path, seconds: float) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), str(seconds)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout and process.stdout.readline() == "held\n"
    return process


def test_a_second_holder_waits_and_says_for_how_long(tmp_path: Path) -> None:
    waits: list[float] = []
    with holder(tmp_path / "locks", 0.7), host_lock("cpu", folder=tmp_path / "locks", waiting=waits.append):
        assert len(waits) >= 2
        assert waits == sorted(waits)


def test_locks_of_other_names_are_free(tmp_path: Path) -> None:
    with holder(tmp_path / "locks", 30) as process:
        with host_lock("GPU-5ec2b5a1-0000", folder=tmp_path / "locks"):
            assert process.poll() is None
        process.kill()


def test_a_holder_that_is_killed_lets_go(tmp_path: Path) -> None:
    with holder(tmp_path / "locks", 600) as process:
        process.kill()
        began = time.monotonic()
        with host_lock("cpu", folder=tmp_path / "locks"):
            assert time.monotonic() - began < 2


def test_waiting_can_be_cancelled(tmp_path: Path) -> None:
    with holder(tmp_path / "locks", 30) as process:
        with pytest.raises(LockCancelled), host_lock("cpu", folder=tmp_path / "locks", cancelled=lambda: True):
            pytest.fail("held a lock that another process holds")
        process.kill()


def test_the_folder_is_shared_and_sticky_and_the_file_is_its_makers(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    with host_lock("cpu", folder=folder):
        assert folder.stat().st_mode & 0o7777 == 0o1777
        assert (folder / "cpu.lock").stat().st_mode & 0o777 == 0o644


def test_a_link_in_the_place_of_a_lock_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    with host_lock("other", folder=folder):
        (folder / "cpu.lock").symlink_to(tmp_path / "target")
    with pytest.raises(UserError, match="it is a link"), host_lock("cpu", folder=folder):
        pass
    assert not (tmp_path / "target").exists()


def test_a_folder_that_is_not_sticky_is_refused(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    with pytest.raises(UserError, match="not the shared folder"), host_lock("cpu", folder=tmp_path / "locks"):
        pass


def test_root_and_an_ordinary_user_share_a_lock(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    with host_lock("optimas-test-users"):
        as_user = ["setpriv", "--reuid=4321", "--regid=4321", "--clear-groups"]
        flock = [*as_user, "flock", "--nonblock", "/tmp/optimas-locks/optimas-test-users.lock", "true"]
        assert subprocess.run(flock, check=False).returncode == 1
    assert subprocess.run(flock, check=False).returncode == 0


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b"])
def test_names_are_plain(name: str) -> None:
    with pytest.raises(ValueError, match="no name for a lock"), host_lock(name):
        pass
