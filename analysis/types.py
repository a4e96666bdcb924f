"""What a profile is, and what is read out of it.

Units are base units everywhere and stand in the names: ns, bytes, Hz, cycles, counts. ``None`` is
"not available" and never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Value = float | int | str | None
CostUnit = Literal["ns", "cycle"]
Dim3 = tuple[int, int, int]
SourceKind = Literal["roofline", "stalls", "counters", "findings"]
SOURCE_KINDS: tuple[SourceKind, ...] = ("roofline", "stalls", "counters", "findings")
Bound = Literal["memory", "compute", "latency", "at_roof", "no_flops", "not_measurable"]
Direction = Literal["down", "up"]


# --- what a reader returns -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Device:
    """The processor a profile was taken on. ``attributes`` are the tool's own names, base units."""

    name: str | None
    compute_capability: tuple[int, int] | None = None
    attributes: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """A source line. ``line`` counts from 1; an unknown place is the absence of a Place."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class CodeCost:
    """What was counted at one instruction (GPU) or one source line (Callgrind).

    ``places``: innermost first, outermost (the kernel's own line) last; empty when there is no line
    information. ``costs``: event name -> count. A GPU reader writes ``samples`` (all samples of this
    address), one entry a stall reason (``long_scoreboard``), the same with ``_not_issued``, and
    ``inst_executed`` where the report has it. Callgrind writes its own event names (``Ir``, ``D1mr``).
    """

    function: str
    offset: int
    mnemonic: str | None
    places: tuple[Place, ...]
    costs: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one of the profiler's own rules says of a launch.

    ``rule`` and ``section`` are the tool's identifiers (``SOLBottleneck``, ``SpeedOfLight``); ``kind`` is its word for
    how grave it is (``INF``, ``OPT``, ``WRN``, ``ERR``). ``message`` is text from a file and no more than that.
    ``speedup``: the share of time, 0..1, that the rule thinks can be saved. Only with ``scope`` "global" is it the
    kernel's time; "local" is that of one unit of the hardware. ``title``: the tool's heading, where it has one.
    ``places``: source lines that the rule marks.
    """

    rule: str
    kind: str
    message: str
    speedup: float | None
    section: str
    scope: Literal["local", "global"] | None = None
    title: str = ""
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchDetail:
    """Everything of one launch that is too big to keep for all of them at once.

    ``metrics`` in base units. ``samples_total`` is the report's own count of samples, to check ours against.
    ``warnings``: what could not be read or placed. ``opcodes``: name of an instruction -> how often warps executed
    it. ``nvtx``: names of the ranges around the launch, outermost first. ``sections``: what was collected, by the
    tool's identifiers.
    """

    metrics: Mapping[str, Value]
    code: tuple[CodeCost, ...] = ()
    samples_total: int | None = None
    warnings: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    opcodes: Mapping[str, float] = field(default_factory=dict)
    nvtx: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """One execution of a kernel (Callgrind: one function, all its calls).

    ``cost`` is in the profile's ``cost_unit``. ``name`` is whole and demangled, ``short_name`` has no
    arguments and no template arguments. ``load`` decodes the rest on demand, so that a report of many
    launches need not be held in memory.
    """

    index: int
    mangled: str
    name: str
    short_name: str
    grid: Dim3 | None
    block: Dim3 | None
    cost: float | None
    load: Callable[[], LaunchDetail] = field(repr=False, compare=False)
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """Launches of one kernel with one grid and block on one device, counted by a tool that saw all of them.

    ``total``: what those of them cost together whose cost is known; None: of none it is. ``costs``: each of these
    costs, in no order; None when the tool tells only ``median``. Names are those of a Launch.
    """

    mangled: str
    name: str
    short_name: str
    grid: Dim3 | None
    block: Dim3 | None
    device: str | None
    count: int
    total: float | None
    median: float | None = None
    costs: Sequence[float] | None = None
    registers: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What a file holds of a run that was written in several: ``numbers`` count from 1 within a ``thread`` (0: all).

    ``last``: the program ended with it.
    """

    process: str
    thread: int
    numbers: tuple[int, ...]
    last: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile, whatever tool wrote it.

    ``launches`` were measured one by one. ``tallies``: where a tool counted launches instead; times and shares are then
    from these alone, and ``timeline`` gives the single launches where the file has them. ``whole_run``: what is counted
    is everything the program did (Callgrind) or did on the GPU (a tally), so shares are of that; otherwise they are
    shares "among profiled launches". ``sources``: path as the tool wrote it -> text.
    ``command``: the profiled command line, for the owner's eyes only. Host names, addresses, users and
    environments are dropped by the reader. ``versions``: what the tool says of its parts (CUDA, driver) -> version.
    ``modules``: a hash of each piece of machine code in it. ``origins``: of several reports combined, sentences on what
    comes from which. ``part``: when the tool wrote the run into several files, and this is one of them.
    """

    format: str
    tool: str
    device: Device | None
    clocks_locked: bool | None
    cost_unit: CostUnit
    whole_run: bool
    launches: tuple[Launch, ...]
    sources: Mapping[str, str] = field(default_factory=dict)
    command: str | None = None
    binary_sha256: str | None = None
    warnings: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    modules: frozenset[str] = frozenset()
    tallies: tuple[Tally, ...] = ()
    origins: tuple[str, ...] = ()
    part: Part | None = None
    timeline: Callable[[], Iterator[Launch]] | None = field(default=None, repr=False, compare=False)

    @property
    def launch_count(self) -> int:
        return sum(tally.count for tally in self.tallies) if self.tallies else len(self.launches)


# --- what the analysis makes of it ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kernel:
    """All launches of one mangled name. ``share`` is of the profile's total cost, 0..1; rank counts from 1.

    ``launches``: those measured one by one, which ``launch_count`` exceeds where the profile has tallies.
    """

    mangled: str
    name: str
    short_name: str
    launch_count: int
    total_cost: float | None
    median_cost: float | None
    share: float | None
    rank: int
    hot: bool
    launches: tuple[int, ...]

    @property
    def measured(self) -> int:
        """Over how many launches its metrics and samples are."""
        return len(self.launches) or self.launch_count


@dataclass(frozen=True, slots=True)
class LineCost:
    """What was counted at one source line, summed over a kernel's launches; file and line None: no line known.

    ``costs`` as in CodeCost, and what is derived from them: ``stalled_samples``, ``stalled_cycles`` (samples
    times the sampling interval, where the report tells it), ``estimated_cycles`` (Callgrind).
    """

    file: str | None
    line: int | None
    costs: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Measures:
    """A kernel's counts, small enough to keep.

    ``per_launch``: the metrics that the roofline and the samples need, one mapping a launch; ``metrics``: their
    medians. ``samples``: found at instructions; ``samples_reported``: what the report says there are. ``findings``:
    what the profiler's rules advise, one for each kind of advice over all launches. ``warnings``: what could not be
    read or placed, the first of them.
    """

    per_launch: tuple[Mapping[str, float], ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    lines: tuple[LineCost, ...] = ()
    samples: float = 0
    samples_reported: float | None = None
    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """One kernel at one memory level in one precision. Rates a second, at the profiled clock."""

    precision: str
    level: str
    flop_per_byte: float | None
    flop_per_s: float | None
    peak_flop_per_s: float | None
    bytes_per_s: float | None
    peak_bytes_per_s: float | None


@dataclass(frozen=True, slots=True)
class Roofline:
    """``reason`` names the ratio that decided. ``at_most_saved``: share of the kernel's time, 0..1."""

    bound: Bound
    reason: str
    at_most_saved: float | None
    points: tuple[RooflinePoint, ...] = ()


@dataclass(frozen=True, slots=True)
class StallLine:
    """One source line. ``share`` is of the kernel's stalled samples (Callgrind: of its cost), 0..1.

    ``reasons``: reason -> share of this line's value, largest first.
    """

    file: str | None
    line: int | None
    text: str
    value: float
    share: float
    reasons: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Stalls:
    """``unit`` says what ``value`` counts; ``total`` is the kernel's sum, over all lines and none."""

    unit: str
    total: float
    lines: tuple[StallLine, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One statement with a label (R1, S1, H1, N1) that an edit can cite.

    ``metric`` is absolute, never a share. ``noise`` is the relative floor under which a change says
    nothing (0..1). ``weight``: all evidence offered adds up to 1. ``lines``: first and last, or none.
    """

    label: str
    kind: SourceKind
    kernel: str
    statement: str
    metric: str
    value: float | None
    unit: str
    noise: float
    direction: Direction
    weight: float
    file: str | None = None
    lines: tuple[int, int] | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class KernelAnalysis:
    kernel: Kernel
    roofline: Roofline
    stalls: Stalls | None
    evidence: tuple[Evidence, ...]
    measures: Measures = field(default_factory=Measures)


@dataclass(frozen=True, slots=True)
class DoctorNote:
    """Something missing from a profile: what it disables and the exact command that mends it."""

    severity: Literal["info", "warning", "error"]
    page: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Analysis:
    profile: Profile
    kernels: tuple[KernelAnalysis, ...]
    doctor: tuple[DoctorNote, ...]
    sources: Mapping[str, str]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return tuple(e for k in self.kernels for e in k.evidence)
