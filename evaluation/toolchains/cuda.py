"""CUDA programs: nvcc, cubins, compute-sanitizer, Nsight Compute. Building needs no GPU; running does."""

from __future__ import annotations

import re
import shlex
import shutil
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evaluation import sandbox, workspace
from evaluation.toolchains import base, fatbin, gpus, reports
from evaluation.toolchains.base import BUILD_LIMITS, PROFILE_LIMITS, SANITIZER_LIMITS, Cancelled, OnOutput
from evaluation.types import Built, Limits, Profiled, Ran, Sanitized, SanitizerFinding, Symbol, Tool
from evaluation.workspace import outputs_of
from projects.types import Manifest

__all__ = ["build", "outputs_of", "profile", "run", "sanitize", "tools"]

DEFAULT_ARCH = "sm_90"
"""What is built for where no GPU can be asked and the caller names none."""

SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
NCU_FILE = "optimas.ncu-rep"
LAUNCH_COUNT = 12

_TOOLKIT = Path("/usr/local/cuda/bin")
_WHEELS = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13"
_FOLDERS = (str(_TOOLKIT), str(_WHEELS / "bin"))
_TOOLKIT_REMEDY = "Install NVIDIA's CUDA toolkit."
_WHEEL_REMEDY = "Install NVIDIA's CUDA toolkit, or pip install -r requirements-gpu.txt."
_NO_GPU = "there is no NVIDIA GPU on this host: CUDA programs are built here, but cannot be run"


