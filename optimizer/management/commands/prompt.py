"""``manage.py prompt REPORT --source DIR``: the exact text a model would read, without a database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from optimizer.documents import prompt_document
from optimizer.management.base import add_prompt_options, ask
from projects.management.base import DocumentCommand, Reply


class Command(DocumentCommand):
    help = "Print the prompt for a profile and its program; its estimated tokens and what was left out go to stderr."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("report", type=Path, help="an .ncu-rep or a Callgrind output file")
        add_prompt_options(parser)

    def answer(self, **options: Any) -> Reply:
        prompt = ask(options["report"], options).prompt
        self.stderr.write(f"about {prompt.tokens_estimated:,} tokens (bytes / 3)")
        for dropped in prompt.dropped:
            self.stderr.write(f"left out: {dropped}")
        return Reply(prompt_document(prompt), prompt.text)
