"""``manage.py check_answer ANSWER --report REPORT --source DIR``: gates 1 to 3, without a database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from optimas_web.errors import UserError
from optimizer.backends.replay import text_of
from optimizer.check import check
from optimizer.documents import answer_document, answer_text
from optimizer.management.base import add_prompt_options, ask
from projects.management.base import DocumentCommand, Reply


class Command(DocumentCommand):
    help = (
        "Read an answer, check its citations and the rules, and show the change it makes. Exit code 1: a gate failed."
    )

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", metavar="ANSWER", help="what the model said, or a recorded answer; - for standard input"
        )
        parser.add_argument("--report", type=Path, required=True, help="the profile the prompt was made from")
        add_prompt_options(parser)

    def answer(self, **options: Any) -> Reply:
        asked = ask(options["report"], options)
        text = text_of(_read(options["file"]), asked.prompt, asked.analysis.evidence)
        checked = check(text, asked.prompt, asked.sources)
        return Reply(answer_document(checked), answer_text(checked), yes=checked.passed)


def _read(name: str) -> str:
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UserError(
            f"The answer {name} cannot be read: {error.strerror}.", "Give a file, or - for standard input."
        ) from error
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):  # as some shells write what is redirected to a file
        return content.decode("utf-16", "replace")
    return content.decode("utf-8-sig", "surrogateescape")
