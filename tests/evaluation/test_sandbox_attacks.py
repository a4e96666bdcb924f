"""Programs that misbehave, each under its limit: how it ends, and that nothing is left of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation import sandbox, workspace
from evaluation.sandbox import profiles
from evaluation.types import Limits, Ran
from optimas_web.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
SHORT = Limits(wall_s=5, cpu_s=10)
MARK = f"optimas-left-behind-by-{os.getpid()}"
"""An argument that test programs carry, so that survivors can be found on the host."""


@pytest.fixture
def job() -> Iterator[Path]:
    with workspace.opened({"readme": b""}) as folder:
        yield folder
    assert survivors() == []
    assert not folder.exists()


def survivors() -> list[str]:
    """Processes of this host whose command line carries the mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if MARK.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(path.parent.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def run(job: Path, command: str, limits: Limits = SHORT, **options: object) -> Ran:
    return sandbox.run(command, job, profile="run", limits=limits, **options)  # type: ignore[arg-type]


def compiled(job: Path, source: str) -> None:
    (job / "main.c").write_text(source)
    built = sandbox.run("gcc -O0 -w -o main main.c", job, profile="build", limits=Limits())
    assert built.ok, built.stderr.decode()


def test_an_endless_program_is_killed_at_the_limit(job: Path) -> None:
    ran = run(job, f"while :; do : {MARK}; done", Limits(wall_s=1))
    assert (ran.ended, ran.status, ran.reason) == ("timeout", None, "no end after 1 s: killed")
    assert 1.0 <= ran.wall_ns / 1e9 < 2.0


def test_processor_time_has_a_limit_of_its_own(job: Path) -> None:
    ran = run(job, "while :; do :; done", Limits(wall_s=20, cpu_s=1))
    assert (ran.ended, ran.reason) == ("timeout", "used more than 1 s of processor time: killed")


def test_a_flood_is_cut_while_it_runs_and_keeps_head_and_tail(job: Path) -> None:
    ran = run(job, f"echo first {MARK}; yes 'a line like any other'", Limits(wall_s=20, output_bytes=1_000_000))
    assert (ran.ended, ran.reason) == ("output_limit", "printed more than 976.6 KiB: killed")
    assert ran.stdout.startswith(f"first {MARK}\na line like any other\n".encode())
    assert len(ran.stdout) == 1_000_000
    assert b"a line like any other\n" in ran.stdout[-100:]
    assert 0 < ran.dropped_bytes < 1_000_000
    assert ran.wall_ns < 5e9


def test_a_flood_on_standard_error_counts_too(job: Path) -> None:
    assert run(job, "yes >&2", Limits(wall_s=20, output_bytes=100_000)).ended == "output_limit"


def test_output_below_the_limit_is_kept_whole(job: Path) -> None:
    ran = run(job, "seq 1 100000", Limits(wall_s=20, output_bytes=600_000))
    assert ran.ok
    assert ran.stdout == "".join(f"{n}\n" for n in range(1, 100_001)).encode()
    assert ran.dropped_bytes == 0


def test_a_fork_bomb_stops_at_its_limit(job: Path) -> None:
    compiled(job, "#include <unistd.h>\nint main() { for (;;) fork(); }")
    ran = run(job, f"./main {MARK}", Limits(wall_s=10, processes=40))
    assert (ran.ended, ran.reason) == ("process_limit", "ran 40 processes and threads at once, the limit: killed")


def test_a_shell_that_may_not_fork_ends_with_a_sentence(job: Path) -> None:
    ran = run(job, f"bomb() {{ bomb {MARK} | bomb & }}; bomb; wait", Limits(wall_s=10, processes=40))
    assert ran.ended in ("process_limit", "exited")
    assert ran.wall_ns < 8e9


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"])
def test_a_network_call_is_refused(job: Path, family: str) -> None:
    call = f"#include <stdio.h>\n#include <sys/socket.h>\nint main() {{ if (socket({family}, SOCK_STREAM, 0) < 0) {{"
    compiled(job, call + ' perror("socket"); return 7; } return 0; }')
    ran = run(job, "./main")
    assert (ran.status, ran.stderr) == (7, b"socket: Operation not permitted\n")


def test_the_profile_for_tools_has_sockets_and_still_no_network(job: Path) -> None:
    connect = "import socket; s = socket.socket(); s.connect(('192.0.2.1', 80))"
    rules = sandbox.PROFILES["tools"]
    assert rules.sockets and rules.gpu
    no_gpu = {**sandbox.PROFILES, "tools": profiles.Rules(sockets=True)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "PROFILES", no_gpu)
        ran = sandbox.run(["python3", "-c", connect], job, profile="tools", limits=SHORT)
    if b"not found" in ran.stderr:
        pytest.skip("no python3 below /usr on this host")
    assert ran.status == 1
    assert b"Network is unreachable" in ran.stderr


def test_a_grandchild_that_keeps_the_pipe_open_ends_with_its_parent(job: Path) -> None:
    began = time.monotonic()
    ran = run(job, f"sh -c 'sleep 600; : {MARK}' & sh -c 'sleep 600; : {MARK}' & echo parent; exit 3")
    assert (ran.ended, ran.status, ran.stdout) == ("exited", 3, b"parent\n")
    assert time.monotonic() - began < 3


def test_a_grandchild_that_leaves_its_session_is_killed_at_the_limit(job: Path) -> None:
    began = time.monotonic()
    ran = run(job, f"setsid sh -c 'sleep 600; : {MARK}' & sleep 600", Limits(wall_s=1))
    assert ran.ended == "timeout"
    assert time.monotonic() - began < 4


@pytest.mark.parametrize("place", ["/usr/lib/x", "/x", "/etc/x", "/dev/x", "/proc/sys/kernel/hostname", "/opt/x"])
def test_nothing_outside_the_job_folder_can_be_written(job: Path, place: str) -> None:
    ran = run(job, f"echo x > {place}")
    assert ran.status not in (0, None)
    assert not Path(place).is_file() or "hostname" in place


def test_private_places_vanish(job: Path) -> None:
    name = f"{MARK}-{os.getpid()}"
    assert run(job, f"echo x > /tmp/{name} && echo x > /dev/shm/{name} && echo x > {name}").ok
    assert not Path("/tmp", name).exists()
    assert not Path("/dev/shm", name).exists()
    assert (job / name).read_text() == "x\n"


@pytest.mark.parametrize("place", ["/root", "/home", "/etc/shadow", "/etc/passwd", "/var", "/sys", "/work"])
def test_other_peoples_places_do_not_exist(job: Path, place: str) -> None:
    assert run(job, f"ls {place}").status == 2


def test_the_environment_is_empty_but_for_what_is_given(job: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPTIMAS_SECRET", "do not tell")
        ran = run(job, "env", env={"GIVEN": "yes"})
    names = {line.split("=")[0] for line in ran.stdout.decode().splitlines()}
    assert names == {"PATH", "HOME", "TMPDIR", "LANG", "GIVEN", "PWD"}


def test_no_user_namespace_no_mount_no_trace(job: Path) -> None:
    for command in ("unshare -U true", "mount -t tmpfs x /tmp", "unshare -m true", "unshare -n true"):
        ran = run(job, command)
        assert ran.status not in (0, None, 127), command


def test_two_gigabytes_are_refused_under_one(job: Path) -> None:
    (job / "main.cpp").write_text("#include <string>\nint main() { std::string s(2000000000u, 'x'); return s[9]; }")
    assert sandbox.run("g++ -o main main.cpp", job, profile="build", limits=Limits()).ok
    ran = run(job, "./main", Limits(wall_s=10, memory_bytes=1_000_000_000))
    assert (ran.ended, ran.reason) == ("memory_limit", "asked for more than 953.7 MiB of memory: refused")


def test_many_processes_share_one_memory_limit(job: Path) -> None:
    compiled(job, "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\nint main() {"
             " fork(); fork(); memset(malloc(200000000), 1, 200000000); sleep(30); }")  # fmt: skip
    ran = run(job, f"./main {MARK}", Limits(wall_s=20, memory_bytes=500_000_000))
    assert (ran.ended, ran.reason) == ("memory_limit", "held more than 476.8 MiB of memory: killed")


def test_memory_is_watched_where_the_kernel_limit_cannot_be_set(job: Path) -> None:
    compiled(job, "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\nint main() {"
             " memset(malloc(600000000), 1, 600000000); sleep(30); }")  # fmt: skip
    ran = sandbox.run("./main", job, profile="asan", limits=Limits(wall_s=20, memory_bytes=300_000_000))
    assert ran.ended == "memory_limit"


def test_a_large_file_ends_at_its_limit(job: Path) -> None:
    ran = run(job, "exec head -c 3000000 /dev/zero > big", Limits(wall_s=10, file_bytes=1_000_000))
    assert (ran.ended, ran.reason) == ("disk_limit", "wrote a file of more than 976.6 KiB: killed")


def test_many_files_together_have_a_limit(job: Path) -> None:
    fill = "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > f$i; done"
    ran = run(job, fill, Limits(wall_s=20, job_bytes=20_000_000))
    assert (ran.ended, ran.reason) == ("disk_limit", "filled its folder with more than 19.07 MiB: killed")


def test_a_folder_filled_between_two_looks_is_seen_at_the_end(job: Path) -> None:
    ran = run(job, "head -c 3000000 /dev/zero > big", Limits(wall_s=10, job_bytes=1_000_000))
    assert (ran.ended, ran.status) == ("disk_limit", 0)


def test_what_a_program_closes_is_counted_read_copied_and_removed(job: Path) -> None:
    """Root reads it anyway; for anybody else it is opened again."""
    ran = run(job, "mkdir d && head -c 3000000 /dev/zero > d/x && chmod 0 d/x d .", Limits(job_bytes=1_000_000))
    assert ran.ended == "disk_limit"
    assert [file.size for file in workspace.outputs_of(job, ["d/x"])] == [3_000_000]
    with workspace.copied(job) as copy:
        assert workspace.find(copy, ["**"]) == ("d/x", "readme")


def test_folders_too_deep_to_be_counted_break_the_limit_and_hide_nothing_else(job: Path) -> None:
    nest = "i=0; while [ $i -lt 1000 ]; do mkdir dddddddddd && cd -P dddddddddd || break; i=$((i+1)); done"
    ran = run(job, f"echo x > out; {nest}", Limits(wall_s=30))
    assert ran.ended == "disk_limit"
    assert ran.reason.startswith("made folders that cannot be counted, too deep or closed")
    assert workspace.find(job, ["out"]) == ("out",)


def test_cancelling_takes_half_a_second(job: Path) -> None:
    asked: list[float] = []

    def cancelled() -> bool:
        asked.append(time.monotonic())
        return len(asked) >= 3

    ran = run(job, f"sleep 600; : {MARK}", Limits(wall_s=30), cancelled=cancelled)
    assert (ran.ended, ran.reason) == ("cancelled", "cancelled on request: killed")
    assert max(b - a for a, b in zip(asked, asked[1:], strict=False)) < 0.5


def test_a_callback_that_raises_leaves_nothing_running(job: Path) -> None:
    def cancelled() -> bool:
        raise LookupError("the lease is lost")

    began = time.monotonic()
    with pytest.raises(LookupError):
        run(job, f"sleep 600; : {MARK}", Limits(wall_s=30), cancelled=cancelled)
    assert time.monotonic() - began < 3


def test_limits_without_a_number_take_the_hosts_measure() -> None:
    processors = os.cpu_count() or 1
    bounds = profiles.Bounds.of(Limits(wall_s=10))
    assert (bounds.cpu_s, bounds.processes) == (10 * processors, max(256, 4 * processors))
    assert profiles.Bounds.of(Limits(cpu_s=7, processes=40)) == profiles.Bounds(Limits(cpu_s=7, processes=40), 7, 40)


def test_a_worker_that_is_killed_takes_its_program_with_it(job: Path) -> None:
    script = (
        "from pathlib import Path; from evaluation import sandbox; from evaluation.types import Limits;"
        f"sandbox.run('echo up; sleep 600; : {MARK}', Path({str(job)!r}), profile='run', limits=Limits(wall_s=60),"
        " on_output=lambda data: print('up', flush=True))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env=env, stdout=subprocess.PIPE) as worker:
        assert worker.stdout and worker.stdout.readline() == b"up\n"
        assert survivors() != []
        worker.kill()
    deadline = time.monotonic() + 3
    while survivors() and time.monotonic() < deadline:
        time.sleep(0.05)


def test_output_is_handed_on_while_the_program_runs(job: Path) -> None:
    came: list[tuple[float, bytes]] = []

    def take(data: bytes) -> None:
        came.append((time.monotonic(), data))

    run(job, "echo one; sleep 0.5; echo two", on_output=take)
    assert [data for _, data in came] == [b"one\n", b"two\n"]
    assert came[1][0] - came[0][0] > 0.4


@pytest.mark.parametrize(
    ("command", "ended", "status", "reason"),
    [
        ("exit 3", "exited", 3, ""),
        ("kill -SEGV $$", "signalled", 139, "ended by SIGSEGV"),
        ("exit 200", "exited", 200, ""),
        ("no-such-program", "exited", 127, ""),
    ],
)
def test_an_ordinary_end_is_told_as_it_is(job: Path, command: str, ended: str, status: int, reason: str) -> None:
    ran = run(job, command)
    assert (ran.ended, ran.status, ran.reason) == (ended, status, reason)


def test_abort_ends_a_program_that_is_not_process_one(job: Path) -> None:
    compiled(job, "#include <stdlib.h>\nint main() { abort(); }")
    assert run(job, "./main").reason == "ended by SIGABRT"


def test_time_is_counted_without_the_set_up(job: Path) -> None:
    idle = run(job, "exec sleep 0.2")
    assert 0.2 <= idle.wall_ns / 1e9 < 0.5
    assert idle.cpu_ns is not None and idle.cpu_ns < 50e6
    busy = run(job, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    assert busy.cpu_ns is not None and 50e6 < busy.cpu_ns < 1.1 * busy.wall_ns


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "", "a\0b"])
def test_a_snapshot_cannot_leave_its_folder(name: str) -> None:
    with pytest.raises(UserError, match="leads out of the program's folder"), workspace.opened({name: b"x"}):
        pass
