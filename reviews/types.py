"""What the attempt page shows, as values. Ratios and shares are numbers, 1 is 100 %; times are in ns or s as named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.align import Hunk
from analysis.types import Evidence, Stalls
from optimizer.types import Edit, Gate, NotApplied, Violation

Document = Mapping[str, Any]
"""An evaluation document, schema ``optimas.evaluation/1``."""


# --- what is known of an attempt --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Known:
    """Everything the page is made from, read from the rows of one attempt.

    ``offered`` has weights that add up to 1. ``sources``: original files by path, those that edits or evidence name.
    ``stalls`` and ``names``: by mangled kernel. ``document`` is None until the attempt is judged.
    """

    gates: tuple[Gate, ...] = ()
    edits: tuple[Edit, ...] = ()
    not_applied: tuple[NotApplied, ...] = ()
    violations: tuple[Violation, ...] = ()
    offered: tuple[Evidence, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    stalls: Mapping[str, Stalls] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    document: Document | None = None
    outcome: str = ""
    message: str = ""
    run_status: str = ""
    run_problem: str = ""


# --- the change -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Promise:
    """A predicted change of one evidence metric beside the measured one; both relative, -0.8 is 80 % less."""

    label: str
    direction: str
    predicted: float | None
    measured: float | None
    outcome: str


@dataclass(frozen=True, slots=True)
class Change:
    """One edit. ``evidence``: the labels that it cites, offered or not."""

    number: int
    edit: Edit
    evidence: tuple[str, ...]
    promises: tuple[Promise, ...]

    @property
    def place(self) -> str:
        first, last = self.edit.start_line, self.edit.end_line
        if last < first:
            return f"added before line {first}"
        return f"line {first}" if first == last else f"lines {first} to {last}"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file before and after. ``hunks`` and ``notes`` go together: what changed, and the edit that changed it.

    ``heat``: line -> share of its kernel's cost; ``marks``: line -> evidence that points at it.
    """

    path: str
    before: str
    after: str
    hunks: tuple[Hunk, ...]
    notes: tuple[Change, ...]
    heat: Mapping[int, float]
    marks: Mapping[int, Sequence[str]]
    anchor: str


# --- the evidence -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of offered evidence with what became of it.

    ``anchor``: id of its first line on the page, empty when it has none. ``changes``: numbers of those that cite it.
    ``before``, ``after``: its metric measured again on either side; ``moved``: None when it was not.
    """

    evidence: Evidence
    kernel: str
    anchor: str
    changes: tuple[int, ...]
    turned_down: bool
    before: float | None = None
    after: float | None = None
    change: float | None = None
    noise: float | None = None
    moved: bool | None = None


# --- the proof --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scope:
    """A timing with its scope in words. ``saved_low`` and ``saved_high`` bound the share of time saved."""

    scope: str
    key: str
    verdict: str
    speedup: float | None
    low: float | None
    high: float | None
    time_saved: float | None
    saved_low: float | None
    saved_high: float | None
    pairs: int
    confidence: float
    smallest_effect: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class PairRow:
    number: int
    first: str
    original_ns: float
    candidate_ns: float
    speedup: float | None
    tainted: str


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """``lift``: value over chance; None where chance is 0 or not known."""

    name: str
    value: float | None
    numerator: float | None
    denominator: float | None
    chance: float | None
    lift: float | None
    parts: Mapping[str, Any]
    sentence: str


@dataclass(frozen=True, slots=True)
class Headline:
    """What a lead reads first. ``status`` is a word of the tables; ``gate``: the one that failed, with its number.

    ``proved`` and ``approvable`` are None while nobody judged the attempt.
    """

    status: str
    reason: str
    gate: Gate | None = None
    gate_number: int = 0
    live: bool = False
    proved: bool | None = None
    approvable: bool | None = None
    scopes: tuple[Scope, ...] = ()
    workloads: int = 0
    compared_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """``labels``: those that were offered; others lead nowhere."""

    headline: Headline
    labels: frozenset[str]
    items: tuple[Item, ...]
    files: tuple[FileChange, ...]
    unplaced: tuple[FileChange, ...]
    gates: tuple[Gate, ...]
    scopes: tuple[Scope, ...]
    pairs: Mapping[str, tuple[PairRow, ...]]
    outputs: tuple[Mapping[str, Any], ...]
    scores: tuple[ScoreRow, ...]
    cost_unit: str
