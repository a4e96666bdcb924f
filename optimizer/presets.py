"""What is known of models: how they are asked and what they cost. The data is backends/presets.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "backends" / "presets.toml"
_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")


@dataclass(frozen=True, slots=True)
class Preset:
    """One model of one backend. Prices are US dollars per million tokens; None: not known.

    ``output_tokens`` is what an answer may have unless told otherwise, ``most_output_tokens`` the model's own limit.
    """

    backend: str
    name: str
    output_tokens: int = 8_192
    most_output_tokens: int = 32_768
    context_tokens: int | None = None
    input_usd: float | None = None
    output_usd: float | None = None
    effort: str | None = None
    temperature: float | None = None

    def cost_usd(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """What such a request costs; None when a price or a count is not known."""
        if self.input_usd is None or self.output_usd is None or prompt_tokens is None or completion_tokens is None:
            return None
        return (prompt_tokens * self.input_usd + completion_tokens * self.output_usd) / 1e6

    def output_limit(self, asked: int | None) -> int:
        """Tokens that an answer may have: what was asked for or the usual, within the model's own limit."""
        return min(asked or self.output_tokens, self.most_output_tokens)


@cache
def listed() -> tuple[Preset, ...]:
    return tuple(Preset(**model) for model in tomllib.loads(FILE.read_text())["model"])


@cache
def prices_of() -> str:
    """The day of the prices, as YYYY-MM-DD."""
    return str(tomllib.loads(FILE.read_text())["prices_of"])


def preset(backend: str, name: str) -> Preset:
    """What is known of the model. A dated name (``gpt-5-2025-08-07``) is the model without its date."""
    names = (name, _DATED.sub("", name))
    found = (each for each in listed() if each.backend == backend and each.name in names)
    return next(found, Preset(backend, name))
