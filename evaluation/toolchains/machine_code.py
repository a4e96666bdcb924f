"""A hash of every function's machine code in a linked x86-64 or arm64 binary. Pure.

What the hash must not see: comments, ``-g``, where the linker put things, how long *other* functions are. What it must
see: any other instruction, any other constant. So the bytes cannot be hashed as they are (a call's displacement changes
with every function in between), and code alone is not enough (a literal 0.2 that becomes 0.3 changes only .rodata).

Each function is written down as its instructions, one a line, as the disassembler prints them, with
- padding (nop) left out,
- a jump inside the function as the number of the instruction it leads to,
- a call or jump elsewhere as the name of what it leads to,
- a reference to data as the symbol's name with the symbol's bytes, or, for literals that have no symbol, as the bytes
  from there to the next place that any code refers to (every byte of .rodata belongs to somebody), or, for jump tables,
  as the instructions that the entries lead to,
and that text is hashed. Where references are not relative to the program counter (arm64, executables at a fixed
address) they cannot be told from numbers: there the whole of .rodata counts for every function, so that a hash may
differ without need, but never agrees without right.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from analysis.names import demangle
from evaluation.types import Symbol

_INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(\S.*?)\s*$", re.MULTILINE)
_RELATIVE = re.compile(r"^(.*?)-?0x[0-9a-f]+\(%rip\)(.*?)\s*# ([0-9a-f]+)\b.*$")
_BRANCH = re.compile(r"^(.*?)\b([0-9a-f]+) <([^>]*)>$")
_PADDING = re.compile(r"^(?:(?:data16|cs|ds|es)\s+)*(?:nop[wl]?\b.*|xchg\s+%ax,%ax)$")
_NUL = b"\0"  # padding before the next literal may grow and shrink
_BINDINGS: Mapping[str, Literal["global", "weak", "local"]] = {
    "STB_GLOBAL": "global",
    "STB_WEAK": "weak",
    "STB_LOCAL": "local",
}


@dataclass(frozen=True, slots=True)
class _Span:
    """A named stretch of the binary, addresses [start, end)."""

    start: int
    end: int
    name: str
    binding: Literal["global", "weak", "local"]


@dataclass(frozen=True, slots=True)
class _Section:
    start: int
    data: bytes
    name: str
    literal: bool
    """Its bytes mean the same wherever it lies: read-only, no addresses in it."""


@dataclass(slots=True)
class _Image:
    """What is needed of an ELF file, sorted by address."""

    functions: list[_Span] = field(default_factory=list)
    objects: list[_Span] = field(default_factory=list)
    sections: list[_Section] = field(default_factory=list)
    imports: dict[int, str] = field(default_factory=dict)
    fixed: bool = False


def function_symbols(elf: bytes, disassembly: str) -> tuple[Symbol, ...]:
    """The functions of a linked binary, sorted by mangled name.

    ``disassembly``: what ``objdump -d -z -w --no-show-raw-insn`` printed for the same file. Raises ValueError with a
    sentence when the file is no ELF file or has no symbol table.
    """
    try:
        image = _read(elf)
    except (ELFError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"the binary cannot be read as an ELF file: {error}") from None
    if not image.functions:
        raise ValueError("the binary has no symbol table (linked with -s, or stripped)")
    listing = _Listing(image, disassembly)
    return tuple(sorted((listing.symbol(function) for function in image.functions), key=lambda s: s.mangled))


def undefined_symbols(elf: bytes) -> frozenset[str]:
    """Names the binary takes from shared libraries. Empty for what is not a dynamic ELF file."""
    try:
        table = ELFFile(io.BytesIO(elf)).get_section_by_name(".dynsym")
        if not isinstance(table, SymbolTableSection):
            return frozenset()
        return frozenset(symbol.name for symbol in table.iter_symbols() if symbol["st_shndx"] == "SHN_UNDEF")
    except (ELFError, struct.error, UnicodeDecodeError):
        return frozenset()


def _read(elf: bytes) -> _Image:
    file = ELFFile(io.BytesIO(elf))
    image = _Image(fixed=file["e_type"] == "ET_EXEC" or file["e_machine"] != "EM_X86_64")
    for section in file.iter_sections():
        if isinstance(section, RelocationSection):
            image.imports.update(_imports(file, section))
        elif section["sh_flags"] & 2 and section["sh_type"] != "SHT_NOBITS":
            literal = not section["sh_flags"] & 5  # neither writable nor code
            image.sections.append(_Section(section["sh_addr"], section.data(), section.name, literal))
    table = file.get_section_by_name(".symtab")
    if isinstance(table, SymbolTableSection):
        image.functions = list(_spans(table, "STT_FUNC"))
        image.objects = list(_spans(table, "STT_OBJECT"))
    image.sections.sort(key=lambda section: section.start)
    return image


def _imports(file: ELFFile, section: RelocationSection) -> Iterator[tuple[int, str]]:
    """Slots that the loader fills: address -> name of what goes there."""
    table = file.get_section(section["sh_link"])
    for relocation in section.iter_relocations():
        if isinstance(table, SymbolTableSection) and relocation["r_info_sym"]:
            yield relocation["r_offset"], table.get_symbol(relocation["r_info_sym"]).name


def _spans(table: SymbolTableSection, kind: str) -> list[_Span]:
    found = {
        _Span(symbol["st_value"], symbol["st_value"] + symbol["st_size"], symbol.name, _BINDINGS[bind])
        for symbol in table.iter_symbols()
        if symbol["st_info"]["type"] == kind and symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_size"]
        if (bind := symbol["st_info"]["bind"]) in _BINDINGS
    }
    return sorted(found, key=lambda span: (span.start, span.end, span.name))


class _Listing:
    """The disassembly, indexed so that an address can be said without saying it."""

    def __init__(self, image: _Image, disassembly: str) -> None:
        self.image = image
        self.function_starts = [span.start for span in image.functions]
        self.object_starts = [span.start for span in image.objects]
        self.section_starts = [section.start for section in image.sections]
        matches = (match.groups() for match in _INSTRUCTION.finditer(disassembly))
        self.code = [(int(at, 16), text) for at, text in matches if not _PADDING.match(text)]
        self.places = [at for at, _ in self.code]
        targets = {int(found[3], 16) for _, text in self.code if (found := _RELATIVE.match(text))}
        self.cuts = sorted(targets.union(self.object_starts))
        self.rodata = _digest(*(s.data for s in image.sections if s.name.startswith(".rodata"))) if image.fixed else ""

    def symbol(self, function: _Span) -> Symbol:
        first, last = bisect_right(self.places, function.start - 1), bisect_right(self.places, function.end - 1)
        lines = [self._said(function, text) for _, text in self.code[first:last]]
        code_hash = _digest("\n".join([*lines, self.rodata]).encode())
        return Symbol(function.name, demangle(function.name), code_hash, function.binding)

    def _said(self, function: _Span, text: str) -> str:
        """One instruction without addresses."""
        if found := _RELATIVE.match(text):
            return f"{found[1]}[{self._target(function, int(found[3], 16))}]{found[2]}"
        if found := _BRANCH.match(text):
            return found[1] + (found[3] if found[3].endswith("@plt") else self._target(function, int(found[2], 16)))
        return text

    def _target(self, function: _Span, address: int) -> str:
        if address in self.image.imports:
            return self.image.imports[address]
        return self._in_code(function, address) or self._in_object(address) or self._in_section(function, address)

    def _in_code(self, function: _Span, address: int) -> str:
        """``#n`` for the n-th instruction of this function, ``name#n`` for another's; empty when it is no code."""
        span = _covering(self.image.functions, self.function_starts, address)
        if span is None:
            return ""
        number = bisect_right(self.places, address - 1) - bisect_right(self.places, span.start - 1)
        return f"#{number}" if span.start == function.start else f"{span.name}#{number}"

    def _in_object(self, address: int) -> str:
        span = _covering(self.image.objects, self.object_starts, address)
        if span is None:
            return ""
        return f"{span.name}+{address - span.start}={_digest(self._bytes(span.start, span.end))}"

    def _in_section(self, function: _Span, address: int) -> str:
        """A literal: its bytes up to the next cut, entries of a jump table as the places they lead to."""
        section = self._section(address)
        if section is None or not section.literal:
            return section.name if section else "?"
        cut = bisect_right(self.cuts, address)
        end = self.cuts[cut] if cut < len(self.cuts) else section.start + len(section.data)
        data = self._bytes(address, end)
        cases = self._cases(function, address, data)
        return f"{','.join(cases)}={_digest(data[4 * len(cases) :].rstrip(_NUL))}"

    def _cases(self, function: _Span, table: int, data: bytes) -> list[str]:
        """Leading 32-bit entries that, added to the table's own address, lead to an instruction."""
        cases = []
        for (entry,) in struct.iter_unpack("<i", data[: len(data) // 4 * 4]):
            place = self._in_code(function, table + entry)
            if not place:
                break
            cases.append(place)
        return cases

    def _section(self, address: int) -> _Section | None:
        index = bisect_right(self.section_starts, address) - 1
        section = self.image.sections[index] if index >= 0 else None
        return section if section and address < section.start + len(section.data) else None

    def _bytes(self, start: int, end: int) -> bytes:
        """The file's bytes at these addresses; none for memory that starts as zeros or is filled by the loader."""
        section = self._section(start)
        if section is None or section.name.startswith(".data.rel"):
            return b""
        return section.data[start - section.start : end - section.start]


def _covering(spans: list[_Span], starts: list[int], address: int) -> _Span | None:
    """The first-named span that holds the address (aliases share one)."""
    index = bisect_right(starts, address) - 1
    if index < 0 or not spans[index].start <= address < spans[index].end:
        return None
    while index and spans[index - 1].start == spans[index].start:
        index -= 1
    return spans[index]


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
