"""The bytes of a report: those of a file (``.ncu-rep``), or what a file of zstd unpacks to (``.ncu-repz``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from backports import zstd

from analysis.formats.ncu_rep.wire import Damaged
from optimas_web.errors import UserError

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
LONGEST_MESSAGE = 512 * 2**20
MOST_UNPACKED = 256 * 2**20
_LARGEST_WINDOW = 27  # 128 MiB, the limit of the zstd command itself
_CHUNK = 2**20


class Source(Protocol):
    """Bytes to read messages from."""

    def size(self) -> int: ...

    def bytes_at(self, offset: int, length: int) -> memoryview:
        """Raises Damaged when there are not so many, before anything of that size is allocated."""
        ...


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report to read from. ``unpacked`` is None when the file is read as it lies there.

    ``problem``: what is wrong with the compressed file; what it gave before that is ``unpacked``.
    """

    path: Path
    unpacked: memoryview | None = None
    problem: str = ""

    @property
    def name(self) -> str:
        return self.path.name

    @contextmanager
    def opened(self) -> Iterator[Source]:
        if self.unpacked is not None:
            yield _Unpacked(self.unpacked)
            return
        with self.path.open("rb") as file:
            yield _Opened(file, self.path.stat().st_size)


@dataclass(frozen=True, slots=True)
class _Unpacked:
    data: memoryview

    def size(self) -> int:
        return len(self.data)

    def bytes_at(self, offset: int, length: int) -> memoryview:
        _check(offset, length, len(self.data))
        return self.data[offset : offset + length]


@dataclass(frozen=True, slots=True)
class _Opened:
    file: BinaryIO
    length: int

    def size(self) -> int:
        return self.length

    def bytes_at(self, offset: int, length: int) -> memoryview:
        _check(offset, length, self.length)
        self.file.seek(offset)
        return memoryview(self.file.read(length))


def _check(offset: int, length: int, size: int) -> None:
    if length > LONGEST_MESSAGE:
        raise Damaged(f"a message of {length} bytes; at most {LONGEST_MESSAGE} are read")
    if length > size - offset:
        raise Damaged("the file is cut off: it ends in the middle of a message")


def open_report(path: Path) -> ReportFile:
    """Raises UserError when a compressed report unpacks to more than is held in memory."""
    with path.open("rb") as file:
        if file.read(len(ZSTD_MAGIC)) != ZSTD_MAGIC:
            return ReportFile(path)
    unpacked = bytearray()
    problem = ""
    try:
        _unpack(path, unpacked)
    except EOFError:
        problem = "its zstd stream is cut off"
    except zstd.ZstdError as error:
        problem = f"its zstd stream is damaged: {error}"
    return ReportFile(path, memoryview(unpacked), problem)


def _unpack(path: Path, into: bytearray) -> None:
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
    with zstd.open(path, "rb", options=options) as stream:
        while piece := stream.read1(_CHUNK):
            into += piece
            if len(into) > MOST_UNPACKED:
                raise UserError(
                    f"{path.name} unpacks to more than {MOST_UNPACKED // 2**20} MiB.",
                    "Unpack it with `zstd -d` and give the .ncu-rep that comes out.",
                )
