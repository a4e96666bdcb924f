"""One profiled launch, decoded in two depths: ``read_head`` for lists and totals, ``read_metrics`` for everything."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.formats.ncu_rep.wire import (
    Damaged,
    Raw,
    fields,
    integer,
    metric_value,
    part,
    submessages,
    text,
    varint,
)
from analysis.types import Dim3, Value

DURATION = "gpu__time_duration.sum"
DROPPED = "smsp__pcsamp_dropped_bytes"
FUNCTION_ADDRESSES = "launch__function_pcs"
STALL_PREFIX = "smsp__pcsamp_warps_issue_stalled_"
SAMPLES = "smsp__pcsamp_sample_count"
MOST_INSTANCES = 4_000_000
_COUNTED_AT_ADDRESSES = frozenset(
    {
        SAMPLES,
        "inst_executed",
        "thread_inst_executed",
        "thread_inst_executed_true",
        "smsp__branch_targets_threads_divergent",
        "derived__avg_thread_executed",
        "derived__avg_thread_executed_true",
        "derived__avg_thread_unexecuted_true",
        "derived__derivative_avg_thread_executed_true",
    }
)
_COUNTED_PREFIXES = (STALL_PREFIX, "memory_", "derived__memory_", "smsp__sass_inst_executed_memdesc_")
_NAME_TAG = 1 << 3
_NOT_METRICS = ("breakdown:", "group:")


@dataclass(slots=True)
class Head:
    """What lists and totals need of a launch. ``clocks_locked`` is None in reports that do not say."""

    mangled: str = ""
    function: str = ""
    demangled: str = ""
    grid: Dim3 | None = None
    block: Dim3 | None = None
    source: int | None = None
    clocks_locked: bool | None = None
    duration_ns: float | None = None
    dropped_bytes: float = 0


@dataclass(slots=True)
class Instances:
    """A metric's values by address, as columns."""

    addresses: array[int] = field(default_factory=lambda: array("Q"))
    values: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Metrics:
    """``values`` in base units. ``by_address``: what was counted at instructions, by metric name."""

    values: dict[str, Value] = field(default_factory=dict)
    by_address: dict[str, Instances] = field(default_factory=dict)
    function_addresses: list[int] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


def read_head(message: memoryview, wanted: Mapping[int, str]) -> Head:
    """``wanted``: numbers of the strings DURATION and DROPPED -> these names. Raises Damaged."""
    head = Head()
    for number, raw in fields(message):
        if number == 13:
            _note_metric(head, part(raw), wanted)
        elif number in _HEAD_TEXTS:
            setattr(head, _HEAD_TEXTS[number], text(raw))
        elif number == 10:
            head.grid = _dim3(part(raw))
        elif number == 11:
            head.block = _dim3(part(raw))
        elif number == 15:
            head.source = next((integer(value) for found, value in fields(part(raw)) if found == 1), None)
        elif number == 25:
            head.clocks_locked = any(found == 2 and integer(value) == 1 for found, value in fields(part(raw)))
    return head


_HEAD_TEXTS = {5: "mangled", 6: "function", 7: "demangled"}


def _note_metric(head: Head, message: memoryview, wanted: Mapping[int, str]) -> None:
    """Only two metrics are worth decoding. The name comes first in every report seen, which saves most of the work."""
    if message and message[0] == _NAME_TAG and varint(message, 1)[0] not in wanted:
        return
    name = None
    for number, raw in fields(message):
        if number == 1:
            name = wanted.get(integer(raw))
            if name is None:
                return
        elif number == 2:
            value = metric_value(part(raw))
            if isinstance(value, int | float) and name == DURATION:
                head.duration_ns = float(value)
            elif isinstance(value, int | float) and name == DROPPED:
                head.dropped_bytes = float(value)


def _dim3(message: memoryview) -> Dim3:
    found = {number: integer(raw) for number, raw in fields(message) if number in (1, 2, 3)}
    return found.get(1, 0), found.get(2, 0), found.get(3, 0)


def read_metrics(message: memoryview, strings: Sequence[str]) -> Metrics:
    """All metrics of a launch. One damaged metric is named in ``damaged`` and does not lose the others.

    Raises Damaged when the launch itself cannot be walked.
    """
    metrics = Metrics()
    for number, raw in fields(message):
        if number == 13:
            _add_metric(metrics, part(raw), strings)
    return metrics


def _add_metric(metrics: Metrics, message: memoryview, strings: Sequence[str]) -> None:
    name = ""
    try:
        found: dict[int, Raw] = {number: raw for number, raw in fields(message) if number in (1, 2)}
        name = _string(strings, integer(found.get(1, 0)))
        if name.startswith(_NOT_METRICS):
            return
        value = metric_value(part(found[2])) if 2 in found else None
        if name == FUNCTION_ADDRESSES:
            metrics.function_addresses = _function_addresses(message)
        elif _at_addresses(name):
            metrics.by_address[name] = _instances(message)
        metrics.values[name] = value
    except Damaged as damage:
        metrics.damaged.append(f"metric {name or 'without a name'}: {damage}")


def _string(strings: Sequence[str], number: int) -> str:
    if number >= len(strings):
        raise Damaged(f"its name is number {number} of {len(strings)} names")
    return strings[number]


def _at_addresses(name: str) -> bool:
    return name in _COUNTED_AT_ADDRESSES or name.startswith(_COUNTED_PREFIXES)


def _pairs(message: memoryview) -> Iterator[tuple[Value, Value]]:
    """Id and value of each instance of a metric."""
    for instance in submessages(message, 3):
        key = value = None
        for number, raw in fields(instance):
            if number == 1:
                key = metric_value(part(raw))
            elif number == 2:
                value = metric_value(part(raw))
        yield key, value


def _instances(message: memoryview) -> Instances:
    instances = Instances()
    for key, value in _pairs(message):
        if isinstance(key, int) and isinstance(value, int | float):
            instances.addresses.append(key)
            instances.values.append(value)
        if len(instances.values) > MOST_INSTANCES:
            raise Damaged(f"more than {MOST_INSTANCES} values")
    return instances


def _function_addresses(message: memoryview) -> list[int]:
    """Load addresses of the functions that the launch may call; their order says nothing."""
    return [value for _, value in _pairs(message) if isinstance(value, int)]
