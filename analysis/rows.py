"""Profiles as values and as rows: there and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Any

from analysis import types as t
from analysis.models import Evidence, Kernel, Profile, ProfileState
from projects.models import as_literal
from projects.snapshot import SOURCE_SUFFIXES


def store(row: Profile, analysis: t.Analysis, columns_file: str) -> None:
    """Write what was found, once: what an earlier try left is replaced."""
    row.kernels.all().delete()
    fill_profile(row, analysis, columns_file)
    row.save()
    position = 0
    for found in analysis.kernels:
        kernel = Kernel.objects.create(profile=row, **kernel_values(found))
        rows = [evidence_row(row, kernel, position + i, item) for i, item in enumerate(found.evidence)]
        Evidence.objects.bulk_create(rows)
        position += len(rows)


def fill_profile(row: Profile, analysis: t.Analysis, columns_file: str) -> None:
    profile = analysis.profile
    device = profile.device
    row.state = ProfileState.READY
    row.format, row.tool, row.columns = profile.format, profile.tool, columns_file
    row.device_name = (device.name if device else None) or ""
    row.device = asdict(device) if device else {}
    row.clocks_locked, row.cost_unit, row.whole_run = profile.clocks_locked, profile.cost_unit, profile.whole_run
    row.binary_sha256 = profile.binary_sha256 or ""
    row.launch_count = profile.launch_count
    row.command = profile.command or ""
    row.warnings = list(profile.warnings)
    row.doctor = [asdict(note) for note in analysis.doctor]


def kernel_values(found: t.KernelAnalysis) -> dict[str, object]:
    values = asdict(found.kernel)
    values.pop("launches")
    return {
        **values,
        "roofline": asdict(found.roofline),
        "stalls": asdict(found.stalls) if found.stalls else None,
    }


def evidence_row(row: Profile, kernel: Kernel, position: int, item: t.Evidence) -> Evidence:
    values = {key: value for key, value in asdict(item).items() if key != "kernel"}
    values["file"] = item.file or ""
    values["lines"] = list(item.lines) if item.lines else None
    return Evidence(profile=row, kernel=kernel, position=position, **values)


def analysis_of(row: Profile, sources: Mapping[str, str]) -> t.Analysis:
    """The analysis as it was stored: evidence keeps its labels. Launches stay in the columnar file."""
    evidence: dict[int, list[t.Evidence]] = {}
    for item in row.evidence.select_related("kernel"):
        evidence.setdefault(item.kernel_id, []).append(evidence_value(item))
    kernels = tuple(kernel_analysis(kernel, tuple(evidence.get(kernel.pk, ()))) for kernel in row.kernels.all())
    return t.Analysis(profile_value(row), kernels, tuple(t.DoctorNote(**note) for note in row.doctor), sources)


def profile_value(row: Profile) -> t.Profile:
    return t.Profile(
        format=row.format,
        tool=row.tool,
        device=device_value(row.device),
        clocks_locked=row.clocks_locked,
        cost_unit="ns" if row.cost_unit == "ns" else "cycle",
        whole_run=row.whole_run,
        launches=(),
        binary_sha256=row.binary_sha256 or None,
        warnings=tuple(row.warnings),
    )


def device_value(stored: Mapping[str, Any]) -> t.Device | None:
    if not stored:
        return None
    capability = stored.get("compute_capability")
    return t.Device(
        name=stored.get("name"),
        compute_capability=tuple(capability) if capability else None,
        attributes=stored.get("attributes") or {},
    )


def overview(row: Profile, shown: Collection[int]) -> t.Analysis:
    """Every kernel with its roofline; stalls and evidence, which are long, only of the kernels of these ranks."""
    kernels = list(row.kernels.defer("stalls"))
    listed = {kernel.pk: kernel for kernel in kernels if kernel.rank in shown}
    stalls = dict(Kernel.objects.filter(pk__in=listed).values_list("pk", "stalls"))
    evidence = evidence_of(listed)
    found = [
        t.KernelAnalysis(
            kernel_value(kernel),
            roofline_value(kernel.roofline),
            stalls_value(stalls.get(kernel.pk)),
            evidence.get(kernel.pk, ()),
        )
        for kernel in kernels
    ]
    return t.Analysis(profile_value(row), tuple(found), tuple(t.DoctorNote(**note) for note in row.doctor), {})


def detailed(row: Kernel) -> t.KernelAnalysis:
    """All that was stored of one kernel."""
    return kernel_analysis(row, evidence_of({row.pk: row}).get(row.pk, ()))


def evidence_of(kernels: Mapping[int, Kernel]) -> dict[int, tuple[t.Evidence, ...]]:
    """Primary key of a kernel -> its evidence in order."""
    found: dict[int, tuple[t.Evidence, ...]] = {}
    for item in Evidence.objects.filter(kernel__in=kernels):
        item.kernel = kernels[item.kernel_id]  # spares a query an item
        found[item.kernel_id] = (*found.get(item.kernel_id, ()), evidence_value(item))
    return found


def source_paths(row: Profile) -> list[str]:
    """The snapshot's C, C++ and CUDA files."""
    paths = row.snapshot.files.values_list("path", flat=True)
    return [path for path in paths if PurePosixPath(path).suffix.lower() in SOURCE_SUFFIXES]


def text_of(row: Profile, path: str) -> str | None:
    """One file of the snapshot as people can read it; None when there is none of this name."""
    content = row.snapshot.files.filter(path=path).values_list("content", flat=True).first()
    return None if content is None else bytes(content).decode("utf-8", "replace")


def kernel_analysis(row: Kernel, evidence: tuple[t.Evidence, ...]) -> t.KernelAnalysis:
    return t.KernelAnalysis(kernel_value(row), roofline_value(row.roofline), stalls_value(row.stalls), evidence)


def kernel_value(row: Kernel) -> t.Kernel:
    fields = ("mangled", "name", "short_name", "launch_count", "total_cost", "median_cost", "share", "rank", "hot")
    return t.Kernel(**{name: getattr(row, name) for name in fields}, launches=())


def roofline_value(stored: dict[str, Any] | None) -> t.Roofline:
    roofline = dict(stored or {})
    points = tuple(t.RooflinePoint(**point) for point in roofline.pop("points", ()))
    return t.Roofline(**roofline, points=points)


def stalls_value(stored: Mapping[str, Any] | None) -> t.Stalls | None:
    if stored is None:
        return None
    lines = tuple(t.StallLine(**line) for line in stored["lines"])
    return t.Stalls(stored["unit"], stored["total"], lines)


def evidence_value(row: Evidence) -> t.Evidence:
    return t.Evidence(
        label=row.label,
        kind=as_literal(row.kind),
        kernel=row.kernel.mangled,
        statement=row.statement,
        metric=row.metric,
        value=row.value,
        unit=row.unit,
        noise=row.noise,
        direction=as_literal(row.direction),
        weight=row.weight,
        file=row.file or None,
        lines=(row.lines[0], row.lines[1]) if row.lines else None,
        text=row.text,
    )
