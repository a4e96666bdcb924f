import os

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """Ends with the exit status of STANDIN_RESULT."""

    def handle(self, **options: object) -> None:
        self.stdout.write("stand-in result")
        raise SystemExit(int(os.environ.get("STANDIN_RESULT", "0")))
