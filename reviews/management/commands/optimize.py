"""The whole loop from a shell: snapshot, profile, prompt, answer, gates, receipt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandParser

from analysis.services import add_profile
from analysis.types import SOURCE_KINDS
from evaluation.services import start_run
from evaluation.table import render
from optimas_web.errors import UserError
from optimizer.backends import BACKENDS
from optimizer.models import Run
from optimizer.presets import listed
from projects.management.base import DocumentCommand, Reply
from projects.models import Project, Snapshot, Team
from projects.services import add_snapshot, create_team
from projects.snapshot import from_folder
from reviews.management.follow import follow
from reviews.services import make_receipt

OWNER = "command-line"
MOST_REPAIRS = 20


class Command(DocumentCommand):
    requires_stores = True
    requires_migrations_checks = True
    help = "Profile the program in DIR, ask a backend for edits, prove and time them; prints a signed receipt."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("dir", metavar="DIR", help="the program, with an optional optimas.toml")
        parser.add_argument("--report", metavar="REPORT", help="a profile of it; without one this host takes it")
        parser.add_argument("--backend", required=True, choices=sorted(BACKENDS))
        parser.add_argument("--model", default="", help="of a backend that asks a vendor; default: the first it knows")
        parser.add_argument("--evidence", default=",".join(SOURCE_KINDS), help="kinds to offer, comma separated")
        parser.add_argument(
            "--repairs", type=int, choices=range(MOST_REPAIRS + 1), default=3, metavar="N", help="at most, default 3"
        )
        parser.add_argument("--guidance", default="", help="a wish for the model, in words")

    def answer(self, **options: Any) -> Reply:
        snapshot = snapshot_of(Path(options["dir"]))
        run = Run(
            snapshot=snapshot,
            profile=add_profile(snapshot, Path(options["report"])) if options["report"] else None,
            sources=evidence_kinds(options["evidence"]),
            backend=options["backend"],
            options=model_options(options["backend"], options["model"]),
            repairs=options["repairs"],
            guidance=options["guidance"],
            created_by=snapshot.created_by,
        )
        attempt = follow(start_run(run), lambda line: self.stderr.write(line), work_here=True)
        document = make_receipt(attempt).document
        return Reply(document, render(document), yes=document["verdict"] != "failed")


def snapshot_of(folder: Path) -> Snapshot:
    """The folder as a snapshot of a project of its name, in the team of the command line."""
    user, _ = get_user_model().objects.get_or_create(username=OWNER)
    team = Team.objects.filter(memberships__user=user).first() or create_team("Command line", user)
    name = folder.resolve().name[:100]
    project, _ = Project.objects.get_or_create(team=team, name=name, defaults={"created_by": user})
    return add_snapshot(project, from_folder(folder), user)


def model_options(backend: str, model: str) -> dict[str, str]:
    """What a run stores of the model; nothing for a backend that has none."""
    known = [each.name for each in listed() if each.backend == backend]
    if not model and not known:
        return {}
    return {"model": model or known[0]}


def evidence_kinds(text: str) -> list[str]:
    kinds = [kind.strip() for kind in text.split(",") if kind.strip() and kind.strip() != "none"]
    for kind in kinds:
        if kind not in SOURCE_KINDS:
            raise UserError(f"--evidence: there is no kind {kind!r}.", f"Kinds: {', '.join(SOURCE_KINDS)}, or none.")
    return kinds
