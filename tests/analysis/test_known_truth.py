"""What is said of programs whose truth is known (benchmarks/gpu), from reports taken of them.

Taken on 2026-12-01 on an NVIDIA H200 (CUDA 13.0, ncu 2025.3.1) by benchmarks/gpu/take.sh, and compressed with zstd.
"""

from __future__ import annotations

import functools

import pytest

from analysis import formats, pipeline, roofline
from analysis.types import Analysis, KernelAnalysis
from tests.repository import ROOT

REPORTS = ROOT / "tests" / "data" / "profiles" / "ncu_rep"
THREAD_OPERATIONS = 512 * 128 * 1000 * 8


@functools.cache
def analysed(name: str) -> Analysis:
    return pipeline.analyse(formats.read(REPORTS / f"{name}.ncu-repz"), {}, threshold=1.0)


def kernel(report: str, name: str) -> KernelAnalysis:
    return next(each for each in analysed(report).kernels if each.kernel.short_name == name)


@pytest.mark.parametrize(
    ("name", "bound", "busiest", "line", "stall", "rule"),
    [
        ("uncoalesced", "latency", "the L2 cache", 26, "long_scoreboard", "UncoalescedGlobalAccess"),
        ("bank_conflicts", "latency", "the L1 cache", 37, "mio_throttle", "SharedMemoryConflicts"),
        ("low_occupancy", "latency", None, 47, "long_scoreboard", "TheoreticalOccupancy"),
        ("divergence", "latency", "the SM", 59, "wait", "ThreadDivergence"),
        ("contended_atomics", "no_flops", None, 69, "drain", "CPIStall"),
        ("latency_chain", "no_flops", None, 74, "long_scoreboard", "CPIStall"),
        ("compute_bound", "at_roof", None, 81, "math_pipe_throttle", None),
        ("dram_roof", "memory", None, 94, "long_scoreboard", None),
    ],
)
def test_a_planted_cause_is_found(
    name: str, bound: str, busiest: str | None, line: int, stall: str, rule: str | None
) -> None:
    found = kernel("planted", name)
    assert found.stalls is not None
    top = found.stalls.lines[0]
    assert (found.roofline.bound, top.line, next(iter(top.reasons))) == (bound, line, stall)
    assert busiest is None or f"Busiest is {busiest}" in found.roofline.reason
    findings = [item.statement for item in found.evidence if item.kind == "findings"]
    assert rule is None or any(f"rule {rule} says" in statement for statement in findings)


@pytest.mark.parametrize(
    ("name", "precision", "operations"),
    [
        ("fma_float", "fp32", 2 * THREAD_OPERATIONS),
        ("add_float", "fp32", THREAD_OPERATIONS),
        ("fma_double", "fp64", 2 * THREAD_OPERATIONS),
    ],
)
def test_operations_are_counted_to_a_thousandth(name: str, precision: str, operations: int) -> None:
    metrics = kernel("flops", name).measures.metrics
    rate = roofline.flop_per_s(metrics, precision)
    assert rate is not None
    assert rate * metrics["gpu__time_duration.sum"] / 1e9 == pytest.approx(operations, rel=0.001)


@pytest.mark.parametrize(
    ("name", "bound", "said"),
    [
        ("fma_half2", "not_measurable", "It uses 16-bit arithmetic, whose work is not counted here."),
        ("fma_half", "not_measurable", "It uses 16-bit arithmetic, whose work is not counted here."),
        ("wmma_half", "not_measurable", "It uses the tensor cores, whose work is not counted here."),
        ("integer_only", "no_flops", "It adds and multiplies no floating-point numbers"),
    ],
)
def test_work_that_no_counter_knows_is_named_and_none_is_made_up(name: str, bound: str, said: str) -> None:
    """Moving a constant goes through the pipe of the tensor cores: integer_only does so, and uses none."""
    found = kernel("flops", name).roofline
    assert (found.bound, said in found.reason) == (bound, True), found.reason
