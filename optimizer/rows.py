"""Prompts, answers and gates as values and as rows: there and back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict

from analysis.models import Evidence
from optimizer import edits
from optimizer import types as t
from optimizer.models import Attempt, Citation, Completion, Edit, Gate, Prediction, Prompt, Violation
from projects.models import as_literal


def as_bytes(text: str) -> bytes:
    """The bytes behind ``text``: those of a source come back as they were, what no encoding has becomes ``?``."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def as_text(content: bytes | memoryview) -> str:
    return bytes(content).decode("utf-8", "surrogateescape")


def store_prompt(attempt: Attempt, prompt: t.Prompt) -> None:
    values = {
        "text": as_bytes(prompt.text),
        "sha256": prompt.sha256,
        "version": prompt.version,
        "tokens_estimated": prompt.tokens_estimated,
        "labels": list(prompt.labels),
        "regions": [asdict(region) for region in prompt.regions],
        "dropped": list(prompt.dropped),
    }
    Prompt.objects.update_or_create(attempt=attempt, defaults=values)


def prompt_of(row: Prompt, kernels: tuple[str, ...], sources: tuple[str, ...]) -> t.Prompt:
    return t.Prompt(
        text=as_text(row.text),
        tokens_estimated=row.tokens_estimated,
        kernels=kernels,
        sources=sources,
        labels=tuple(row.labels),
        regions=tuple(t.Region(**region) for region in row.regions),
        dropped=tuple(row.dropped),
        version=row.version,
    )


def store_completion(attempt: Attempt, completion: t.Completion) -> None:
    values = {
        "text": as_bytes(completion.text),
        "stop": completion.stop,
        "model": completion.model,
        "recorded": completion.recorded,
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "cost_usd": completion.cost_usd,
        "seconds": completion.seconds,
    }
    Completion.objects.update_or_create(attempt=attempt, defaults=values)


def completion_of(row: Completion) -> t.Completion:
    return t.Completion(
        text=as_text(row.text),
        stop=as_literal(row.stop),
        model=row.model,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        cost_usd=float(row.cost_usd) if row.cost_usd is not None else None,
        seconds=row.seconds,
        recorded=row.recorded,
    )


def store_checked(attempt: Attempt, checked: t.Checked) -> None:
    """Answer, edits, violations and gates 1-3, replacing what an earlier try left."""
    for rows in (attempt.edits, attempt.violations, attempt.gates):
        rows.all().delete()
    answer = checked.answer
    attempt.outcome, attempt.message, attempt.summary = answer.outcome, answer.message, answer.summary
    attempt.not_applied = [asdict(item) for item in answer.not_applied]
    attempt.patch = checked.diff
    attempt.patch_sha256 = hashlib.sha256(as_bytes(checked.diff)).hexdigest() if checked.diff else ""
    attempt.save()
    for position, edit in enumerate(answer.edits):
        store_edit(attempt, position, edit)
    Violation.objects.bulk_create(Violation(attempt=attempt, **asdict(found)) for found in checked.violations)
    for gate in checked.gates:
        store_gate(attempt, gate)


def store_edit(attempt: Attempt, position: int, edit: t.Edit) -> None:
    row = Edit.objects.create(
        attempt=attempt,
        position=position,
        file=edit.file,
        start_line=edit.start_line,
        end_line=edit.end_line,
        original_text=as_bytes(edit.original_text),
        new_text=as_bytes(edit.new_text),
        rationale=edit.rationale,
        anchored=edit.anchored,
    )
    known = {item.label: item for item in Evidence.objects.filter(profile=attempt.run.profile)}
    Citation.objects.bulk_create(
        Citation(edit=row, label=label[:50], evidence=known.get(label)) for label in edit.evidence
    )
    Prediction.objects.bulk_create(
        Prediction(edit=row, label=item.evidence[:50], direction=item.direction, by_percent=item.by_percent)
        for item in edit.expect
    )


def edit_of(row: Edit) -> t.Edit:
    return t.Edit(
        file=row.file,
        start_line=row.start_line,
        end_line=row.end_line,
        original_text=as_text(row.original_text),
        new_text=as_text(row.new_text),
        evidence=tuple(item.label for item in row.citations.all()),
        rationale=row.rationale,
        expect=tuple(
            t.Expectation(item.label, "down" if item.direction == "down" else "up", item.by_percent)
            for item in row.predictions.all()
        ),
        anchored=row.anchored,
    )


def edits_of(attempt: Attempt) -> tuple[t.Edit, ...]:
    rows = attempt.edits.prefetch_related("citations", "predictions")
    return tuple(edit_of(row) for row in rows)


def store_gate(attempt: Attempt, gate: t.Gate) -> None:
    values = {"position": t.GATES.index(gate.name), **asdict(gate)}
    values.pop("name")
    Gate.objects.update_or_create(attempt=attempt, name=gate.name, defaults=values)


def gate_of(row: Gate) -> t.Gate:
    return t.Gate(as_literal(row.name), as_literal(row.status), row.reason, row.seconds, row.log)


def checked_of(attempt: Attempt, before: Mapping[str, str]) -> t.Checked:
    """What gates 1-3 found, from the rows. ``before``: the sources that the answer was checked against."""
    found = edits_of(attempt)
    answer = t.Answer(
        outcome=as_literal(attempt.outcome),
        message=attempt.message,
        summary=attempt.summary,
        edits=found,
        not_applied=tuple(t.NotApplied(tuple(item["evidence"]), item["reason"]) for item in attempt.not_applied),
    )
    cited = dict.fromkeys(label for edit in found for label in edit.evidence)
    offered = tuple(attempt.prompt.labels)
    return t.Checked(
        answer=answer,
        gates=tuple(gate_of(row) for row in attempt.gates.filter(name__in=t.GATES[:3])),
        violations=tuple(violation_of(row) for row in attempt.violations.all()),
        offered=offered,
        cited=tuple(label for label in cited if label in offered),
        unknown=tuple(label for label in cited if label not in offered),
        before=before,
        after=edits.apply(found, before),
        diff=attempt.patch,
    )


def violation_of(row: Violation) -> t.Violation:
    return t.Violation(row.rule, as_literal(row.severity), row.file, row.line, row.message, row.cannot_check)
