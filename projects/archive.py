"""Reading zip and tar files that strangers made.

Pure: streams in, values out; nothing is ever written, so no name and no link can reach the disk. What an archive
is, its content says and not its name. Every number in a header is taken for a claim: reading stops at the limits
whatever was declared. An archive inside the archive is just a file.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO

from optimas_web.errors import UserError
from projects import names, tarred, zipped
from projects.types import SnapshotLimits
from projects.unpacking import LINK, PIECE, Budget, Member

# xz -9 needs 65 MiB to unpack; a header may ask for 4 GiB.
XZ_MEMORY = 128 * 1024**2
OTHER_PACKERS = {
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"\x28\xb5\x2f\xfd": "packed with zstd",
    b"\x1f\x9d": "packed with compress",
}
DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, OSError, EOFError,
    NotImplementedError, ValueError, OverflowError,
)  # fmt: skip


def is_one(head: bytes) -> bool:
    """Whether a file that starts with ``head`` (512 bytes or more) is an archive or packed, also in ways not read."""
    packed = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", *OTHER_PACKERS)
    return head.startswith(packed) or head[257:262] == b"ustar"


def members(stream: BinaryIO, limits: SnapshotLimits) -> Iterator[Member]:
    """All files, links and devices of a zip, tar, tar.gz, tar.bz2 or tar.xz, in the archive's order.

    Raises UserError, naming the entry, for names that leave the folder, entries below a link, entries that share
    their bytes, encryption, damage, and anything that unpacks to more than the limits. So does ``Member.read``.
    """
    with _damage_told():
        yield from _together(_entries(stream, limits))


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except DAMAGED as error:
        detail = f": {error}" if str(error) else ""
        raise UserError(f"The archive is damaged or cut off{detail}.", "Pack it again, and upload it again.") from error


def _together(entries: Iterator[Member]) -> Iterator[Member]:
    """The entries, without what only shows when they are seen together."""
    seen: dict[str, str] = {}
    for member in entries:
        where = names.shown(member.path)
        for folder in names.folders_of(member.path):
            if seen.get(folder) == LINK:
                raise UserError(f"{where} goes through the link {names.shown(folder)}.", "Pack files, not links.")
        if member.path in seen:
            raise UserError(f"The archive holds {where} twice.", "Pack it again from a clean folder.")
        seen[member.path] = member.left_out
        yield Member(member.path, member.left_out, partial(_told, member))


def _told(member: Member) -> bytes:
    with _damage_told():
        return member.read()


def _entries(stream: BinaryIO, limits: SnapshotLimits) -> Iterator[Member]:
    head = stream.read(tarred.BLOCK)
    budget = Budget(limits, packed=stream.seek(0, io.SEEK_END))
    stream.seek(0)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return zipped.entries(stream, limits, budget)
    return tarred.entries(tarred.Tape(_unpacked(stream, head), budget), limits)


def _unpacked(stream: BinaryIO, head: bytes) -> tarred.Readable:
    if head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=stream)
    if head.startswith(b"BZh"):
        return bz2.BZ2File(stream)
    if head.startswith(b"\xfd7zXZ\0"):
        return _Xz(stream)
    for magic, what in OTHER_PACKERS.items():
        if head.startswith(magic):
            raise UserError(f"The file is {what}, which is not read here.", "Pack it as zip or tar.gz.")
    return stream


class _Xz:
    """An xz stream with a bound on memory, which lzma.LZMAFile does not offer."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.rest = b""
        self.decoder = self._new()

    def _new(self) -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=XZ_MEMORY)

    def read(self, count: int, /) -> bytes:
        while True:
            if self.decoder.eof:
                self.rest = self.decoder.unused_data.lstrip(b"\0") or self.stream.read(PIECE).lstrip(b"\0")
                if not self.rest:
                    return b""
                self.decoder = self._new()
            packed = (self.rest or self.stream.read(PIECE)) if self.decoder.needs_input else b""
            if self.decoder.needs_input and not packed:
                raise EOFError("the xz stream ends early")
            self.rest = b""
            if data := self.decoder.decompress(packed, count):
                return data
