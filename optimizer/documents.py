"""Prompts and checked answers as the documents and texts that the command line prints."""

from __future__ import annotations

from dataclasses import asdict

from optimizer.types import Checked, Edit, Prompt


def prompt_document(prompt: Prompt) -> dict[str, object]:
    """``optimas.prompt/1``: docs/schemas/prompt.schema.json."""
    return {
        "schema": "optimas.prompt/1",
        "text": prompt.text,
        "tokens_estimated": prompt.tokens_estimated,
        "kernels": list(prompt.kernels),
        "sources": list(prompt.sources),
        "labels": list(prompt.labels),
        "regions": [asdict(region) for region in prompt.regions],
        "dropped": list(prompt.dropped),
        "version": prompt.version,
        "sha256": prompt.sha256,
    }


def answer_document(checked: Checked) -> dict[str, object]:
    """``optimas.answer/1``: docs/schemas/answer.schema.json."""
    answer = checked.answer
    return {
        "schema": "optimas.answer/1",
        "outcome": answer.outcome,
        "message": answer.message,
        "summary": answer.summary,
        "form": answer.form,
        "notes": list(answer.notes),
        "gates": [
            {key: asdict(gate)[key] for key in ("name", "status", "reason", "seconds")} for gate in checked.gates
        ],
        "edits": [_edit(edit) for edit in answer.edits],
        "not_applied": [{"evidence": list(each.evidence), "reason": each.reason} for each in answer.not_applied],
        "violations": [asdict(violation) for violation in checked.violations],
        "citations": {
            "offered": list(checked.offered),
            "cited": list(checked.cited),
            "unknown": list(checked.unknown),
        },
        "diff": checked.diff,
    }


def answer_text(checked: Checked) -> str:
    """The same for people: gates first, then what was found, then the change."""
    lines = [f"{gate.name:<12}{gate.status:<16}{gate.reason}" for gate in checked.gates]
    lines += [f"note: {note}" for note in checked.answer.notes]
    lines += [f"{each.severity}: {each.rule}: {each.message}" for each in checked.violations]
    for number, edit in enumerate(checked.answer.edits, 1):
        moved = " (placed by its text)" if edit.anchored else ""
        lines.append(f"edit {number}: {edit.file}:{edit.start_line}-{edit.end_line}{moved} for {_ids(edit.evidence)}")
    lines += [f"not applied: {_ids(each.evidence)}: {each.reason}" for each in checked.answer.not_applied]
    return "\n".join([*lines, "", checked.diff]).rstrip() + "\n"


def _ids(labels: tuple[str, ...]) -> str:
    return ", ".join(labels) or "no evidence"


def _edit(edit: Edit) -> dict[str, object]:
    value = asdict(edit)
    return {**value, "evidence": list(edit.evidence), "expect": [asdict(each) for each in edit.expect]}
