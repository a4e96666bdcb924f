"""One profiled launch, decoded in two depths: ``read_head`` for lists and totals, ``read_metrics`` for everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from itertools import islice

from analysis.formats.ncu_rep.instances import Instances, at_addresses, opening, pairs
from analysis.formats.ncu_rep.rules import MOST_FINDINGS, read_nvtx, read_rule, read_section
from analysis.formats.ncu_rep.wire import Damaged, fields, integer, metric_value, part, text
from analysis.types import Dim3, Finding, Value

DURATION = "gpu__time_duration.sum"
DROPPED = "smsp__pcsamp_dropped_bytes"
FUNCTION_ADDRESSES = "launch__function_pcs"
OPCODES = "sass__inst_executed_per_opcode"
STALL_PREFIX = "smsp__pcsamp_warps_issue_stalled_"
SAMPLES = "smsp__pcsamp_sample_count"
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
_NOT_METRICS = ("breakdown:", "group:")


@dataclass(slots=True)
class Head:
    """What lists and totals need of a launch. ``clocks_locked`` is None in reports that do not say.

    ``scope``: what was profiled as one; absent and 1 are a single launch.
    """

    mangled: str = ""
    function: str = ""
    demangled: str = ""
    grid: Dim3 | None = None
    block: Dim3 | None = None
    source: int | None = None
    clocks_locked: bool | None = None
    duration_ns: float | None = None
    dropped_bytes: float = 0
    scope: int = 0


@dataclass(slots=True)
class Result:
    """``values`` in base units. ``by_address``: what was counted at instructions, by metric name."""

    values: dict[str, Value] = field(default_factory=dict)
    by_address: dict[str, Instances] = field(default_factory=dict)
    function_addresses: list[int] = field(default_factory=list)
    opcodes: dict[str, float] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    nvtx: list[str] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)
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
        elif number == 29:
            head.scope = integer(raw)
    return head


_HEAD_TEXTS = {5: "mangled", 6: "function", 7: "demangled"}


def _note_metric(head: Head, metric: memoryview, wanted: Mapping[int, str]) -> None:
    """Only two metrics are worth decoding for a list."""
    number, raw, _ = opening(metric)
    if number not in wanted or raw is None:
        return
    value = metric_value(raw)
    if isinstance(value, int | float) and wanted[number] == DURATION:
        head.duration_ns = float(value)
    elif isinstance(value, int | float):
        head.dropped_bytes = float(value)


def _dim3(message: memoryview) -> Dim3:
    found = {number: integer(raw) for number, raw in fields(message) if number in (1, 2, 3)}
    return found.get(1, 0), found.get(2, 0), found.get(3, 0)


def read_result(message: memoryview, strings: Sequence[str]) -> Result:
    """Everything of a launch. A damaged metric or rule is named in ``damaged`` and does not lose the others.

    Raises Damaged when the launch itself cannot be walked.
    """
    result = Result()
    counted: dict[str, memoryview] = {}
    for number, raw in fields(message):
        if number == 13:
            _add_metric(result, part(raw), strings, counted)
        elif number in _OTHER_PARTS:
            what, add = _OTHER_PARTS[number]
            try:
                add(result, part(raw))
            except Damaged as damage:
                result.damaged.append(f"{what}: {damage}")
    result.by_address = at_addresses(counted, result.damaged)
    return result


def _add_findings(result: Result, message: memoryview) -> None:
    result.findings += islice(read_rule(message), MOST_FINDINGS - len(result.findings))


_OTHER_PARTS: Mapping[int, tuple[str, Callable[[Result, memoryview], None]]] = {
    17: ("a section", lambda result, message: result.sections.append(read_section(message))),
    19: ("a rule's result", _add_findings),
    21: ("the NVTX ranges", lambda result, message: result.nvtx.extend(read_nvtx(message))),
}


def _add_metric(result: Result, metric: memoryview, strings: Sequence[str], counted: dict[str, memoryview]) -> None:
    name = ""
    try:
        number, raw, _ = opening(metric)
        name = _string(strings, number)
        role = _role(name)
        if role is _Role.NONE:
            return
        value = None if raw is None else metric_value(raw)
        if role is _Role.COUNTED:
            counted[name] = metric
        elif name == FUNCTION_ADDRESSES:
            result.function_addresses = _function_addresses(metric)
        elif name == OPCODES:
            result.opcodes = _opcodes(metric)
        result.values[name] = value
    except Damaged as damage:
        result.damaged.append(f"metric {name or 'without a name'}: {damage}")


def _string(strings: Sequence[str], number: int) -> str:
    if number >= len(strings):
        raise Damaged(f"its name is number {number} of {len(strings)} names")
    return strings[number]


class _Role(Enum):
    NONE = "a list of other metrics"
    VALUE = "a value"
    COUNTED = "counted at addresses"


@lru_cache(maxsize=20_000)
def _role(name: str) -> _Role:
    if name.startswith(_NOT_METRICS):
        return _Role.NONE
    counted = name in _COUNTED_AT_ADDRESSES or name.startswith(_COUNTED_PREFIXES)
    return _Role.COUNTED if counted else _Role.VALUE


def _function_addresses(metric: memoryview) -> list[int]:
    """Load addresses of the functions that the launch may call; their order says nothing."""
    return [value for _, value in pairs(metric) if isinstance(value, int)]


def _opcodes(metric: memoryview) -> dict[str, float]:
    return {key: value for key, value in pairs(metric) if isinstance(key, str) and isinstance(value, int | float)}
