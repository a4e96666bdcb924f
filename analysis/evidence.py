"""Evidence: numbered statements about a kernel that an edit can cite and a second profile can check.

``collect`` numbers once over all kernels, ``offered`` picks and weighs what one prompt shows, ``measure`` looks the
same metric up in another profile. docs/evidence.md says it with an example.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import fsum

from analysis import findings, hotspots, roofline
from analysis.measures import CYCLE_WEIGHTS, ESTIMATED_CYCLES
from analysis.statements import ACHIEVED, Looked, drafts, noise_floor
from analysis.types import Analysis, Evidence, Kernel, Measures, SourceKind

__all__ = ["LETTERS", "Looked", "collect", "measure", "noise_floor", "offered"]

LETTERS: Mapping[SourceKind, str] = {"roofline": "R", "stalls": "S", "counters": "H", "findings": "N"}


def collect(kernels: Sequence[Looked], totals: Mapping[str, float]) -> dict[str, tuple[Evidence, ...]]:
    """Mangled name -> evidence, for ``kernels`` in order of rank. Weights add up to 1 over all of it.

    ``totals``: event -> count of the whole program, empty when the profile is not the whole run. Labels count
    through all kernels (R1, R2, ...; S1, S2, ...), so that no later choice of kernels renumbers anything.
    """
    numbers: Counter[SourceKind] = Counter()
    found: list[Evidence] = []
    for each in kernels:
        for item in _weighed_within(each.analysis.kernel, [*drafts(each, totals), *findings.drafts(each.analysis)]):
            numbers[item.kind] += 1
            found.append(replace(item, label=f"{LETTERS[item.kind]}{numbers[item.kind]}"))
    by_kernel: dict[str, list[Evidence]] = defaultdict(list)
    for item in _normalised(found):
        by_kernel[item.kernel].append(item)
    return {name: tuple(items) for name, items in by_kernel.items()}


def offered(
    evidence: Iterable[Evidence],
    kernels: Collection[str] | None = None,
    kinds: Collection[SourceKind] | None = None,
    labels: Collection[str] | None = None,
) -> tuple[Evidence, ...]:
    """What is left of ``evidence`` when only these kernels (mangled names), kinds and labels count; None: all.

    Labels stay. Weights are shared out anew: time share of the kernel among those left x 1 / kinds left for it x
    share within the kind; they add up to exactly 1.
    """
    evidence = tuple(evidence)
    left = [
        item
        for item in evidence
        if (kernels is None or item.kernel in kernels)
        and (kinds is None or item.kind in kinds)
        and (labels is None or item.label in labels)
    ]
    times: dict[str, float] = defaultdict(float)
    for item in evidence:
        times[item.kernel] += item.weight
    groups: dict[tuple[str, SourceKind], list[Evidence]] = defaultdict(list)
    for item in left:
        groups[item.kernel, item.kind].append(item)
    kinds_of = Counter(kernel for kernel, _ in groups)
    within = {key: fsum(item.weight for item in items) for key, items in groups.items()}
    return _normalised(
        replace(
            item,
            weight=times[item.kernel]
            / kinds_of[item.kernel]
            * _part(item.weight, within[item.kernel, item.kind], len(groups[item.kernel, item.kind])),
        )
        for item in left
    )


def measure(
    item: Evidence, analysis: Analysis, lines: Collection[int] | None = None, kernel: str | None = None
) -> float | None:
    """The value of ``item``'s metric in ``analysis``, a profile of another version of the program.

    ``lines`` are the lines of ``item.file`` there that stand for the evidence's lines: those it maps to and those
    added among them; None takes the evidence's own numbers. ``kernel`` is the mangled name there, when it differs.
    Callgrind's counts are summed over all functions, since a line may have moved into another one; a GPU's over
    the one kernel, per launch. None: not measured there.
    """
    found = hotspots.named((each.kernel for each in analysis.kernels), kernel or item.kernel)
    if item.metric in CYCLE_WEIGHTS or item.metric == ESTIMATED_CYCLES:
        return _on_lines(item, [each.measures for each in analysis.kernels], lines, 1)
    if found is None:
        return None
    measures = next(each.measures for each in analysis.kernels if each.kernel == found)
    if item.kind == "roofline":
        metrics = measures.metrics
        return roofline.achieved(metrics) if item.metric == ACHIEVED else roofline.bytes_moved(metrics)
    if item.kind == "findings":
        return measures.metrics.get(item.metric)
    return _on_lines(item, [measures], lines, found.measured)


def _on_lines(
    item: Evidence, measured: Iterable[Measures], lines: Collection[int] | None, launches: int
) -> float | None:
    costs = [line for measures in measured for line in measures.lines]
    if item.lines is None:
        counted = [line.costs[item.metric] for line in costs if item.metric in line.costs]
        return fsum(counted) / launches if counted else None
    if not any(line.file == item.file and item.metric in line.costs for line in costs):
        return None
    wanted = set(range(item.lines[0], item.lines[1] + 1)) if lines is None else set(lines)
    here = (line for line in costs if line.file == item.file and line.line in wanted)
    return fsum(line.costs.get(item.metric, 0) for line in here) / launches


# --- weights ---------------------------------------------------------------------------------------


def _weighed_within(kernel: Kernel, found: Sequence[Evidence]) -> list[Evidence]:
    """Drafts carry their strength as weight; now: cost of the kernel / kinds x share of the strength in its kind."""
    strengths: dict[SourceKind, list[float]] = defaultdict(list)
    for item in found:
        strengths[item.kind].append(item.weight)
    cost = kernel.share or 0.0
    return [
        replace(
            item,
            weight=cost / len(strengths) * _part(item.weight, fsum(strengths[item.kind]), len(strengths[item.kind])),
        )
        for item in found
    ]


def _part(weight: float, everything: float, count: int) -> float:
    return weight / everything if everything > 0 else 1.0 / count


def _normalised(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Weights scaled to add up to 1; the rounding error goes to the heaviest. Equal weights when all are 0."""
    items = tuple(evidence)
    everything = fsum(item.weight for item in items)
    weights = [_part(item.weight, everything, len(items)) for item in items]
    for _ in range(4):
        if weights:
            weights[weights.index(max(weights))] += 1.0 - fsum(weights)
    return tuple(replace(item, weight=weight) for item, weight in zip(items, weights, strict=True))
