"""What the commands about prompts and answers share: a report and a folder become a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from analysis.formats import read
from analysis.pipeline import analyse
from analysis.types import SOURCE_KINDS, Analysis, SourceKind
from optimas_web.errors import UserError
from optimizer.prompt import BUDGET_TOKENS, build
from optimizer.types import Prompt
from projects import manifest, snapshot
from projects.management.base import program_sources


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt and what it was made from."""

    analysis: Analysis
    sources: dict[str, str]
    prompt: Prompt


def add_prompt_options(parser: CommandParser) -> None:
    """The options that decide what is in a prompt."""
    parser.add_argument("--source", type=Path, metavar="DIR", required=True, help="the folder that holds the program")
    parser.add_argument(
        "--evidence",
        metavar="KINDS",
        default=",".join(SOURCE_KINDS),
        help=f"any of {', '.join(SOURCE_KINDS)}, separated by commas, or none for code alone; default: all",
    )
    parser.add_argument(
        "--kernel", action="append", metavar="NAME", help="a kernel, again for more; default: the hot ones"
    )
    parser.add_argument("--guidance", default="", metavar="TEXT", help="what the model should know besides")
    parser.add_argument("--budget", type=int, default=BUDGET_TOKENS, metavar="TOKENS", help="default: %(default)s")


def ask(report: Path, options: dict[str, Any]) -> Asked:
    """The prompt that these options describe. Without --kernel, ``[kernels] include`` of optimas.toml counts."""
    folder: Path = options["source"]
    sources = program_sources(folder)
    analysis = analyse(read(report), sources)
    prompt = build(
        analysis,
        sources=sources,
        toolchain="cpu" if analysis.profile.cost_unit == "cycle" else "cuda",
        kernels=options["kernel"] or _included(folder),
        kinds=kinds(options["evidence"]),
        guidance=options["guidance"],
        budget_tokens=options["budget"],
    )
    return Asked(analysis, sources, prompt)


def kinds(written: str) -> tuple[SourceKind, ...]:
    """``roofline,stalls`` as kinds. Raises UserError for one that does not exist."""
    named = [word.strip() for word in written.split(",") if word.strip()]
    if named == ["none"]:
        return ()
    wrong = [word for word in named if word not in SOURCE_KINDS]
    if wrong or not named:
        raise UserError(
            f"--evidence {written!r} names no kind of evidence.",
            f"Give any of {', '.join(SOURCE_KINDS)}, separated by commas, or none.",
        )
    return tuple(kind for kind in SOURCE_KINDS if kind in named)


def _included(folder: Path) -> list[str] | None:
    if not (folder / manifest.FILE).is_file():
        return None
    return list(manifest.load(snapshot.from_folder(folder).files).include_kernels) or None
