"""Profiles as rows, from real reports, for tests of pages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from django.contrib.auth.models import User
from profile_builder import gpu

from analysis import formats
from analysis.models import Profile
from analysis.pipeline import analyse
from analysis.rows import store
from analysis.types import (
    Analysis,
    Evidence,
    Kernel,
    KernelAnalysis,
    Roofline,
    RooflinePoint,
    StallLine,
    Stalls,
)
from projects.models import Snapshot, Upload
from projects.services import add_snapshot, create_team
from projects.snapshot import from_files

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
CALLGRIND = ROOT / "tests" / "data" / "profiles" / "callgrind" / "callgrind.out.heat2d"


def snapshot_of(files: Mapping[str, bytes], owner: User, name: str) -> Snapshot:
    team = create_team(f"{name} team", owner)
    return add_snapshot(team.projects.create(name=name), from_files(files), owner)


def sample(name: str) -> dict[str, bytes]:
    files = (path for path in (SAMPLES / name).rglob("*") if path.suffix in (".cu", ".cpp", ".toml", ".md"))
    return {str(path.relative_to(SAMPLES / name)): path.read_bytes() for path in files}


def ready(report: Path, snapshot: Snapshot) -> Profile:
    """A profile that has been read, with the upload it came from."""
    texts = {file.path: bytes(file.content).decode() for file in snapshot.files.all()}
    upload = Upload.objects.create(
        team=snapshot.project.team, name=report.name, size=report.stat().st_size, sha256="5c" * 32, state="complete"
    )
    row = Profile.objects.create(snapshot=snapshot, upload=upload, origin="uploaded")
    store(row, analysed(report, tuple(texts.items())), "")
    return row


@lru_cache(maxsize=4)
def analysed(report: Path, texts: tuple[tuple[str, str], ...]) -> Analysis:
    """Reading a report takes seconds; its rows are made anew for every test."""
    return analyse(formats.read(report), dict(texts))


def rowrank(owner: User) -> Profile:
    return ready(SAMPLES / "rowrank" / "rowrank.ncu-rep", snapshot_of(sample("rowrank"), owner, "rowrank"))


def heat2d(owner: User) -> Profile:
    return ready(CALLGRIND, snapshot_of(sample("heat2d"), owner, "heat2d"))


def large(owner: User, kernels: int = 200, lines: int = 5000) -> Profile:
    """5,000 launches of many kernels; every tenth line of a long file costs something."""
    text = "".join(f"    value[{n}] = other[{n} * stride] + {n}.0f;  // step {n}\n" for n in range(1, lines + 1))
    row = Profile.objects.create(
        snapshot=snapshot_of({"long.cu": text.encode()}, owner, "large"), origin="uploaded", launch_count=5000
    )
    costs = [counted_line(n, lines // 10) for n in range(10, lines + 1, 10)]
    found = [large_kernel(rank, kernels, tuple(costs) if rank <= 3 else ()) for rank in range(1, kernels + 1)]
    profile = gpu(cost_unit="ns", tool="ncu")
    store(row, Analysis(profile, tuple(found), (), {}), "")
    return row


def counted_line(number: int, count: int) -> StallLine:
    reasons = {"long_scoreboard": 0.6, "wait": 0.25, "barrier": 0.15}
    return StallLine("long.cu", number, f"line {number}", 10.0, 1 / count, reasons)


def large_kernel(rank: int, count: int, lines: tuple[StallLine, ...]) -> KernelAnalysis:
    name = f"void step{rank}<float, {rank}>(float*, int)"
    kernel = Kernel(f"_Z{rank}", name, f"step{rank}", 25, 1e6, 4e4, 1 / count, rank, rank <= 3, ())
    point = RooflinePoint("fp32", "dram", 0.1 * rank, 1e11, 6e13, 1e12, 4e12)
    items = tuple(
        Evidence(
            f"S{12 * rank + n}", "stalls", f"_Z{rank}", "Said.", "stalled_cycles", 5.0, "cycle", 0.1, "down", 0.01,
            "long.cu", (10 * n, 10 * n), "x",
        )
        for n in range(1, 13)
    )  # fmt: skip
    roof = Roofline("latency", "Neither ceiling is near.", 0.5, (point,))
    stalls = Stalls("stalled samples", 10.0 * len(lines), lines) if lines else None
    return KernelAnalysis(kernel, roof, stalls, items)
