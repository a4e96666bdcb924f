"""What every toolchain offers, and what they share. A toolchain is a module with these functions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from evaluation import outputs, sandbox, workspace
from evaluation.types import Built, Limits, OutputFile, Profiled, Ran, Sanitized, Tool
from projects.types import Manifest

Cancelled = Callable[[], bool] | None
OnOutput = Callable[[bytes], None] | None

BUILD_LIMITS = Limits(wall_s=600, cpu_s=600)
SANITIZER_LIMITS = Limits(wall_s=600, cpu_s=1200, memory_bytes=16_000_000_000)
PROFILE_LIMITS = Limits(wall_s=900, cpu_s=1800)

_ASSIGNMENTS = re.compile(r"\s*((?:[A-Za-z_]\w*=\S*\s+)*)")


class Toolchain(Protocol):
    """``folder`` is a job folder of ``evaluation.workspace``; every program runs in ``evaluation.sandbox``."""

    def tools(self) -> tuple[Tool, ...]:
        """The programs it needs, with the versions found here and what to do about missing ones."""
        ...

    def build(
        self,
        folder: Path,
        manifest: Manifest,
        *,
        extra_flags: str = "",
        arch: str = "",
        limits: Limits = BUILD_LIMITS,
        cancelled: Cancelled = None,
        on_output: OnOutput = None,
    ) -> Built:
        """Build in ``folder``. ``extra_flags`` stand for ``{flags}``; ``arch``: for ``{arch}``, default this host's."""
        ...

    def run(
        self,
        folder: Path,
        built: Built,
        command: str,
        limits: Limits,
        *,
        env: Mapping[str, str] | None = None,
        cancelled: Cancelled = None,
    ) -> Ran:
        """Run a workload's command in the folder it was built in."""
        ...

    def outputs_of(self, folder: Path, patterns: Sequence[str]) -> tuple[OutputFile, ...]:
        """The files that match the globs, with their hashes, sorted by path."""
        ...

    def sanitize(
        self,
        folder: Path,
        manifest: Manifest,
        *,
        arch: str = "",
        limits: Limits = SANITIZER_LIMITS,
        cancelled: Cancelled = None,
    ) -> Sanitized:
        """Build in ``folder`` for the sanitizers and run the profile command under each. Give it a fresh folder."""
        ...

    def profile(
        self,
        folder: Path,
        manifest: Manifest,
        *,
        arch: str = "",
        kernels: Sequence[str] = (),
        limits: Limits = PROFILE_LIMITS,
        cancelled: Cancelled = None,
    ) -> Profiled:
        """Build in ``folder`` with line information and profile the profile command. Give it a fresh folder."""
        ...
