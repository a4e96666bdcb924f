"""Evidence coverage: how much of the offered evidence, by weight, the edits act on."""

from __future__ import annotations

from evaluation.ear import Hunk, Reasoning, cited_labels, hunks
from evaluation.types import Score


def score(reasoning: Reasoning) -> Score:
    """Sum of the weights of the evidence cited by an edit that changes code, over the weight of all offered.

    Chance: citing as many labels drawn at random. Each label is drawn equally often, so the expected weight is
    (cited / offered) x the weight of all.
    """
    weights = {item.label: item.weight for item in reasoning.offered}
    found = hunks(reasoning)
    acted = cited_labels(found, reasoning.offered)
    total = sum(weights.values())
    numerator = sum(weights[label] for label in acted)
    value = numerator / total if total else None
    return Score(
        name="coverage",
        value=value,
        numerator=numerator,
        denominator=total,
        chance=len(acted) / len(weights) if total else None,
        parts=_parts(reasoning, found, acted, weights, total),
        sentence=_sentence(value, acted, weights),
    )


def citation_precision(found: tuple[Hunk, ...], known: set[str]) -> float | None:
    """Citations of offered labels over all citations; None when nothing is cited."""
    cited = [label for hunk in found for label in hunk.cited]
    return sum(label in known for label in cited) / len(cited) if cited else None


def grounded_share(found: tuple[Hunk, ...], known: set[str]) -> float | None:
    """Hunks with at least one citation of an offered label over all hunks; None without hunks."""
    return sum(bool(known & set(hunk.cited)) for hunk in found) / len(found) if found else None


def _parts(
    reasoning: Reasoning, found: tuple[Hunk, ...], acted: frozenset[str], weights: dict[str, float], total: float
) -> dict[str, object]:
    rejected = {label for item in reasoning.not_applied if item.reason.strip() for label in item.evidence}
    discussed = acted | (rejected & weights.keys())
    return {
        "acted_on": [{"label": label, "weight": weights[label]} for label in weights if label in acted],
        "left_out": [{"label": label, "weight": weights[label]} for label in weights if label not in discussed],
        "discussed": sum(weights[label] for label in discussed) / total if total else None,
        "citation_precision": citation_precision(found, set(weights)),
        "grounded_hunks": grounded_share(found, set(weights)),
        "hunks": len(found),
    }


def _sentence(value: float | None, acted: frozenset[str], weights: dict[str, float]) -> str:
    if value is None:
        return "No evidence was offered, so none could be covered."
    named = ", ".join(label for label in weights if label in acted) or "none"
    return f"The edits act on {len(acted)} of {len(weights)} offered items ({named}), {value:.0%} of their weight."
