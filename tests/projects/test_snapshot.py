"""A snapshot holds the sources byte for byte, leaves the rest out with a reason, and has one reproducible hash."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from optimas_web.errors import UserError
from projects import snapshot
from projects.types import SnapshotLimits

SOURCE = b"int main() {}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.cu").write_bytes(SOURCE)
    (tmp_path / "Makefile").write_bytes(b"all:\n")
    return tmp_path


def test_a_folder_and_a_mapping_of_the_same_files_are_the_same_snapshot(folder: Path):
    from_folder = snapshot.from_folder(folder)
    from_files = snapshot.from_files({"./src//main.cu": SOURCE, "Makefile": b"all:\n"})
    assert from_folder == from_files
    assert list(from_folder.files) == ["Makefile", "src/main.cu"]


def test_the_hash_is_the_documented_one():
    by_hand = hashlib.sha256(b"Makefile\x005\x00all:\nsrc/main.cu\x0014\x00" + SOURCE).hexdigest()
    assert snapshot.from_files({"src/main.cu": SOURCE, "Makefile": b"all:\n"}).sha256 == by_hand


@pytest.mark.parametrize(
    "other",
    [{"a": b"x", "b": b"y"}, {"a": b"xb", "by": b""}, {"a": b"", "xb": b"y"}, {"a/b": b"xy"}, {"a": b"x", "b": b"y "}],
)
def test_different_files_have_different_hashes(other: dict[str, bytes]):
    base = snapshot.from_files({"a": b"xb", "y": b""})
    assert snapshot.from_files(other).sha256 != base.sha256


@pytest.mark.parametrize(
    "content",
    [b'printf("\\\\u0000 and \\\\x00");', b"a\0b\0", b"\xff\xfe\x00", b"\r\n\r", "‮ cu.hidden".encode(), b""],
)
def test_contents_are_kept_byte_for_byte(tmp_path: Path, content: bytes):
    (tmp_path / "literal.cu").write_bytes(content)
    assert snapshot.from_folder(tmp_path).files == {"literal.cu": content}
    assert snapshot.from_files({"literal.cu": content}).files == {"literal.cu": content}


@pytest.mark.parametrize(
    ("path", "reported", "why"),
    [
        (".git/config", ".git", "version control"),
        ("deps/lib/.git", "deps/lib/.git", "version control"),
        ("__MACOSX/._main.cu", "__MACOSX", "written by a file manager"),
        ("build/CMakeFiles/x.txt", "build/CMakeFiles", "a build product"),
        ("build/CMakeCache.txt", "build/CMakeCache.txt", "a build product"),
        ("main.o", "main.o", "a build product"),
        ("libx.so.1.2", "libx.so.1.2", "a build product"),
        ("run.ncu-rep", "run.ncu-rep", "a profile, uploaded on its own"),
        ("callgrind.out.71", "callgrind.out.71", "a profile, uploaded on its own"),
    ],
)
def test_what_is_no_source_is_left_out_with_a_reason(folder: Path, path: str, reported: str, why: str):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(b"x")
    for tree in (snapshot.from_folder(folder), snapshot.from_files({"src/main.cu": SOURCE, path: b"x"})):
        assert path not in tree.files
        assert any(line.startswith(f"{reported}: {why}") for line in tree.skipped)


@pytest.mark.parametrize("head", [b"\x7fELF\x02\x01", b"!<arch>\nx", b"\xcf\xfa\xed\xfe"])
def test_programs_and_objects_are_known_by_content(head: bytes):
    tree = snapshot.from_files({"main.c": SOURCE, "wave": head + bytes(40)})
    assert list(tree.files) == ["main.c"]
    assert tree.skipped == ("wave: a build product, made again from the sources",)


@pytest.mark.parametrize(
    "name", ["gitignore.c", "main.obj.c", "a.out.c", "solib.h", "main.cc", "CMakeLists.txt", ".gitignore"]
)
def test_sources_with_similar_names_stay(name: str):
    assert list(snapshot.from_files({name: SOURCE}).files) == [name]


def test_links_and_pipes_are_named_and_never_followed(folder: Path, tmp_path_factory: pytest.TempPathFactory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("secret")
    (folder / "to_file").symlink_to(outside / "secret")
    (folder / "to_folder").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    tree = snapshot.from_folder(folder)
    assert list(tree.files) == ["Makefile", "src/main.cu"]
    assert tree.skipped == (
        "loop: a link",
        "pipe: no regular file (a device, a pipe)",
        "to_file: a link",
        "to_folder: a link",
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("/etc/passwd", "'/etc/passwd' is absolute"),
        ("../up.c", "'../up.c' leads out of its folder"),
        ("a/../../b", "leads out of its folder"),
        ("a\\b.c", "holds a backslash"),
        ("C:evil.c", "is absolute"),
        ("a\0b", r"'a\\x00b' holds a NUL character"),
        ("a\nb", r"'a\\nb' holds a control character or a line break"),
        ("a\u2028b", "holds a control character or a line break"),
        ("a\x1b[31m", "holds a control character"),
        ("bad\udcff.c", r"'bad\\udcff.c' is not UTF-8"),
        ("x" * 256, "has a part longer than 255 bytes"),
        ("ä" * 128, "has a part longer than 255 bytes"),
        ("abcdefghijklmnopqrst/" * 50, "is longer than 1024 bytes"),
        ("a/" * 65 + "b", "lies deeper than 64 folders"),
        ("./.", "is empty"),
    ],
)
def test_names_that_cannot_be_stored_safely_are_refused(name: str, sentence: str):
    with pytest.raises(UserError, match=sentence):
        snapshot.from_files({name: b""})


@pytest.mark.parametrize(
    "name", ['"><svg onload=alert(1)>.cu', "=1+1.csv", "a'b`c.cu", "‮txt.uc.cu", "naïve ☃.cu", "..x", "a..b", "-rf"]
)
def test_odd_but_harmless_names_are_kept(tmp_path: Path, name: str):
    (tmp_path / name).write_bytes(SOURCE)
    assert list(snapshot.from_folder(tmp_path).files) == [name]


def test_a_name_on_disk_that_is_no_utf8_is_refused(tmp_path: Path):
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.c"))).write_bytes(SOURCE)
    with pytest.raises(UserError, match=r"'caf\\udce9.c' is not UTF-8"):
        snapshot.from_folder(tmp_path)


def test_names_that_some_systems_confuse_are_noted():
    tree = snapshot.from_files({"Step.cu": b"1", "step.cu": b"2", "e\u0301.h": b"3", "\u00e9.h": b"4"})
    assert len(tree.files) == 4
    assert len(tree.notes) == 2
    assert tree.notes[0] == "'Step.cu' and 'step.cu' look the same to some systems."


def test_a_file_that_must_also_be_a_folder_is_refused():
    with pytest.raises(UserError, match="'a' is a file, and 'a/b' needs it to be a folder"):
        snapshot.from_files({"a": b"", "a/b": b""})


def test_two_spellings_of_one_name_are_refused():
    with pytest.raises(UserError, match="Two files are called 'a.c'"):
        snapshot.from_files({"a.c": b"", "./a.c": b""})


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (SnapshotLimits(files=1), "There are more than 1 files, 'src/main.cu' among them"),
        (SnapshotLimits(file_bytes=13), "'src/main.cu' is larger than 13 bytes, the most for one file"),
        (SnapshotLimits(total_bytes=18), "With 'src/main.cu' the files add up to more than 18 bytes"),
    ],
)
def test_limits_are_told_with_the_file_that_broke_them(folder: Path, limits: SnapshotLimits, sentence: str):
    with pytest.raises(UserError, match=sentence):
        snapshot.from_folder(folder, limits)
    with pytest.raises(UserError, match=sentence):
        snapshot.from_files({"Makefile": b"all:\n", "src/main.cu": SOURCE}, limits)


def test_exactly_the_limits_is_allowed(folder: Path):
    tree = snapshot.from_folder(folder, SnapshotLimits(files=2, file_bytes=14, total_bytes=19))
    assert len(tree.files) == 2


def test_an_empty_folder_and_no_folder_are_refused(tmp_path: Path):
    with pytest.raises(UserError, match="There are no files to keep"):
        snapshot.from_folder(tmp_path)
    with pytest.raises(UserError, match="is not a folder"):
        snapshot.from_folder(tmp_path / "missing")
