"""Gate 4: both sides are built by the project's own command."""

from __future__ import annotations

import re
from dataclasses import replace

from evaluation import troubles
from evaluation.steps import SIDES, Bench, Found, Outcome
from evaluation.types import Built, Side
from optimas_web.errors import UserError

_ERROR = re.compile(r"\b(?:error|fatal)\b|not found", re.IGNORECASE)


def step(bench: Bench, found: Found) -> tuple[Outcome, Found]:
    """Builds the original, then the candidate. Raises UserError when the original does not build."""
    built: dict[Side, Built] = {"original": build_side(bench, "original")}
    if not built["original"].ok:
        raise original_does_not_build(built["original"])
    built["candidate"] = candidate = build_side(bench, "candidate")
    outcome = Outcome("passed" if candidate.ok else "failed", _sentence(candidate), candidate.log)
    return outcome, replace(found, built=built)


def build_side(bench: Bench, side: Side) -> Built:
    bench.say(f"building the {side}", SIDES.index(side) / 2)
    case = bench.case
    return case.toolchain.build(bench.folders[side], case.manifest, arch=case.arch, cancelled=bench.cancelled)


def original_does_not_build(built: Built) -> UserError:
    """The project or this host is at fault, not the attempt. The last line of a build is seldom the error: show the
    first error."""
    lines = [line for line in built.log.splitlines() if line.strip()]
    telling = next((line for line in lines if _ERROR.search(line)), lines[-1] if lines else "")
    said = telling.strip()[:300]
    known = troubles.of_build(built.log)
    if known:
        return UserError(
            f"The original program does not build here: {known.message} ({said}).",
            f"{known.remedy} No edit was judged.",
        )
    return UserError(
        f"The original program does not build: {built.reason}{f' ({said})' if said else ''}.",
        "Mend the program or [build] in optimas.toml; no edit was judged.",
    )


def _sentence(built: Built) -> str:
    if not built.ok:
        return f"The candidate does not build: {built.reason}"
    flags = f" with {built.flags}" if built.flags else ""
    return f"Both sides built{flags}; the candidate in {built.seconds:.1f} s."
