"""Reading a tar from front to back. Pure; see ``projects.archive`` for what is promised.

Only the decoding of one header is tarfile's; its loop over the archive takes a damaged header for the end, follows
extension headers by recursion and reads them whole, whatever length they declare.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from optimas_web.errors import UserError
from projects import names
from projects.types import SnapshotLimits
from projects.unpacking import LINK, NOT_A_FILE, PIECE, Budget, Member, size, too_large, too_many

BLOCK = tarfile.BLOCKSIZE
# A long name or a set of extended attributes; names end at 1024 bytes.
EXTENSION_BYTES = 64 * 1024
EXTENSIONS = (
    tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass
class Tape:
    """A tar read from front to back, in whole blocks, within the budget."""

    source: Readable
    budget: Budget
    entry: str = ""

    def take(self, count: int) -> bytes:
        """Exactly ``count`` bytes, or fewer at the end."""
        data = bytearray()
        while len(data) < count and (piece := self.source.read(min(PIECE, count - len(data)))):
            self.budget.spend(len(piece), self.entry)
            data += piece
        return bytes(data)

    def whole(self, count: int) -> bytes:
        data = self.take(count)
        if len(data) < count:
            raise EOFError(f"it ends in the middle of {names.shown(self.entry)}" if self.entry else "it ends early")
        return data

    def skip(self, count: int) -> None:
        while count > 0:
            count -= len(self.whole(min(PIECE, count)))

    def run_out(self) -> None:
        """To the end, so that the packer's checksum is verified."""
        while self.take(PIECE):
            pass


def entries(tape: Tape, limits: SnapshotLimits) -> Iterator[Member]:
    renamed: dict[str, str] = {}
    count = 0
    for info in _headers(tape):
        if info.type in EXTENSIONS:
            renamed |= _extension(tape, info)
            continue
        info.name = renamed.get("path", info.name)
        info.size = int(renamed.get("size", info.size))
        renamed = {}
        count += 1
        if count > limits.entries:
            raise too_many(limits.entries, "entries in the archive", info.name)
        yield from _member(tape, info, limits)


def _member(tape: Tape, info: tarfile.TarInfo, limits: SnapshotLimits) -> Iterator[Member]:
    """The entry, unless it is a folder; afterwards the tape stands at the next header."""
    tape.entry = info.name
    if info.isdir():
        names.clean(info.name + "/file")
        return
    path = names.clean(info.name)
    left_out = _left_out(info)
    has_content = info.isreg() or info.type not in tarfile.SUPPORTED_TYPES
    unread = _Unread(tape, info.size if has_content else 0, path, limits)
    yield Member(path, left_out, unread.read)
    unread.finish()


@dataclass
class _Unread:
    """The content of the entry that the tape stands at."""

    tape: Tape
    length: int
    path: str
    limits: SnapshotLimits
    done: int = 0

    def __post_init__(self) -> None:
        if self.length < 0:
            raise UserError(f"{names.shown(self.path)} declares a length below 0.", "Pack it again.")

    def read(self) -> bytes:
        if self.length > self.limits.file_bytes:
            raise too_large(self.path, self.limits)
        content = self.tape.whole(self.length)
        self.done = self.length
        return content

    def finish(self) -> None:
        self.tape.skip(_padded(self.length) - self.done)


def _padded(length: int) -> int:
    return -(-length // BLOCK) * BLOCK


def _headers(tape: Tape) -> Iterator[tarfile.TarInfo]:
    """Headers up to the end mark. What stands between two headers must be taken before the next one is asked for."""
    yield _first_header(tape)
    while any(block := tape.take(BLOCK)):
        if len(block) < BLOCK:
            raise EOFError("it ends in the middle of a header")
        yield tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    if not block:
        raise EOFError("it has no end mark")
    tape.run_out()


def _first_header(tape: Tape) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(tape.take(BLOCK), "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise UserError("The file is no zip or tar archive, or an empty one.", "Pack it as zip or tar.gz.") from error


def _left_out(info: tarfile.TarInfo) -> str:
    if info.type == tarfile.GNUTYPE_SPARSE:
        raise UserError(f"{names.shown(info.name)} is packed as a sparse file.", "Pack it without --sparse.")
    if info.issym() or info.islnk():
        return LINK
    return "" if info.isreg() else NOT_A_FILE


def _extension(tape: Tape, info: tarfile.TarInfo) -> dict[str, str]:
    """What an extension header says about the next entry: its long name, or its pax records."""
    if not 0 <= info.size <= EXTENSION_BYTES:
        raise UserError(
            f"An extension header of the archive has {size(info.size)}.", "Pack it again without attributes."
        )
    data = tape.whole(_padded(info.size))[: info.size]
    if info.type == tarfile.GNUTYPE_LONGNAME:
        return {"path": data.partition(b"\0")[0].decode("utf-8", "surrogateescape")}
    return _pax_records(data) if info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE) else {}


def _pax_records(data: bytes) -> dict[str, str]:
    """Records ``LENGTH KEY=VALUE\\n``, where LENGTH counts the whole record. Only path and size matter here."""
    records: dict[str, str] = {}
    while data:
        length = int(data[:8].partition(b" ")[0])
        key, equals, value = data[len(str(length)) + 1 : length - 1].partition(b"=")
        if length < 5 or not equals or data[length - 1 : length] != b"\n":
            raise ValueError("a pax record is cut off")
        if key.startswith(b"GNU.sparse."):
            raise UserError("The archive holds a sparse file.", "Pack it without --sparse.")
        if key in (b"path", b"size"):
            records[key.decode()] = value.decode("utf-8", "surrogateescape")
        data = data[length:]
    return records
