"""Gate 2: every edit names at least one piece of the evidence that was offered, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from optimizer.types import Answer, Edit, GateStatus


@dataclass(frozen=True, slots=True)
class Citations:
    """``offered`` in the order of the prompt, ``cited`` and ``unknown`` in the order of the answer, each once."""

    offered: tuple[str, ...]
    cited: tuple[str, ...]
    unknown: tuple[str, ...]
    status: GateStatus
    reason: str


def check(answer: Answer, edits: Sequence[Edit], offered: Sequence[str]) -> Citations:
    """Judges the citations of ``edits``; those of ``answer.not_applied`` are listed when unknown, but fail nothing."""
    named = [label for edit in edits for label in (*edit.evidence, *(each.evidence for each in edit.expect))]
    aside = [label for each in answer.not_applied for label in each.evidence]
    cited = tuple(dict.fromkeys(label for edit in edits for label in edit.evidence))
    unknown = tuple(dict.fromkeys(label for label in (*named, *aside) if label not in offered))
    status, reason = _verdict(edits, offered, {label for label in named if label not in offered})
    return Citations(tuple(offered), cited, unknown, status, reason)


def _verdict(edits: Sequence[Edit], offered: Sequence[str], wrong: set[str]) -> tuple[GateStatus, str]:
    if not offered:
        return "not_applicable", "No evidence was offered."
    for edit in edits:
        labels = [*edit.evidence, *(each.evidence for each in edit.expect)]
        if bad := [label for label in labels if label in wrong]:
            return "failed", (
                f"The edit at {edit.file}:{edit.start_line} cites {bad[0]}, which was not offered "
                f"(offered: {', '.join(offered)})."
            )
        if not edit.evidence:
            return (
                "failed",
                f"The edit at {edit.file}:{edit.start_line} cites no evidence (offered: {', '.join(offered)}).",
            )
    return (
        "passed",
        f"Every edit cites evidence: {', '.join(dict.fromkeys(x for edit in edits for x in edit.evidence))}.",
    )