def tools() -> tuple[Tool, ...]:
    """Compiler, disassembler, sanitizer, profiler; and the GPU, whose version is its model."""
    cards = gpus.gpus()
    return (
        base.tool("nvcc", _TOOLKIT_REMEDY, folders=_FOLDERS),
        base.tool("cuobjdump", _WHEEL_REMEDY, folders=_FOLDERS),
        base.tool("compute-sanitizer", _WHEEL_REMEDY, folders=_FOLDERS),
        base.tool("ncu", "Install NVIDIA Nsight Compute.", folders=_FOLDERS),
        Tool("GPU", cards[0].model if cards else None, "" if cards else "Run on a host with an NVIDIA GPU and driver."),
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
    """Build, and read the kernels of the binary. Flags go through ``{flags}``, else through nvcc's own variable."""
    built = _compiled(folder, manifest, extra_flags, arch, limits, cancelled, on_output)
    if not built.ok or built.binary is None:
        return built
    try:
        return replace(built, symbols=_symbols(folder, built.binary))
    except ValueError as error:
        return replace(built, symbols_reason=str(error))


def _compiled(
    folder: Path,
    manifest: Manifest,
    flags: str,
    arch: str,
    limits: Limits = BUILD_LIMITS,
    cancelled: Cancelled = None,
    on_output: OnOutput = None,
) -> Built:
    return base.built(
        folder,
        manifest,
        arch=arch or _own_architecture() or DEFAULT_ARCH,
        flags=flags,
        limits=limits,
        env={} if base.takes_flags(manifest) or not flags else {"NVCC_APPEND_FLAGS": flags},
        cancelled=cancelled,
        on_output=on_output,
    )


def _own_architecture() -> str | None:
    return next((arch for gpu in gpus.gpus() if (arch := gpus.architecture(gpu))), None)


def _symbols(folder: Path, binary: str) -> tuple[Symbol, ...]:
    executable = (folder / binary).read_bytes()
    try:
        found = fatbin.cubins(executable)
    except fatbin.Compressed as error:
        found = _unpacked(folder, binary, str(error))
    if not found:
        raise ValueError(f"{binary} holds no GPU code")
    return fatbin.kernel_symbols(found)


def _unpacked(folder: Path, binary: str, why: str) -> tuple[fatbin.Cubin, ...]:
    """Compressed cubins, by cuobjdump: it writes one file each, named with its architecture."""
    tool = tool_path("cuobjdump")
    if tool is None:
        raise ValueError(f"{why}, and cuobjdump, which can unpack it, was not found. {_WHEEL_REMEDY}")
    with workspace.opened({binary: (folder / binary).read_bytes()}) as scratch:
        command = [str(tool), "-xelf", "all", binary]
        ran = sandbox.run(command, scratch, profile="run", limits=BUILD_LIMITS, readable=_readable(tool))
        names = workspace.find(scratch, ["*.cubin"])
        if not ran.ok or not names:
            raise ValueError(
                f"cuobjdump could not unpack {binary}: {ran.stderr.decode(errors='replace').strip()[:200]}"
            )
        return tuple(fatbin.Cubin(_sm_of(name), (scratch / name).read_bytes()) for name in names)


def _sm_of(name: str) -> int:
    numbers = re.findall(r"sm_(\d+)", name)
    return int(numbers[-1]) if numbers else 0


def tool_path(name: str) -> Path | None:
    path = shutil.which(name) or shutil.which(name, path=":".join(_FOLDERS))
    return Path(path) if path else None


def _readable(tool: Path) -> tuple[Path, ...]:
    """What the sandbox must see besides the system: the wheel's folder, when the tool comes from there."""
    return (_WHEELS,) if _WHEELS in tool.parents else ()


def run(
    folder: Path,
    built: Built,
    command: str,
    limits: Limits,
    *,
    env: Mapping[str, str] | None = None,
    cancelled: Cancelled = None,
    device: str = "",
) -> Ran:
    """Run on the GPU with that UUID, or the first one. Without a GPU nothing starts, and the reason says so."""
    return _on_gpu(command, folder, "gpu", limits, env=env, cancelled=cancelled, device=device)


def _on_gpu(
    command: str,
    folder: Path,
    profile: sandbox.ProfileName,
    limits: Limits,
    *,
    env: Mapping[str, str] | None = None,
    readable: Sequence[Path] = (),
    cancelled: Cancelled = None,
    device: str = "",
) -> Ran:
    gpu = next((gpu for gpu in gpus.gpus() if device in ("", gpu.uuid)), None)
    missing = gpus.missing_nodes(gpu) if gpu else ()
    if gpu is None or missing:
        why = f"{', '.join(missing)} is missing: run nvidia-modprobe -u once as root" if missing else _NO_GPU
        return Ran("not_started", None, why, b"", b"", 0, 0)
    return sandbox.run(
        command,
        folder,
        profile=profile,
        limits=limits,
        env=env,
        readable=readable,
        gpu=gpu.minor,
        cancelled=cancelled,
    )


def sanitize(
    folder: Path,
    manifest: Manifest,
    *,
    arch: str = "",
    limits: Limits = SANITIZER_LIMITS,
    cancelled: Cancelled = None,
    device: str = "",
) -> Sanitized:
    """compute-sanitizer's four tools, one run each."""
    tool = tool_path("compute-sanitizer")
    if not gpus.gpus() or tool is None:
        why = f"compute-sanitizer was not found. {_WHEEL_REMEDY}" if gpus.gpus() else _NO_GPU
        return Sanitized(False, why)
    built = _compiled(folder, manifest, "-lineinfo", arch, cancelled=cancelled)
    if not built.ok:
        return Sanitized(False, f"the build for compute-sanitizer failed: {built.reason}", log=built.log)
    logs: list[str] = []
    findings: list[SanitizerFinding] = []
    for name in SANITIZERS:
        command = base.prefixed(manifest.profile_command, f"{shlex.quote(str(tool))} --tool {name}")
        ran = _on_gpu(command, folder, "tools", limits, readable=_readable(tool), cancelled=cancelled, device=device)
        logs.append((ran.stdout + ran.stderr).decode(errors="replace"))
        if ran.ended != "exited" or "========= COMPUTE-SANITIZER" not in logs[-1]:
            return Sanitized(False, f"{name}: {ran.reason or 'it did not start'}", log="\n".join(logs))
        findings += reports.device_findings(name, logs[-1])
    return Sanitized(True, "", SANITIZERS, tuple(findings), "\n".join(logs))


def profile(
    folder: Path,
    manifest: Manifest,
    *,
    arch: str = "",
    kernels: Sequence[str] = (),
    built: Built | None = None,
    limits: Limits = PROFILE_LIMITS,
    cancelled: Cancelled = None,
    device: str = "",
) -> Profiled:
    """Nsight Compute over the first launches of ``kernels`` (mangled names; none: of any). Clocks are left alone."""
    tool = tool_path("ncu")
    problem = _cannot_profile(tool)
    if problem or tool is None:
        return Profiled(None, problem)
    built = built or _compiled(folder, manifest, "-lineinfo", arch, cancelled=cancelled)
    if not built.ok:
        return Profiled(None, f"the build for profiling failed: {built.reason}", log=built.log)
    command = base.prefixed(manifest.profile_command, shlex.join(_ncu(tool, kernels)))
    ran = _on_gpu(command, folder, "tools", limits, cancelled=cancelled, device=device)
    log = (ran.stdout + ran.stderr).decode(errors="replace")
    path = folder / NCU_FILE
    reason = _profile_problem(ran, path, log)
    return Profiled(None if reason else path, reason, command, log, ran, built)


def _cannot_profile(tool: Path | None) -> str:
    if not gpus.gpus():
        return _NO_GPU
    if tool is None:
        return "ncu was not found. Install NVIDIA Nsight Compute."
    if gpus.counters_are_for_admins():
        return (
            "the driver lets only administrators profile (RmProfilingAdminOnly: 1): load the nvidia module with "
            "NVreg_RestrictProfilingToAdminUsers=0"
        )
    return ""


def _ncu(tool: Path, kernels: Sequence[str]) -> list[str]:
    names = "|".join(re.escape(name) for name in kernels)
    chosen = ["--kernel-name-base", "mangled", "--kernel-name", f"regex:^({names})$"] if kernels else []
    return [
        *(str(tool), "--set", "full", "--import-source", "yes", "--clock-control", "none"),
        *chosen,
        *("--launch-count", str(LAUNCH_COUNT), "--force-overwrite", "--export", NCU_FILE.removesuffix(".ncu-rep")),
    ]


def _profile_problem(ran: Ran, path: Path, log: str) -> str:
    if "ERR_NVGPUCTRPERM" in log:
        return "the driver does not let this user read performance counters (ERR_NVGPUCTRPERM)"
    if not ran.ok:
        return f"the run under ncu: {ran.reason or f'it ended with status {ran.status}'}"
    if path.is_symlink() or not path.is_file():
        return "ncu wrote no report: no launch of the chosen kernels was seen"
    return ""
