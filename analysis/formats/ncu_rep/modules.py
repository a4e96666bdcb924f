"""Loaded modules: machine code, its lines, the addresses of its functions and embedded source text.

A module arrives in one message with its code, and possibly in further ones with the same reference that bring only
the addresses of functions loaded later.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from analysis.formats.ncu_rep.container import Span
from analysis.formats.ncu_rep.cubin import Cubin
from analysis.formats.ncu_rep.file import ReportFile
from analysis.formats.ncu_rep.lines import LineTable, line_tables, plain_path
from analysis.formats.ncu_rep.opcodes import mnemonic
from analysis.formats.ncu_rep.wire import Damaged, fields, integer, part, submessages, text
from analysis.types import Place

MOST_FUNCTIONS = 1_000_000
MOST_DAMAGED = 20


@dataclass
class Module:
    """``code_span`` is the message that holds the machine code; it is decoded at the first question.

    ``functions``: load address -> mangled name.
    """

    file: ReportFile
    level: int = 0
    code_span: Span | None = None
    functions: dict[int, str] = field(default_factory=dict)

    def mnemonic(self, function: str, offset: int) -> str | None:
        word = self._cubin.word(function, offset) if self._cubin else None
        return None if word is None else mnemonic(word, self.level)

    def places(self, function: str, offset: int) -> tuple[Place, ...]:
        table = self._lines.get(function)
        return table.places(offset) if table else ()

    @cached_property
    def _cubin(self) -> Cubin | None:
        if self.code_span is None:
            return None
        code = next(submessages(self.code_span.read_from(self.file), 4), None)
        return Cubin(code) if code else None

    @cached_property
    def _lines(self) -> dict[str, LineTable]:
        return line_tables(self._cubin) if self._cubin else {}


@dataclass
class Modules:
    """All modules of a report by reference, and what was embedded with them."""

    by_reference: dict[int, Module] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    code_hashes: set[str] = field(default_factory=set)
    damaged: list[str] = field(default_factory=list)

    @property
    def sha256(self) -> str | None:
        """One hash over all machine code; None when the report has none."""
        if not self.code_hashes:
            return None
        return hashlib.sha256("\n".join(sorted(self.code_hashes)).encode()).hexdigest()


def read_modules(file: ReportFile, spans: Iterable[Span]) -> Modules:
    """Everything but the code itself, which stays in the file. Damaged messages are named in ``damaged``."""
    modules = Modules()
    with file.opened() as source:
        for number, span in enumerate(spans):
            try:
                _add(modules, file, span, span.read(source))
            except Damaged as damage:
                modules.damaged.append(f"module {number}: {damage}")
            if len(modules.damaged) == MOST_DAMAGED:
                modules.damaged.append(f"all modules after module {number}")
                break
    return modules


def _add(modules: Modules, file: ReportFile, span: Span, message: memoryview) -> None:
    reference = next((integer(raw) for number, raw in fields(message) if number == 1), 0)
    module = modules.by_reference.setdefault(reference, Module(file))
    for number, raw in fields(message):
        if number == 4 and len(part(raw)):
            module.code_span = span
            modules.code_hashes.add(hashlib.sha256(part(raw)).hexdigest())
        elif number == 5:
            module.level = integer(raw)
        elif number == 8:
            _add_sources(modules.sources, part(raw))
        elif number == 9:
            _add_functions(module.functions, part(raw))


def _add_sources(sources: dict[str, str], message: memoryview) -> None:
    for embedded in submessages(message, 1):
        found = {number: text(raw) for number, raw in fields(embedded) if number in (1, 2)}
        if found.get(1):
            sources[plain_path(found[1])] = found.get(2, "")


def _add_functions(functions: dict[int, str], message: memoryview) -> None:
    for function in submessages(message, 1):
        found = {number: raw for number, raw in fields(function) if number in (1, 2)}
        if 1 in found and 2 in found:
            functions[integer(found[2])] = text(found[1])
        if len(functions) > MOST_FUNCTIONS:
            raise Damaged(f"more than {MOST_FUNCTIONS} functions")


class Addresses:
    """From a program counter to the function that lies there."""

    def __init__(self, functions: dict[int, str]) -> None:
        self._functions = sorted(functions.items())
        self._starts = [start for start, _ in self._functions]

    def find(self, address: int) -> tuple[str, int] | None:
        """Function and offset in bytes; None when no function begins at or before ``address``."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        start, name = self._functions[index]
        return name, address - start
