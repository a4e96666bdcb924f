"""The protobuf wire format, read leniently and without trust.

Messages stay memory views into the bytes that were read: unknown fields are stepped over and never become objects,
lengths are compared with what is left before every step, and nothing here recurses. A message is walked with
``fields``; how deep a reader goes is fixed by its code, not by the file.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

from analysis.types import Value

Raw = int | memoryview
"""A field's value: an integer (varint), or its bytes (text, message, fixed width)."""


class Damaged(Exception):
    """The bytes do not fit the format. The readers turn it into a warning or a ``UserError``."""


def varint(data: memoryview, position: int) -> tuple[int, int]:
    """The unsigned integer at ``position`` and the position after it."""
    if position < len(data) and data[position] < 0x80:
        return data[position], position + 1
    result = 0
    for index, byte in enumerate(data[position : position + 10]):
        result |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if result >> 64:
                break
            return result, position + index + 1
    raise Damaged("a number is cut off or longer than 64 bits")


def fields(message: memoryview) -> Iterator[tuple[int, Raw]]:
    """Number and value of each field, in the order of the file.

    Raises Damaged when a field does not fit into the message.
    """
    position, end = 0, len(message)
    while position < end:
        tag = message[position]
        if tag < 0x80:
            position += 1
        else:
            tag, position = varint(message, position)
        kind = tag & 7
        if kind == 0:
            value, position = varint(message, position)
            yield tag >> 3, value
            continue
        if kind == 2:
            length, position = varint(message, position)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise Damaged(f"wire type {kind} is not used in reports")
        if length > end - position:
            raise Damaged(f"a field of {length} bytes in a message with {end - position} bytes left")
        yield tag >> 3, message[position : position + length]
        position += length


def submessages(message: memoryview, number: int) -> Iterator[memoryview]:
    """Every value of one repeated message field."""
    return (part(raw) for found, raw in fields(message) if found == number)


def integer(raw: Raw) -> int:
    if not isinstance(raw, int):
        raise Damaged("bytes where a number belongs")
    return raw


def part(raw: Raw) -> memoryview:
    if isinstance(raw, int):
        raise Damaged("a number where text or a message belongs")
    return raw


def text(raw: Raw) -> str:
    return str(part(raw), "utf-8", "replace")


def metric_value(message: memoryview) -> Value:
    """The value of a MetricValue message: text, float, double, or an unsigned integer; None when there is none.

    What is not a finite number is "not available" as well.
    """
    if len(message) == 9 and message[0] == _DOUBLE_TAG:  # most values are a double: spares walking the message
        return _finite(_DOUBLE.unpack_from(message, 1)[0])
    value: Value = None
    for number, raw in fields(message):
        if number == 1:
            value = text(raw)
        elif number in (2, 3):
            value = _floating(part(raw), _FLOAT if number == 2 else _DOUBLE)
        elif number in (4, 5):
            value = integer(raw)
    return value


_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_DOUBLE_TAG = 3 << 3 | 1


def double(raw: Raw) -> float | None:
    """A field of fixed width that is a double; None when it is no finite number."""
    return _floating(part(raw), _DOUBLE)


def _floating(raw: memoryview, layout: struct.Struct) -> float | None:
    if len(raw) != layout.size:
        raise Damaged("a floating point number of the wrong size")
    return _finite(layout.unpack(raw)[0])


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
