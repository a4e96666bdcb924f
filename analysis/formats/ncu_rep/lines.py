"""Source lines of machine code: DWARF line programs (versions 2 to 4) as NVIDIA's compilers write them.

One sequence a function; the relocation of its start address names the function. NVIDIA adds an extended opcode 0x90
with two numbers: a context and a function name. The context is 0, or the number of the row (from 1, in the same
sequence) at whose place this code was inlined, so that rows chain from the innermost place to the kernel's own line.
"""

from __future__ import annotations

import posixpath
import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from analysis.formats.ncu_rep.cubin import Cubin, Relocation, bytes_at
from analysis.formats.ncu_rep.wire import Damaged, varint
from analysis.types import Place

MOST_ROWS = 4_000_000
MOST_FILES = 100_000
DEEPEST_INLINING = 64
_END_SEQUENCE, _SET_ADDRESS, _DEFINE_FILE, _INLINED = 1, 2, 3, 0x90
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _CONST_ADD_PC, _FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9


@dataclass(slots=True)
class LineTable:
    """The rows of one function, as columns; addresses count from the function's start."""

    files: list[str]
    addresses: array[int] = field(default_factory=lambda: array("Q"))
    file_numbers: array[int] = field(default_factory=lambda: array("Q"))
    lines: array[int] = field(default_factory=lambda: array("q"))
    contexts: array[int] = field(default_factory=lambda: array("Q"))

    def places(self, offset: int) -> tuple[Place, ...]:
        """Where the instruction at ``offset`` comes from, innermost first; empty when the table does not say."""
        row = bisect_right(self.addresses, offset) - 1
        places: list[Place] = []
        while 0 <= row < len(self.addresses) and len(places) < DEEPEST_INLINING:
            if self.lines[row] > 0 and 0 < self.file_numbers[row] <= len(self.files):
                places.append(Place(self.files[self.file_numbers[row] - 1], self.lines[row]))
            elif not places:
                return ()
            row = self._caller(row)
        return tuple(places)

    def _caller(self, row: int) -> int:
        """The row of the inlining call; -1 at the outermost. Rows only point to other rows: a loop ends by the cap."""
        return self.contexts[row] - 1


def line_tables(cubin: Cubin) -> dict[str, LineTable]:
    """Line tables by function name; empty when the code was built without lines. Raises Damaged."""
    section = cubin.section(".debug_line")
    if section is None:
        return {}
    relocations = cubin.relocations(".debug_line")
    tables: dict[str, LineTable] = {}
    rows_left = MOST_ROWS
    for start, end in _units(section):
        for name, table in _Program(section, start, end, relocations).sequences():
            rows_left -= len(table.addresses)
            if rows_left < 0:
                raise Damaged(f"more than {MOST_ROWS} rows in a line table")
            tables[name] = table
    return tables


def _units(section: memoryview) -> Iterator[tuple[int, int]]:
    position = 0
    while position + 4 <= len(section):
        length = struct.unpack_from("<I", section, position)[0]
        if length > len(section) - position - 4:
            raise Damaged("a line table is longer than its section")
        yield position + 4, position + 4 + length
        position += 4 + length


def plain_path(path: str) -> str:
    """A path without ``.`` and ``..`` steps. Paths of other systems stay as they are."""
    return posixpath.normpath(path) if path.startswith("/") else path


