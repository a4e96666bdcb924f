"""How to take a profile on a machine of one's own: the lines to type there, for this very program."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from analysis.doctor import CALLGRIND
from evaluation.toolchains.base import prefixed
from projects.types import Manifest

PROGRAM = " ./program"
CUDA_ARCH = "sm_90"


@dataclass(frozen=True, slots=True)
class ByHand:
    """``lines``: shell commands, run in the program's folder; ``file``: what they write, to be uploaded."""

    lines: tuple[str, ...]
    file: str
    needs: str
    note: str

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def by_hand(manifest: Manifest) -> ByHand:
    """Build with line information, run the profile command under the toolchain's profiler."""
    return _with_ncu(manifest) if manifest.toolchain == "cuda" else _with_callgrind(manifest)


def _with_callgrind(manifest: Manifest) -> ByHand:
    file = f"callgrind.out.{_plain(manifest)}"
    tool = f"{CALLGRIND.removesuffix(PROGRAM)} --callgrind-out-file={file}"
    note = "" if _takes_flags(manifest) else "Build with -g: without it nothing can be said by line."
    lines = (*_build(manifest, "-g", "x86-64"), prefixed(manifest.profile_command, tool))
    return ByHand(lines, file, "valgrind", note)


def _with_ncu(manifest: Manifest) -> ByHand:
    name = _plain(manifest)
    kernels = "|".join(re.escape(kernel) for kernel in manifest.include_kernels)
    which = f" -k {shlex.quote(f'regex:^({kernels})$')}" if kernels else ""
    tool = f"ncu --set full --import-source yes{which} -c 12 -f -o {name}"
    build = _build(manifest, "-lineinfo", CUDA_ARCH)
    lines = (*build, prefixed(manifest.profile_command, tool))
    if not _takes_flags(manifest):
        lines = ("export NVCC_APPEND_FLAGS=-lineinfo", *lines)
    note = (
        f"{CUDA_ARCH} stands for the GPU's architecture: nvidia-smi --query-gpu=compute_cap --format=csv tells yours."
    )
    return ByHand(lines, f"{name}.ncu-rep", "Nsight Compute (ncu)", note if CUDA_ARCH in " ".join(build) else "")


def _build(manifest: Manifest, flags: str, arch: str) -> tuple[str, ...]:
    command = manifest.build_command
    return (command.replace("{arch}", arch).replace("{flags}", flags),) if command else ()


def _takes_flags(manifest: Manifest) -> bool:
    return "{flags}" in (manifest.build_command or "")


def _plain(manifest: Manifest) -> str:
    """The program's name, fit for the name of a file without quotes."""
    return re.sub(r"[^\w.-]+", "-", manifest.name).strip("-.") or "program"
