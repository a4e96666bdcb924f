"""Gates 4 to 9, one file each: ``step(bench, found) -> (outcome, found)``.

A step reads what earlier steps found and adds its own. A gate that fails is an outcome; only an original program that
cannot be judged at all raises UserError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from analysis.types import Evidence, Value
from evaluation.toolchains.base import Toolchain
from evaluation.types import (
    Baseline,
    Built,
    Ceilings,
    Comparison,
    Limits,
    Measured,
    Pair,
    Ran,
    SanitizerFinding,
    Side,
    Timing,
)
from optimizer.types import Checked, GateName, GateStatus, Region
from projects.types import Manifest, WorkloadSpec

SIDES: tuple[Side, Side] = ("original", "candidate")
Progress = Callable[[str, float], None]
"""Stage and how far it is, 0..1."""


class Cancelled(Exception):
    """Somebody asked to stop; nothing of this evaluation counts."""


@dataclass(frozen=True, slots=True)
class Case:
    """One attempt to be judged.

    ``original`` and ``candidate``: all files, relative path -> bytes. ``checked``: gates 1-3, None when the edits come
    from no answer. ``kernels``: the functions that were to be changed, as mangled, whole or short names. ``offered``:
    the evidence shown to whoever made the edits, with weights that add up to 1; empty when there was none, and then
    there are no scores. ``baselines``: known ones of the same original on this machine; made when empty.
    """

    original: Mapping[str, bytes]
    candidate: Mapping[str, bytes]
    manifest: Manifest
    toolchain: Toolchain
    checked: Checked | None
    seed: int
    kernels: tuple[str, ...] = ()
    regions: tuple[Region, ...] = ()
    offered: tuple[Evidence, ...] = ()
    baselines: tuple[Baseline, ...] = ()
    ceilings: Ceilings | None = None
    arch: str = ""


@dataclass(frozen=True, slots=True)
class Bench:
    """A case on this machine: a job folder for each side, and somebody who watches."""

    case: Case
    folders: Mapping[Side, Path]
    progress: Progress
    cancelled: Callable[[], bool]

    def check(self) -> None:
        """Raises Cancelled when the evaluation is no longer wanted."""
        if self.cancelled():
            raise Cancelled

    def say(self, stage: str, fraction: float) -> None:
        """Tells how far a stage is, unless nobody wants it any more."""
        self.check()
        self.progress(stage, fraction)

    def files(self, side: Side) -> Mapping[str, bytes]:
        return self.case.original if side == "original" else self.case.candidate

    def texts(self, side: Side) -> dict[str, str]:
        """The sources that the answer was checked against; bytes that are not UTF-8 survive."""
        names = self.case.checked.before if self.case.checked else ()
        files = self.files(side)
        return {name: files[name].decode("utf-8", "surrogateescape") for name in names}

    @property
    def on_gpu(self) -> bool:
        return self.case.manifest.toolchain == "cuda"

    def run(
        self, side: Side, built: Built, workload: WorkloadSpec, folder: Path, env: Mapping[str, str] | None = None
    ) -> Ran:
        """One run of a workload in ``folder``, a copy of the one where its side was built."""
        limits = Limits(wall_s=workload.timeout_s)
        return self.case.toolchain.run(folder, built, workload.command, limits, env=env, cancelled=self.cancelled)


@dataclass(frozen=True, slots=True)
class Found:
    """What the steps have found so far.

    ``renamed``: mangled name before -> after, where only const or restrict changed it. ``cannot_run``: why this
    machine cannot run the program at all.
    """

    built: Mapping[Side, Built] = field(default_factory=dict)
    same_code: bool = False
    cannot_run: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)
    baselines: tuple[Baseline, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    sanitizer: Mapping[Side, tuple[SanitizerFinding, ...]] = field(default_factory=dict)
    pairs: Mapping[str, tuple[Pair, ...]] = field(default_factory=dict)
    timings: Mapping[str, Timing] = field(default_factory=dict)
    measured: tuple[Measured, ...] = ()
    environment: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a gate ended: ``reason`` is a sentence, ``log`` what the tools printed."""

    status: GateStatus
    reason: str
    log: str = ""


Step = Callable[[Bench, Found], tuple[Outcome, Found]]
STEPS: Mapping[GateName, str] = {
    "build": "evaluation.steps.build",
    "symbols": "evaluation.steps.symbols",
    "outputs": "evaluation.steps.compare",
    "sanitizer": "evaluation.steps.sanitize",
    "timing": "evaluation.steps.measure",
    "re_profile": "evaluation.steps.reprofile",
}
