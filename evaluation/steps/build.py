"""Gate 4: both sides are built by the project's own command."""

from __future__ import annotations

from dataclasses import replace

from evaluation.steps import SIDES, Bench, Found, Outcome
from evaluation.types import Built, Side
from optimas_web.errors import UserError


def step(bench: Bench, found: Found) -> tuple[Outcome, Found]:
    """Builds the original, then the candidate. Raises UserError when the original does not build."""
    built: dict[Side, Built] = {}
    for side in SIDES:
        bench.say(f"building the {side}", SIDES.index(side) / 2)
        built[side] = bench.case.toolchain.build(
            bench.folders[side], bench.case.manifest, arch=bench.case.arch, cancelled=bench.cancelled
        )
        if side == "original" and not built[side].ok:
            raise original_does_not_build(built[side])
    candidate = built["candidate"]
    outcome = Outcome("passed" if candidate.ok else "failed", _sentence(candidate), candidate.log)
    return outcome, replace(found, built=built)


def original_does_not_build(built: Built) -> UserError:
    """The project is at fault, not the attempt. The last line of a build is seldom the error: show the first error."""
    lines = [line for line in built.log.splitlines() if line.strip()]
    telling = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    said = f": {telling.strip()[:300]}" if telling else ""
    return UserError(
        f"The original program does not build: {built.reason}{said}.",
        "Mend the program or [build] in optimas.toml; no edit was judged.",
    )


def _sentence(built: Built) -> str:
    if not built.ok:
        return f"The candidate does not build: {built.reason}"
    flags = f" with {built.flags}" if built.flags else ""
    return f"Both sides built{flags}; the candidate in {built.seconds:.1f} s."
