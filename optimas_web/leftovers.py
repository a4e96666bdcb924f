"""What nobody came back for: uploads that were not finished, and finished ones that nothing uses."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from projects import uploads
from projects.models import Upload
from projects.services import delete_upload, root

KEPT_FOR = timedelta(days=7)


def forget_leftovers() -> int:
    """Delete them a week after they were begun; returns how many. Sources are copied into snapshots, so they count."""
    before = timezone.now() - KEPT_FOR
    unused = list(Upload.objects.filter(created__lt=before, profiles__isnull=True))
    for upload in unused:
        delete_upload(upload)
    uploads.discard_older(root(), before.timestamp())
    return len(unused)
