"""The outer layers of a ``.ncu-rep``: file header, blocks, and where in the file each message lies.

All integers are little endian. ``NVR\\0``, a length and the file header come first; then blocks to the end of the
file: a length, a block header, and a payload of length-prefixed messages (sources, then results of the kinds launch,
range, command list and graph). Only headers are read here; messages are noted as spans and read when somebody asks.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from analysis.formats.ncu_rep.wire import Damaged, fields, integer, part, submessages, text

MAGIC = b"NVR\0"
KNOWN_VERSION = 7
LONGEST_HEADER = 64 * 2**20
LONGEST_MESSAGE = 512 * 2**20
MOST_MESSAGES = 200_000
MOST_STRINGS = 1_000_000


@dataclass(frozen=True, slots=True)
class Span:
    """Where a message lies in the file, in bytes."""

    offset: int
    length: int

    def read(self, path: Path) -> memoryview:
        with path.open("rb") as file:
            return _bytes_at(file, self.offset, self.length)


@dataclass(slots=True)
class Container:
    """What the block headers say. ``strings`` is the table that metric names index."""

    sources: list[Span] = field(default_factory=list)
    results: list[Span] = field(default_factory=list)
    other_results: int = 0
    strings: list[str] = field(default_factory=list)
    sessions: list[memoryview] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Header:
    sources: int = 0
    results: int = 0
    other_results: int = 0
    payload: int = 0


def scan(path: Path) -> Container:
    """Read the headers of all blocks. What is damaged ends the reading and becomes a warning.

    Raises Damaged when the file does not begin like a report.
    """
    container = Container()
    size = path.stat().st_size
    with path.open("rb") as file:
        position = _file_header(file, container)
        try:
            while position < size:
                position = _block(file, position, size, container)
        except Damaged as damage:
            container.warnings.append(f"Reading stopped at byte {position} of {size}: {damage}.")
    return container


def _file_header(file: BinaryIO, container: Container) -> int:
    if bytes(_bytes_at(file, 0, 4)) != MAGIC:
        raise Damaged("it does not begin with NVR")
    length = _length_at(file, 4)
    version = 0
    for number, raw in fields(_bytes_at(file, 8, min(length, LONGEST_HEADER))):
        if number == 1:
            version = integer(raw)
    if version != KNOWN_VERSION:
        container.warnings.append(f"The file says format version {version}; only version {KNOWN_VERSION} was tested.")
    return 8 + length


def _block(file: BinaryIO, position: int, size: int, container: Container) -> int:
    """Note the block at ``position``; returns the position after it."""
    length = _length_at(file, position)
    if length > LONGEST_HEADER:
        raise Damaged(f"a block header of {length} bytes")
    header = _block_header(_bytes_at(file, position + 4, length), container)
    start = position + 4 + length
    _note_messages(file, start, min(start + header.payload, size), header, container)
    if start + header.payload > size:
        raise Damaged(f"the file is cut off: it ends {start + header.payload - size} bytes too early")
    return start + header.payload


def _block_header(message: memoryview, container: Container) -> _Header:
    header = _Header()
    for number, raw in fields(message):
        if number == 1:
            header.sources = integer(raw)
        elif number == 2:
            header.results = integer(raw)
        elif number == 3:
            container.sessions.append(part(raw))
        elif number == 4:
            _merge_strings(container.strings, part(raw))
        elif number == 5:
            header.payload = integer(raw)
        elif number in (7, 8, 9):
            header.other_results += integer(raw)
    return header


def _merge_strings(strings: list[str], table: memoryview) -> None:
    """The table belongs to the file. A later one that begins like the old one replaces it, any other continues it."""
    found: list[str] = []
    for entry in submessages(table, 1):
        found.append(text(entry))
        if len(found) + len(strings) > MOST_STRINGS:
            raise Damaged(f"more than {MOST_STRINGS} strings")
    if strings and found[: len(strings)] == strings:
        strings.clear()
    strings.extend(found)


def _note_messages(file: BinaryIO, start: int, end: int, header: _Header, container: Container) -> None:
    spans = _spans(file, start, end)
    for wanted, kept in ((header.sources, container.sources), (header.results, container.results)):
        for _ in range(wanted):
            span = next(spans, None)
            if span is None:
                return
            if len(kept) >= MOST_MESSAGES:
                raise Damaged(f"more than {MOST_MESSAGES} messages of one kind")
            kept.append(span)
    container.other_results += sum(1 for _, _ in zip(range(header.other_results), spans, strict=False))


def _spans(file: BinaryIO, start: int, end: int) -> Iterator[Span]:
    """The messages of a payload that lie wholly before ``end``."""
    position = start
    while position + 4 <= end:
        length = _length_at(file, position)
        if length == 0 or length > end - position - 4:
            return
        yield Span(position + 4, length)
        position += 4 + length


def _length_at(file: BinaryIO, offset: int) -> int:
    value: int = struct.unpack("<I", _bytes_at(file, offset, 4))[0]
    return value


def _bytes_at(file: BinaryIO, offset: int, length: int) -> memoryview:
    if length > LONGEST_MESSAGE:
        raise Damaged(f"a message of {length} bytes; at most {LONGEST_MESSAGE} are read")
    if length > os.fstat(file.fileno()).st_size - offset:  # before reading: read() allocates what it is asked for
        raise Damaged("the file is cut off: it ends in the middle of a message")
    file.seek(offset)
    return memoryview(file.read(length))
