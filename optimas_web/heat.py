"""Source with what each line costs: number, share, a bar of reasons, coloured text.

Made here and not in a template, which takes too long over thousands of lines. Text from outside is escaped in the
functions that put it between tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape

from django.utils.safestring import SafeString

from analysis.reasons import Part
from analysis.source_page import SourceLine, SourcePage
from optimas_web.figures import percent
from optimas_web.listing import coloured, heat_level

REASONS_TOLD = 4


def heat_rows(page: SourcePage) -> SafeString:
    """The items of the listing. Of a file whose text nobody has, the lines that the profile itself knows."""
    if page.text is None:
        return SafeString("".join(row(line, escape(line.cost.text), page.unit) for line in page.lines))
    texts = line_markup(page.text, page.file)
    rows = list(cold_rows(page.text, page.file))
    for line in page.lines:
        if line.number <= len(rows):
            rows[line.number - 1] = row(line, texts[line.number - 1], page.unit)
    return SafeString("".join(rows))


@lru_cache(maxsize=32)
def line_markup(text: str, path: str) -> tuple[str, ...]:
    """Every line of ``text`` as coloured HTML."""
    return tuple(
        "".join(f'<span class="{css}">{escape(piece)}</span>' if css else escape(piece) for css, piece in line)
        for line in coloured(text, path)
    )


@lru_cache(maxsize=32)
def cold_rows(text: str, path: str) -> tuple[str, ...]:
    """Every line as it is when it costs nothing: Tab passes it by."""
    return tuple(
        f'<li id="L{n}"><a href="#L{n}" tabindex="-1">{n}</a><b></b><i></i><code>{markup}</code></li>'
        for n, markup in enumerate(line_markup(text, path), 1)
    )


def row(line: SourceLine, markup: str, unit: str) -> str:
    """A line that costs something."""
    n, share = line.number, escape(percent(line.cost.share))
    classes = f"heat-{heat_level(line.cost.share)}{' hot' if line.hot else ''}{' gap' if line.gap else ''}"
    words = escape(told(line, unit))
    return (
        f'<li id="L{n}" class="{classes}" data-line="{n}"><a href="#L{n}" aria-label="{words}">{n}</a>'
        f"<b>{share}</b><i>{bar(line.parts)}</i><code>{markup}</code></li>"
    )


def told(line: SourceLine, unit: str) -> str:
    """The line's cost in words, for whoever does not see the bar."""
    reasons = list(line.cost.reasons.items())[:REASONS_TOLD]
    main = ", ".join(f"{name} {percent(share)}" for name, share in reasons)
    return f"{line.number}: {percent(line.cost.share)} of the {unit}{'; of these ' if main else ''}{main}"


def bar(parts: Sequence[Part]) -> SafeString:
    """A stacked bar. Positions are percent of its box, so that no style is needed; all of it is numbers of ours."""
    drawn = "".join(
        f'<rect class="part-{part.group.colour}" x="{part.start}%" width="{part.width}%" y="4" height="12"></rect>'
        for part in parts
        if part.width
    )
    return SafeString(f'<svg width="100%" height="100%" aria-hidden="true">{drawn}</svg>')
