"""``./optimas up`` and ``./optimas manage``: the stores, the web server and the workers of one machine.

A site runs the same programs as services of its own instead (docs/operations.md).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING

from django.core.exceptions import ImproperlyConfigured

from optimas_web import embedded
from optimas_web.errors import UserError
from optimas_web.processes import Processes
from optimas_web.state import private_folder, state_folder, try_lock

if TYPE_CHECKING:
    from django.core.management.base import BaseCommand

HOST = "127.0.0.1"
PORT = 8000
PYTHON = sys.executable
MANAGE = [PYTHON, "manage.py"]
# name: queues and processes. Timings want a machine to themselves, so cpu and gpu take one job at a time.
WORKERS = {"worker": ("default,llm", 2), "cpu-worker": ("cpu", 1)}
GPU_WORKER = {"gpu-worker": ("gpu", 1)}


def up(state: Path, port: int | None, once: bool) -> int:
    """Start everything, run the samples, and stay until a child ends or a signal comes. The samples' exit status."""
    started = time.monotonic()
    with owned(state), listen(port) as listener, embedded.tidied(state), Processes(state / "logs") as processes:
        embedded.start_stores(processes, state)
        prepare(processes)
        address = start_web(processes, listener)
        start_workers(processes)
        processes.start("sweeper", [*MANAGE, "sweep"], death_signal=signal.SIGKILL)
        processes.wait_until(lambda: healthy(address), "The web server", 60)
        tell(f"Optimas is up after {time.monotonic() - started:.1f} s at {address}")
        status = processes.run("the sample run", [*MANAGE, "run_samples"], log=False)
        if once:
            return status
        tell(f"Optimas is at {address} (logs in {processes.logs}). Ctrl-C stops it.")
        processes.watch()
        return status


@contextlib.contextmanager
def owned(state: Path) -> Iterator[IO[str]]:
    """The state folder is ours alone; UserError when another process has it."""
    lock = try_lock(embedded.owner_lock(private_folder(state)))
    if lock is None:
        owner = embedded.owner_lock(state).read_text()
        raise UserError(
            f"Optimas already runs on {state} (process {owner}).", "Stop it, or set OPTIMAS_STATE to another folder."
        )
    with lock:
        yield lock


def prepare(processes: Processes) -> None:
    status = processes.run("prepare", [*MANAGE, "prepare"])
    if status != 0:
        log = (processes.logs / "prepare.log").read_text(errors="replace")
        raise UserError(f"manage.py prepare ended with exit status {status}:\n{log}")


def listen(port: int | None) -> socket.socket:
    """A socket bound to ``port``, or to 8000 or a free one. It is ours from here on: nobody takes it in between."""
    try:
        return socket.create_server((HOST, PORT if port is None else port))
    except OSError as error:
        if port is not None:
            raise UserError(
                f"Port {port} cannot be used: {os.strerror(error.errno or 0)}.", "Name another one with --port."
            ) from error
        return socket.create_server((HOST, 0))


def start_web(processes: Processes, listener: socket.socket) -> str:
    """Start gunicorn on ``listener``, and close our end of it; the address."""
    with listener:
        command = [PYTHON, "-m", "gunicorn", "optimas_web.wsgi", "--bind", f"fd://{listener.fileno()}"]
        options = ["--worker-class", "gthread", "--threads", "8", "--no-control-socket", "--access-logfile", "-"]
        processes.start("web", [*command, *options], pass_fds=[listener.fileno()])
        return f"http://{HOST}:{listener.getsockname()[1]}/"


def start_workers(processes: Processes) -> None:
    for name, (queues, concurrency) in (WORKERS | (GPU_WORKER if has_gpu() else {})).items():
        command = [PYTHON, "-m", "celery", "-A", "optimas_web.celery", "worker", "-Q", queues, "-c", str(concurrency)]
        options = ["-n", f"{name}@%h", "--without-gossip", "--without-mingle", "--loglevel", "INFO"]
        # A worker that is asked to end waits for its job; one whose supervisor has died must not.
        # manage.py prepare has run the system checks.
        env = os.environ | {"CELERY_SKIP_CHECKS": "1"}
        processes.start(name, [*command, *options], death_signal=signal.SIGKILL, env=env)


def has_gpu() -> bool:
    return Path("/dev/nvidia0").exists()


def healthy(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}healthz", timeout=5) as response:  # noqa: S310 (an address of ours)
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def manage(state: Path, arguments: Sequence[str]) -> int:
    """Run a command in this process, with the stores up for as long as it takes when it needs them."""
    import django
    from django.core.management import call_command, execute_from_command_line

    django.setup()
    with embedded.stores(state) if needs_stores(arguments) else contextlib.nullcontext():
        if needs_rows(arguments) and embedded.has_postgres():
            call_command("migrate", interactive=False, verbosity=0)  # nobody may have run ./optimas up yet
        execute_from_command_line(["manage.py", *arguments])
    return 0


def needs_stores(arguments: Sequence[str]) -> bool:
    """Commands need the stores unless their class says ``requires_stores = False``."""
    command = command_of(arguments)
    return command is not None and bool(getattr(command, "requires_stores", True))


def needs_rows(arguments: Sequence[str]) -> bool:
    """Commands that work on rows say so as Django has it: ``requires_migrations_checks = True``."""
    command = command_of(arguments)
    return needs_stores(arguments) and command is not None and command.requires_migrations_checks


def command_of(arguments: Sequence[str]) -> BaseCommand | None:
    from django.core.management import get_commands, load_command_class

    app = get_commands().get(arguments[0]) if arguments else None
    return load_command_class(app, arguments[0]) if isinstance(app, str) else app


def tell(line: str) -> None:
    print(line, flush=True)


def end(number: int, frame: FrameType | None) -> None:
    """SIGTERM and a closed terminal end us as Ctrl-C does: with everything stopped."""
    raise SystemExit(128 + number)


def main(arguments: Sequence[str]) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "optimas_web.settings")
    signal.signal(signal.SIGTERM, end)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup asks to be left alone
        signal.signal(signal.SIGHUP, end)
    try:
        if arguments[:1] == ["manage"]:
            return manage(state_folder(), arguments[1:])
        options = parser().parse_args(arguments)
        return up(state_folder(), options.port, options.once)
    except (UserError, ImproperlyConfigured) as error:
        print(f"optimas: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="optimas", description="Optimas on this machine.")
    commands = parser.add_subparsers(required=True)
    up = commands.add_parser("up", help="start everything and run the samples")
    up.add_argument("--once", action="store_true", help="stop after the samples; their result is the exit status")
    up.add_argument("--port", type=int, help=f"the web server's port (default: {PORT}, or a free one when it is busy)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
