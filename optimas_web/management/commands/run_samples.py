"""The main job on the sample programs: what ``./optimas up`` shows when it has started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from analysis.services import add_profile
from analysis.types import SOURCE_KINDS
from evaluation import toolchains
from evaluation.services import start_run
from evaluation.table import render
from evaluation.types import Tool
from optimas_web.errors import UserError
from optimizer.models import Attempt, Run, RunStatus
from projects.management.base import printable
from projects.models import Project, Snapshot
from projects.services import add_snapshot, manifest_of, samples_team
from projects.snapshot import from_folder
from reviews.management.follow import follow
from reviews.services import make_receipt

SAMPLES = ("heat2d", "rowrank")
SAMPLES_FOLDER = Path(settings.BASE_DIR) / "samples"


class Command(BaseCommand):
    requires_migrations_checks = True
    help = "Create the sample projects, run the main job on them and print what came of it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--again", action="store_true", help="run, even if this site has a result already")

    def handle(self, *args: Any, **options: Any) -> None:
        proved = [self.sample(name, options["again"]) for name in SAMPLES]
        if not all(proved):
            raise SystemExit(1)

    def sample(self, name: str, again: bool) -> bool:
        """Run one sample and print its result; True when every gate passed."""
        snapshot = sample_snapshot(name)
        report = SAMPLES_FOLDER / name / f"{name}.ncu-rep"
        missing = [] if report.exists() else missing_tools(snapshot)
        if missing:
            return self.stored(name, missing)
        try:
            attempt = (None if again else earlier(snapshot)) or self.follow(snapshot, report)
        except UserError as error:
            self.stderr.write(printable(f"{name}: {error}"))
            return False
        document = make_receipt(attempt).document
        verdict = attempt.verdict
        where = verdict.recorded or f"measured here on {verdict.created:%Y-%m-%d %H:%M} UTC"
        self.show(f"{name}: run {attempt.run_id}, {where}", document)
        return document["verdict"] != "failed"

    def follow(self, snapshot: Snapshot, report: Path) -> Attempt:
        profile = add_profile(snapshot, report) if report.exists() else None
        run = Run(snapshot=snapshot, profile=profile, backend="replay", sources=list(SOURCE_KINDS))
        return follow(start_run(run), self.tell, work_here=False)

    def stored(self, name: str, missing: list[Tool]) -> bool:
        for tool in missing:
            self.stderr.write(printable(f"{name} cannot run live: {tool.name} is missing. {tool.remedy}"))
        document = json.loads((SAMPLES_FOLDER / "recorded" / f"{name}.receipt.json").read_text())
        self.show(f"{name}: STORED RECEIPT, not measured on this machine", document)
        return True

    def show(self, title: str, document: dict[str, Any]) -> None:
        self.stdout.write(printable(f"\n{title}\n{'-' * len(title)}\n{render(document)}\n"))

    def tell(self, line: str) -> None:
        self.stdout.write(printable(f"  {line}"))
        self.stdout.flush()


def sample_snapshot(name: str) -> Snapshot:
    project, _ = Project.objects.get_or_create(team=samples_team(), name=name)
    return add_snapshot(project, from_folder(SAMPLES_FOLDER / name), None)


def missing_tools(snapshot: Snapshot) -> list[Tool]:
    return [tool for tool in toolchains.load(manifest_of(snapshot).toolchain).tools() if tool.version is None]


def earlier(snapshot: Snapshot) -> Attempt | None:
    """A finished result of exactly these sources, if this site has one."""
    done = Attempt.objects.filter(run__snapshot=snapshot, run__status=RunStatus.DONE, verdict__isnull=False)
    return done.order_by("-pk").first()
