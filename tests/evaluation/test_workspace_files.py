"""Job folders: written, copied, searched and removed, whatever a program leaves in them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from evaluation import sandbox, workspace
from evaluation.types import Limits
from optimas_web.errors import UserError

FILES = {"a.cpp": b"int main() {}\n", "sub/dir/b.h": b"", "configure": b"#!/bin/sh\n", "run.sh": b"echo\n"}


def test_a_snapshot_is_written_as_it_is() -> None:
    with workspace.opened(FILES) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {name: (folder / name).read_bytes() for name in FILES} == FILES
        executable = {name for name in FILES if (folder / name).stat().st_mode & 0o100}
        assert executable == {"configure", "run.sh"}
    assert not folder.exists()


def test_both_sides_are_built_at_one_path() -> None:
    for _ in range(2):
        with workspace.opened({}) as folder:
            assert sandbox.run("pwd", folder, profile="build", limits=Limits()).stdout == b"/job\n"


def test_edits_replace_whole_files_and_only_known_ones() -> None:
    assert workspace.apply(FILES, {"a.cpp": "ä"}) == {**FILES, "a.cpp": "ä".encode()}
    with pytest.raises(UserError, match=r"changes c\.cpp, which is not a file"):
        workspace.apply(FILES, {"c.cpp": ""})


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("out/*.bin", ["out/a.bin", "out/b.bin"]),
        ("*.bin", ["c.bin"]),
        ("**/*.bin", ["c.bin", "out/a.bin", "out/b.bin", "out/deep/d.bin"]),
        ("out/**", ["out/a.bin", "out/b.bin", "out/deep/d.bin"]),
        ("out/?.bin", ["out/a.bin", "out/b.bin"]),
        ("out/[!a].bin", ["out/b.bin"]),
        ("out", []),
        ("../*", []),
    ],
)
def test_globs_stay_in_their_folder(pattern: str, found: list[str]) -> None:
    names = ("out/a.bin", "out/b.bin", "out/deep/d.bin", "c.bin", "e.txt")
    with workspace.opened(dict.fromkeys(names, b"x")) as folder:
        assert list(workspace.find(folder, [pattern])) == found


def test_links_that_a_program_left_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(b"secret")
    with workspace.opened({"real.bin": b"x"}) as folder:
        (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
        (folder / "out").symlink_to(tmp_path)
        os.mkfifo(folder / "pipe.bin")
        assert [file.path for file in workspace.outputs_of(folder, ["*.bin", "out/*.bin", "**"])] == ["real.bin"]
    assert (tmp_path / "secret.bin").read_bytes() == b"secret"


def test_outputs_carry_hash_size_and_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "KEPT_FILE_BYTES", 3)
    with workspace.opened({"a": b"abc", "b": b"abcd"}) as folder:
        a, b = workspace.outputs_of(folder, ["?"])
    assert (a.path, a.size, a.content) == ("a", 3, b"abc")
    assert (b.path, b.size, b.content) == ("b", 4, None)
    assert a.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_copy_starts_where_the_original_stands() -> None:
    with workspace.opened({"sub/a": b"x"}) as folder:
        with workspace.copied(folder) as copy:
            assert sandbox.run("echo more >> sub/a", copy, profile="run", limits=Limits()).ok
            assert (copy / "sub/a").read_bytes() == b"xmore\n"
        assert (folder / "sub/a").read_bytes() == b"x"
        assert not copy.exists()


def test_old_outputs_can_be_cleared() -> None:
    with workspace.opened({"out/a.bin": b"old", "keep": b""}) as folder:
        workspace.clear(folder, ["out/*.bin"])
        assert workspace.find(folder, ["**"]) == ("keep",)


def test_nests_deeper_than_recursion_and_closed_folders_are_removed() -> None:
    deep = "i=0; while [ $i -lt 3000 ]; do mkdir d && cd d || exit 1; i=$((i+1)); done"
    with workspace.opened({}) as folder:
        assert sandbox.run("mkdir shut && echo x > shut/x && chmod 0 shut", folder, profile="run", limits=Limits())
        ran = sandbox.run(deep, folder, profile="run", limits=Limits())
        assert ran.ended in ("exited", "disk_limit")
    assert not folder.exists()
