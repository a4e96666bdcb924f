"""Values that a metric has at addresses, decoded many at a time.

Most bytes of a sampled launch are these: ``{1: address, 2: value}``, once for every instruction and metric. All of a
launch are laid end to end and decoded together by numpy; what is written in any other way than the usual one is
walked field by field.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analysis.formats.ncu_rep.wire import Damaged, fields, metric_value, part, submessages, varint
from analysis.types import Value

MOST_INSTANCES = 4_000_000
TOGETHER = 250_000
"""Instances decoded at once: bounds the memory that the columns need."""
_NAME, _VALUE, _TAG, _CATEGORY = 1 << 3, 2 << 3 | 2, 3 << 3 | 2, 4 << 3
_PADDING = bytes(300)  # a length is one byte: no index computed from three of them leads beyond
_INTEGERS, _FLOAT, _DOUBLE = (4 << 3, 5 << 3), 2 << 3 | 5, 3 << 3 | 1

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]
_Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Instances:
    """A metric's values by address, as columns."""

    addresses: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


def pairs(metric: memoryview) -> Iterator[tuple[Value, Value]]:
    """Id and value of each instance of a metric, whatever they are."""
    for instance in submessages(metric, 3):
        key = value = None
        for number, raw in fields(instance):
            if number == 1:
                key = metric_value(part(raw))
            elif number == 2:
                value = metric_value(part(raw))
        yield key, value


def at_addresses(metrics: Mapping[str, memoryview], damaged: list[str]) -> dict[str, Instances]:
    """Metric name -> its values at addresses. What is damaged is left out and named in ``damaged``."""
    found: dict[str, Instances] = {}
    batch: dict[str, array[int]] = {}
    data = bytearray()
    for name, metric in metrics.items():
        starts = _starts(metric, len(data))
        if starts is None:
            _add_slowly(found, name, metric, damaged)
            continue
        batch[name] = starts
        data += metric
        if sum(map(len, batch.values())) > TOGETHER:
            _add_batch(found, batch, data, metrics, damaged)
            batch, data = {}, bytearray()
    _add_batch(found, batch, data, metrics, damaged)
    return {name: found[name] for name in metrics if name in found}


def opening(metric: memoryview) -> tuple[int, memoryview | None, int]:
    """The number of a metric's name, its value message, and where its instances begin.

    Fields stand in ascending order, as all writers of protobuf put them. Raises Damaged.
    """
    number, position = varint(metric, 1) if metric and metric[0] == _NAME else (0, 0)
    if position >= len(metric) or metric[position] != _VALUE:
        return number, None, position
    length, start = varint(metric, position + 1)
    if length > len(metric) - start:
        raise Damaged(f"a value of {length} bytes in a metric with {len(metric) - start} bytes left")
    return number, metric[start : start + length], start + length


def _starts(metric: memoryview, offset: int) -> array[int] | None:
    """Where each instance begins, plus ``offset``; None when there is something else among them."""
    data, starts = bytes(metric), array("q")
    _, _, position = opening(metric)
    end = len(data)
    while position + 1 < end and data[position] == _TAG and len(starts) < MOST_INSTANCES:
        starts.append(offset + position)
        position += 2 + data[position + 1]
    rest = data[position:] if position <= end else None
    return starts if rest == b"" or (rest and rest[0] == _CATEGORY and len(rest) == 2) else None


def _add_slowly(found: dict[str, Instances], name: str, metric: memoryview, damaged: list[str]) -> None:
    instances = Instances()
    try:
        for key, value in pairs(metric):
            if isinstance(key, int) and isinstance(value, int | float):
                instances.addresses.append(key)
                instances.values.append(value)
            if len(instances.values) > MOST_INSTANCES:
                raise Damaged(f"more than {MOST_INSTANCES} values")
    except Damaged as damage:
        damaged.append(f"metric {name}: {damage}")
        return
    found[name] = instances


def _add_batch(
    found: dict[str, Instances],
    batch: Mapping[str, array[int]],
    data: bytearray,
    metrics: Mapping[str, memoryview],
    damaged: list[str],
) -> None:
    if not batch:
        return
    columns = _decode(np.frombuffer(data + _PADDING, np.uint8), np.concatenate([*map(np.asarray, batch.values())]))
    first = 0
    for name, starts in batch.items():
        mine = slice(first, first + len(starts))
        first += len(starts)
        if columns.usual[mine].all():
            found[name] = columns.instances(mine)
        else:
            _add_slowly(found, name, metrics[name], damaged)


@dataclass(frozen=True, slots=True)
class _Columns:
    """``usual``: written as expected; ``floating``: the value is in ``numbers``, else in ``integers``."""

    usual: _Mask
    floating: _Mask
    addresses: NDArray[np.uint64]
    integers: NDArray[np.uint64]
    numbers: NDArray[np.float64]

    def instances(self, mine: slice) -> Instances:
        """Whole numbers stay whole; what is not finite is not available."""
        floating = self.floating[mine]
        if not floating.any():
            return Instances(self.addresses[mine].tolist(), self.integers[mine].tolist())
        numbers = np.where(floating, self.numbers[mine], self.integers[mine])
        finite = np.isfinite(numbers)
        return Instances(self.addresses[mine][finite].tolist(), numbers[finite].tolist())


def _decode(data: _Bytes, starts: _Positions) -> _Columns:
    """Instances at ``starts``: tag, length, address message (tag, length, varint), value message (varint or float)."""
    key_length = data[starts + 3].astype(np.int64)
    value_at = starts + 4 + key_length
    value_length = data[value_at + 1].astype(np.int64)
    value_tag = data[value_at + 2]
    usual = (
        (data[starts + 2] == 1 << 3 | 2)
        & np.isin(data[starts + 4], _INTEGERS)
        & (data[value_at] == 2 << 3 | 2)
        & (data[starts + 1] == key_length + value_length + 4)
        & (data[starts + 1] < 0x80)
    )
    addresses, whole = _varints(data, starts + 5, key_length - 1)
    usual &= whole
    integers, whole = _varints(data, value_at + 3, value_length - 1)
    doubles = (value_tag == _DOUBLE) & (value_length == 9)
    floats = (value_tag == _FLOAT) & (value_length == 5)
    usual &= doubles | floats | (np.isin(value_tag, _INTEGERS) & whole)
    numbers = np.where(doubles, _floats(data, value_at + 3, "<f8"), _floats(data, value_at + 3, "<f4"))
    return _Columns(usual, doubles | floats, addresses, integers, numbers)


def _varints(data: _Bytes, starts: _Positions, lengths: _Positions) -> tuple[NDArray[np.uint64], _Mask]:
    """Numbers of the given lengths in bytes, and which of them are whole: not longer, shorter or over 64 bits."""
    numbers = np.zeros(len(starts), np.uint64)
    whole = (lengths >= 1) & (lengths <= 10)
    for index in range(min(10, int(lengths.max(initial=0)))):
        byte = data[starts + index]
        live = index < lengths
        numbers |= np.where(live, byte & 0x7F, 0).astype(np.uint64) << np.uint64(7 * index)
        whole &= ~live | ((byte >= 0x80) == (index < lengths - 1))
        if index == 9:
            whole &= ~live | (byte <= 1)
    return numbers, whole


def _floats(data: _Bytes, starts: _Positions, layout: str) -> NDArray[np.float64]:
    size = np.dtype(layout).itemsize
    with np.errstate(invalid="ignore"):  # what is no number stays none
        numbers: NDArray[np.float64] = data[starts[:, None] + np.arange(size)].view(layout)[:, 0].astype(np.float64)
    return numbers
