"""An analysis as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis.types import Analysis, DoctorNote, Evidence, KernelAnalysis, Profile, StallLine, Stalls

LINES_SHOWN = 8
KERNELS_SHOWN = 20


def render(analysis: Analysis) -> str:
    """What ``analyze`` prints: kernels, then of each hot one roofline, lines and evidence, then the doctor's notes."""
    hot = [each for each in analysis.kernels if each.kernel.hot] or list(analysis.kernels[:1])
    blocks = [_head(analysis.profile), _kernels(analysis), *(_kernel(each) for each in hot), _doctor(analysis.doctor)]
    return "\n\n".join(block for block in blocks if block)


def _head(profile: Profile) -> str:
    device = f" on {profile.device.name}" if profile.device and profile.device.name else ""
    one, many = ("launch", "launches") if profile.cost_unit == "ns" else ("function", "functions")
    count = profile.launch_count
    return f"{profile.tool}{device}: {count:,} {one if count == 1 else many}"


def _kernels(analysis: Analysis) -> str:
    of = _of(analysis.profile)
    shown = analysis.kernels[:KERNELS_SHOWN]
    if analysis.profile.cost_unit == "ns":
        rows: list[tuple[str, ...]] = [
            ("", f"share {of}", "launches", "total us", "median us", "kernel"),
            *map(_timed, shown),
        ]
    else:
        rows = [("", f"share {of}", "cycles", "function"), *map(_counted, shown)]
    more = f"\n{len(shown)} of {len(analysis.kernels)} shown" if len(shown) < len(analysis.kernels) else ""
    return _columns(rows) + more


def _of(profile: Profile) -> str:
    if not profile.whole_run:
        return "among profiled launches"
    return "of the captured GPU time" if profile.cost_unit == "ns" else "of the whole run"


def _timed(each: KernelAnalysis) -> tuple[str, ...]:
    kernel = each.kernel
    times = [_amount(cost, 1000, 2) for cost in (kernel.total_cost, kernel.median_cost)]
    return "hot" if kernel.hot else "", _percent(kernel.share), f"{kernel.launch_count}", *times, kernel.name


def _counted(each: KernelAnalysis) -> tuple[str, ...]:
    kernel = each.kernel
    return "hot" if kernel.hot else "", _percent(kernel.share), _amount(kernel.total_cost, 1, 0), kernel.name


def _kernel(each: KernelAnalysis) -> str:
    parts = [
        f"== {_short(each.kernel.name, 160)}",
        f"Roofline: {each.roofline.bound}. {each.roofline.reason}{_saved(each.roofline.at_most_saved)}",
        _lines(each.stalls) if each.stalls else "Lines: nothing was sampled.",
        _evidence(each.evidence),
    ]
    return "\n".join(part for part in parts if part)


def _saved(share: float | None) -> str:
    return "" if share is None else f" At most {share:.0%} of its time can be saved at this work and DRAM traffic."


def _lines(stalls: Stalls) -> str:
    shown = stalls.lines[:LINES_SHOWN]
    of = f", {len(shown)} of {len(stalls.lines)} shown" if len(shown) < len(stalls.lines) else ""
    rows = [_line(line) for line in shown]
    return f"Lines by {stalls.unit} ({stalls.total:,.0f} in all{of}):\n{_columns(rows)}"


def _line(line: StallLine) -> tuple[str, ...]:
    place = f"{line.file}:{line.line}" if line.file else "unknown"
    reasons = ", ".join(f"{name} {share:.0%}" for name, share in list(line.reasons.items())[:3] if share >= 0.01)
    return "", _percent(line.share), f"{line.value:,.0f}", place, _short(line.text.strip(), 60), reasons


def _evidence(evidence: Sequence[Evidence]) -> str:
    if not evidence:
        return "Evidence: none."
    return "\n".join(["Evidence, with its weight:", *map(_statement, evidence)])


def _statement(item: Evidence) -> str:
    said = "the roofline above." if item.kind == "roofline" else item.statement
    return f"  {item.label}  {item.weight:.1%}  {said}"


def _doctor(notes: Iterable[DoctorNote]) -> str:
    lines = [f"  {note.severity}: {note.message}\n    {note.remedy}" for note in notes]
    return "\n".join(["Doctor:", *lines]) if lines else ""


def _percent(share: float | None) -> str:
    return "not known" if share is None else f"{share:.1%}"


def _amount(cost: float | None, unit: float, digits: int) -> str:
    return "not known" if cost is None else f"{cost / unit:,.{digits}f}"


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _columns(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the last one is left ragged."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)] if rows else []
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    )
