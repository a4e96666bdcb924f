"""Gate 8: both sides run in pairs, on this machine alone, until the verdict stands or the budget is spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic

from evaluation import locks, timing, workspace
from evaluation.steps import SIDES, Bench, Cancelled, Found, Outcome, gpu
from evaluation.types import Pair, Side
from optimas_web.errors import UserError

PROGRAM = "program"
Times = Mapping[str, float]
"""Scope -> ns of one side in one pair."""


def step(bench: Bench, found: Found) -> tuple[Outcome, Found]:
    """Times the first workload. Never fails: the verdict is the result."""
    seed, workload = bench.case.seed, bench.case.manifest.workloads[0]
    if found.same_code:
        same = timing.unmeasured(PROGRAM, "same_machine_code", "every function has the same machine code", seed)
        reason = "Same machine code on both sides: there is nothing to time."
        return Outcome("not_applicable", reason), replace(found, timings={PROGRAM: same})
    ceiling = timing.physics(workload.bytes, workload.flops, bench.case.ceilings)
    with alone(bench):
        start = monotonic()
        pairs = timing.measure(
            lambda index, first: run_pair(bench, found, index, first),
            carrier(bench),
            seed,
            lambda: monotonic() - start,
            ceiling=ceiling,
        )
    timings = {scope: timing.verdict_of(scope, ran, seed, ceiling=ceiling) for scope, ran in pairs.items()}
    verdict = timings[carrier(bench)]
    reason = f"{verdict.scope} {verdict.verdict.replace('_', ' ')}: {verdict.reason}."
    return Outcome("passed", reason, _log(pairs)), replace(found, pairs=pairs, timings=timings)


@contextmanager
def alone(bench: Bench) -> Iterator[None]:
    """Nobody else times anything on this GPU, or on this machine's processor, meanwhile."""
    name = gpu.uuid() if bench.on_gpu else "cpu"
    try:
        with locks.host_lock(
            name,
            cancelled=bench.cancelled,
            waiting=lambda seconds: bench.say(f"waiting for other timings to end, {seconds:.0f} s", 0.0),
        ):
            yield
    except locks.LockCancelled:
        raise Cancelled from None


def carrier(bench: Bench) -> str:
    """The scope that decides: the selected kernels where a GPU times them, else the program."""
    return gpu.SELECTED if bench.on_gpu else PROGRAM


def run_pair(bench: Bench, found: Found, index: int, first: Side) -> Mapping[str, Pair]:
    """Both sides once, ``first`` first; one pair a scope, tainted where a side has no time for it."""
    bench.say(f"timing, pair {index + 1}", index / timing.LOOKS[-1])
    second: Side = "candidate" if first == "original" else "original"
    ran = {side: run_side(bench, found, side) for side in (first, second)}
    scopes = {PROGRAM, carrier(bench)}.union(*(times for times, _ in ran.values()))
    return {scope: _pair(scope, index, first, ran) for scope in sorted(scopes)}


def run_side(bench: Bench, found: Found, side: Side) -> tuple[Times, str]:
    """Times of one side by scope, and why some are missing.

    Every run has a fresh copy of the built folder: a program must not find what it kept from the last one.
    """
    workload = bench.case.manifest.workloads[0]
    with workspace.copied(bench.folders[side]) as folder:
        ran = bench.run(side, found.built[side], workload, folder)
    if not ran.ok:
        return {}, ran.reason or f"it ended with status {ran.status}"
    times = {PROGRAM: float(ran.wall_ns)}
    return with_kernels(bench, found, side, times) if bench.on_gpu else (times, "")


def with_kernels(bench: Bench, found: Found, side: Side, times: Times) -> tuple[Times, str]:
    """The same with the kernels' own times, from one more run."""
    workload = bench.case.manifest.workloads[0]
    renamed = found.renamed if side == "candidate" else {}
    try:
        with workspace.copied(bench.folders[side]) as folder:
            ran, launches = gpu.timed(folder, workload.command, workload.timeout_s, cancelled=bench.cancelled)
        if not ran.ok:
            return times, ran.reason or f"under Nsight Compute it ended with status {ran.status}"
        return {**times, **gpu.scopes(launches, bench.case.kernels, renamed)}, ""
    except UserError as error:
        return times, error.message


def _pair(scope: str, index: int, first: Side, ran: Mapping[Side, tuple[Times, str]]) -> Pair:
    untimed = [side for side in SIDES if scope not in ran[side][0]]
    tainted = "; ".join(f"the {side}: {ran[side][1] or 'it did not launch this kernel'}" for side in untimed)
    one, two = (ran[side][0].get(scope, 0.0) for side in SIDES)
    return Pair(index, first, one, two, tainted)


def _log(pairs: Mapping[str, tuple[Pair, ...]]) -> str:
    """One line a pair, milliseconds."""
    return "\n".join(_line(scope, pair) for scope, ran in pairs.items() for pair in ran)


def _line(scope: str, pair: Pair) -> str:
    left_out = f", left out: {pair.tainted}" if pair.tainted else ""
    return (
        f"{scope} pair {pair.index + 1}: original {pair.original_ns / 1e6:.3f} ms, "
        f"candidate {pair.candidate_ns / 1e6:.3f} ms, {pair.first} first{left_out}"
    )
