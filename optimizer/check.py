"""Gates 1 to 3: can the answer be read, does it cite what was offered, does it keep the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TypeVar

from optimizer import citations, guards
from optimizer import edits as line_edits
from optimizer.answer import read, read_completion
from optimizer.types import (
    Answer,
    Checked,
    Completion,
    Gate,
    GateName,
    GuardContext,
    Prompt,
    Region,
    Severity,
    Violation,
)

T = TypeVar("T")

NOT_RUN = "An earlier gate failed."


def check(
    answer: str | Completion | Answer,
    prompt: Prompt,
    sources: Mapping[str, str],
    severities: Mapping[str, Severity] | None = None,
) -> Checked:
    """Takes an answer to ``prompt`` through gates 1 to 3.

    ``sources`` are the original files, whole. Everything wrong with an answer is a value: a failed gate whose reason
    names file and line, and gates behind it that were not run.
    """
    return check_edits(answer, sources, prompt.labels, prompt.regions, prompt.kernels, severities)


def check_edits(
    answer: str | Completion | Answer,
    sources: Mapping[str, str],
    labels: Sequence[str],
    regions: Sequence[Region],
    kernels: Sequence[str],
    severities: Mapping[str, Severity] | None = None,
) -> Checked:
    """The same without a prompt: for patches (no labels: citations do not apply) and for edits by a person."""
    parsed, seconds = _timed(lambda: _parse(answer, sources))
    understood, gate = parsed
    gates = [replace(gate, seconds=seconds)]
    cited, seconds = _timed(lambda: citations.check(understood, understood.edits, labels))
    after: Mapping[str, str] = {}
    violations: tuple[Violation, ...] = ()
    if gate.status == "passed":
        gates.append(Gate("citations", cited.status, cited.reason, seconds))
        after = line_edits.apply(understood.edits, sources)
    if all(each.status != "failed" for each in gates):
        context = GuardContext(tuple(kernels), tuple(regions), understood.edits, severities or {})
        violations, seconds = _timed(lambda: guards.check(sources, after, context))
        gates.append(_guardrails(violations, seconds))
    return Checked(
        answer=understood,
        gates=_filled(gates),
        violations=violations,
        offered=cited.offered,
        cited=cited.cited,
        unknown=cited.unknown,
        before=sources,
        after=after,
        diff=line_edits.diff(sources, after) if after else "",
    )


def _parse(answer: str | Completion | Answer, sources: Mapping[str, str]) -> tuple[Answer, Gate]:
    """The answer with its edits placed, and gate 1. Edits that cannot be placed are kept as they were written."""
    if isinstance(answer, str):
        answer = read(answer)
    elif isinstance(answer, Completion):
        answer = read_completion(answer)
    if answer.outcome != "edits":
        return answer, Gate("parse", "failed", answer.message, 0.0)
    found = line_edits.resolve(answer.edits, sources)
    noted = replace(answer, notes=(*answer.notes, *found.notes))
    if found.problems:
        log = "\n".join(found.problems)
        return noted, Gate("parse", "failed", found.problems[0], 0.0, log)
    placed = replace(noted, edits=found.edits)
    return placed, Gate("parse", "passed", _placed(placed), 0.0, "\n".join(placed.notes))


def _placed(answer: Answer) -> str:
    moved = sum(edit.anchored for edit in answer.edits)
    which = "" if moved == len(answer.edits) else f"{moved} of them "
    text = f", {which}placed by text and not by line numbers" if moved else ""
    return answer.message.rstrip(".") + text + "."


def _guardrails(violations: Sequence[Violation], seconds: float) -> Gate:
    log = "\n".join(f"{each.severity}: {each.rule}: {each.message}" for each in violations)
    blocking = [each for each in violations if each.severity == "block"]
    warned = [f"{each.rule} warns: {each.message}" for each in violations if each not in blocking]
    if blocking:
        more = f" And {len(blocking) - 1} more." if len(blocking) > 1 else ""
        return Gate("guardrails", "failed", f"{blocking[0].rule}: {blocking[0].message}{more}", seconds, log)
    said = ["No rule that blocks is broken.", *warned] if warned else ["All rules kept."]
    return Gate("guardrails", "passed", " ".join(said), seconds, log)


def _filled(gates: Sequence[Gate]) -> tuple[Gate, ...]:
    names: tuple[GateName, ...] = ("parse", "citations", "guardrails")
    return (*gates, *(Gate(name, "not_run", NOT_RUN, 0.0) for name in names[len(gates) :]))


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    start = perf_counter()
    return work(), perf_counter() - start
