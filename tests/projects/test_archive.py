"""Archives are read in memory, within bounds, and whatever is wrong with one is told with the entry's name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optimas_web.errors import UserError
from projects import snapshot
from projects.types import SnapshotLimits, Tree

SOURCE = b"int main() { return 0; }\n"
MIB = 1024**2


def zipped(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as packed:
        for name, content in entries:
            packed.writestr(zipfile.ZipInfo(name), content, compress_type=method)
    return out.getvalue()


def tarred(*entries: tuple[str, bytes] | tarfile.TarInfo, form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as packed:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                packed.addfile(entry)
                continue
            info = tarfile.TarInfo(entry[0])
            info.size = len(entry[1])
            packed.addfile(info, io.BytesIO(entry[1]))
    return out.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zip_link(name: str, target: str) -> tuple[zipfile.ZipInfo, str]:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, target


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Tree]:
    def read_bytes(content: bytes, limits: SnapshotLimits | None = None) -> Tree:
        path = tmp_path / "upload.bin"
        path.write_bytes(content)
        return snapshot.from_archive(path, limits)

    return read_bytes


@pytest.fixture
def refused(read: Callable[..., Tree]) -> Callable[..., str]:
    def refusal(content: bytes, limits: SnapshotLimits | None = None) -> str:
        with pytest.raises(UserError) as caught:
            read(content, limits)
        return str(caught.value)

    return refusal


# --- what is read -----------------------------------------------------------------------------

PACKERS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, bz2.compress, lzma.compress]


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
    files = {"é" * 100 + ".c": SOURCE, "/".join(["x" * 200] * 9): b"deep"}
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


def with_checksum(tar: bytes) -> bytes:
    """The first header's checksum, made right again."""
    total = sum(tar[:148]) + sum(tar[156:512]) + 8 * 32
    return tar[:148] + b"%06o\0 " % total + tar[156:]


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


# --- bombs ------------------------------------------------------------------------------------


def test_a_bomb_of_zeros_is_stopped_by_its_ratio(refused):
    zeros = bytes(12 * MIB)
    bomb = zipped(*((f"zeros{n}.bin", zeros) for n in range(4)))
    assert len(bomb) < 100_000
    assert "unpacks to more than 100 times its size; it was reading 'zeros1.bin'" in refused(bomb)


@pytest.mark.parametrize("pack", PACKERS[1:], ids=["gz", "bz2", "xz"])
def test_a_packed_tar_of_zeros_is_stopped_by_its_ratio(refused, pack):
    bomb = pack(tarred(("wave.c", SOURCE), ("zeros.bin", bytes(20 * MIB))))
    assert "unpacks to more than 100 times its size; it was reading 'zeros.bin'" in refused(bomb)


def test_a_bomb_is_stopped_while_it_unpacks_and_not_afterwards(refused):
    bomb = gzip.compress(tarred(("zeros.bin", bytes(60 * MIB))))
    tracemalloc.start()
    try:
        refused(bomb, SnapshotLimits(ratio_from_bytes=MIB))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * MIB


def test_what_is_left_out_counts_as_unpacked_too(refused):
    content = gzip.compress(tarred(("wave.c", SOURCE), (".git/pack", bytes(3 * MIB))))
    sentence = refused(content, SnapshotLimits(unpacked_bytes=2 * MIB))
    assert "unpacks to more than 2 MiB; it was reading '.git/pack'" in sentence


def test_entries_that_share_their_bytes_are_refused(refused):
    bomb = overlapping(10)
    assert "'b1' and 'b0' share bytes of the archive" in refused(bomb)


def overlapping(count: int) -> bytes:
    """Many table entries that point to one piece of packed data."""
    packed = zlib.compress(bytes(10_000), wbits=-15)
    shared = (20, 0, zipfile.ZIP_DEFLATED, 0, 33, zlib.crc32(bytes(10_000)), len(packed), 10_000, 2, 0)
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", *shared) + b"b0" + packed
    table = b"".join(
        struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, *shared, 0, 0, 0, 0, 0) + b"b%d" % n for n in range(count)
    )
    return local + table + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(table), len(local), 0)


def test_a_declared_size_is_only_a_claim(refused):
    content = zipped(("wave.c", SOURCE), ("big.bin", b"0123456789" * 50_000))
    told_less = content.replace(struct.pack("<L", 500_000), struct.pack("<L", 10))
    assert "damaged or cut off: Bad CRC-32 for file 'big.bin'" in refused(told_less)
    told_more = content.replace(struct.pack("<L", 500_000), struct.pack("<L", 500_001))
    assert "big.bin" in refused(told_more)
    huge = content.replace(struct.pack("<L", 500_000), struct.pack("<L", 4_000_000_000))
    assert "'big.bin' is larger than 64 MiB, the most for one file" in refused(huge)


def test_a_declared_size_in_a_tar_is_only_a_claim(refused):
    info = tarfile.TarInfo("big.bin")
    info.size = 8**11 - 1
    assert "'big.bin' is larger than 64 MiB" in refused(info.tobuf() + bytes(2048))
    info.size = 4096
    assert "it ends in the middle of 'big.bin'" in refused(info.tobuf() + bytes(2048))
    info.size = -512
    assert "'big.bin' declares a length below 0" in refused(info.tobuf(tarfile.GNU_FORMAT) + bytes(2048))


