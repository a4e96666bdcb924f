"""Archives that unpack to too much, are damaged or foreign end in a sentence, never half read."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import tracemalloc
import zipfile
import zlib

import pytest

from projects.types import SnapshotLimits
from tests.projects.packing import MIB, PACKERS, SOURCE, overlapping, special, tarred, zipped

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
        (gzip.compress(SOURCE, mtime=0), "no zip or tar archive"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(40), "a 7z archive, which is not read here. Pack it as zip or tar.gz."),
        (b"Rar!\x1a\x07", "a RAR archive"),
        (b"\x28\xb5\x2f\xfd" + bytes(40), "packed with zstd"),
        (zipped(), "There are no files to keep"),
    ],
    ids=["nothing", "source", "gz of a source", "7z", "rar", "zstd", "empty zip"],
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
