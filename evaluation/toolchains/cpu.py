"""C, C++ and other programs for the processor: the project's own compiler, binutils, valgrind, the sanitizers."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evaluation import sandbox
from evaluation.toolchains import base, reports
from evaluation.toolchains.base import BUILD_LIMITS, PROFILE_LIMITS, SANITIZER_LIMITS, Cancelled, OnOutput
from evaluation.toolchains.machine_code import function_symbols, undefined_symbols
from evaluation.types import Built, Limits, Profiled, Ran, Sanitized, Symbol, Tool
from evaluation.workspace import outputs_of
from projects.types import Manifest

__all__ = ["build", "outputs_of", "profile", "run", "sanitize", "tools"]

_ARCHES: Mapping[str, str] = {"x86_64": "x86-64", "aarch64": "armv8-a"}
"""What ``{arch}`` means to a compiler's -march: the machine's least member, which valgrind can run too."""

_APT = "Install it: apt install {0}, or your system's package."
_LISTING_LIMITS = Limits(wall_s=300, output_bytes=536_870_912)

# Findings are collected, not died of: the original's first finding must not hide what the candidate adds behind it.
_ADDRESS_FLAGS = "-g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fsanitize-recover=address,undefined"
_THREAD_FLAGS = "-g -O1 -fsanitize=thread"
_SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=0:abort_on_error=0:color=never",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=0:color=never",
    "TSAN_OPTIONS": "halt_on_error=0:color=never",
}
_THREAD_STARTERS = ("pthread_create", "thrd_create", "GOMP_parallel", "__kmpc_fork_call", "_M_start_thread")

CALLGRIND_FILE = "callgrind.out.optimas"
# Cache sizes are fixed: valgrind takes them from the host, and figures of two hosts could not be compared.
_CALLGRIND = (
    "valgrind --tool=callgrind --quiet --vgdb=no --cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=8388608,16,64"
    f" --callgrind-out-file={CALLGRIND_FILE}"
)


def tools() -> tuple[Tool, ...]:
    """The compiler, the disassembler and valgrind."""
    return (
        base.tool("g++", _APT.format("g++")),
        base.tool("objdump", _APT.format("binutils")),
        base.tool("valgrind", _APT.format("valgrind")),
    )


def build(
    folder: Path,
    manifest: Manifest,
    *,
    extra_flags: str = "",
    arch: str = "",
    limits: Limits = BUILD_LIMITS,
    cancelled: Cancelled = None,
    on_output: OnOutput = None,
) -> Built:
    """Build, and read the functions of the binary. Never raises for what the build does."""
    built = base.built(
        folder, manifest, arch=_arch(arch), flags=extra_flags, limits=limits, cancelled=cancelled, on_output=on_output
    )
    if not built.ok or built.binary is None:
        return built
    try:
        return replace(built, symbols=_symbols(folder, built.binary))
    except ValueError as error:
        return replace(built, symbols_reason=str(error))


def _arch(asked: str) -> str:
    return asked or _ARCHES.get(platform.machine(), platform.machine())


def _symbols(folder: Path, binary: str) -> tuple[Symbol, ...]:
    """objdump reads what a stranger's compiler run wrote: it works in the sandbox too."""
    command = ["objdump", "-d", "-z", "-w", "--no-show-raw-insn", binary]
    ran = sandbox.run(command, folder, profile="run", limits=_LISTING_LIMITS)
    if not ran.ok:
        said = ran.stderr.decode(errors="replace").strip()[:200]
        raise ValueError(f"the functions of {binary} could not be listed: {ran.reason or said}")
    return function_symbols((folder / binary).read_bytes(), ran.stdout.decode(errors="replace"))


def run(
    folder: Path,
    built: Built,
    command: str,
    limits: Limits,
    *,
    env: Mapping[str, str] | None = None,
    cancelled: Cancelled = None,
) -> Ran:
    """Run a workload's command in the folder it was built in."""
    return sandbox.run(command, folder, profile="run", limits=limits, env=env, cancelled=cancelled)


