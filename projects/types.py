"""A program as Optimas sees it: its files and how to build and run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ToolchainName = Literal["cuda", "cpu"]


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """One way to run the program. ``bytes`` and ``flops`` are declared least traffic and operations, or None."""

    name: str
    command: str
    outputs: tuple[str, ...] = ()
    timeout_s: float = 60.0
    bytes: int | None = None
    flops: int | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """optimas.toml, with what was detected filled in. ``detected`` names the fields that nobody declared."""

    name: str
    toolchain: ToolchainName
    build_command: str | None
    binary: str
    workloads: tuple[WorkloadSpec, ...]
    profile_command: str
    include_kernels: tuple[str, ...] = ()
    masks: tuple[str, ...] = ()
    detected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tree:
    """A snapshot's files, relative POSIX path -> bytes, and the hash over all of them."""

    files: Mapping[str, bytes] = field(repr=False)
    sha256: str = ""
    skipped: tuple[str, ...] = ()
    """What was left out, "path: why": links, version control, build products, profiles."""
    notes: tuple[str, ...] = ()
    """What a person should know about the names: a folder taken off, names that differ only in case."""


@dataclass(frozen=True, slots=True)
class SnapshotLimits:
    """Bounds of one snapshot. The first three count what is kept, the others everything an archive unpacks to.

    ``ratio``: unpacked bytes for each packed byte, looked at once ``ratio_from_bytes`` were unpacked.
    """

    files: int = 10_000
    file_bytes: int = 64 * 1024**2
    total_bytes: int = 256 * 1024**2
    entries: int = 50_000
    unpacked_bytes: int = 1024**3
    ratio: int = 100
    ratio_from_bytes: int = 16 * 1024**2
