"""Archives for the tests, ordinary and hostile ones."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable

SOURCE = b"int main() { return 0; }\n"
MIB = 1024**2
PACKERS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, bz2.compress, lzma.compress]


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


def with_checksum(tar: bytes) -> bytes:
    """The first header's checksum, made right again."""
    total = sum(tar[:148]) + sum(tar[156:512]) + 8 * 32
    return tar[:148] + b"%06o\0 " % total + tar[156:]


def overlapping(count: int) -> bytes:
    """Many table entries that point to one piece of packed data."""
    packed = zlib.compress(bytes(10_000), wbits=-15)
    shared = (20, 0, zipfile.ZIP_DEFLATED, 0, 33, zlib.crc32(bytes(10_000)), len(packed), 10_000, 2, 0)
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", *shared) + b"b0" + packed
    table = b"".join(
        struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, *shared, 0, 0, 0, 0, 0) + b"b%d" % n for n in range(count)
    )
    return local + table + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(table), len(local), 0)
