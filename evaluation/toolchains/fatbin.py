"""GPU code inside a CUDA executable: its cubins, and a hash of every kernel's machine code. Pure.

nvcc puts "fat binaries" into the section ``.nv_fatbin``: each a header {u32 magic, u16 version, u16 header size,
u64 size}, then entries {u16 kind, u16, u32 header size, u64 size, u32 compressed size, ..., at 28 u32 SM number} with
their payload. Kind 2 is a cubin: an ELF file, or a compressed one. Layout seen with nvcc 13.0.
"""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section, SymbolTableSection

from analysis.names import demangle
from evaluation.types import Symbol

_MAGIC = struct.pack("<I", 0xBA55ED50)
_CUBIN = 2
_CONSTANTS = tuple(f".nv.constant{bank}." for bank in range(1, 10))
"""Per-kernel banks with the compiler's literals. Bank 0 holds the parameters, empty in the file."""


class Compressed(ValueError):
    """The cubins are compressed: cuobjdump can unpack them."""


@dataclass(frozen=True, slots=True)
class Cubin:
    """GPU code for one architecture: ``sm`` 90 is sm_90."""

    sm: int
    elf: bytes


def cubins(executable: bytes) -> tuple[Cubin, ...]:
    """The cubins of an ELF executable, in file order; none when it holds no GPU code.

    Raises Compressed, and ValueError with a sentence when the file is damaged or no ELF file.
    """
    try:
        section = ELFFile(io.BytesIO(executable)).get_section_by_name(".nv_fatbin")
        return tuple(_fat_binaries(section.data())) if section else ()
    except (ELFError, struct.error) as error:
        raise ValueError(f"the executable cannot be read: {error}") from None


def _fat_binaries(data: bytes) -> Iterator[Cubin]:
    start = data.find(_MAGIC)
    while start >= 0:
        _, _, header, size = struct.unpack_from("<IHHQ", data, start)
        end = start + header + size
        yield from _entries(data[start + header : end])
        start = data.find(_MAGIC, end)


def _entries(data: bytes) -> Iterator[Cubin]:
    place = 0
    while place + 32 <= len(data):
        kind, _, header, size = struct.unpack_from("<HHIQ", data, place)
        (sm,) = struct.unpack_from("<I", data, place + 28)
        payload = data[place + header : place + header + size]
        if kind == _CUBIN and not payload.startswith(b"\x7fELF"):
            raise Compressed(f"the code for sm_{sm} is compressed")
        if kind == _CUBIN:
            yield Cubin(sm, payload)
        if header + size == 0:
            raise ValueError("the executable's GPU code is damaged: an entry of size 0")
        place += header + size


def kernel_symbols(found: Sequence[Cubin]) -> tuple[Symbol, ...]:
    """Kernels and the device functions with code of their own, sorted by mangled name.

    A function compiled for several architectures has one hash over all of them.
    """
    codes: dict[str, list[str]] = {}
    kernels: set[str] = set()
    for cubin in found:
        file = ELFFile(io.BytesIO(cubin.elf))
        sections = {section.name: section for section in file.iter_sections()}
        for name in _functions(sections):
            codes.setdefault(name, []).append(f"sm_{cubin.sm} {_code_hash(file, sections, name)}")
            if f".nv.constant0.{name}" in sections:  # only what can be launched has parameters
                kernels.add(name)
    return tuple(
        Symbol(name, demangle(name), _combined(hashes), "kernel" if name in kernels else "device")
        for name, hashes in sorted(codes.items())
    )


def _functions(sections: Mapping[str, Section]) -> list[str]:
    return [name.removeprefix(".text.") for name in sections if name.startswith(".text.")]


def _combined(hashes: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()


def _code_hash(file: ELFFile, sections: Mapping[str, Section], name: str) -> str:
    """Instructions, the literals they read, and the names of what they call."""
    digest = hashlib.sha256(sections[f".text.{name}"].data())
    for prefix in _CONSTANTS:
        if bank := sections.get(f"{prefix}{name}"):
            digest.update(bank.data())
    for prefix in (".rel.text.", ".rela.text."):
        if relocations := sections.get(f"{prefix}{name}"):
            digest.update(repr(list(_references(file, relocations))).encode())
    return digest.hexdigest()


def _references(file: ELFFile, section: Section) -> Iterator[tuple[int, int, str]]:
    table = file.get_section(section["sh_link"])
    if isinstance(section, RelocationSection) and isinstance(table, SymbolTableSection):
        for entry in section.iter_relocations():
            yield entry["r_offset"], entry["r_info_type"], table.get_symbol(entry["r_info_sym"]).name
