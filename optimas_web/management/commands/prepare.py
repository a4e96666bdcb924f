from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Bring the database and the collected static files up to this version. Safe, and quick, at every start."

    def handle(self, **options: object) -> None:
        call_command("migrate", interactive=False, stdout=self.stdout)
        stamp = Path(settings.STATIC_ROOT) / ".collected"
        fingerprint = static_fingerprint()
        if not stamp.exists() or stamp.read_text() != fingerprint:
            # Compressing every file takes seconds, so it is done only when one has changed.
            call_command("collectstatic", interactive=False, clear=True, verbosity=0, stdout=self.stdout)
            stamp.write_text(fingerprint)


def static_fingerprint() -> str:
    return hashlib.sha256("\n".join(sorted(_static_files())).encode()).hexdigest()


def _static_files() -> Iterator[str]:
    for finder in get_finders():
        for path, storage in finder.list(None):
            found = Path(storage.path(path)).stat()
            yield f"{path} {found.st_size} {found.st_mtime_ns}"
