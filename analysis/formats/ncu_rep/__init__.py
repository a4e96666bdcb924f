"""Nsight Compute reports (``.ncu-rep``), as written by ncu 2020.3 to 2025.3.

The first pass reads headers, and of each launch its names, sizes and time. Everything else of a launch is decoded
from the file when ``Launch.load`` is called. One damaged launch does not lose the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from analysis.formats.ncu_rep.container import MAGIC, Container, Span, scan
from analysis.formats.ncu_rep.modules import Module, Modules, read_modules
from analysis.formats.ncu_rep.results import DROPPED, DURATION, SAMPLES, Head, Metrics, read_head, read_metrics
from analysis.formats.ncu_rep.sampling import locate
from analysis.formats.ncu_rep.session import Session, read_session
from analysis.formats.ncu_rep.wire import Damaged
from analysis.names import demangle, short_name, tidy
from analysis.types import Device, Launch, LaunchDetail, Profile
from optimas_web.errors import UserError

PROFILE_AGAIN = "Profile again: ncu --set full --import-source yes -o report ./program"
COPY_AGAIN = f"It may have been cut off on its way: copy or upload it again. {PROFILE_AGAIN}"


def detect(head: bytes, name: str) -> bool:
    return head.startswith(MAGIC)


def parse(path: Path) -> Profile:
    """Read a report. The file must stay where it is as long as launches are loaded.

    Raises UserError when no launch can be read.
    """
    try:
        report = _Report(path, scan(path))
    except Damaged as damage:
        raise UserError(f"{path.name} is not a readable Nsight Compute report: {damage}.", COPY_AGAIN) from damage
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
    )


def _no_launch(path: Path, report: _Report) -> str:
    if report.container.other_results:
        return f"{path.name} holds {report.container.other_results} range or graph results and no single kernel launch."
    because = " ".join(report.warnings)
    return f"{path.name} holds no readable kernel launch. {because}".strip()


@dataclass
class _Report:
    """A report on its way to becoming a Profile."""

    path: Path
    container: Container
    heads: list[Head] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.warnings = list(self.container.warnings)
        self.modules: Modules = read_modules(self.path, self.container.sources)
        self.warnings += [f"Damaged and left out: {damage}." for damage in self.modules.damaged]
        self.session = self._session()
        if self.container.other_results:
            self.warnings.append(f"{self.container.other_results} range or graph results are not shown.")

    def _session(self) -> Session:
        try:
            return read_session(self.container.sessions)
        except Damaged as damage:
            self.warnings.append(f"The session's description is damaged: {damage}.")
            return Session()

    def launches(self) -> Iterator[Launch]:
        strings = self.container.strings
        wanted = {number: name for number, name in enumerate(strings) if name in (DURATION, DROPPED)}
        for index, span in enumerate(self.container.results):
            try:
                head = read_head(span.read(self.path), wanted)
            except Damaged as damage:
                self.warnings.append(f"Launch {index} is damaged and left out: {damage}.")
                continue
            self.heads.append(head)
            if head.dropped_bytes:
                self.warnings.append(_dropped(index, head.dropped_bytes))
            yield self._launch(index, span, head)

    def _launch(self, index: int, span: Span, head: Head) -> Launch:
        mangled = head.mangled or head.function
        name = tidy(head.demangled) or demangle(mangled)
        module = self.modules.by_reference.get(head.source) if head.source is not None else None
        load = partial(_load, self.path, span, self.container.strings, module, mangled, index)
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


def _dropped(index: int, dropped: float) -> str:
    return f"Launch {index}: the sampling buffer overflowed and {dropped:.0f} bytes of samples were dropped."


def _load(path: Path, span: Span, strings: list[str], module: Module | None, mangled: str, index: int) -> LaunchDetail:
    """Decode one launch. Raises UserError when it is damaged beyond use."""
    try:
        metrics = read_metrics(span.read(path), strings)
    except (Damaged, OSError) as damage:
        raise UserError(f"Launch {index} of {path.name} cannot be read: {damage}.", COPY_AGAIN) from damage
    located = locate(metrics, module, mangled)
    warnings = [f"Launch {index}, damaged and left out: {damage}." for damage in metrics.damaged]
    warnings += [f"Launch {index}: {warning}" for warning in located.warnings]
    if located.unresolved_samples:
        warnings.append(f"Launch {index}: {located.unresolved_samples} samples belong to no known instruction.")
    return LaunchDetail(metrics.values, located.code, _sample_count(metrics), tuple(warnings))


def _sample_count(metrics: Metrics) -> int | None:
    total = metrics.values.get(SAMPLES)
    return int(total) if isinstance(total, int | float) else None
