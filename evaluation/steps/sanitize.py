"""Gate 7: the candidate must not do anything wrong that the original does not do."""

from __future__ import annotations

from dataclasses import replace

from evaluation import workspace
from evaluation.steps import SIDES, Bench, Found, Outcome
from evaluation.types import Sanitized, SanitizerFinding, Side


def step(bench: Bench, found: Found) -> tuple[Outcome, Found]:
    """Both sides under the toolchain's sanitizers, on the profile command; findings are compared without lines."""
    seen: dict[Side, Sanitized] = {}
    for side in SIDES:
        bench.say(f"looking for errors of the {side}", SIDES.index(side) / 2)
        with workspace.opened(bench.files(side)) as folder:
            seen[side] = bench.case.toolchain.sanitize(
                folder, bench.case.manifest, arch=bench.case.arch, cancelled=bench.cancelled
            )
        if side == "original" and not seen[side].done:
            return Outcome("not_run", f"The original cannot be checked: {seen[side].reason}.", seen[side].log), found
    findings = {side: seen[side].findings for side in SIDES}
    return compare(seen["original"], seen["candidate"]), replace(found, sanitizer=findings)


def compare(original: Sanitized, candidate: Sanitized) -> Outcome:
    """Failed when the candidate has a finding (tool, kind, function) that the original has not, or cannot be run."""
    if not candidate.done:
        return Outcome("failed", f"Only the candidate cannot be checked: {candidate.reason}.", candidate.log)
    names = ", ".join(candidate.tools)
    new = [finding for finding in candidate.findings if finding not in original.findings]
    if new:
        return Outcome("failed", f"{names} found what the original does not do: {_listed(new)}.", candidate.log)
    shared = f"; the original's own remain: {_listed(candidate.findings)}" if candidate.findings else ""
    return Outcome("passed", f"{names} found nothing that the original does not do{shared}.", candidate.log)


def _listed(findings: list[SanitizerFinding] | tuple[SanitizerFinding, ...]) -> str:
    return "; ".join(f"{finding.tool}: {finding.kind} in {finding.function}" for finding in findings)
