"""One attempt as values, in a number of queries that does not grow with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from analysis import evidence
from analysis.models import Evidence, Kernel
from analysis.rows import evidence_value, stalls_value
from analysis.types import Evidence as EvidenceValue
from evaluation.run_page import spent
from optimizer.models import Attempt, Prompt
from optimizer.rows import as_text, edits_of, gate_of, violation_of
from optimizer.types import NotApplied
from projects.models import Snapshot
from reviews.attempt_page import named_files
from reviews.types import Known

WITH = (
    "run__snapshot__project__team",
    "run__profile__upload",
    "run__created_by",
    "parent",
    "prompt",
    "completion",
    "verdict__host",
)
"""What the page needs of the rows that there is one of."""


def known(row: Attempt) -> Known:
    """``row`` comes with everything in `WITH`."""
    verdict, prompt = getattr(row, "verdict", None), getattr(row, "prompt", None)
    edits = edits_of(row)
    offered = offered_evidence(row, prompt)
    kernels = kernels_of(offered, row)
    return Known(
        gates=tuple(gate_of(gate) for gate in row.gates.all()),
        edits=edits,
        not_applied=tuple(NotApplied(tuple(item["evidence"]), item["reason"]) for item in row.not_applied),
        violations=tuple(violation_of(found) for found in row.violations.order_by("pk")),
        offered=offered,
        sources=texts(row.run.snapshot, named_files([edit.file for edit in edits], offered)),
        stalls={kernel.mangled: found for kernel in kernels if (found := stalls_value(kernel.stalls))},
        names={kernel.mangled: kernel.short_name for kernel in kernels},
        document=verdict.document if verdict else None,
        outcome=row.outcome,
        message=row.message,
        run_status=row.run.status,
        run_problem=row.run.problem,
    )


def offered_evidence(row: Attempt, prompt: Prompt | None) -> tuple[EvidenceValue, ...]:
    """What stood in the prompt, with weights that add up to 1."""
    if prompt is None or not prompt.labels:
        return ()
    kernels = Kernel.objects.filter(profile=row.run.profile, evidence__label__in=prompt.labels)
    found = Evidence.objects.filter(kernel__in=kernels).select_related("kernel")
    values = map(evidence_value, found.defer("kernel__stalls", "kernel__roofline"))
    return evidence.offered(values, labels=prompt.labels)


def kernels_of(offered: Collection[EvidenceValue], row: Attempt) -> list[Kernel]:
    """The kernels that the evidence is about."""
    mangled = {item.kernel for item in offered}
    return list(Kernel.objects.filter(profile=row.run.profile, mangled__in=mangled).defer("roofline"))


def texts(snapshot: Snapshot, paths: Collection[str]) -> Mapping[str, str]:
    return {file.path: as_text(file.content) for file in snapshot.files.filter(path__in=paths)}


def machine(row: Attempt) -> str:
    """What a judged attempt was measured on: its GPU, else its processor."""
    found = row.verdict.environment if hasattr(row, "verdict") else {}
    named = next((found[key] for key in ("tool GPU", "gpu", "processor") if found.get(key)), "")
    return str(named)


def seconds_of(row: Attempt) -> dict[str, Any]:
    """Where the time of the run went."""
    return spent(row.run.seconds)
