"""The machine code inside a report: an ELF file for the GPU, of which three things are wanted.

Where each function's instructions lie (sections ``.text.<name>``), the words themselves, and from which source lines
they come (``.debug_line`` with its relocations, see ``lines.py``).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from analysis.formats.ncu_rep.wire import Damaged

MOST_SECTIONS = 200_000
MOST_SYMBOLS = 1_000_000
LONGEST_NAME = 65_536
MOST_NAME_BYTES = 256 * 2**20
INSTRUCTION_BYTES = 16
_RELA = 4


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    kind: int
    data: memoryview
    link: int


@dataclass(frozen=True, slots=True)
class Relocation:
    """``addend`` is None when it stands in the relocated place itself."""

    symbol: str
    addend: int | None


class Cubin:
    """Sections of an ELF64 file, and the symbols and relocations that a line table needs.

    Raises Damaged when the file is no ELF64 or a table points outside of it.
    """

    def __init__(self, data: memoryview) -> None:
        self._sections = _sections(data)
        self._by_name = {section.name: section for section in self._sections}

    def section(self, name: str) -> memoryview | None:
        found = self._by_name.get(name)
        return found.data if found else None

    def code(self, function: str) -> memoryview | None:
        return self.section(f".text.{function}")

    def word(self, function: str, offset: int) -> int | None:
        """The first 64 bits of the instruction at ``offset``; None when the function has none there."""
        code = self.code(function)
        if code is None or offset < 0 or offset + INSTRUCTION_BYTES > len(code):
            return None
        value: int = struct.unpack_from("<Q", code, offset)[0]
        return value

    def relocations(self, target: str) -> dict[int, Relocation]:
        """Relocations of one section: offset in it -> symbol."""
        symbols = self._symbols()
        found: dict[int, Relocation] = {}
        for prefix, layout in ((".rela", "<QQq"), (".rel", "<QQ")):
            section = self._by_name.get(prefix + target)
            if section is None:
                continue
            for entry in _table(section.data, layout):
                number = entry[1] >> 32
                if number < len(symbols):
                    found[entry[0]] = Relocation(symbols[number], entry[2] if section.kind == _RELA else None)
        return found

    def _symbols(self) -> list[str]:
        table = self._by_name.get(".symtab")
        if table is None:
            return []
        if table.link >= len(self._sections) or len(table.data) // 24 > MOST_SYMBOLS:
            raise Damaged("the symbol table of a cubin is damaged")
        names = self._sections[table.link].data
        return _strings_at(names, (entry[0] for entry in _table(table.data, "<IBBHQQ")))


def bytes_at(table: memoryview, offset: int) -> bytes:
    """The zero-ended string at ``offset``, at most 64 KiB of it; empty when there is none."""
    for size in (256, LONGEST_NAME):
        found, end, _ = table[offset : offset + size].tobytes().partition(b"\0")
        if end:
            break
    return found


def _strings_at(table: memoryview, offsets: Iterable[int]) -> list[str]:
    """Raises Damaged when the strings together are far longer than any real table of names."""
    names: list[str] = []
    length = 0
    for offset in offsets:
        raw = bytes_at(table, offset)
        length += len(raw)
        if length > MOST_NAME_BYTES:
            raise Damaged("the names in a cubin overlap")
        names.append(raw.decode("utf-8", "replace"))
    return names


def _table(data: memoryview, layout: str) -> list[tuple[int, ...]]:
    whole = len(data) - len(data) % struct.calcsize(layout)
    return list(struct.iter_unpack(layout, data[:whole]))


def _sections(data: memoryview) -> list[Section]:
    if len(data) < 64 or bytes(data[:6]) != b"\x7fELF\x02\x01":
        raise Damaged("a cubin is not a 64-bit ELF file")
    start = struct.unpack_from("<Q", data, 0x28)[0]
    size, count, names_at = struct.unpack_from("<HHH", data, 0x3A)
    if size != 64 or start + 64 > len(data):
        raise Damaged("the section table of a cubin lies outside of it")
    if count == 0:  # 65,280 sections and more: the count is in the first entry
        count = struct.unpack_from("<Q", data, start + 0x20)[0]
    if names_at == 0xFFFF:
        names_at = struct.unpack_from("<I", data, start + 0x28)[0]
    if count > MOST_SECTIONS or start + 64 * count > len(data) or names_at >= count:
        raise Damaged("the section table of a cubin is damaged")
    entries = _table(data[start : start + 64 * count], "<IIQQQQIIQQ")
    names = _strings_at(_contents(data, entries[names_at]), (entry[0] for entry in entries))
    return [
        Section(name, entry[1], _contents(data, entry), entry[6]) for name, entry in zip(names, entries, strict=True)
    ]


def _contents(data: memoryview, entry: tuple[int, ...]) -> memoryview:
    """The bytes of a section; none for a section without bytes in the file."""
    kind, offset, size = entry[1], entry[4], entry[5]
    if kind in (0, 8):
        return data[:0]
    if offset + size > len(data):
        raise Damaged("a section of a cubin lies outside of it")
    return data[offset : offset + size]