class _Program:
    """One line program: its header, and the machine that its opcodes drive."""

    def __init__(self, data: memoryview, start: int, end: int, relocations: Mapping[int, Relocation]) -> None:
        self._data, self._end, self._relocations = data[:end], end, relocations
        self._at = start
        version = self._fixed("<H")
        if not 2 <= version <= 4:
            raise Damaged(f"line tables of DWARF version {version} are not read")
        header_length = self._fixed("<I")
        program_at = self._at + header_length
        self._step = self._fixed("<B")
        if version == 4:
            self._fixed("<B")
        self._fixed("<B")
        self._line_base = self._fixed("<b")
        self._line_range = self._fixed("<B") or 1
        self._opcode_base = self._fixed("<B")
        self._operands = [self._fixed("<B") for _ in range(max(0, self._opcode_base - 1))]
        self._folders = self._names()
        self._files: list[str] = []
        while name := self._name():
            self._add_file(name)
        if program_at > end:
            raise Damaged("a line program lies outside of its section")
        self._at = program_at
        self._begin()

    def sequences(self) -> Iterator[tuple[str, LineTable]]:
        while self._at < self._end:
            opcode = self._fixed("<B")
            if opcode >= self._opcode_base:
                self._special(opcode - self._opcode_base)
            elif opcode == 0:
                if self._extended():
                    if self._function:
                        yield self._function, self._table
                    self._begin()
            else:
                self._standard(opcode)

    def _begin(self) -> None:
        self._address, self._file, self._line, self._context = 0, 1, 1, 0
        self._function = ""
        self._table = LineTable(self._files)

    def _emit(self) -> None:
        table = self._table
        if len(table.addresses) >= MOST_ROWS:
            raise Damaged(f"more than {MOST_ROWS} rows in a line table")
        if table.addresses and self._address < table.addresses[-1]:
            raise Damaged("the addresses of a line table go backwards")
        try:
            table.lines.append(self._line)
            table.file_numbers.append(self._file)
            table.contexts.append(self._context)
            table.addresses.append(self._address)
        except OverflowError:
            raise Damaged("a number in a line table is too large") from None

    def _special(self, opcode: int) -> None:
        self._address += opcode // self._line_range * self._step
        self._line += self._line_base + opcode % self._line_range
        self._emit()

    def _standard(self, opcode: int) -> None:
        if opcode == _COPY:
            self._emit()
        elif opcode == _ADVANCE_PC:
            self._address += self._unsigned() * self._step
        elif opcode == _ADVANCE_LINE:
            self._line += self._signed()
        elif opcode == _SET_FILE:
            self._file = self._unsigned()
        elif opcode == _CONST_ADD_PC:
            self._address += (255 - self._opcode_base) // self._line_range * self._step
        elif opcode == _FIXED_ADVANCE_PC:
            self._address += self._fixed("<H")
        else:
            for _ in range(self._operands[opcode - 1]):
                self._unsigned()

    def _extended(self) -> bool:
        """Carry out an extended opcode; True at the end of a sequence."""
        length = self._unsigned()
        after = self._at + length
        if length == 0 or after > self._end:
            raise Damaged("an opcode reaches beyond its line program")
        opcode = self._fixed("<B")
        if opcode == _SET_ADDRESS and length == 9:
            self._set_address()
        elif opcode == _INLINED:
            self._context = self._unsigned()
        elif opcode == _DEFINE_FILE and (name := self._name()):
            self._add_file(name)
        self._at = after
        return opcode == _END_SEQUENCE

    def _set_address(self) -> None:
        relocation = self._relocations.get(self._at)
        self._address = self._fixed("<Q")
        if relocation:
            self._function = relocation.symbol
            if relocation.addend is not None:
                self._address = relocation.addend

    def _add_file(self, name: str) -> None:
        folder = self._unsigned()
        self._unsigned()
        self._unsigned()
        if len(self._files) >= MOST_FILES:
            raise Damaged(f"more than {MOST_FILES} files in a line table")
        known = 0 < folder <= len(self._folders)
        self._files.append(plain_path(posixpath.join(self._folders[folder - 1], name) if known else name))

    def _names(self) -> list[str]:
        names: list[str] = []
        while name := self._name():
            names.append(name)
            if len(names) > MOST_FILES:
                raise Damaged(f"more than {MOST_FILES} folders in a line table")
        return names

    def _name(self) -> str:
        name = bytes_at(self._data, self._at)
        self._at += len(name) + 1
        return name.decode("utf-8", "replace")

    def _fixed(self, layout: str) -> int:
        size = struct.calcsize(layout)
        if self._at + size > self._end:
            raise Damaged("a line table is cut off")
        value: int = struct.unpack_from(layout, self._data, self._at)[0]
        self._at += size
        return value

    def _unsigned(self) -> int:
        value, self._at = varint(self._data, self._at)
        return value

    def _signed(self) -> int:
        start = self._at
        value = self._unsigned()
        bits = 7 * (self._at - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value
