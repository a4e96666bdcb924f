"""Nsight Compute reports (``.ncu-rep``, compressed ``.ncu-repz``), as written by ncu 2020.3 to 2025.3.

The first pass reads headers, and of each launch its names, sizes and time. Everything else of a launch is decoded
from the file when ``Launch.load`` is called. One damaged launch does not lose the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from analysis.formats.ncu_rep.container import MAGIC, Container, Span, scan
from analysis.formats.ncu_rep.file import ZSTD_MAGIC, ReportFile, open_report
from analysis.formats.ncu_rep.modules import Module, Modules, read_modules
from analysis.formats.ncu_rep.results import DROPPED, DURATION, SAMPLES, Head, Result, read_head, read_result
from analysis.formats.ncu_rep.sampling import locate
from analysis.formats.ncu_rep.session import Session, read_session
from analysis.formats.ncu_rep.wire import Damaged
from analysis.names import demangle, short_name, tidy
from analysis.types import Device, Launch, LaunchDetail, Profile
from optimas_web.errors import UserError

NAMED_EACH = 20
"""Damaged launches, and damaged parts of one, that are named; what lies beyond is counted."""
LAUNCH_SCOPE = 1
SCOPES = {2: "range", 3: "command list"}
ONE_BY_ONE = "profile with --replay-mode kernel and --graph-profiling node to see them one by one"
PROFILE_AGAIN = "Profile again: ncu --set full --import-source yes -o report ./program"
COPY_AGAIN = f"It may have been cut off on its way: copy or upload it again. {PROFILE_AGAIN}"


def detect(head: bytes, name: str) -> bool:
    return head.startswith((MAGIC, ZSTD_MAGIC))


def parse(path: Path) -> Profile:
    """Read a report. The file must stay where it is as long as launches are loaded.

    Raises UserError when no launch can be read.
    """
    file = open_report(path)
    try:
        report = _Report(file, scan(file))
    except Damaged as damage:
        because = file.problem or damage
        raise UserError(f"{path.name} is not a readable Nsight Compute report: {because}.", COPY_AGAIN) from damage
    launches = tuple(report.launches())
    if not launches:
        raise UserError(_no_launch(path, report), PROFILE_AGAIN)
    return Profile(
        format="ncu_rep",
        tool=report.session.tool,
        device=report.device(),
        clocks_locked=report.clocks_locked(),
        cost_unit="ns",
        whole_run=False,
        launches=launches,
        sources=report.modules.sources,
        command=report.session.command,
        binary_sha256=report.modules.sha256,
        warnings=tuple(report.warnings),
        versions=report.session.versions,
        modules=frozenset(report.modules.code_hashes),
    )


def _no_launch(path: Path, report: _Report) -> str:
    if others := report.other_results():
        return f"{path.name} holds {others} and no single kernel launch."
    because = " ".join(report.warnings)
    return f"{path.name} holds no readable kernel launch. {because}".strip()


@dataclass
class _Report:
    """A report on its way to becoming a Profile."""

    file: ReportFile
    container: Container
    heads: list[Head] = field(default_factory=list)
    unread: int = 0

    def __post_init__(self) -> None:
        self.warnings = list(self.container.warnings)
        self.modules: Modules = read_modules(self.file, self.container.sources)
        self.warnings += [f"Damaged and left out: {damage}." for damage in self.modules.damaged]
        self.session = self._session()

    def _session(self) -> Session:
        try:
            return read_session(self.container.sessions)
        except Damaged as damage:
            self.warnings.append(f"The session's description is damaged: {damage}.")
            return Session()

    def launches(self) -> Iterator[Launch]:
        wanted = {number: name for number, name in enumerate(self.container.strings) if name in (DURATION, DROPPED)}
        with self.file.opened() as source:
            for index, span in enumerate(self.container.results):
                try:
                    head = read_head(span.read(source), wanted)
                except Damaged as damage:
                    self._note_damage(index, damage)
                    continue
                if head.scope > LAUNCH_SCOPE:
                    self.container.other_results[SCOPES.get(head.scope, "other")] += 1
                    continue
                self.heads.append(head)
                yield self._launch(index, span, head)
        self._warn()

    def _note_damage(self, index: int, damage: Damaged) -> None:
        self.unread += 1
        if self.unread <= NAMED_EACH:
            self.warnings.append(f"Launch {index} is damaged and left out: {damage}.")

    def _warn(self) -> None:
        """What is known only after the last launch."""
        if self.unread > NAMED_EACH:
            self.warnings.append(f"{self.unread - NAMED_EACH} more launches are damaged and left out.")
        self.warnings += _dropped(self.heads)
        if others := self.other_results():
            self.warnings.append(f"Not shown: {others}. Each is of several kernels together; {ONE_BY_ONE}.")

    def other_results(self) -> str:
        """3 range results, 1 graph result; empty when there are none."""
        counts = {kind: count for kind, count in self.container.other_results.items() if count}
        return ", ".join(f"{count} {kind} result{'s' if count > 1 else ''}" for kind, count in counts.items())

    def _launch(self, index: int, span: Span, head: Head) -> Launch:
        mangled = head.mangled or head.function
        name = tidy(head.demangled) or demangle(mangled)
        module = self.modules.by_reference.get(head.source) if head.source is not None else None
        load = partial(_load, self.file, span, self.container.strings, module, mangled, index)
        return Launch(index, mangled, name, short_name(name), head.grid, head.block, head.duration_ns, load)

    def clocks_locked(self) -> bool | None:
        said = {head.clocks_locked for head in self.heads if head.clocks_locked is not None}
        return all(said) if said else None

    def device(self) -> Device | None:
        """The first device; reports of several devices name them all, in a warning."""
        devices = [self.session.devices[number] for number in sorted(self.session.devices)]
        if len(devices) > 1:
            self.warnings.append(f"The report names {len(devices)} devices; the first is shown.")
        return devices[0] if devices else None


def _dropped(heads: Sequence[Head]) -> list[str]:
    lost = [head.dropped_bytes for head in heads if head.dropped_bytes]
    if not lost:
        return []
    said = f"The sampling buffer overflowed in {len(lost)} of {len(heads)} launches"
    return [f"{said}: {sum(lost):,.0f} bytes of samples were dropped."]


def _load(
    file: ReportFile, span: Span, strings: list[str], module: Module | None, mangled: str, index: int
) -> LaunchDetail:
    """Decode one launch. Raises UserError when it is damaged beyond use."""
    try:
        result = read_result(span.read_from(file), strings)
    except (Damaged, OSError) as damage:
        raise UserError(f"Launch {index} of {file.name} cannot be read: {damage}.", COPY_AGAIN) from damage
    located = locate(result, module, mangled)
    warnings = [f"Launch {index}, damaged and left out: {damage}." for damage in result.damaged[:NAMED_EACH]]
    warnings += [f"Launch {index}: {warning}" for warning in located.warnings]
    if located.unresolved_samples:
        warnings.append(f"Launch {index}: {located.unresolved_samples} samples belong to no known instruction.")
    return LaunchDetail(
        metrics=result.values,
        code=located.code,
        samples_total=_sample_count(result),
        warnings=tuple(warnings),
        findings=tuple(result.findings),
        opcodes=result.opcodes,
        nvtx=tuple(result.nvtx),
        sections=tuple(result.sections),
    )


def _sample_count(result: Result) -> int | None:
    total = result.values.get(SAMPLES)
    return int(total) if isinstance(total, int | float) else None
