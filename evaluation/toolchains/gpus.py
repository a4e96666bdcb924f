"""The NVIDIA GPUs of this host, as the driver lists them in /proc and /dev. No library is loaded for it."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

DRIVER = Path("/proc/driver/nvidia")


@dataclass(frozen=True, slots=True)
class Gpu:
    """``minor`` is the N of ``/dev/nvidiaN``."""

    minor: int
    uuid: str
    model: str


def gpus(driver: Path = DRIVER) -> tuple[Gpu, ...]:
    """All GPUs, by minor number; none without a driver."""
    texts = [path.read_text(errors="replace") for path in driver.glob("gpus/*/information")]
    found = (
        _gpu({k.strip(): v.strip() for k, _, v in (line.partition(":") for line in text.splitlines())})
        for text in texts
    )
    return tuple(sorted((gpu for gpu in found if gpu), key=lambda gpu: gpu.minor))


def _gpu(fields: dict[str, str]) -> Gpu | None:
    minor = fields.get("Device Minor", "")
    return Gpu(int(minor), fields.get("GPU UUID", ""), fields.get("Model", "")) if minor.isdigit() else None


def missing_nodes(gpu: Gpu) -> tuple[str, ...]:
    """Device nodes a CUDA program needs that do not exist yet; ``nvidia-modprobe -u`` or ``nvidia-smi`` makes them."""
    names = (f"nvidia{gpu.minor}", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
    return tuple(f"/dev/{name}" for name in names if not os.path.exists(f"/dev/{name}"))


def architecture(gpu: Gpu) -> str | None:
    """``sm_90`` and the like, as nvidia-smi says it; None when it cannot be asked."""
    command = ["nvidia-smi", f"--id={gpu.uuid}", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout.strip()
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    return f"sm_{said.replace('.', '')}" if re.fullmatch(r"\d+\.\d", said) else None


def counters_are_for_admins(driver: Path = DRIVER) -> bool:
    """Whether the driver refuses performance counters to ordinary users (ERR_NVGPUCTRPERM)."""
    try:
        return re.search(r"RmProfilingAdminOnly:\s*1", (driver / "params").read_text()) is not None
    except FileNotFoundError:
        return False
