"""The outer layers of a ``.ncu-rep``: file header, blocks, and where in the file each message lies.

All integers are little endian. ``NVR\\0``, a length and the file header come first; then blocks to the end of the
file: a length, a block header, and a payload of length-prefixed messages (sources, then results of the kinds launch,
range, command list and graph). Only headers are read here; messages are noted as spans and read when somebody asks.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from analysis.formats.ncu_rep.file import ReportFile, Source
from analysis.formats.ncu_rep.wire import Damaged, fields, integer, part, submessages, text

MAGIC = b"NVR\0"
KNOWN_VERSION = 7
LONGEST_HEADER = 64 * 2**20
MOST_MESSAGES = 200_000
MOST_EMPTY_BLOCKS = 10_000
MOST_STRINGS = 1_000_000
OTHER_RESULTS = {7: "range", 8: "command list", 9: "graph"}
"""Block header field -> what its results are of, in the order of the payload. Each is of several kernels together."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where a message lies in the file, in bytes."""

    offset: int
    length: int

    def read(self, source: Source) -> memoryview:
        return source.bytes_at(self.offset, self.length)

    def read_from(self, file: ReportFile) -> memoryview:
        with file.opened() as source:
            return self.read(source)


@dataclass(slots=True)
class Container:
    """What the block headers say. ``strings`` is the table that metric names index.

    ``other_results``: kind -> how many.
    """

    sources: list[Span] = field(default_factory=list)
    results: list[Span] = field(default_factory=list)
    other_results: Counter[str] = field(default_factory=Counter)
    strings: list[str] = field(default_factory=list)
    sessions: list[memoryview] = field(default_factory=list)
    blocks: int = 0
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Header:
    sources: int = 0
    results: int = 0
    others: dict[str, int] = field(default_factory=dict)
    payload: int = 0


def scan(file: ReportFile) -> Container:
    """Read the headers of all blocks. What is damaged ends the reading and becomes a warning.

    Raises Damaged when the file does not begin like a report.
    """
    container = Container(warnings=[f"Reading stopped early: {file.problem}."] if file.problem else [])
    with file.opened() as source:
        size = source.size()
        position = _file_header(source, container)
        try:
            while position < size:
                position = _block(source, position, size, container)
                container.blocks += 1
                if container.blocks > MOST_EMPTY_BLOCKS + len(container.results) + len(container.sources):
                    raise Damaged(f"more than {MOST_EMPTY_BLOCKS} blocks without anything in them")
        except Damaged as damage:
            container.warnings.append(f"Reading stopped at byte {position} of {size}: {damage}.")
    return container


def _file_header(source: Source, container: Container) -> int:
    if bytes(source.bytes_at(0, 4)) != MAGIC:
        raise Damaged("it does not begin with NVR")
    length = _length_at(source, 4)
    version = 0
    for number, raw in fields(source.bytes_at(8, min(length, LONGEST_HEADER))):
        if number == 1:
            version = integer(raw)
    if version != KNOWN_VERSION:
        container.warnings.append(f"The file says format version {version}; only version {KNOWN_VERSION} was tested.")
    return 8 + length


def _block(source: Source, position: int, size: int, container: Container) -> int:
    """Note the block at ``position``; returns the position after it."""
    length = _length_at(source, position)
    if not 0 < length <= LONGEST_HEADER:
        raise Damaged(f"a block header of {length} bytes")
    header = _block_header(source.bytes_at(position + 4, length), container)
    start = position + 4 + length
    _note_messages(source, start, min(start + header.payload, size), header, container)
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
        elif number in OTHER_RESULTS:
            header.others[OTHER_RESULTS[number]] = integer(raw)
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


def _note_messages(source: Source, start: int, end: int, header: _Header, container: Container) -> None:
    spans = _spans(source, start, end)
    for wanted, kept in ((header.sources, container.sources), (header.results, container.results)):
        for _ in range(wanted):
            span = next(spans, None)
            if span is None:
                return
            if len(kept) >= MOST_MESSAGES:
                raise Damaged(f"more than {MOST_MESSAGES} messages of one kind")
            kept.append(span)
    for kind in OTHER_RESULTS.values():
        promised = min(header.others.get(kind, 0), MOST_MESSAGES)
        container.other_results[kind] += sum(1 for _ in zip(range(promised), spans, strict=False))


def _spans(source: Source, start: int, end: int) -> Iterator[Span]:
    """The messages of a payload that lie wholly before ``end``."""
    position = start
    while position + 4 <= end:
        length = _length_at(source, position)
        if length == 0 or length > end - position - 4:
            return
        yield Span(position + 4, length)
        position += 4 + length


def _length_at(source: Source, offset: int) -> int:
    value: int = struct.unpack("<I", source.bytes_at(offset, 4))[0]
    return value
