"""``manage.py analyze REPORT...``: what a profile says, without a database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from analysis.combine import Report, combine
from analysis.documents import analysis_document
from analysis.formats import read
from analysis.hotspots import rank
from analysis.pipeline import analyse
from analysis.table import render
from analysis.types import Profile
from projects.management.base import DocumentCommand, Reply, read_sources


class Command(DocumentCommand):
    help = "Show what a profile says: hot kernels, roofline, stalls by line, evidence, and what is missing."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("report", nargs="+", type=Path, help="a profile; several of one program are combined")
        parser.add_argument("--source", type=Path, metavar="DIR", help="the folder the program was built from")
        parser.add_argument("--kernel", metavar="REGEX", help="only kernels whose name this is found in")
        parser.add_argument("--launches", action="store_true", help="with json: every launch with all its metrics")

    def answer(self, **options: Any) -> Reply:
        profile = combine([Report(path.name, read(path)) for path in options["report"]])
        sources = read_sources(options["source"]) if options["source"] else {}
        found = analyse(profile, sources, kernels=options["kernel"])
        text = render(found) if found.kernels else _none_found(profile, options["kernel"])
        return Reply(analysis_document(found, launches=options["launches"]), text, yes=bool(found.kernels))


def _none_found(profile: Profile, pattern: str | None) -> str:
    names = sorted({kernel.short_name for kernel in rank(profile)})
    if not names:
        return "The profile holds no kernel."
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return f"No kernel's name holds {pattern!r}. The profile has: {shown}."
