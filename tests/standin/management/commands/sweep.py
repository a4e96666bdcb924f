import os
import time

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """Sleeps for ever, or ends at once with a complaint when STANDIN_SWEEP says so."""

    def handle(self, **options: object) -> None:
        if complaint := os.environ.get("STANDIN_SWEEP"):
            raise SystemExit(complaint)
        time.sleep(3600)
