"""What every toolchain offers, and what they share. A toolchain is a module with these functions."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from evaluation import sandbox, workspace
from evaluation.types import Built, Limits, OutputFile, Profiled, Ran, Sanitized, Tool
from projects.types import Manifest

Cancelled = Callable[[], bool] | None
OnOutput = Callable[[bytes], None] | None

BUILD_LIMITS = Limits(wall_s=600)
SANITIZER_LIMITS = Limits(wall_s=600, memory_bytes=16_000_000_000)
PROFILE_LIMITS = Limits(wall_s=900)

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
        """``workspace.outputs_of``: the files that match the globs, hashed, sorted by path."""
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
        built: Built | None = None,
        limits: Limits = PROFILE_LIMITS,
        cancelled: Cancelled = None,
    ) -> Profiled:
        """Build in ``folder`` with line information and profile the profile command. Give it a fresh folder, or one
        that was profiled before with what that returned as ``built``."""
        ...


def takes_flags(manifest: Manifest) -> bool:
    """Whether the build command has a place for further compiler flags."""
    return "{flags}" in (manifest.build_command or "")


def built(
    folder: Path,
    manifest: Manifest,
    *,
    arch: str,
    flags: str,
    limits: Limits,
    env: Mapping[str, str] | None = None,
    cancelled: Cancelled = None,
    on_output: OnOutput = None,
) -> Built:
    """Run the manifest's build command in ``folder``; no symbols yet. Its two streams are kept in one, in order."""
    if manifest.build_command is None:
        return _not_built(
            f"{manifest.name} has no build command: none is declared and none was recognised", arch, flags
        )
    workspace.clear(folder, [manifest.binary])  # a binary from before would pass for the product of this build
    command = manifest.build_command.replace("{arch}", arch).replace("{flags}", flags)
    ran = sandbox.run(
        f"exec 2>&1\n{command}",
        folder,
        profile="build",
        limits=limits,
        env=env,
        cancelled=cancelled,
        on_output=on_output,
    )
    made = workspace.find(folder, [manifest.binary])
    return Built(
        ok=ran.ok and bool(made),
        reason=_why_not_built(ran, manifest, bool(made)),
        log=ran.stdout.decode(errors="replace"),
        binary=manifest.binary if made else None,
        flags=flags,
        arch=arch,
        seconds=ran.wall_ns / 1e9,
        binary_sha256=_sha256(folder / manifest.binary) if made else None,
    )


def _not_built(reason: str, arch: str, flags: str) -> Built:
    return Built(ok=False, reason=reason, log="", binary=None, flags=flags, arch=arch, seconds=0.0)


def _why_not_built(ran: Ran, manifest: Manifest, made: bool) -> str:
    if ran.reason:
        return f"the build: {ran.reason}"
    if ran.status != 0:
        return f"the build command ended with status {ran.status}"
    return "" if made else f"the build command ended well but made no file {manifest.binary}"


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def prefixed(command: str, tool: str) -> str:
    """``tool`` in front of the program that a shell command starts, behind assignments of its environment."""
    assignments = _ASSIGNMENTS.match(command)
    place = assignments.end() if assignments else 0
    return f"{command[:place]}{tool} {command[place:]}" if tool else command


def tool(name: str, remedy: str, *, arguments: Sequence[str] = ("--version",), folders: Sequence[str] = ()) -> Tool:
    """A program as found here, on PATH or in one of ``folders``. The version is the most exact number it prints."""
    path = shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))
    if path is None:
        return Tool(name, None, remedy)
    said = subprocess.run([path, *arguments], capture_output=True, text=True, errors="replace", check=False).stdout
    versions = re.findall(r"\d+\.\d+(?:\.\d+)?", said)
    return Tool(name, max(versions, key=len, default="unknown"), "")
