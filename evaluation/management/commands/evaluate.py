"""``manage.py evaluate DIR``: a patch or an answer through all gates on this machine, without a database."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from analysis import evidence
from analysis.formats import read
from analysis.pipeline import analyse
from analysis.types import SOURCE_KINDS
from evaluation import table, toolchains
from evaluation.attempt import Attempt, from_patch
from evaluation.documents import evaluation_document, gate_row
from evaluation.judge import Case, judge
from optimas_web.errors import UserError
from optimizer.backends.replay import text_of
from optimizer.check import check
from optimizer.management.base import ask
from optimizer.prompt import BUDGET_TOKENS, select
from optimizer.types import GATES, Gate
from projects import manifest as manifests
from projects import snapshot
from projects.management.base import DocumentCommand, Reply, printable, program_sources
from projects.types import Manifest

SEEDS = 2**31


class Command(DocumentCommand):
    help = (
        "Judge a patch or an answer: build, outputs, sanitizer, timing, evidence measured again. "
        "Exit code 1: a gate failed, or nothing could be proved here."
    )

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path, help="the folder that holds the program")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--patch", type=Path, metavar="FILE", help="a unified diff against DIR")
        what.add_argument("--answer", type=Path, metavar="FILE", help="what a model said; needs --report")
        parser.add_argument("--report", type=Path, help="the profile that the evidence comes from")
        parser.add_argument("--kernel", action="append", metavar="NAME", help="may be changed; again for more")
        parser.add_argument(
            "--evidence", metavar="KINDS", default=",".join(SOURCE_KINDS), help="kinds that were offered, or none"
        )
        parser.add_argument("--seed", type=int, help="draws the order of the timed pairs; default: a new one")

    def answer(self, **options: Any) -> Reply:
        if options["answer"] and not options["report"]:
            raise UserError("--answer needs --report.", "Give the profile that the answer's evidence comes from.")
        files = snapshot.from_folder(options["folder"]).files
        manifest = manifests.load(files)
        attempt = _from_answer(options) if options["answer"] else _from_patch(options, manifest)
        for number, gate in enumerate(attempt.checked.gates, start=1):
            self._gate(gate, number)
        case = Case(
            original=files,
            candidate=attempt.candidate(files),
            manifest=manifest,
            toolchain=toolchains.load(manifest.toolchain),
            checked=attempt.checked,
            seed=secrets.randbelow(SEEDS) if options["seed"] is None else options["seed"],
            kernels=attempt.kernels,
            regions=attempt.regions,
            offered=attempt.offered,
        )
        evaluation = judge(case, progress=self._stage, on_gate=self._gate)
        document = evaluation_document(evaluation)
        return Reply(document, table.render(document), yes=evaluation.proved)

    def _gate(self, gate: Gate, number: int = 0) -> None:
        self._clear()
        self.stderr.write(printable(table.gate_line(gate_row(gate), number or GATES.index(gate.name) + 1)))

    def _stage(self, stage: str, fraction: float) -> None:
        """What happens now, on one line that is written over; only where somebody watches."""
        if self.stderr.isatty():
            self._clear()
            self.stderr.write(f"  {printable(stage)} ...", ending="")
            self.stderr.flush()

    def _clear(self) -> None:
        if self.stderr.isatty():
            self.stderr.write("\r\x1b[K", ending="")


def _from_patch(options: dict[str, Any], manifest: Manifest) -> Attempt:
    sources = program_sources(options["folder"])
    kernels, because = _allowed(options, manifest, sources)
    return from_patch(_text(options["patch"]), sources, kernels, because)


def _allowed(options: dict[str, Any], manifest: Manifest, sources: dict[str, str]) -> tuple[tuple[str, ...], str]:
    """Which functions a patch may change, and who says so."""
    if options["kernel"]:
        return tuple(options["kernel"]), "--kernel"
    if manifest.include_kernels:
        return manifest.include_kernels, f"[kernels] in {manifests.FILE}"
    if options["report"]:
        chosen, _ = select(analyse(read(options["report"]), sources), None, sources)
        return tuple(each.kernel.short_name for each in chosen), "the hot ones of the report"
    return (), ""


def _from_answer(options: dict[str, Any]) -> Attempt:
    asked = ask(options["report"], {**options, "source": options["folder"], "guidance": "", "budget": BUDGET_TOKENS})
    text = text_of(_text(options["answer"]), asked.prompt, asked.analysis.evidence)
    checked = check(text, asked.prompt, asked.sources)
    offered = evidence.offered(asked.analysis.evidence, labels=asked.prompt.labels)
    return Attempt(checked, asked.prompt.kernels, asked.prompt.regions, offered)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error
