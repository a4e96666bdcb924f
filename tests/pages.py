"""What tests of pages share: addresses of a project's pages, and the text of an answer."""

from __future__ import annotations

import re
from typing import Any

from django.urls import reverse

from projects.models import Snapshot


def address(name: str, row: Snapshot, *more: int) -> str:
    """A page of the project that ``row`` belongs to."""
    return reverse(f"projects:{name}", args=[row.project_id, *more])


def text(response: Any) -> str:
    """The page's source with every white space as one blank."""
    return re.sub(r"\s+", " ", response.content.decode())
