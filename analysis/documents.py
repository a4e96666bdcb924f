"""An analysis as one JSON document, schema ``optimas.analysis/1`` (docs/schemas/analysis.schema.json)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

from analysis.types import (
    Analysis,
    CodeCost,
    Device,
    DoctorNote,
    Evidence,
    Finding,
    Kernel,
    KernelAnalysis,
    Launch,
    Profile,
    Roofline,
    Stalls,
)

SCHEMA = "optimas.analysis/1"


def analysis_document(analysis: Analysis, launches: bool = False) -> dict[str, object]:
    """The document of ``analyze``. ``launches`` adds every launch with all its metrics, in base units, and its code.

    Times stand in ``*_ns``; a CPU profile has estimated cycles instead, in ``*_cycles``, and null times. What is not
    available, not a number or infinite is null.
    """
    document: dict[str, object] = {
        "schema": SCHEMA,
        "report": _report(analysis.profile),
        "kernels": [_kernel(each, analysis.profile) for each in analysis.kernels],
        "doctor": [_note(note) for note in analysis.doctor],
    }
    if launches:
        chosen = {each.kernel.mangled for each in analysis.kernels}
        document["launches"] = [
            _launch(launch, analysis.profile) for launch in _singly(analysis.profile) if launch.mangled in chosen
        ]
    return {key: finite(value) for key, value in document.items()}


def finite(value: object) -> Any:
    """``value`` with every NaN and infinity in it as None, mappings as dicts, sequences as lists: fit for JSON."""
    if isinstance(value, Mapping):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value


def _report(profile: Profile) -> dict[str, object]:
    return {
        "format": profile.format,
        "tool": profile.tool,
        "device": _device(profile.device),
        "launch_count": profile.launch_count,
        "clocks_locked": profile.clocks_locked,
        "whole_run": profile.whole_run,
        "cost_unit": profile.cost_unit,
        "warnings": profile.warnings,
    }


def _device(device: Device | None) -> dict[str, object] | None:
    if device is None:
        return None
    capability = ".".join(map(str, device.compute_capability)) if device.compute_capability else None
    return {"name": device.name, "compute_capability": capability}


def _kernel(each: KernelAnalysis, profile: Profile) -> dict[str, object]:
    kernel = each.kernel
    return {
        "name": kernel.name,
        "short_name": kernel.short_name,
        "mangled": kernel.mangled,
        "rank": kernel.rank,
        "launch_count": kernel.launch_count,
        **_cost(kernel, profile),
        "share": kernel.share,
        "hot": kernel.hot,
        "shapes": _shapes(kernel, profile),
        "roofline": _roofline(each.roofline),
        "stalls": _stalls(each.stalls) if each.stalls else None,
        "counters": [],
        "evidence": [_evidence(item) for item in each.evidence],
    }


def _cost(kernel: Kernel, profile: Profile) -> dict[str, float | None]:
    timed = profile.cost_unit == "ns"
    costs = {
        "total_time_ns": kernel.total_cost if timed else None,
        "median_time_ns": kernel.median_cost if timed else None,
    }
    return costs if timed else {**costs, "total_cycles": kernel.total_cost}


def _roofline(roof: Roofline) -> dict[str, object]:
    return {
        "bound": roof.bound,
        "reason": roof.reason,
        "at_most_saved": roof.at_most_saved,
        "points": [asdict(point) for point in roof.points],
    }


def _stalls(stalls: Stalls) -> dict[str, object]:
    return {
        "unit": stalls.unit,
        "total": stalls.total,
        "lines": [
            {
                "file": line.file,
                "line": line.line,
                "text": line.text,
                "value": line.value,
                "share": line.share,
                "reasons": line.reasons,
            }
            for line in stalls.lines
        ],
    }


def _evidence(item: Evidence) -> dict[str, object]:
    return {
        "label": item.label,
        "kind": item.kind,
        "statement": item.statement,
        "metric": item.metric,
        "value": item.value,
        "unit": item.unit,
        "noise": item.noise,
        "direction": item.direction,
        "weight": item.weight,
        "file": item.file,
        "lines": item.lines,
        "text": item.text,
    }


def _note(note: DoctorNote) -> dict[str, object]:
    return {"severity": note.severity, "page": note.page, "message": note.message, "remedy": note.remedy}


def _launch(launch: Launch, profile: Profile) -> dict[str, object]:
    detail = launch.load()
    return {
        "index": launch.index,
        "kernel": launch.name,
        "mangled": launch.mangled,
        "grid": launch.grid,
        "block": launch.block,
        "duration_ns": launch.cost if profile.cost_unit == "ns" else None,
        "metrics": detail.metrics,
        "opcodes": detail.opcodes,
        "nvtx": detail.nvtx,
        "sections": detail.sections,
        "findings": [_finding(each) for each in detail.findings],
        "code": _code(detail.code),
    }


def _singly(profile: Profile) -> Iterable[Launch]:
    return profile.timeline() if profile.timeline else profile.launches


def _shapes(kernel: Kernel, profile: Profile) -> list[dict[str, object]]:
    """What was counted of the kernel, by grid, block and device; the costliest first."""
    tallies = [tally for tally in profile.tallies if tally.mangled == kernel.mangled]
    return [
        {
            "grid": tally.grid,
            "block": tally.block,
            "device": tally.device,
            "launch_count": tally.count,
            "total_time_ns": tally.total,
        }
        for tally in sorted(tallies, key=lambda tally: -(tally.total or 0.0))
    ]


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "rule": finding.rule,
        "title": finding.title,
        "kind": finding.kind,
        "message": finding.message,
        "speedup": finding.speedup,
        "scope": finding.scope,
        "section": finding.section,
    }


def _code(code: Sequence[CodeCost]) -> list[dict[str, object]]:
    return [
        {
            "function": each.function,
            "offset": each.offset,
            "mnemonic": each.mnemonic,
            "file": each.places[0].file if each.places else None,
            "line": each.places[0].line if each.places else None,
            "costs": each.costs,
        }
        for each in code
    ]
