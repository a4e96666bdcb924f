"""Reading a zip. Pure; see ``projects.archive`` for what is promised."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, BinaryIO

from optimas_web.errors import UserError
from projects import names
from projects.types import SnapshotLimits
from projects.unpacking import LINK, NOT_A_FILE, PIECE, Budget, Member, too_large, too_many

CENTRAL_ENTRY = b"PK\x01\x02"
# What an entry of the table of contents may take on average.
ENTRY_BYTES = 1024


class _CountedDirectory(io.RawIOBase):
    """The file under zipfile while it reads the table of contents, which it does in one piece, before any check."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self.stream, self.most = stream, most

    def read(self, count: int | None = -1, /) -> bytes:
        count = -1 if count is None else count  # -1 is only asked for close to the end, looking for the table
        if count > self.most * ENTRY_BYTES:
            raise zipfile.BadZipFile("its table of contents is too long")
        data = self.stream.read(count)
        if data.count(CENTRAL_ENTRY) > self.most:
            start = data.rfind(CENTRAL_ENTRY)
            name_bytes = int.from_bytes(data[start + 28 : start + 30], "little")
            last = data[start + 46 : start + 46 + name_bytes].decode(errors="replace")
            raise too_many(self.most, "entries in the archive", last)
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self.stream.seek(offset, whence)

    def tell(self) -> int:
        return self.stream.tell()

    def seekable(self) -> bool:
        return True


def entries(stream: BinaryIO, limits: SnapshotLimits, budget: Budget) -> Iterator[Member]:
    zipfile.ZipFile(_CountedDirectory(stream, limits.entries)).close()
    with zipfile.ZipFile(stream) as packed:
        _refuse_shared_bytes(packed)
        for info in packed.infolist():
            path = names.clean(_name(info))
            if not info.is_dir():
                yield Member(path, _left_out(info), _reader(packed, info, path, limits, budget))


def _name(info: zipfile.ZipInfo) -> str:
    """The name as UTF-8. Without the UTF-8 flag zipfile reads bytes as code page 437, which can be turned back."""
    if info.flag_bits & 0x800:
        return info.orig_filename
    return info.orig_filename.encode("cp437").decode("utf-8", errors="surrogateescape")


def _left_out(info: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return LINK
    return "" if kind in (0, stat.S_IFREG) else NOT_A_FILE


def _refuse_shared_bytes(packed: zipfile.ZipFile) -> None:
    """Entries that overlap let a small file unpack to a huge one."""
    before, end = "", 0
    for info in sorted(packed.infolist(), key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise UserError(
                f"{names.shown(_name(info))} and {names.shown(before)} share bytes of the archive.",
                "Pack it again with an ordinary packer.",
            )
        before, end = _name(info), info.header_offset + 30 + info.compress_size


def _reader(
    packed: zipfile.ZipFile, info: zipfile.ZipInfo, path: str, limits: SnapshotLimits, budget: Budget
) -> Callable[[], bytes]:
    def read() -> bytes:
        where = names.shown(path)
        if info.flag_bits & 0x1:
            raise UserError(f"{where} is encrypted.", "Pack it without a password.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UserError(f"{where} is packed by method {info.compress_type}.", "Pack it with ordinary deflate.")
        if info.file_size > limits.file_bytes:
            raise too_large(path, limits)
        with packed.open(info) as source:
            content = _all_of(source, path, limits, budget)
        if len(content) != info.file_size:
            raise UserError(f"{where} has {len(content)} bytes where {info.file_size} were declared.", "Pack it again.")
        return content

    return read


def _all_of(source: IO[bytes], path: str, limits: SnapshotLimits, budget: Budget) -> bytes:
    content = bytearray()
    while piece := source.read(PIECE):
        budget.spend(len(piece), path)
        content += piece
        if len(content) > limits.file_bytes:
            raise too_large(path, limits)
    return bytes(content)
