"""The repository's own files, for tests that read them."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("projects", "analysis", "optimizer", "evaluation", "reviews", "studies")
"""In the order in which data flows."""
WIRING = "optimas_web"


def tracked(*patterns: str) -> list[str]:
    """Files of the repository, also those not yet added; without git, all files outside hidden and state folders."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "--", *patterns],
        capture_output=True,
        text=True,
    )
    if listed.returncode == 0:
        return sorted(path for path in set(listed.stdout.splitlines()) if (ROOT / path).exists())
    found = (path.relative_to(ROOT) for pattern in patterns for path in ROOT.rglob(pattern) if path.is_file())
    return sorted(str(path) for path in found if not any(p.startswith(".") or p == "var" for p in path.parts))


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


TEXTS = tracked("*.py", "*.md", "*.toml", "*.html", "*.yml", "*.txt", "*.in", "optimas", ".ci/*", "Dockerfile")
