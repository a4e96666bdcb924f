"""What a request may cost, and whether the caps of run, project and team allow it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

from optimas_web.errors import UserError
from optimizer.presets import Preset, prices_of

SMALLEST = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class Cap:
    """``whose``: for sentences. ``limit_usd`` None: there is none. ``spent_usd`` counts what is on its way, too."""

    whose: str
    limit_usd: Decimal | None
    spent_usd: Decimal


def dollars(value: float | None) -> Decimal | None:
    """Rounded up to what the database holds, so that something never becomes nothing."""
    return None if value is None else Decimal(repr(value)).quantize(SMALLEST, ROUND_UP)


def most_usd(known: Preset, prompt_tokens: int, output_tokens: int | None = None) -> Decimal | None:
    """What a request costs when the answer is as long as it may be; None when the price is not known."""
    return dollars(known.cost_usd(prompt_tokens, known.output_limit(output_tokens)))


def refuse_over(caps: Iterable[Cap], most: Decimal | None, model: str) -> None:
    """Raises UserError when the request could go over a cap, or when nobody can tell."""
    for cap in caps:
        if cap.limit_usd is None:
            continue
        if most is None:
            raise UserError(
                f"No price is known for {model}, so that the cap of the {cap.whose} cannot be held.",
                f"Take the cap away, or choose a model with a price (as of {prices_of()}).",
            )
        if cap.spent_usd + most > cap.limit_usd:
            raise UserError(
                f"This request may cost {most:.2f} USD; of the {cap.limit_usd:.2f} USD of the {cap.whose} "
                f"{max(cap.limit_usd - cap.spent_usd, Decimal(0)):.2f} USD are left.",
                "Raise the cap, or show the model less.",
            )
