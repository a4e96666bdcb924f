"""Writes small ``.ncu-rep`` files for tests: a container, one or more launches, a tiny cubin with a line table."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

CODE_AT = 0x7F00_0000_0000
KERNEL = "_Z5scalePfi"
FOLDER, SOURCE = "/opt/ada/code", "scale.cu"
LDG, FMUL, EXIT = 0x181, 0x020, 0x14D


# --- protobuf -----------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field_number: int, value: int) -> bytes:
    return varint(field_number << 3) + varint(value)


def block(field_number: int, content: bytes | str) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return varint(field_number << 3 | 2) + varint(len(raw)) + raw


def value_of(value: float | int | str) -> bytes:
    if isinstance(value, str):
        return block(1, value)
    if isinstance(value, int):
        return number(5, value)
    return varint(3 << 3 | 1) + struct.pack("<d", value)


# --- a cubin ---------------------------------------------------------------------------------------


def line_program(version: int = 2) -> bytes:
    """Three instructions: line 10 of scale.cu; line 3 of mul.h, inlined at line 11 of scale.cu; line 12."""
    header = struct.pack("<BBbBB", 1, 1, -5, 14, 10) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1])
    header += FOLDER.encode() + b"\0" + b"/usr/include/./cuda\0\0"
    header += SOURCE.encode() + b"\0\1\0\0" + b"mul.h\0\2\0\0" + b"\0"
    program = b"\0\x09\2" + bytes(8) + b"\3\x09\1"  # set address (relocated), line += 9, row 1: line 10
    program += b"\2\x10\3\1\1"  # + 16 bytes, line 11, row 2
    program += b"\0\3\x90\2\0" + b"\4\2\3\x78\1"  # inlined at row 2: file 2, line 3, row 3
    program += b"\0\3\x90\0\0" + b"\4\1\2\x10\3\x09\1"  # not inlined: file 1, + 16 bytes, line 12, row 4
    program += b"\2\x10\0\1\1"
    body = struct.pack("<HI", version, len(header)) + header + program
    return struct.pack("<I", len(body)) + body


def cubin(line_version: int = 2) -> bytes:
    line = line_program(line_version)
    set_address_at = line.index(b"\0\x09\2" + bytes(8)) + 3
    code = b"".join(struct.pack("<QQ", word, 0) for word in (LDG, FMUL, EXIT))
    strings = b"\0" + KERNEL.encode() + b"\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0, len(code))
    relocations = struct.pack("<QQq", set_address_at, 1 << 32 | 2, 0)
    return elf(
        [
            (f".text.{KERNEL}", 1, code, 0),
            (".strtab", 3, strings, 0),
            (".symtab", 2, symbols, 2),
            (".debug_line", 1, line, 0),
            (".rela.debug_line", 4, relocations, 3),
        ]
    )


def elf(sections: Iterable[tuple[str, int, bytes, int]]) -> bytes:
    """An ELF64 file of sections (name, type, bytes, link); links count from 1, as section 0 is empty."""
    names, data, entries = b"\0", bytearray(64), [bytes(64)]
    kept = [*sections]
    for name, kind, content, link in [*kept, (".shstrtab", 3, b"", 0)]:
        start = len(names)
        names += name.encode() + b"\0"
        content = names if name == ".shstrtab" else content
        entries.append(struct.pack("<IIQQQQIIQQ", start, kind, 0, 0, len(data), len(content), link, 0, 1, 0))
        data += content
    table_at = len(data)
    data += b"".join(entries)
    data[:64] = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\2\1\1",
        2,
        190,
        1,
        0,
        0,
        table_at,
        0,
        64,
        0,
        0,
        64,
        len(entries),
        len(entries) - 1,
    )
    return bytes(data)


# --- a report --------------------------------------------------------------------------------------


@dataclass
class Metric:
    value: float | int | str | None = None
    instances: Mapping[Any, float | int] = field(default_factory=dict)


def default_metrics() -> dict[str, Metric]:
    samples = {CODE_AT: 5, CODE_AT + 16: 40, CODE_AT + 32: 2}
    return {
        "gpu__time_duration.sum": Metric(1500.0),
        "smsp__pcsamp_sample_count": Metric(47, samples),
        "smsp__pcsamp_warps_issue_stalled_long_scoreboard": Metric(40, {CODE_AT + 16: 40}),
        "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued": Metric(30, {CODE_AT + 16: 30}),
        "smsp__pcsamp_dropped_bytes": Metric(0),
        "inst_executed": Metric(96, dict.fromkeys(samples, 32)),
        "device__attribute_display_name": Metric("Test GPU"),
        "dram__bytes.sum": Metric(float("nan")),
        "breakdown:sm__throughput": Metric("a,b"),
    }


@dataclass
class Report:
    """What a written report holds; a test changes what it is about.

    ``others``: kind of result that is no launch -> how many. ``scopes``: collection scope of each launch.
    ``extras``: further fields of every launch.
    """

    version: int = 7
    launches: list[dict[str, Metric]] = field(default_factory=lambda: [default_metrics()])
    code: bytes = field(default_factory=cubin)
    functions: Mapping[str, int] = field(default_factory=lambda: {KERNEL: CODE_AT})
    others: Mapping[str, int] = field(default_factory=dict)
    scopes: tuple[int, ...] = ()
    extras: bytes = b""
    devices: int = 1
    clocks_locked: bool = True

    def write(self) -> bytes:
        strings: list[str] = []
        results = [self._result(metrics, strings) + self.extras for metrics in self.launches]
        results = [r + number(29, s) for r, s in zip(results, self.scopes, strict=True)] if self.scopes else results
        table = b"".join(block(1, text) for text in strings)
        out = b"NVR\0" + _sized(number(1, self.version))
        out += _block(b"", session=self._session())
        out += _block(_sized(self._source()), sources=1)
        for index, result in enumerate(results):
            out += _block(_sized(result), results=1, strings=table if index == 0 else b"")
        if self.others:
            payload = b"".join(_sized(number(1, 1)) for _ in range(sum(self.others.values())))
            out += _block(payload, others=self.others)
        return out

    def _session(self) -> bytes:
        attributes = {
            "device__attribute_compute_capability_major": 9,
            "device__attribute_compute_capability_minor": 0,
        }
        device = b"".join(block(3, block(1, name) + block(2, value_of(value))) for name, value in attributes.items())
        session = b"".join(block(6, number(1, n) + block(2, f"Test GPU {n}") + device) for n in range(self.devices))
        session += block(3, block(5, "secret-host") + block(7, block(1, "10.1.2.3")))
        session += block(8, block(1, "Nsight Compute Target") + block(2, "2025.3.1.0 (build 1)"))
        session += block(9, block(1, "/opt/app") + block(3, "--fast") + block(4, "TOKEN=secret-key"))
        return session + block(11, "ncu ./app 7")

    def _source(self) -> bytes:
        functions = b"".join(block(1, block(1, n) + number(2, at) + number(3, 1)) for n, at in self.functions.items())
        embedded = block(1, block(1, f"{FOLDER}/./{SOURCE}") + block(2, "// scale\n"))
        source = number(1, 77) + number(5, 9) + number(6, 0x90000) + block(8, embedded)
        if self.code:
            source += block(4, self.code)
        return source + (block(9, functions) if self.functions else b"")

    def _result(self, metrics: Mapping[str, Metric], strings: list[str]) -> bytes:
        result = number(1, 4242) + block(5, KERNEL) + block(6, "scale") + block(7, "scale(float *, int)")
        result += block(10, number(1, 8) + number(2, 2) + number(3, 1)) + block(11, number(1, 128) + number(2, 1))
        for name, metric in metrics.items():
            if name not in strings:
                strings.append(name)
            result += block(13, _metric(strings.index(name), metric))
        return result + block(15, number(1, 77)) + block(25, number(1, 1) + number(2, int(self.clocks_locked)))


def _metric(name: int, metric: Metric) -> bytes:
    out = number(1, name)
    if metric.value is not None:
        out += block(2, value_of(metric.value))
    for key, value in metric.instances.items():
        out += block(3, block(1, value_of(key)) + block(2, value_of(value)))
    return out


def _sized(message: bytes) -> bytes:
    return struct.pack("<I", len(message)) + message


def _block(
    payload: bytes,
    *,
    sources: int = 0,
    results: int = 0,
    others: Mapping[str, int] | None = None,
    session: bytes = b"",
    strings: bytes = b"",
) -> bytes:
    header = number(1, sources) + number(2, results)
    if session:
        header += block(3, session)
    header += (
        block(4, strings) + number(5, len(payload)) + block(6, block(2, "secret-host") + block(3, "secret-process"))
    )
    for kind, count in (others or {}).items():
        header += number({"range": 7, "command list": 8, "graph": 9}[kind], count)
    return _sized(header) + payload
