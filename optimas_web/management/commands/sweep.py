"""The lease sweeper: brings back jobs whose worker went silent."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import Error as DatabaseError
from django.db import connection

from optimas_web.jobs import sweep
from optimas_web.leftovers import forget_leftovers

LEFTOVERS_EVERY_S = 3600


class Command(BaseCommand):
    help = "Re-queue jobs whose lease expired and remind the broker of jobs it forgot, every few seconds."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="one look, then end")
        parser.add_argument("--every", type=float, default=5.0, metavar="SECONDS")

    def handle(self, *args: Any, **options: Any) -> None:
        next_leftovers = time.monotonic()
        while True:
            try:
                count = sweep()
                if time.monotonic() >= next_leftovers:
                    forget_leftovers()
                    next_leftovers = time.monotonic() + LEFTOVERS_EVERY_S
            except DatabaseError as error:  # the store is away for a moment; the next look finds it
                self.stderr.write(f"sweep: {error}")
                connection.close()
                count = 0
            if count:
                self.stdout.write(f"sweep: {count} jobs brought back")
            if options["once"]:
                return
            time.sleep(options["every"])
