"""Was it worth it: builds, runs, comparisons, timings, scores. Failures are values here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from analysis.types import Value
from optimizer.types import Gate

Side = Literal["original", "candidate"]
Ended = Literal[
    "exited",
    "signalled",
    "timeout",
    "output_limit",
    "disk_limit",
    "memory_limit",
    "process_limit",
    "cancelled",
    "not_started",
]
TimingVerdict = Literal["impossible", "same_machine_code", "cannot_tell", "no_difference", "faster", "slower"]
ScoreName = Literal["coverage", "location", "direction"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one sandboxed process tree. Bytes and seconds.

    None takes its measure from the host, so that a program with a thread a core is not stopped for it: ``cpu_s``
    (of one process, all its threads) becomes ``wall_s`` times the processors, ``processes`` (and threads, of the whole
    tree) four for each processor, at least 256.
    """

    wall_s: float = 60.0
    cpu_s: int | None = None
    memory_bytes: int = 8_000_000_000
    file_bytes: int = 1_073_741_824
    job_bytes: int = 4_294_967_296
    output_bytes: int = 16_777_216
    processes: int | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """How one process tree ended. ``reason`` is a sentence when it did not simply exit.

    ``stdout``/``stderr`` hold at most the limit; what was left out is counted in ``dropped_bytes``.
    """

    ended: Ended
    status: int | None
    reason: str
    stdout: bytes
    stderr: bytes
    dropped_bytes: int
    wall_ns: int
    cpu_ns: int | None = None

    @property
    def ok(self) -> bool:
        return self.ended == "exited" and self.status == 0


@dataclass(frozen=True, slots=True)
class Tool:
    """A program the toolchain needs, as found on this host: ``version`` is None when it is missing."""

    name: str
    version: str | None
    remedy: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function in the built binary. ``code_hash`` covers its machine code and the constants that code reads.

    ``binding``: ``kernel`` and ``device`` for GPU code; else the linker's word. ``weak`` (templates, inline) and
    ``local`` (static, clones) functions come and go with inlining decisions.
    """

    mangled: str
    name: str
    code_hash: str
    binding: Literal["kernel", "device", "global", "weak", "local"] = "global"


@dataclass(frozen=True, slots=True)
class Built:
    """One build. ``binary`` is relative to the folder; ``log`` is what the build printed."""

    ok: bool
    reason: str
    log: str
    binary: str | None
    flags: str
    arch: str
    seconds: float
    symbols: tuple[Symbol, ...] = ()
    binary_sha256: str | None = None
    symbols_reason: str = ""
    """Why ``symbols`` is empty although the build is good; else empty."""


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file a run wrote. ``content`` is None when it is too large to keep."""

    path: str
    size: int
    sha256: str
    content: bytes | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Outputs:
    """Everything of one run that is compared. ``stdout``/``stderr`` raw; masks are applied at comparison."""

    ran: Ran
    files: tuple[OutputFile, ...]


@dataclass(frozen=True, slots=True)
class Mask:
    """A part of the output seen to vary between runs of the original (or given in optimas.toml).

    What the pattern's groups match is masked, or all of the match when it has none. ``lines``: the lines it holds for,
    whole lines, counted from 1; empty means anywhere.
    """

    stream: Literal["stdout", "stderr"]
    pattern: str
    origin: Literal["seen", "declared"]
    example: str = ""
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Baseline:
    """Three runs of the original on one workload."""

    workload: str
    stable: bool
    comparable_bytes: int
    masks: tuple[Mask, ...]
    outputs: Outputs
    problem: str = ""
    """Why the original cannot be used as proof; empty when it can."""
    printed: str = ""
    """Its standard output with the masks on it."""

    @property
    def data(self) -> tuple[str, tuple[OutputFile, ...]]:
        """What tells two workloads apart: what they wrote, without what varies by itself."""
        return self.printed, self.outputs.files


@dataclass(frozen=True, slots=True)
class Comparison:
    """One workload, original against candidate. ``differences`` are sentences that name file and place."""

    workload: str
    same: bool
    compared_bytes: int
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SanitizerFinding:
    tool: str
    kind: str
    function: str


@dataclass(frozen=True, slots=True)
class Sanitized:
    """What the sanitizers found in one program. ``done`` is False, with the reason, when they could not run."""

    done: bool
    reason: str
    tools: tuple[str, ...] = ()
    findings: tuple[SanitizerFinding, ...] = ()
    log: str = ""


@dataclass(frozen=True, slots=True)
class Profiled:
    """A profile taken on this host. ``path`` lies in the job folder and goes with it; None means none, see reason.

    ``built``: the build that was profiled, to be given to the next profile of the same folder.
    """

    path: Path | None
    reason: str
    command: str = ""
    log: str = ""
    ran: Ran | None = None
    built: Built | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """One A/B pair, in the order it ran. Times in ns. ``tainted``: why it is left out; empty when it counts."""

    index: int
    first: Side
    original_ns: float
    candidate_ns: float
    tainted: str = ""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What this machine was measured to move and to compute at most. None: not measured."""

    bytes_per_s: float | None = None
    flop_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """The verdict on one scope. speedup = t_before / t_after; time_saved = 1 - t_after / t_before.

    ``low`` and ``high`` bound the speedup. ``smallest_effect``: the least relative change this many pairs
    could have told from none.
    """

    scope: str
    speedup: float | None
    time_saved: float | None
    low: float | None
    high: float | None
    pairs: int
    verdict: TimingVerdict
    confidence: float
    smallest_effect: float | None
    reason: str
    seed: int


@dataclass(frozen=True, slots=True)
class Measured:
    """One evidence metric on one side: median of the repeats and their relative spread (MAD)."""

    label: str
    before: float | None
    after: float | None
    noise: float


@dataclass(frozen=True, slots=True)
class Score:
    """One EAR score. ``value`` is numerator / denominator, None when the denominator is 0 or not measured.

    ``chance``: what edits placed at random would score; ``parts``: the sums behind it, ready for display.
    """

    name: ScoreName
    value: float | None
    numerator: float | None
    denominator: float | None
    chance: float | None
    parts: Mapping[str, object]
    sentence: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Gates 1-9 of one attempt and all that came out of them.

    ``workload`` is the one that was timed; ``declared_bytes`` and ``declared_flops`` are its declaration in
    optimas.toml. ``scores`` is empty when there was no evidence to reason from.
    """

    workload: str
    gates: tuple[Gate, ...]
    comparisons: tuple[Comparison, ...]
    pairs: Mapping[str, tuple[Pair, ...]]
    timings: Mapping[str, Timing]
    scores: tuple[Score, ...]
    environment: Mapping[str, Value]
    baselines: tuple[Baseline, ...] = ()
    measured: tuple[Measured, ...] = ()
    same_code: bool = False
    seed: int = 0
    sanitizer: Mapping[Side, tuple[SanitizerFinding, ...]] = field(default_factory=dict)
    declared_bytes: int | None = None
    declared_flops: int | None = None
    ceilings: Ceilings | None = None
    builds: Mapping[Side, Built] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return any(gate.status == "failed" for gate in self.gates)

    @property
    def proved(self) -> bool:
        """Nothing failed and the outputs were compared. A gate that could not run says why and proves nothing."""
        compared = any(gate.name == "outputs" and gate.status == "passed" for gate in self.gates)
        return compared and not self.failed

    @property
    def different_data(self) -> int:
        """Workloads that agree and whose originals wrote different outputs: approval needs two."""
        agreeing = {comparison.workload for comparison in self.comparisons if comparison.same}
        return len({baseline.data for baseline in self.baselines if baseline.workload in agreeing})