def sanitize(
    folder: Path,
    manifest: Manifest,
    *,
    arch: str = "",
    limits: Limits = SANITIZER_LIMITS,
    cancelled: Cancelled = None,
) -> Sanitized:
    """AddressSanitizer and UndefinedBehaviorSanitizer in one run; ThreadSanitizer when the program can make threads."""
    if not base.takes_flags(manifest):
        return Sanitized(False, "the build command has no {flags}, so it cannot be built for the sanitizers")
    checked = _checked(folder, manifest, ("asan", "ubsan"), _ADDRESS_FLAGS, arch, limits, cancelled)
    if not checked.done or not _makes_threads(folder / manifest.binary):
        return checked
    threads = _checked(folder, manifest, ("tsan",), _THREAD_FLAGS, arch, limits, cancelled)
    return Sanitized(
        threads.done,
        threads.reason,
        checked.tools + threads.tools,
        checked.findings + threads.findings,
        f"{checked.log}\n{threads.log}",
    )


def _checked(
    folder: Path,
    manifest: Manifest,
    names: tuple[str, ...],
    flags: str,
    arch: str,
    limits: Limits,
    cancelled: Cancelled,
) -> Sanitized:
    """One build and one run. What the sanitizers say is a result; only being unable to ask is not."""
    label = " and ".join(names)
    built = base.built(folder, manifest, arch=_arch(arch), flags=flags, limits=BUILD_LIMITS, cancelled=cancelled)
    if not built.ok:
        return Sanitized(False, f"the build for {label} failed: {built.reason}", log=built.log)
    # Without a fixed layout the old ThreadSanitizer finds its shadow memory taken on new kernels.
    command = base.prefixed(manifest.profile_command, "setarch -R" if "tsan" in names else "")
    ran = sandbox.run(command, folder, profile="asan", limits=limits, env=_SANITIZER_ENV, cancelled=cancelled)
    log = ran.stderr.decode(errors="replace")
    findings = reports.sanitizer_findings(log)
    if ran.ended not in ("exited", "signalled") or (not ran.ok and not findings):
        why = ran.reason or f"it ended with status {ran.status}"
        return Sanitized(False, f"{manifest.profile_command} under {label}: {why}", names, findings, log)
    return Sanitized(True, "", names, findings, log)


def _makes_threads(binary: Path) -> bool:
    names = undefined_symbols(binary.read_bytes())
    return any(starter in name for name in names for starter in _THREAD_STARTERS)


def profile(
    folder: Path,
    manifest: Manifest,
    *,
    arch: str = "",
    kernels: Sequence[str] = (),
    built: Built | None = None,
    limits: Limits = PROFILE_LIMITS,
    cancelled: Cancelled = None,
) -> Profiled:
    """Callgrind with a cache simulation. It covers the whole run, so ``kernels`` plays no part."""
    if built is None:
        built = base.built(folder, manifest, arch=_arch(arch), flags="-g", limits=BUILD_LIMITS, cancelled=cancelled)
    if not built.ok:
        return Profiled(None, f"the build for profiling failed: {built.reason}", log=built.log)
    command = base.prefixed(manifest.profile_command, _CALLGRIND)
    ran = sandbox.run(command, folder, profile="run", limits=limits, cancelled=cancelled)
    log = (ran.stdout + ran.stderr).decode(errors="replace")
    path = folder / CALLGRIND_FILE
    reason = _profile_problem(ran, path, log)
    return Profiled(None if reason else path, reason, command, log, ran, built)


def _profile_problem(ran: Ran, path: Path, log: str) -> str:
    if "unrecognised instruction" in log or "Illegal opcode" in log:
        return "valgrind met an instruction it does not know: build without -march=native for profiling"
    if not ran.ok:
        return f"the run under Callgrind: {ran.reason or f'it ended with status {ran.status}'}"
    if path.is_symlink() or not path.is_file():
        return "Callgrind wrote no profile"
    return ""
