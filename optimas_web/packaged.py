"""Files that Python packages carry, served as static files of ours: nothing of others is copied into the repository."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

PACKAGED = {"packaged/plotly.min.js": ("plotly", "package_data/plotly.min.js")}
"""Our name of a file -> the package that has it, and the path inside the package."""


def place(package: str, inside: str) -> Path:
    """The file on disk; the package itself is not imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package} is not installed: run ./optimas again", name=package)
    return Path(spec.origin).parent / inside


class PackagedFinder(BaseFinder):
    """Finds the files in ``PACKAGED`` and no others of their packages."""

    def check(self, **kwargs: Any) -> list[Any]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        found = str(place(*PACKAGED[path])) if path in PACKAGED else None
        if find_all:
            return [found] if found else []
        return found or []

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, FileSystemStorage]]:
        for name, (package, inside) in PACKAGED.items():
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in ignore_patterns or ()):
                file = place(package, inside)
                storage = FileSystemStorage(location=file.parent)
                storage.prefix = str(Path(name).parent)  # type: ignore[attr-defined]  # what collectstatic looks for
                yield file.name, storage