def test_a_zip_of_a_hundred_thousand_entries_is_refused(refused):
    content = zipped(*((f"n{number:05}", b"") for number in range(100_000)), method=zipfile.ZIP_STORED)
    assert "There are more than 50000 entries in the archive, 'n99999' among them" in refused(content)


def test_a_tar_of_too_many_entries_is_refused(refused):
    content = tarred(*((f"n{number:05}", b"") for number in range(1_001)))
    assert "There are more than 1000 entries in the archive, 'n01000'" in refused(content, SnapshotLimits(entries=1000))
    assert "There are more than 1000 files, 'n01000' among them" in refused(content, SnapshotLimits(files=1000))


def test_a_table_of_contents_that_is_too_long_is_refused(refused):
    info = zipfile.ZipInfo("wave.c")
    info.comment = b"x" * 60_000
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr(info, SOURCE)
    assert "its table of contents is too long" in refused(out.getvalue(), SnapshotLimits(entries=10))


def test_limits_on_what_is_kept_hold_for_archives(refused):
    content = zipped(("a.c", b"12345"), ("b.c", b"12345"))
    assert "There are more than 1 files, 'b.c' among them" in refused(content, SnapshotLimits(files=1))
    assert "'a.c' is larger than 4 bytes" in refused(content, SnapshotLimits(file_bytes=4))
    assert "With 'b.c' the files add up to more than 9 bytes" in refused(content, SnapshotLimits(total_bytes=9))


# --- damage and foreign formats ---------------------------------------------------------------


def test_an_encrypted_zip_is_refused(refused):
    content = bytearray(zipped(("secret.c", SOURCE)))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    assert "'secret.c' is encrypted. Pack it without a password." in refused(bytes(content))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_packed_by_a_method_without_bounds_is_refused(refused, method):
    assert f"'wave.c' is packed by method {method}" in refused(zipped(("wave.c", SOURCE), method=method))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "no zip or tar archive, or an empty one"),
        (b"int main() {}", "no zip or tar archive"),
        (gzip.compress(SOURCE), "no zip or tar archive"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(40), "a 7z archive, which is not read here. Pack it as zip or tar.gz."),
        (b"Rar!\x1a\x07", "a RAR archive"),
        (b"\x28\xb5\x2f\xfd" + bytes(40), "packed with zstd"),
        (zipped(), "There are no files to keep"),
    ],
)
def test_what_is_no_archive_is_told(refused, content, sentence):
    assert sentence in refused(content)


@pytest.mark.parametrize("pack", PACKERS, ids=["tar", "gz", "bz2", "xz"])
@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_an_archive_that_is_cut_off_is_never_half_read(refused, pack, part):
    noise = b"".join(hashed(n) for n in range(400))
    whole = pack(tarred(("a.c", SOURCE), ("noise.h", noise), ("z.c", SOURCE))[: 1536 + 13312 + 1024 + 1024])
    assert "damaged or cut off" in refused(whole[: int(len(whole) * part)])


def hashed(number: int) -> bytes:
    return zlib.crc32(number.to_bytes(4, "little")).to_bytes(4, "little") * 8


def test_a_damaged_header_is_not_taken_for_the_end(refused):
    content = bytearray(tarred(("a.c", SOURCE), ("b.c", SOURCE)))
    content[1024 + 100] ^= 1
    assert "damaged or cut off: bad checksum" in refused(bytes(content))


def test_a_wrong_checksum_of_the_packer_is_found(refused):
    content = bytearray(gzip.compress(tarred(("a.c", SOURCE))))
    content[-8] ^= 1
    assert "CRC check failed" in refused(bytes(content))


def test_an_extension_header_that_is_too_long_is_refused(refused):
    info = special("././@LongLink", tarfile.GNUTYPE_LONGNAME)
    info.size = 10 * MIB
    assert "An extension header of the archive has 10 MiB" in refused(info.tobuf(tarfile.GNU_FORMAT) + bytes(11 * MIB))


def test_a_thousand_extension_headers_in_a_row_are_read(read):
    info = special("././@LongLink", tarfile.GNUTYPE_LONGNAME)
    info.size = 7
    chain = (info.tobuf(tarfile.GNU_FORMAT) + b"wave.c\0".ljust(512, b"\0")) * 2000
    assert list(read(chain + tarred(("x", SOURCE))).files) == ["wave.c"]


@pytest.mark.parametrize("record", [b"99 path=x\n", b"0 path=x\n", b"-9 path=x\n", b"9 path:x\n", b"path=x\n", b"9"])
def test_a_wrong_pax_record_is_damage(refused, record):
    info = special("pax", tarfile.XHDTYPE)
    info.size = len(record)
    content = info.tobuf(tarfile.USTAR_FORMAT) + record.ljust(512, b"\0") + tarred(("x", SOURCE))
    assert "damaged or cut off" in refused(content)


def test_a_sparse_file_is_refused(refused):
    sparse = tarfile.TarInfo("big.bin")
    sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "99999999999"}
    assert "sparse file. Pack it without --sparse" in refused(tarred(sparse))


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
