"""What is kept on this machine is closed to others, and has one owner at a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from optimas_web.errors import UserError
from optimas_web.state import private_folder, run_folder, secret_key, try_lock


def test_the_secret_key_is_made_once_and_readable_by_its_owner_only(tmp_path):
    key = secret_key(tmp_path)
    assert len(key) >= 50
    assert secret_key(tmp_path) == key
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [tmp_path / "secret_key"]


def test_a_private_folder_is_made_closed(tmp_path):
    assert private_folder(tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_the_folders_made_above_a_private_one_are_closed_too(tmp_path):
    """./optimas test makes var/test, and ./optimas up must find var as it wants it."""
    private_folder(tmp_path / "var" / "test")
    assert private_folder(tmp_path / "var").is_dir()
    secret_key(tmp_path / "a" / "b")
    assert private_folder(tmp_path / "a").is_dir()
    with try_lock(tmp_path / "c" / "d" / "lock"):
        assert private_folder(tmp_path / "c").is_dir()


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o702])
def test_a_folder_that_others_can_look_into_is_refused(mode, tmp_path):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(UserError, match=f"{folder} is not a folder of yours that is closed to others"):
        private_folder(folder)


def test_a_link_in_the_place_of_a_private_folder_is_refused(tmp_path):
    """Anybody can lay one in /tmp, to have our sockets in a folder of theirs."""
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="is not a folder of yours"):
        private_folder(tmp_path / "link")


def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    folder = private_folder(tmp_path / "theirs")
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(UserError, match="is not a folder of yours"):
        private_folder(folder)


def test_sockets_have_short_paths_however_deep_the_state_folder_lies():
    """The kernel allows 107 bytes for the path of a Unix socket."""
    deep = Path("/" + "/".join(["a-long-folder-name"] * 20))
    assert len(str(run_folder(deep) / "postgres" / ".s.PGSQL.5432")) < 107
    assert run_folder(deep) != run_folder(deep / "other")


def test_a_lock_has_one_owner_and_is_free_when_its_file_is_closed(tmp_path):
    first = try_lock(tmp_path / "lock")
    assert first
    assert try_lock(tmp_path / "lock") is None
    assert (tmp_path / "lock").read_text() == str(os.getpid())
    first.close()
    second = try_lock(tmp_path / "lock")
    assert second
    second.close()
