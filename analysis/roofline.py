"""The DRAM roofline of a kernel: how fast it works and moves bytes, against the ceilings at the profiled clock.

Formulas: NVIDIA's own section definitions (SpeedOfLight_HierarchicalRooflineChart), per precision p of fp32 (``f``)
and fp64 (``d``), with S = ``smsp__sass_thread_inst_executed_op_`` and M = ``sm__sass_thread_inst_executed_op_``:

    work/s      (S{p}add + S{p}mul + 2 S{p}fma)_pred_on.sum.per_cycle_elapsed x smsp__cycles_elapsed.avg.per_second
    work peak   2 M{p}fma_pred_on.sum.peak_sustained x sm__cycles_elapsed.avg.per_second
    bytes/s     dram__bytes.sum.per_second
    bytes peak  dram__bytes.sum.peak_sustained x dram__cycles_elapsed.avg.per_second

Where only sums were collected, they are divided by ``gpu__time_duration.sum`` (ns). A metric that is missing makes
what hangs on it None; nothing here is ever infinite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from analysis.measures import TENSOR_INSTRUCTIONS
from analysis.types import Bound, CostUnit, Measures, Roofline, RooflinePoint

AT_ROOF = 0.9
"""From this share of a ceiling on there is nothing left worth asking for."""
NEAR_ROOF = 0.6
"""Below this share of both ceilings neither is what limits (NVIDIA's speed-of-light rule draws the same line)."""
SHORT_NS = 10_000.0
"""A launch that takes less is mostly start and end."""

DRAM_BYTES = "dram__bytes.sum"
DURATION = "gpu__time_duration.sum"
GRID_SIZE = "launch__grid_size"
MULTIPROCESSORS = "device__attribute_multiprocessor_count"
PRECISIONS = {"fp32": "f", "fp64": "d"}
_WORK = {"add": 1, "mul": 1, "fma": 2}
_HALF = re.compile(r"sm__inst_executed_pipe_(fma_type_)?fp16\.(sum|avg\.pct_of_peak_sustained_(active|elapsed))$")
_TENSOR = re.compile(
    r"sm__(inst_executed_pipe_tensor|pipe_tensor|ops_path_tensor)\w*\.(sum|avg\.pct_of_peak_sustained_(active|elapsed))$"
)
_BUSY = {"l1tex__throughput": "the L1 cache", "lts__throughput": "the L2 cache", "sm__throughput": "the SM"}
_PERCENT = ".avg.pct_of_peak_sustained_elapsed"
_WANTED = re.compile(
    r"(gpu__time_duration|dram__bytes(_read|_write)?)\.sum(\.|$)"
    r"|(dram|sm|smsp)__cycles_elapsed\.avg\.per_second$"
    r"|sm(sp)?__sass_thread_inst_executed_op_[df](add|mul|fma)_pred_on\.sum(\.|$)"
    r"|(dram_|gpu__dram|sm_|l1tex_|lts_)_throughput\.avg\.pct_of_peak_sustained_elapsed$"
    r"|launch__grid_size$|device__attribute_multiprocessor_count$"
    r"|" + _TENSOR.pattern + r"|" + _HALF.pattern
)


@lru_cache(maxsize=20_000)
def wanted(metric: str) -> bool:
    """Whether the roofline looks at ``metric``."""
    return bool(_WANTED.match(metric))


def of(measures: Measures, unit: CostUnit = "ns") -> Roofline:
    """The roofline of one kernel from the medians over its launches.

    ``unit`` "cycle" is a CPU profile, which counts neither operations nor bytes. ``at_most_saved`` is the share of
    the kernel's time that reaching the binding roof would save at unchanged work and DRAM traffic; None where
    uncounted arithmetic may be what binds.
    """
    if unit == "cycle":
        return Roofline(
            "not_measurable", "Callgrind counts neither floating-point operations nor memory traffic.", None
        )
    metrics = measures.metrics
    points = _points(metrics)
    memory = memory_share(metrics)
    work = max(((_share(p.flop_per_s, p.peak_flop_per_s) or 0.0, p.precision) for p in points), default=(0.0, ""))
    if memory is None and not work[0]:
        reason = " ".join([_missing(metrics, points), *_remarks(metrics)])
        return Roofline("not_measurable", reason, None, points)
    bound = _bound(metrics, memory or 0.0, work[0])
    saved = None if bound == "not_measurable" else max(0.0, 1.0 - max(memory or 0.0, work[0]))
    return Roofline(bound, _reason(metrics, points, memory, work), saved, points)


def achieved(metrics: Mapping[str, float]) -> float | None:
    """Achieved over attainable on the binding roof, 0..1 and above only where the counters say so; None: unknown.

    Work/s over min(work peak, intensity x bytes peak) is the larger of the shares of both peaks.
    """
    shares = [memory_share(metrics), *(_share(p.flop_per_s, p.peak_flop_per_s) for p in _points(metrics))]
    return max((share for share in shares if share is not None), default=None)


def memory_share(metrics: Mapping[str, float]) -> float | None:
    """DRAM traffic over its peak; from the report's own percentage where bytes or peak are missing."""
    share = _share(bytes_per_s(metrics), peak_bytes_per_s(metrics))
    if share is not None:
        return share
    names = ("dram__throughput", "gpu__dram_throughput")
    percent = [metrics.get(f"{name}{_PERCENT}") for name in names]
    return next((value / 100.0 for value in percent if value is not None), None)


def bytes_moved(metrics: Mapping[str, float]) -> float | None:
    """DRAM bytes of one launch: the total, else reads plus writes when both are there; never both added."""
    if DRAM_BYTES in metrics:
        return metrics[DRAM_BYTES]
    return _both(metrics.get("dram__bytes_read.sum"), metrics.get("dram__bytes_write.sum"))


def bytes_per_s(metrics: Mapping[str, float]) -> float | None:
    """DRAM traffic a second."""
    if f"{DRAM_BYTES}.per_second" in metrics:
        return metrics[f"{DRAM_BYTES}.per_second"]
    parts = (metrics.get(f"dram__bytes_{way}.sum.per_second") for way in ("read", "write"))
    rate = _both(*parts)
    return rate if rate is not None else _a_second(bytes_moved(metrics), metrics)


def peak_bytes_per_s(metrics: Mapping[str, float]) -> float | None:
    """DRAM bandwidth at the profiled clock; a clock of 0 is no peak."""
    return _product(metrics.get(f"{DRAM_BYTES}.peak_sustained"), metrics.get("dram__cycles_elapsed.avg.per_second"))


def flop_per_s(metrics: Mapping[str, float], precision: str) -> float | None:
    """Scalar floating-point operations a second, a fused multiply-add as two; matrix units are not in it."""
    letter = PRECISIONS[precision]
    rate = _product(
        _operations(metrics, letter, ".per_cycle_elapsed"), metrics.get("smsp__cycles_elapsed.avg.per_second"), True
    )
    return rate if rate is not None else _a_second(_operations(metrics, letter, ""), metrics)


def peak_flop_per_s(metrics: Mapping[str, float], precision: str) -> float | None:
    """Peak of fused multiply-adds, as two operations each, at the profiled clock."""
    fma = metrics.get(f"sm__sass_thread_inst_executed_op_{PRECISIONS[precision]}fma_pred_on.sum.peak_sustained")
    return _product(2.0 * fma if fma is not None else None, metrics.get("sm__cycles_elapsed.avg.per_second"))


def _points(metrics: Mapping[str, float]) -> tuple[RooflinePoint, ...]:
    points = tuple(point for precision in PRECISIONS if (point := _point(metrics, precision)))
    moved, peak = bytes_per_s(metrics), peak_bytes_per_s(metrics)
    if not points and moved:
        return (RooflinePoint("none", "dram", None, None, None, moved, peak),)
    return points


def _point(metrics: Mapping[str, float], precision: str) -> RooflinePoint | None:
    work, moved = flop_per_s(metrics, precision), bytes_per_s(metrics)
    if not work:
        return None
    intensity = work / moved if moved else None
    return RooflinePoint(
        precision, "dram", intensity, work, peak_flop_per_s(metrics, precision), moved, peak_bytes_per_s(metrics)
    )


def _bound(metrics: Mapping[str, float], memory: float, work: float) -> Bound:
    if max(memory, work) >= AT_ROOF:
        return "at_roof"
    if max(memory, work) >= NEAR_ROOF:
        return "memory" if memory >= work else "compute"
    if work_unknown(metrics):
        return "not_measurable"
    return "latency" if any(flop_per_s(metrics, precision) for precision in PRECISIONS) else "no_flops"


def _reason(
    metrics: Mapping[str, float], points: Sequence[RooflinePoint], memory: float | None, work: tuple[float, str]
) -> str:
    binding = max(memory or 0.0, work[0])
    parts = [_memory_sentence(metrics, memory), _work_sentence(metrics, points, work), *_remarks(metrics, binding)]
    return " ".join(part for part in parts if part)


def _memory_sentence(metrics: Mapping[str, float], memory: float | None) -> str:
    if memory is None:
        return "Its DRAM traffic was not measured."
    moved, peak = bytes_per_s(metrics), peak_bytes_per_s(metrics)
    rates = f" ({moved / 1e9:,.1f} of {peak / 1e9:,.1f} GB/s)" if moved is not None and peak else ""
    return f"It moves bytes at {memory:.1%} of the DRAM peak{rates}."


def _work_sentence(metrics: Mapping[str, float], points: Sequence[RooflinePoint], work: tuple[float, str]) -> str:
    if uncounted := uncounted_work(metrics):
        return f"It uses {uncounted}, whose work is not counted here."
    if work_unknown(metrics):
        return "Its floating-point work was not counted."
    if not any(point.flop_per_s for point in points):
        return "It adds and multiplies no floating-point numbers, so it has only the roof of memory."
    return " ".join(_intensity_sentence(point) for point in points)


def _intensity_sentence(point: RooflinePoint) -> str:
    share = _share(point.flop_per_s, point.peak_flop_per_s)
    of_peak = f"{share:.1%} of the peak" if share is not None else "the peak is not known"
    text = f"{point.precision}: {(point.flop_per_s or 0) / 1e9:,.1f} GFLOP/s, {of_peak}"
    ridge = _share(point.peak_flop_per_s, point.peak_bytes_per_s)
    if point.flop_per_byte is None:
        return f"{text}; its intensity at DRAM is not defined."
    if ridge is None:
        return f"{text}; {point.flop_per_byte:.3g} flop/byte."
    side = "below" if point.flop_per_byte < ridge else "above"
    return f"{text}; {point.flop_per_byte:.3g} flop/byte, {side} the ridge at {ridge:.3g}."


def _remarks(metrics: Mapping[str, float], binding: float | None = None) -> list[str]:
    """``binding``: the share of the nearest ceiling; None where no ceiling is known."""
    remarks = []
    if binding is not None and binding < NEAR_ROOF and not work_unknown(metrics):
        remarks.append("Neither ceiling is near: latency, caches or instruction issue limit it.")
    if binding is None or binding < NEAR_ROOF:
        remarks += [text for text in (_busiest(metrics), _idle(metrics)) if text]
    if binding is not None and binding > 1.0:
        remarks.append("Above the roof: counters of one launch come from several passes, whose clocks differed.")
    if metrics.get(DURATION, SHORT_NS) < SHORT_NS:
        remarks.append(f"A launch takes only {metrics[DURATION] / 1000:.1f} us, so these rates say little.")
    return remarks


def _busiest(metrics: Mapping[str, float]) -> str:
    busy = {words: metrics[name + _PERCENT] for name, words in _BUSY.items() if name + _PERCENT in metrics}
    if not busy:
        return ""
    unit = max(busy, key=lambda words: busy[words])
    return f"Busiest is {unit}, at {busy[unit]:.1f}% of its peak."


def _idle(metrics: Mapping[str, float]) -> str:
    """A block runs on one multiprocessor, so a grid of fewer blocks leaves the others without work."""
    blocks, units = metrics.get(GRID_SIZE), metrics.get(MULTIPROCESSORS)
    if blocks is None or units is None or blocks >= units:
        return ""
    grid = "Its only block leaves" if blocks == 1 else f"Its {blocks:,.0f} blocks leave"
    return f"{grid} at least {units - blocks:,.0f} of {units:,.0f} multiprocessors without work."


def _missing(metrics: Mapping[str, float], points: Sequence[RooflinePoint]) -> str:
    if uncounted := uncounted_work(metrics):
        return f"It uses {uncounted}, whose work is not counted here, and its DRAM traffic was not measured."
    rates = [f"{point.flop_per_s / 1e9:,.1f} GFLOP/s in {point.precision}" for point in points if point.flop_per_s]
    if moved := bytes_per_s(metrics):
        rates.append(f"{moved / 1e9:,.1f} GB/s at DRAM")
    if rates:
        return f"It does {' and '.join(rates)}, but the report does not tell the peaks."
    return "The report holds neither DRAM traffic against its peak nor floating-point work against its peak."


def uncounted_work(metrics: Mapping[str, float]) -> str:
    """What did arithmetic that is in no count of operations; empty: nothing did."""
    tensor = metrics.get(TENSOR_INSTRUCTIONS, 1) > 0 and _any(_TENSOR, metrics)
    used = ["the tensor cores"] * tensor + ["16-bit arithmetic"] * _any(_HALF, metrics)
    return " and ".join(used)


def _any(pattern: re.Pattern[str], metrics: Mapping[str, float]) -> bool:
    return any(value > 0 for name, value in metrics.items() if pattern.match(name))


def work_unknown(metrics: Mapping[str, float]) -> bool:
    """Whether arithmetic that nobody counted may be what limits the kernel."""
    uncounted = all(flop_per_s(metrics, precision) is None for precision in PRECISIONS)
    return uncounted or bool(uncounted_work(metrics))


def _operations(metrics: Mapping[str, float], letter: str, suffix: str) -> float | None:
    prefix = f"smsp__sass_thread_inst_executed_op_{letter}"
    counts = [(weight, metrics.get(f"{prefix}{op}_pred_on.sum{suffix}")) for op, weight in _WORK.items()]
    known = [weight * count for weight, count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _a_second(count: float | None, metrics: Mapping[str, float]) -> float | None:
    duration = metrics.get(DURATION)
    return count / (duration * 1e-9) if count is not None and duration else None


def _share(value: float | None, peak: float | None) -> float | None:
    return value / peak if value is not None and peak else None


def _product(one: float | None, other: float | None, zero_is_a_value: bool = False) -> float | None:
    if one is None or other is None:
        return None
    return one * other if one * other or zero_is_a_value else None


def _both(one: float | None, other: float | None) -> float | None:
    return one + other if one is not None and other is not None else None
