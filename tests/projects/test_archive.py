"""Archives are read in memory, known by their content, and no name in one leads out of its folder."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optimas_web.errors import UserError
from projects import snapshot
from projects.types import SnapshotLimits
from tests.projects.packing import MIB, PACKERS, SOURCE, special, tarred, with_checksum, zip_link, zipped

# --- what is read -----------------------------------------------------------------------------


@pytest.mark.parametrize("pack", PACKERS, ids=["tar", "tar.gz", "tar.bz2", "tar.xz"])
@pytest.mark.parametrize(
    "form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT], ids=["ustar", "gnu", "pax"]
)
def test_every_kind_of_tar_is_known_by_its_content(read, pack, form):
    deep = "/".join(["a_rather_long_folder_name"] * 5) + "/wave.c"
    files = {
        "Makefile": b"all:\n",
        deep: SOURCE,
        "empty.h": b"",
        "block.h": b"x" * 512,
        "big.h": b"0123456789" * 30_000,
    }
    assert read(pack(tarred(*files.items(), form=form))) == snapshot.from_files(files)


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_and_foreign_names_come_through(read, form):
    files = {"é" * 100 + ".c": SOURCE, "/".join(["x" * 200] * 5): b"deep"}
    assert read(tarred(*files.items(), form=form)).files == files


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_is_known_by_its_content(read, method):
    files = {"Makefile": b"all:\n", "src/wave.c": SOURCE, "empty.h": b"", "nul.c": b"a\0b", "naïve.c": b"\r\n"}
    assert read(zipped(*files.items(), method=method)) == snapshot.from_files(files)


def test_concatenated_xz_streams_are_one(read):
    whole = tarred(("wave.c", SOURCE), ("data.h", bytes(range(256)) * 600))
    content = lzma.compress(whole[:700]) + bytes(8) + lzma.compress(whole[700:])
    assert set(read(content).files) == {"wave.c", "data.h"}


def test_a_single_folder_around_everything_is_taken_off_and_noted(read):
    tree = read(
        zipped(("wave-1.0/", b""), ("wave-1.0/wave.c", SOURCE), ("wave-1.0/src/a.h", b""), ("__MACOSX/._x", b""))
    )
    assert set(tree.files) == {"wave.c", "src/a.h"}
    assert tree.notes == ("Everything lay in the folder 'wave-1.0', which was taken off.",)
    assert tree.skipped == ("__MACOSX: written by a file manager",)


def test_two_folders_stay(read):
    tree = read(zipped(("a/wave.c", SOURCE), ("b/wave.c", SOURCE)))
    assert set(tree.files) == {"a/wave.c", "b/wave.c"}
    assert tree.notes == ()


def test_an_archive_in_the_archive_is_just_a_file(read):
    inner = zipped(("../evil", b"x"))
    assert read(zipped(("wave.c", SOURCE), ("inner.zip", inner))).files["inner.zip"] == inner


def test_a_name_in_utf8_without_the_flag_is_read(read):
    content = zipped(("na--ve.c", SOURCE)).replace(b"na--ve.c", "naïve.c".encode())
    assert list(read(content).files) == ["naïve.c"]


# --- names and links --------------------------------------------------------------------------


@pytest.mark.parametrize("make", [zipped, tarred])
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("../evil.c", "leads out of its folder with '..'"),
        ("src/../../evil.c", "leads out of its folder with '..'"),
        ("/etc/cron.d/evil", "is absolute"),
        ("src\\evil.c", "holds a backslash"),
        ("C:/evil.c", "is absolute"),
        ("evil\n.c", "holds a control character"),
    ],
)
def test_a_name_that_leaves_the_folder_is_refused(refused, make, name, problem):
    sentence = refused(make(("wave.c", SOURCE), (name, b"x")))
    assert name.encode("unicode_escape").decode().replace("\\\\", "\\") in sentence
    assert problem in sentence


def test_a_folder_that_leaves_the_folder_is_refused(refused):
    assert "'../up/" in refused(zipped(("../up/", b""), ("wave.c", SOURCE)))
    assert "'../up/" in refused(tarred(special("../up", tarfile.DIRTYPE), ("wave.c", SOURCE)))


def test_a_nul_in_a_zip_name_is_refused(refused):
    content = zipped(("wave.c#.png", SOURCE)).replace(b"wave.c#.png", b"wave.c\0.png")
    assert r"'wave.c\x00.png' holds a NUL character" in refused(content)


@pytest.mark.parametrize("make", [zipped, tarred])
def test_a_name_that_is_no_utf8_is_refused(refused, make):
    content = make(("cafX.c", SOURCE)).replace(b"cafX.c", b"caf\xe9.c")
    assert r"'caf\udce9.c' is not UTF-8" in refused(with_checksum(content) if make is tarred else content)


def test_a_file_through_a_link_is_refused(refused):
    link = special("out", tarfile.SYMTYPE, "/etc")
    assert "'out/passwd' goes through the link 'out'" in refused(tarred(link, ("out/passwd", b"x")))
    hard = special("out/a", tarfile.LNKTYPE, "/etc/passwd")
    assert "'out/a/b' goes through the link 'out/a'" in refused(tarred(hard, ("out/a/b", b"x")))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr(*zip_link("out", "/etc"))
        packed.writestr("out/passwd", b"x")
    assert "'out/passwd' goes through the link 'out'" in refused(out.getvalue())


def test_a_file_in_the_place_of_a_link_is_refused(refused):
    link = special("wave.c", tarfile.SYMTYPE, "/etc/passwd")
    assert "The archive holds 'wave.c' twice" in refused(tarred(link, ("wave.c", b"x")))


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (tarfile.SYMTYPE, "a link"),
        (tarfile.LNKTYPE, "a link"),
        (tarfile.CHRTYPE, "no regular file (a device, a pipe)"),
        (tarfile.BLKTYPE, "no regular file (a device, a pipe)"),
        (tarfile.FIFOTYPE, "no regular file (a device, a pipe)"),
        (b"Q", "no regular file (a device, a pipe)"),
    ],
)
def test_links_and_devices_are_left_out_and_named(read, kind, why):
    tree = read(tarred(("wave.c", SOURCE), special("odd", kind, "/dev/sda"), ("z.c", b"z")))
    assert set(tree.files) == {"wave.c", "z.c"}
    assert tree.skipped == (f"odd: {why}",)


def test_a_link_in_a_zip_is_left_out_and_named(read):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("wave.c", SOURCE)
        packed.writestr(*zip_link("odd", "/etc/passwd"))
    assert read(out.getvalue()).skipped == ("odd: a link",)


@pytest.mark.parametrize("make", [zipped, tarred])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name_are_refused(refused, make):
    assert "The archive holds 'wave.c' twice" in refused(make(("wave.c", b"a"), ("./wave.c", b"b")))


# --- anything at all --------------------------------------------------------------------------

GOOD = [
    zipped(("wave/", b""), ("wave/wave.c", SOURCE), ("wave/b.h", b"x" * 400)),
    tarred(("wave.c", SOURCE), ("b" * 120, b"x"), special("l", tarfile.SYMTYPE, "t"), ("c.h", b"y" * 600)),
    tarred(("wave.c", SOURCE), ("b" * 120, b"x"), form=tarfile.GNU_FORMAT),
    gzip.compress(tarred(("wave.c", SOURCE))),
    bz2.compress(tarred(("wave.c", SOURCE))),
    lzma.compress(tarred(("wave.c", SOURCE))),
]
SMALL = SnapshotLimits(files=20, file_bytes=MIB, total_bytes=MIB, entries=50, unpacked_bytes=2 * MIB)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_archives_are_read_or_refused_in_a_sentence(read, data):
    content = bytearray(data.draw(st.sampled_from(GOOD)))
    for _ in range(data.draw(st.integers(0, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(content)))
    if data.draw(st.booleans()):
        del content[end:]
    try:
        tree = read(bytes(content), SMALL)
    except UserError as refusal:
        assert refusal.message.endswith(".")
    else:
        assert tree.files


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.text(min_size=1, max_size=30), st.binary(max_size=40)), min_size=1, max_size=5))
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_any_names_are_kept_inside_or_refused(read, entries):
    entries = [(name.encode("utf-8", "ignore").decode() or "x", content) for name, content in entries]
    for make in (zipped, tarred):
        try:
            tree = read(make(*entries), SMALL)
        except UserError:
            continue
        for path in tree.files:
            assert not path.startswith("/")
            assert ".." not in path.split("/")
            assert "\0" not in path
