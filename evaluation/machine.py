"""What is said about the machine a program was judged on. No host name, no user: receipts are shown to strangers."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from analysis.types import Value


def describe() -> Mapping[str, Value]:
    """Processor, its cores and memory, and the system's kernel; None for what cannot be read here."""
    return {
        "processor": _first(r"^model name\s*: (.+)$", Path("/proc/cpuinfo")) or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()}",
        "load_1min": round(os.getloadavg()[0], 2),
    }


def _first(pattern: str, path: Path) -> str | None:
    try:
        found = re.search(pattern, path.read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return None
    return found[1].strip() if found else None
