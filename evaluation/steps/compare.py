"""Gate 6: bit for bit the same outputs on every workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analysis.types import Launch
from evaluation import outputs, troubles, workspace
from evaluation.steps import SIDES, Bench, Found, Outcome, gpu
from evaluation.types import Baseline, Comparison, Outputs, Side
from optimas_web.errors import UserError
from projects.types import WorkloadSpec

_UNJUDGED = "No edit was judged."
ORIGINAL_FILLS = ("", "", "165")
CANDIDATE_FILLS = ("165", "90")
"""With what bytes glibc fills new and freed memory (MALLOC_PERTURB_), run by run; empty: not at all. A program that
relies on what was left in memory, like the result of an earlier call, then writes something else."""


def step(bench: Bench, found: Found) -> tuple[Outcome, Found]:
    """Every workload: what the original writes, then whether the candidate writes the same, twice. Ends at the first
    workload that differs. Raises UserError when a run of the original proves nothing."""
    baselines: list[Baseline] = []
    comparisons: list[Comparison] = []
    for workload in bench.case.manifest.workloads:
        known = baseline(bench, found, workload)
        if known.outputs.ran.ended == "not_started":
            reason = known.outputs.ran.reason
            return Outcome("not_run", f"{reason[:1].upper()}{reason[1:]}."), replace(found, cannot_run=reason)
        known, comparison = compared(bench, found, workload, known)
        baselines.append(known)
        comparisons.append(comparison)
        if not comparisons[-1].same:
            break
    found = replace(found, baselines=tuple(baselines), comparisons=tuple(comparisons))
    agreed = outcome(comparisons, baselines)
    if bench.on_gpu and agreed.status == "passed":
        agreed = with_launches(bench, found, agreed)
    return agreed, found


def baseline(bench: Bench, found: Found, workload: WorkloadSpec) -> Baseline:
    """The original's three runs, unless they are known already. Raises UserError when they are no proof."""
    known = next((each for each in bench.case.baselines if each.workload == workload.name), None)
    if known is None:
        runs = [run(bench, found, "original", workload, turn, fill) for turn, fill in enumerate(ORIGINAL_FILLS, 1)]
        known = outputs.baseline(workload, runs, bench.case.manifest.masks)
        if not known.stable:
            known = explained(bench, found, workload, known, runs)
    return proving(known, workload)


def explained(bench: Bench, found: Found, workload: WorkloadSpec, known: Baseline, runs: Sequence[Outputs]) -> Baseline:
    """``known`` of an original that varies, with the cause where it varies only when new memory is filled."""
    unfilled = [ran for ran, fill in zip(runs, ORIGINAL_FILLS, strict=True) if not fill]
    unfilled.append(run(bench, found, "original", workload, len(runs) + 1))
    if not outputs.baseline(workload, unfilled, bench.case.manifest.masks).stable:
        return known
    because = "it depends on memory that it has not written, which differs once new memory is filled with other bytes"
    return replace(known, problem=f"{because}: {known.problem}")


def proving(known: Baseline, workload: WorkloadSpec) -> Baseline:
    """``known``, or UserError when it is no proof."""
    ran = known.outputs.ran
    trouble = troubles.of_run(f"{ran.stdout.decode(errors='replace')}\n{ran.stderr.decode(errors='replace')}")
    if trouble and ran.ended != "not_started":
        raise UserError(f"The original program does not run here: {trouble.message}.", f"{trouble.remedy} {_UNJUDGED}")
    if known.problem and ran.ended != "not_started":
        raise UserError(
            f"The original program is no proof on workload {workload.name} ({workload.command}): {known.problem}.",
            f"Mend the program or the workload in optimas.toml. {_UNJUDGED}",
        )
    return known


def compared(bench: Bench, found: Found, workload: WorkloadSpec, known: Baseline) -> tuple[Baseline, Comparison]:
    """The candidate's runs against the original's; the first that differs speaks.

    Before it does, the original runs once more: what changes slowly (seconds, a date) or seldom (a race) may not have
    shown in its quick runs.
    """
    for turn, fill in enumerate(CANDIDATE_FILLS, 1):
        ran = run(bench, found, "candidate", workload, turn, fill)
        comparison = outputs.compare(known, ran)
        if not comparison.same:
            late = run(bench, found, "original", workload, len(ORIGINAL_FILLS) + 1)
            known = proving(outputs.again(known, workload, late), workload)
            comparison = outputs.compare(known, ran)
        if not comparison.same:
            break
    return known, comparison


def with_launches(bench: Bench, found: Found, agreed: Outcome) -> Outcome:
    """The outcome once the kernel launches of every workload are compared too, by number and order."""
    for workload in bench.case.manifest.workloads:
        seen: dict[Side, tuple[Launch, ...]] = {}
        for side in SIDES:
            bench.say(f"listing the kernel launches of the {side} on {workload.name}", 0.5)
            with workspace.copied(bench.folders[side]) as folder:
                ran, seen[side] = gpu.timed(folder, workload.command, workload.timeout_s, cancelled=bench.cancelled)
            if side == "original" and not seen[side]:
                said = ran.reason or ran.stdout.decode(errors="replace").strip()[-300:]
                return replace(agreed, reason=f"{agreed.reason} Kernel launches were not compared: {said}.")
        if different := gpu.launch_difference(seen["original"], seen["candidate"], found.renamed):
            return Outcome("failed", f"Workload {workload.name}: {different}.")
    return replace(agreed, reason=f"{agreed.reason} So do the kernel launches, in number and order.")


def run(bench: Bench, found: Found, side: Side, workload: WorkloadSpec, turn: int, fill: str = "") -> Outputs:
    """One run in a fresh copy of the built folder, without output files that came with the program, so that nothing
    can pass for an output that this run did not write."""
    bench.say(f"running the {side} on {workload.name}, {turn}", 0.0)
    env = {"MALLOC_PERTURB_": fill} if fill else {}
    with workspace.copied(bench.folders[side]) as folder:
        workspace.clear(folder, workload.outputs)
        ran = bench.run(side, found.built[side], workload, folder, env)
        return Outputs(ran, bench.case.toolchain.outputs_of(folder, workload.outputs))


def outcome(comparisons: Sequence[Comparison], baselines: Sequence[Baseline]) -> Outcome:
    wrong = [each for each in comparisons if not each.same]
    if wrong:
        differences = "; ".join(wrong[0].differences)
        return Outcome("failed", f"Workload {wrong[0].workload}: {differences}.", "\n".join(wrong[0].differences))
    count = sum(each.compared_bytes for each in comparisons)
    masks = sum(len(each.masks) for each in baselines)
    masked = f", masked for varying by itself: {masks} place{'s' if masks > 1 else ''}" if masks else ""
    one = "only one workload, and approval needs two with different data" if len(comparisons) == 1 else ""
    of = f"{len(comparisons)} of {len(comparisons)} workload{'s agree' if len(comparisons) > 1 else ' agrees'}"
    reason = f"{of} bit for bit ({count} bytes{masked})"
    return Outcome("passed", f"{reason}; {one}." if one else f"{reason}.")
