"""What each kind of sandboxed program is allowed, and the command line that makes it so."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evaluation.sandbox.bwrap import NOBODY, program
from evaluation.types import Limits

ProfileName = Literal["build", "run", "gpu", "tools", "asan"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How one profile differs.

    ``data_limit``: the kernel refuses memory beyond the limit to each process (RLIMIT_DATA; the watchdog holds the
    sum). Not RLIMIT_AS: CUDA reserves address space by the terabyte, and so do 128 threads' malloc arenas. ASan fails
    under either. ``sockets``: the CUDA driver does not start without socket(2) (seen with driver 580 on an H200: "OS
    call failed"), and ncu and compute-sanitizer talk to the program over a local socket; the network namespace is
    empty all the same.
    """

    sockets: bool = False
    data_limit: bool = True
    gpu: bool = False


PROFILES: Mapping[ProfileName, Rules] = {
    "build": Rules(),
    "run": Rules(),
    "gpu": Rules(sockets=True, gpu=True),
    "tools": Rules(sockets=True, gpu=True),
    "asan": Rules(data_limit=False),
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits with what the host decides filled in."""

    limits: Limits
    cpu_s: int
    processes: int

    @classmethod
    def of(cls, limits: Limits) -> Bounds:
        processors = os.cpu_count() or 1
        cpu_s = limits.cpu_s if limits.cpu_s is not None else math.ceil(limits.wall_s * processors)
        return cls(limits, cpu_s, limits.processes or max(256, 4 * processors))


TMP_BYTES = 268_435_456
"""Size of the private /tmp and of /dev/shm. They live in memory, and vanish with the sandbox."""

_SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SYSTEM_FILES = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
    "/opt",
)
_GPU_NODES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
_DRIVER_LIBRARIES = "/usr/local/nvidia/lib64"
_PATH = "/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin"

# Standard input is a pipe that says "all is set up, the program starts now"; it is closed before the program exists,
# so the program cannot speak on it. The shell stays as process 1, so that the program itself is not: process 1
# ignores signals that have no handler, and would survive its own abort().
_START = 'printf . >&0; exec </dev/null; "$@"'


def command_line(
    command: Sequence[str],
    folder: Path,
    rules: Rules,
    bounds: Bounds,
    *,
    seccomp_fd: int,
    env: Mapping[str, str],
    readable: Sequence[Path] = (),
    gpu: int = 0,
) -> list[str]:
    """The whole argument list: drop root, set limits, enter bubblewrap, limit processes, start."""
    return [
        *_drop_root(),
        *_rlimits(rules, bounds),
        str(program()),
        *_isolation(seccomp_fd),
        *_system(),
        *(_gpu_devices(gpu) if rules.gpu else ()),
        *("--remount-ro", "/dev"),
        *(part for path in readable for part in ("--ro-bind", str(path), str(path))),
        *("--bind", str(folder), "/job", "--chdir", "/job", "--remount-ro", "/"),
        *_environment(rules, env),
        *("prlimit", f"--nproc={bounds.processes}", "--", "sh", "-c", _START, "sh"),
        *command,
    ]


def _drop_root() -> Sequence[str]:
    if os.geteuid() != 0:
        return ()
    return ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs")


def _rlimits(rules: Rules, bounds: Bounds) -> Sequence[str]:
    memory = (f"--data={bounds.limits.memory_bytes}",) if rules.data_limit else ()
    cpu = f"--cpu={bounds.cpu_s}:{bounds.cpu_s + 1}"  # soft first: SIGXCPU names the cause, SIGKILL would not
    return ("prlimit", "--core=0", "--nofile=1024", f"--fsize={bounds.limits.file_bytes}", cpu, *memory, "--")


def _isolation(seccomp_fd: int) -> Sequence[str]:
    return (
        *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", str(NOBODY), "--gid", str(NOBODY)),
        *("--seccomp", str(seccomp_fd), "--die-with-parent", "--new-session", "--as-pid-1"),
        *("--cap-drop", "ALL", "--clearenv", "--hostname", "sandbox"),
    )


def _system() -> Sequence[str]:
    """The read-only system, and writable folders of bounded size."""
    parts = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM_FOLDERS:
        path = Path("/") / name
        if path.is_symlink():
            parts += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            parts += ["--ro-bind", str(path), str(path)]
    for name in _SYSTEM_FILES:
        parts += ["--ro-bind-try", name, name]
    size = ("--size", str(TMP_BYTES))
    return (*parts, "--proc", "/proc", "--dev", "/dev", *size, "--tmpfs", "/dev/shm", *size, "--tmpfs", "/tmp")  # noqa: S108


def _gpu_devices(gpu: int) -> Sequence[str]:
    """The nodes of one GPU. Binding only its ``/dev/nvidiaN`` is what picks it."""
    nodes = (f"/dev/nvidia{gpu}", *(f"/dev/{name}" for name in _GPU_NODES))
    return tuple(part for node in nodes for part in ("--dev-bind", node, node))


def _environment(rules: Rules, env: Mapping[str, str]) -> Sequence[str]:
    base = {"PATH": _PATH, "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108 - inside the sandbox
    if rules.gpu and Path(_DRIVER_LIBRARIES).is_dir():
        base["LD_LIBRARY_PATH"] = _DRIVER_LIBRARIES
    return tuple(part for name, value in {**base, **env}.items() for part in ("--setenv", name, value))
