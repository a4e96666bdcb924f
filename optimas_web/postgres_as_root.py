"""Postgres refuses to run as root. These are the ways to show it another user, in the order they are tried.

No account is made, and no folder but our own is opened: a checkout under a 0700 home stays as it is.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from optimas_web.errors import UserError

NOBODY = 65534
# Root seen as user 1000 in a user namespace of its own: files stay root's.
IN_A_NAMESPACE = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"]
# Containers often forbid namespaces to root. There Postgres becomes nobody, and needs folders of that user.
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]


def before_postgres(program: str, folders: list[Path]) -> list[str]:
    """What to put before a Postgres command line; empty for everybody but root.

    ``folders`` are ours and hold what Postgres has to reach. UserError when there is no way.
    """
    if os.geteuid() != 0:
        return []
    if _runs([*IN_A_NAMESPACE, program, "--version"]):
        return IN_A_NAMESPACE
    for folder in folders:
        os.chown(folder, 0, NOBODY)
        folder.chmod(0o710)  # nobody may pass, and may not look around
    if _runs([*AS_NOBODY, program, "--version"]) and all(_runs([*AS_NOBODY, "test", "-x", str(f)]) for f in folders):
        return AS_NOBODY
    raise UserError(
        "Postgres does not run as root, this machine forbids user namespaces, and the user nobody cannot reach"
        f" {program} or {folders[0]}.",
        "Run ./optimas as an ordinary user, move the checkout out of the private home, or set DATABASE_URL.",
    )


def own_folder(path: Path, before: list[str]) -> None:
    """Make the folder ``path`` for the user that Postgres runs as, closed to everybody else."""
    path.mkdir(mode=0o700, exist_ok=True)
    if before is AS_NOBODY:
        os.chown(path, NOBODY, NOBODY)


def _runs(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False).returncode == 0
