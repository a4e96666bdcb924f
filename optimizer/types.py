"""From evidence to edits: prompt, completion, answer, edit, violation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from analysis.types import Evidence

Severity = Literal["block", "warn", "off"]
AnswerOutcome = Literal["edits", "no_change", "declined", "cut_off", "filtered", "empty", "unreadable"]
Stop = Literal["end", "length", "refusal", "filter", "empty"]
GateStatus = Literal["passed", "failed", "not_run", "not_applicable"]
GateName = Literal[
    "parse", "citations", "guardrails", "build", "symbols", "outputs", "sanitizer", "timing", "re_profile"
]
GATES: tuple[GateName, ...] = (
    "parse", "citations", "guardrails", "build", "symbols", "outputs", "sanitizer", "timing", "re_profile",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate's result. ``reason`` is a sentence a person reads; ``log`` is what the tools printed."""

    name: GateName
    status: GateStatus
    reason: str
    seconds: float
    log: str = ""


@dataclass(frozen=True, slots=True)
class Region:
    """Lines that may change: one function, first and last line inclusive. ``why`` says how it got in."""

    file: str
    first: int
    last: int
    function: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The exact text a model reads. ``labels`` are the evidence ids offered in it."""

    text: str
    tokens_estimated: int
    kernels: tuple[str, ...]
    sources: tuple[str, ...]
    labels: tuple[str, ...]
    regions: tuple[Region, ...]
    dropped: tuple[str, ...] = ()
    version: str = "1"

    @property
    def sha256(self) -> str:
        import hashlib

        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Access:
    """How a vendor is reached. Without ``base_url`` it is the vendor's own address; ``key`` is never shown."""

    base_url: str = ""
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an answer may take: ``silence_s`` without a byte, ``whole_s`` in all, ``connect_s`` until it begins.

    ``largest_bytes``: what a reply may weigh before it is cut off. ``cancelled`` is looked at every ``look_s``, and
    ``progress`` is told how many characters have come.
    """

    connect_s: float = 15.0
    silence_s: float = 300.0
    whole_s: float = 1800.0
    look_s: float = 0.5
    largest_bytes: int = 32_000_000
    cancelled: Callable[[], bool] = lambda: False
    progress: Callable[[int], None] = lambda characters: None


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """What a backend may need besides the prompt; each takes what concerns it.

    ``text``: the pasted answer. ``snapshot`` is the hash of the files, ``evidence`` what the analysis found, and
    ``recordings`` files or folders of recorded answers: the keys of a replay. ``output_tokens``: what the answer may
    have at most, hidden reasoning included; None: what is usual for the model.
    """

    model: str = ""
    text: str | None = None
    snapshot: str = ""
    evidence: tuple[Evidence, ...] = ()
    recordings: tuple[Path, ...] = ()
    output_tokens: int | None = None
    access: Access = Access()
    patience: Patience = Patience()


@dataclass(frozen=True, slots=True)
class Completion:
    """What a backend returned. ``stop``: why it ended. Tokens and cost are None when the vendor does not say."""

    text: str
    stop: Stop
    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float = 0.0
    recorded: str = ""
    """Where a recorded answer comes from, and whether it was recorded for another prompt; empty when live."""
    note: str = ""
    """A sentence on how the vendor says that it ended; empty when there is nothing to add to ``stop``."""


@dataclass(frozen=True, slots=True)
class Expectation:
    evidence: str
    direction: Literal["down", "up"]
    by_percent: float | None


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace lines start..end (inclusive, counted in the original) of ``file`` by ``new_text``.

    An insertion has ``end_line == start_line - 1``. ``anchored``: the numbers were wrong and the edit
    was moved to where its original text stands.
    """

    file: str
    start_line: int
    end_line: int
    original_text: str
    new_text: str
    evidence: tuple[str, ...]
    rationale: str = ""
    expect: tuple[Expectation, ...] = ()
    anchored: bool = False


@dataclass(frozen=True, slots=True)
class NotApplied:
    evidence: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What was understood. ``message`` is a sentence; ``notes`` list what had to be mended to read it."""

    outcome: AnswerOutcome
    message: str
    summary: str = ""
    edits: tuple[Edit, ...] = ()
    not_applied: tuple[NotApplied, ...] = ()
    form: str = "json"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule at a place. ``cannot_check`` means that the parser is unsure there, which blocks too."""

    rule: str
    severity: Severity
    file: str
    line: int
    message: str
    cannot_check: bool = False


@dataclass(frozen=True, slots=True)
class GuardContext:
    """What a guard may look at besides the two versions.

    ``severities``: rule name -> severity; a rule not named has its default.
    """

    kernels: tuple[str, ...]
    regions: tuple[Region, ...]
    edits: tuple[Edit, ...]
    severities: Mapping[str, Severity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer that went through gates 1-3. ``after`` is empty when gate 1 failed."""

    answer: Answer
    gates: tuple[Gate, ...]
    violations: tuple[Violation, ...]
    offered: tuple[str, ...]
    cited: tuple[str, ...]
    unknown: tuple[str, ...]
    before: Mapping[str, str]
    after: Mapping[str, str]
    diff: str

    @property
    def passed(self) -> bool:
        return all(gate.status in ("passed", "not_applicable") for gate in self.gates)
