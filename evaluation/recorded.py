"""Evaluations that were made elsewhere, for exactly these sources and this patch.

A recorded evaluation is one JSON file (``optimas.recorded_evaluation/1``): an evaluation document with the hashes of
what it judged, and a sentence that says where and when. It stands in, and says so, where this site cannot measure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimas_web.errors import UserError

SCHEMA = "optimas.recorded_evaluation/1"
SUFFIX = ".evaluation.json"


@dataclass(frozen=True, slots=True)
class RecordedEvaluation:
    """``said``: a sentence for people, "recorded on NVIDIA H200 on 2026-12-01"."""

    snapshot: str
    patch_sha256: str
    said: str
    document: Mapping[str, Any]


def find(folders: Iterable[Path], snapshot: str, patch_sha256: str) -> RecordedEvaluation | None:
    """The one that judged this patch of this snapshot (both SHA-256 in hex), if there is one.

    Raises UserError for a file that cannot be read as one.
    """
    files = (file for folder in folders for file in sorted(folder.glob(f"*{SUFFIX}")))
    recordings = (read(file) for file in files)
    return next((each for each in recordings if (each.snapshot, each.patch_sha256) == (snapshot, patch_sha256)), None)


def read(path: Path) -> RecordedEvaluation:
    try:
        value = json.loads(path.read_bytes())
        if value["schema"] != SCHEMA:
            raise ValueError(f"its schema is {value['schema']!r}")
        key = value["key"]
        return RecordedEvaluation(key["snapshot"], key["patch_sha256"], value["recorded"], value["evaluation"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is not a recorded evaluation ({SCHEMA}): {error}.") from error


def recording(document: Mapping[str, Any], *, snapshot: str, patch_sha256: str, said: str) -> dict[str, object]:
    """The file's content for an evaluation document that was made elsewhere."""
    key = {"snapshot": snapshot, "patch_sha256": patch_sha256}
    return {"schema": SCHEMA, "key": key, "recorded": said, "evaluation": dict(document)}
