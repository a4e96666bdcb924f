"""The words of the prompts, as data: one folder a version, so that an old prompt can be made again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import cast

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

VERSION = "1"


@cache
def _environment(version: str) -> SandboxedEnvironment:
    folder = Path(__file__).parent / f"v{version}"
    return SandboxedEnvironment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - plain text for a model, never HTML
    )


def render(name: str, version: str = VERSION, **values: object) -> str:
    """One text with its values. A value that the text names and nobody gave is an error."""
    return _environment(version).get_template(f"{name}.txt.j2").render(**values)


@cache
def contract(version: str = VERSION) -> Mapping[str, object]:
    """The JSON Schema of an answer, for providers that take one."""
    text = (Path(__file__).parent / f"v{version}" / "contract.json").read_text()
    return cast(Mapping[str, object], json.loads(text))
