"""From a profile and source texts to everything that is said about them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from analysis import doctor, evidence, findings, hotspots, measures, roofline, stalls
from analysis.attribute import by_source
from analysis.names import without_arguments
from analysis.places import Sources, files_used, resolve
from analysis.statements import LEAST_SHARE
from analysis.types import Analysis, CodeCost, Kernel, KernelAnalysis, Launch, Measures, Profile
from optimas_web.errors import UserError


@dataclass(frozen=True, slots=True)
class _Gathered:
    """A kernel with its counts, before it is known which source lines they lie on."""

    kernel: Kernel
    measures: Measures
    code: tuple[CodeCost, ...]


def analyse(
    profile: Profile, sources: Mapping[str, str], *, kernels: str | None = None, threshold: float = hotspots.HOT
) -> Analysis:
    """Everything that ``profile`` says, with ``sources`` (path -> text) in front of the texts it brought itself.

    ``kernels``: a regular expression; only kernels whose name it is found in are kept. Arguments and template arguments
    are no part of a name here, unless the expression holds ``<`` or is the whole name. Ranks, shares and labels are
    those of the whole profile, weights those of the kernels kept. ``threshold``: share of the cost that the hot kernels
    hold (Callgrind: of the cost of the functions in the sources, where they are known).
    Raises UserError when ``kernels`` is no regular expression.
    """
    chosen = _compiled(kernels)
    gathered = _gather(profile, threshold)
    found = resolve(sources, profile.sources, files_used(cost for each in gathered for cost in each.code))
    if profile.cost_unit == "cycle":
        profile = by_source(profile, found)
        gathered = _gather(profile, threshold, _own(profile, found))
    listed = _listed(profile, gathered, found)
    looked = [_look(each, profile, found) for each in listed]
    labelled = evidence.collect(looked, _totals(profile, gathered))
    complete = [replace(each.analysis, evidence=labelled.get(each.analysis.kernel.mangled, ())) for each in looked]
    analysed = Analysis(profile, _kept(complete, chosen), (), found.texts)
    return replace(analysed, doctor=doctor.examine(analysed, found, unlisted=len(gathered) - len(listed)))


def _compiled(pattern: str | None) -> re.Pattern[str]:
    try:
        return re.compile(pattern or "")
    except re.error as error:
        raise UserError(
            f"{pattern!r} is not a regular expression: {error}.", "Give a part of the kernel's name."
        ) from None


def _own(profile: Profile, sources: Sources) -> set[str] | None:
    """Functions of the user's sources: only they can be changed, so only they are called hot. None: none is known."""
    return {launch.mangled for launch in profile.launches if launch.file in sources.texts} or None


def _gather(profile: Profile, threshold: float, among: Collection[str] | None = None) -> list[_Gathered]:
    launches = {launch.index: launch for launch in profile.launches}
    return [
        _Gathered(kernel, *measures.gather(_launches(kernel, launches), _wanted))
        for kernel in hotspots.rank(profile, threshold, among)
    ]


def _wanted(metric: str) -> bool:
    return roofline.wanted(metric) or findings.wanted(metric)


def _launches(kernel: Kernel, launches: Mapping[int, Launch]) -> list[Launch]:
    return [launches[index] for index in kernel.launches]


def _listed(profile: Profile, gathered: Sequence[_Gathered], sources: Sources) -> list[_Gathered]:
    if profile.cost_unit == "ns" or not profile.whole_run:
        return list(gathered)
    return [
        each
        for each in gathered
        if each.kernel.hot
        or (each.kernel.share or 0.0) >= LEAST_SHARE
        or any(place.file in sources.keys for cost in each.code for place in cost.places)
    ]


def _look(each: _Gathered, profile: Profile, sources: Sources) -> evidence.Looked:
    placed = measures.with_lines(each.measures, each.code, sources)
    roof = roofline.of(placed, profile.cost_unit)
    found = KernelAnalysis(each.kernel, roof, stalls.of(placed, sources), (), placed)
    return evidence.Looked(found, stalls.waits_for(each.code, sources))


def _totals(profile: Profile, gathered: Sequence[_Gathered]) -> dict[str, float]:
    if profile.cost_unit == "ns" or not profile.whole_run:
        return {}
    totals: Counter[str] = Counter()
    for each in gathered:
        for cost in each.code:
            totals.update(cost.costs)
    return dict(totals)


def _kept(kernels: Sequence[KernelAnalysis], chosen: re.Pattern[str]) -> tuple[KernelAnalysis, ...]:
    kept = [each for each in kernels if _is_meant(each.kernel, chosen)]
    if len(kept) == len(kernels):
        return tuple(kept)
    weighed = evidence.offered(
        (item for each in kernels for item in each.evidence), {each.kernel.mangled for each in kept}
    )
    return tuple(
        replace(each, evidence=tuple(item for item in weighed if item.kernel == each.kernel.mangled)) for each in kept
    )


def _is_meant(kernel: Kernel, chosen: re.Pattern[str]) -> bool:
    """A kernel that another one's name stands in the template arguments of is not meant by that name."""
    if chosen.pattern in (kernel.mangled, kernel.name):
        return True
    return bool(chosen.search(kernel.name if "<" in chosen.pattern else without_arguments(kernel.name)))
