"""Postgres refuses to run as root. These are the ways to show it another user, in the order they are tried."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from optimas_web.errors import UserError

# In a user namespace of its own root is seen as user 1000: no account is made, no mode changed, 0700 homes work.
UNSHARE = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"]


def before_postgres(program: str, state: Path) -> list[str]:
    """What to put before a Postgres command line; empty for everybody but root."""
    if os.geteuid() != 0:
        return []
    if _runs([*UNSHARE, program, "--version"]):
        return UNSHARE
    raise UserError(
        "Postgres does not run as root, and this machine forbids user namespaces.",
        "Run ./optimas as an ordinary user, or set DATABASE_URL to a Postgres server.",
    )


def _runs(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False).returncode == 0
