"""Build and run messages that are no fault of an edit: this host's tools, or how the project is set up. Pure.

Without this a model would be asked to mend a compiler that does not fit its toolkit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ASK_HOST = "Whoever runs this host has to act; no edit can mend it."


@dataclass(frozen=True, slots=True)
class Trouble:
    """``message`` has no full stop; ``remedy`` is one sentence or more."""

    message: str
    remedy: str


_OLD_NAME = (
    "Newer toolkits drop old names (cudaDeviceGetAttribute tells what cudaDeviceProp no longer holds): mend the"
    " program, or use a host with the toolkit that it was written for."
)

# What a tool prints, what it means, what to do. The first that is found speaks.
_BUILD: tuple[tuple[str, str, str], ...] = (
    (
        r"unsupported (?P<it>GNU|clang) version",
        "this host's {it} compiler does not fit its CUDA toolkit",
        f"Install one that fits beside it and name it with -ccbin or NVCC_CCBIN. {_ASK_HOST}",
    ),
    (
        r"Unsupported gpu architecture '(?P<it>\w+)'|Value '(?P<it2>\w+)' is not defined for option 'gpu-",
        "the nvcc of this host does not know the architecture {it}",
        "Write {{arch}} in [build] of optimas.toml in place of a fixed architecture, or use a host whose CUDA toolkit"
        " still knows it.",
    ),
    (
        r"class \"(?P<of>cuda\w+)\" has no member \"(?P<it>\w+)\"",
        "the program uses {of}.{it}, which the CUDA toolkit of this host does not have",
        _OLD_NAME,
    ),
    (
        r"identifier \"(?P<it>cu(?:da)?[A-Z]\w*)\" is undefined",
        "the program uses {it}, which the CUDA toolkit of this host does not have",
        _OLD_NAME,
    ),
    (
        r"(?:^|: )(?P<it>[\w.+/-]+): (?:command )?not found$",
        "there is no {it} on this host",
        "Install it there, or change [build] in optimas.toml.",
    ),
    (
        r"(?P<it>cuda\w*\.h|cudart\w*|device_launch_parameters\.h): No such file|cannot find -l(?P<it2>cu\w+)",
        "this host lacks a part of the CUDA toolkit ({it})",
        f"Install the whole toolkit. {_ASK_HOST}",
    ),
    (r"(?P<it>No space left on device)", "the disk of this host is full", _ASK_HOST),
    (
        r"(?P<it>Killed signal terminated program|internal compiler error: Killed|LLVM ERROR: out of memory)",
        "the compiler ran out of memory on this host",
        "Build fewer files at a time, or give the host more memory.",
    ),
    (
        r"unrecognized command[- ]line option [‘'\"](?P<it>[^’'\"]+)",
        "the compiler of this host does not know the option {it}",
        "Change [build] in optimas.toml, or use a host with the compiler that it was written for.",
    ),
)
_RUN: tuple[tuple[str, str, str], ...] = (
    (
        r"(?P<it>no kernel image is available for execution)",
        "it holds no code for the GPU of this host: no kernel image is available",
        "Write {{arch}} in [build] of optimas.toml in place of a fixed architecture.",
    ),
    (
        r"(?P<it>CUDA driver version is insufficient|PTX was compiled with an unsupported toolchain)",
        "the GPU driver of this host is older than its CUDA toolkit",
        f"Install a newer driver. {_ASK_HOST}",
    ),
    (
        r"(?P<it>version [`'‘]\w+_[\d.]+['’] not found)",
        "it was built for another system than this host's",
        "Let [build] in optimas.toml build it here.",
    ),
)


def of_build(log: str) -> Trouble | None:
    """What keeps a program from being built here that has nothing to do with its code; None when nothing is known."""
    return _first(_BUILD, log)


def of_run(printed: str) -> Trouble | None:
    """The same for a run, from what it printed."""
    return _first(_RUN, printed)


def _first(known: tuple[tuple[str, str, str], ...], text: str) -> Trouble | None:
    for pattern, message, remedy in known:
        if found := re.search(pattern, text, re.MULTILINE):
            named = {name.rstrip("2"): value for name, value in found.groupdict().items() if value is not None}
            return Trouble(message.format(**named), remedy.format())
    return None
