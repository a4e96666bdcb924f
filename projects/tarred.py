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
from projects.unpacking import LINK, NOT_A_FILE, PIECE, Budget, Member, size, too_large

BLOCK = tarfile.BLOCKSIZE
# A long name or a set of extended attributes; names end at 4096 bytes.
EXTENSION_BYTES = 64 * 1024


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
    for info in _headers(tape):
        length = int(renamed.get("size", info.size))
        if not 0 <= length <= 2**63:
            raise UserError(f"{names.shown(info.name)} declares a length of {length}.", "Pack it again.")
        if info.type in (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME):
            renamed |= _extension(tape, info)
            continue
        if info.type in (tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK):
            _extension(tape, info)
            continue
        tape.entry = renamed.get("path", info.name)
        renamed = {}
        if not info.isdir():
            path = names.clean(tape.entry)
            left_out = _left_out(info)
            unread = _Unread(tape, 0 if left_out else length, path, limits)
            yield Member(path, left_out, unread.read)
            unread.finish()
        else:
            names.clean(tape.entry + "/.keep")


@dataclass
class _Unread:
    """The content of the entry that the tape stands at."""

    tape: Tape
    length: int
    path: str
    limits: SnapshotLimits
    done: int = 0

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
    first = True
    while any(block := tape.take(BLOCK)):
        if len(block) < BLOCK:
            raise EOFError("it ends in the middle of a header")
        try:
            yield tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            if first:
                raise UserError("The file is neither a zip nor a tar archive.", "Pack it as zip or tar.gz.") from error
            raise
        first = False
    if not block:
        raise EOFError("it has no end mark")
    tape.run_out()


def _left_out(info: tarfile.TarInfo) -> str:
    if info.type == tarfile.GNUTYPE_SPARSE:
        raise UserError(f"{names.shown(info.name)} is packed as a sparse file.", "Pack it without --sparse.")
    if info.issym() or info.islnk():
        return LINK
    return "" if info.isreg() else NOT_A_FILE


def _extension(tape: Tape, info: tarfile.TarInfo) -> dict[str, str]:
    """What an extension header says about the next entry: its long name, or its pax records."""
    if info.size > EXTENSION_BYTES:
        raise UserError(
            f"An extension header of the archive has {size(info.size)}.", "Pack it again without attributes."
        )
    data = tape.whole(_padded(info.size))[: info.size]
    if info.type == tarfile.GNUTYPE_LONGNAME:
        return {"path": data.partition(b"\0")[0].decode("utf-8", "surrogateescape")}
    return _pax_records(data) if info.type == tarfile.XHDTYPE else {}


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
