"""From a candidate to a verdict: gates 4 to 9 in order, each a value, the first that fails ends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from time import monotonic

from analysis.types import Value
from evaluation import ear, machine, workspace
from evaluation.steps import STEPS, Bench, Cancelled, Case, Found, Progress, Step
from evaluation.types import Evaluation, Score, Side
from optimas_web.errors import UserError
from optimizer.types import GATES, Gate, GateName

__all__ = ["Cancelled", "Case", "judge"]


def judge(
    case: Case,
    *,
    progress: Progress = lambda stage, fraction: None,
    cancelled: Callable[[], bool] = lambda: False,
    on_gate: Callable[[Gate], None] = lambda gate: None,
) -> Evaluation:
    """Take one attempt through all gates. ``on_gate`` gets gates 4-9 one by one, as soon as each is known.

    ``progress(stage, fraction)`` tells what happens now. Raises UserError when the *original* cannot be built or run
    (the project is at fault, no attempt was judged) and Cancelled once ``cancelled()`` is true.
    """
    gates = list(case.checked.gates if case.checked else _unchecked())
    found = Found()
    with ExitStack() as stack:
        bench = _bench(case, stack, progress, cancelled)
        for name, dotted in STEPS.items():
            gate, found = _pass(name, import_module(dotted).step, bench, found, gates)
            gates.append(gate)
            on_gate(gate)
    return _evaluation(case, tuple(gates), found)


def _unchecked() -> tuple[Gate, ...]:
    """Gates 1-3 of edits that no answer holds."""
    reason = "No answer was given, only a changed program."
    return tuple(Gate(name, "not_applicable", reason, 0.0) for name in GATES[:3])


def _bench(case: Case, stack: ExitStack, progress: Progress, cancelled: Callable[[], bool]) -> Bench:
    folders: dict[Side, Path] = {
        "original": stack.enter_context(workspace.opened(case.original)),
        "candidate": stack.enter_context(workspace.opened(case.candidate)),
    }
    return Bench(case, folders, progress, cancelled)


def _pass(name: GateName, step: Step, bench: Bench, found: Found, before: list[Gate]) -> tuple[Gate, Found]:
    """One gate. A step that was told to stop in the middle has no result."""
    failed = next((gate.name for gate in before if gate.status == "failed"), None)
    if failed:
        return Gate(name, "not_run", f"The gate {failed} failed before it.", 0.0), found
    if found.cannot_run:
        return Gate(name, "not_run", f"Not run: {found.cannot_run}.", 0.0), found
    start = monotonic()
    bench.say(name, 0.0)
    try:
        outcome, found = step(bench, found)
    except UserError:
        bench.check()  # an original that was stopped looks like one that failed
        raise
    bench.check()
    return Gate(name, outcome.status, outcome.reason, monotonic() - start, outcome.log), found


def _evaluation(case: Case, gates: tuple[Gate, ...], found: Found) -> Evaluation:
    workload = case.manifest.workloads[0]
    return Evaluation(
        workload=workload.name,
        gates=gates,
        comparisons=found.comparisons,
        pairs=found.pairs,
        timings=found.timings,
        scores=_scores(case, found),
        environment=_environment(case, found),
        baselines=found.baselines,
        measured=found.measured,
        same_code=found.same_code,
        seed=case.seed,
        sanitizer=found.sanitizer,
        declared_bytes=workload.bytes,
        declared_flops=workload.flops,
        ceilings=case.ceilings,
        builds=found.built,
    )


def _scores(case: Case, found: Found) -> tuple[Score, ...]:
    """Scores of every answer that builds and had evidence to cite."""
    built = found.built.get("candidate")
    if case.checked is None or not case.offered or built is None or not built.ok:
        return ()
    answer = case.checked.answer
    return ear.scores(
        ear.Reasoning(
            offered=case.offered,
            edits=answer.edits,
            not_applied=answer.not_applied,
            regions=case.regions,
            before=case.checked.before,
            measured={each.label: each for each in found.measured},
        )
    )


def _environment(case: Case, found: Found) -> Mapping[str, Value]:
    """Where it was judged: processor, system, and the versions of the tools."""
    tools = {f"tool {tool.name}": tool.version for tool in case.toolchain.tools()}
    built = found.built.get("original")
    return {**machine.describe(), **tools, "arch": built.arch if built else None, **found.environment}
