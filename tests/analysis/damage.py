"""Reports with every part, damaged at random, and reports made to hurt their reader."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from backports import zstd

from analysis.formats import read
from analysis.pipeline import analyse
from optimas_web.errors import UserError
from tests.analysis.ncu_writer import CODE_AT, Metric, Report, block, cubin, default_metrics, number, varint

MANY = 40_000


def everything() -> bytes:
    """Two launches with metrics, samples, rules, marks, ranges, sections, opcodes; code with lines; a source."""
    said = block(1, block(1, "See @section:A:B@.") + number(2, 4)) + block(10, number(1, 2) + _double(2, 50.0))
    marker = block(5, number(1, 1) + number(2, 10) + block(6, "/opt/ada/code/scale.cu"))
    rule = block(1, "UncoalescedGlobalAccess") + block(3, block(1, said)) + block(4, "SourceCounters") + marker
    stack = block(2, number(1, 0) + block(3, block(1, "step")))
    ranges = block(1, number(1, 0) + block(2, "solver")) + block(2, number(1, 42) + stack)
    extras = block(17, block(1, "SpeedOfLight")) + block(19, rule) + block(21, ranges)
    metrics = default_metrics() | {
        "sass__inst_executed_per_opcode": Metric(5, {"LDG": 3}),
        "launch__function_pcs": Metric(1, {0: CODE_AT}),
        "derived__memory_l2_theoretical_sectors_global_excessive": Metric(10, {CODE_AT: 10.5}),
    }
    return Report(launches=[metrics, default_metrics()], extras=extras, others={"range": 1}).write()


def _double(field_number: int, value: float) -> bytes:
    return varint(field_number << 3 | 1) + struct.pack("<d", value)


def mutate(content: bytes, dice: random.Random) -> bytes:
    """One to four wounds: a cut, flipped bits, overwritten, zeroed, inserted or removed bytes, huge lengths."""
    data = bytearray(content)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data)) if data else 0
        size = dice.choice((1, 2, 4, 8, 64))
        wound = dice.randrange(8)
        if wound == 0:
            del data[at:]
        elif wound == 1 and data:
            data[at] ^= 1 << dice.randrange(8)
        elif wound == 2:
            data[at : at + size] = dice.randbytes(size)
        elif wound == 3:
            data[at : at + size] = bytes(size)
        elif wound == 4:
            data[at:at] = dice.randbytes(size)
        elif wound == 5:
            del data[at : at + size]
        elif wound == 6:
            data[at : at + size] = b"\xff" * size
        else:
            data[at : at + 4] = struct.pack("<I", dice.choice((0, 2**31, 2**32 - 1, len(data) * 2)))
    return bytes(data)


def read_everything(path: Path) -> int:
    """Read a file, analyse it and load all its launches; returns how many. Only UserError may come out."""
    try:
        profile = read(path)
    except UserError:
        return 0
    with suppress(UserError):
        analyse(profile, {"scale.cu": "// scale\n" * 20})
    for launch in profile.launches:
        with suppress(UserError):
            launch.load()
    return len(profile.launches)


# --- made to hurt ---------------------------------------------------------------------------------


def _nested(field_number: int) -> bytes:
    deep = b""
    for _ in range(5000):
        deep = block(field_number, deep)
    return Report(extras=block(19, deep) + block(21, deep)).write()


def _payload_of_tiny_messages() -> bytes:
    header = number(1, 2**40) + number(2, 2**40) + number(7, 2**40) + number(5, 5 * MANY)
    content = struct.pack("<I", len(header)) + header + struct.pack("<IB", 1, 0) * MANY
    return b"NVR\0\2\0\0\0\x08\x07" + content


def _many_addresses() -> bytes:
    samples: dict[int, float | int] = {CODE_AT + 16 * at: 1 for at in range(MANY)}
    return Report(launches=[default_metrics() | {"smsp__pcsamp_sample_count": Metric(MANY, samples)}]).write()


def _long_text() -> bytes:
    said = block(1, block(1, "@section:" * MANY) + number(2, 4))
    return Report(extras=block(19, block(1, "R" * MANY) + block(3, block(1, said) * 50))).write()


def _many_findings() -> bytes:
    return Report(extras=block(19, block(3, block(1, block(1, block(1, "x")) * 20)) * 1000) * 20).write()


def _rows_without_end() -> bytes:
    """A line program that only appends rows."""
    code = cubin()
    at = code.index(b"\2\x10\3\1\1")
    return Report(code=code[:at] + b"\1" * MANY + code[at:]).write()


HOSTILE: dict[str, Callable[[], bytes]] = {
    "nested rules": lambda: _nested(3),
    "nested items": lambda: _nested(1),
    "tiny messages": _payload_of_tiny_messages,
    "many addresses": _many_addresses,
    "long text": _long_text,
    "many findings": _many_findings,
    "rows without end": _rows_without_end,
    "small blocks, compressed": lambda: zstd.compress(b"NVR\0\2\0\0\0\x08\x07" + b"\2\0\0\0\x08\0" * 2**18),
    "no zstd after its mark": lambda: b"\x28\xb5\x2f\xfd" + b"\xff" * 1000,
    "a window of 2 GiB": lambda: b"\x28\xb5\x2f\xfd\x00\xa8" + bytes(1000),
}
