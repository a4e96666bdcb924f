"""``{% load optimas %}``: numbers, icons, statuses and chips. /style/ shows each of them in use."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django import template
from django.contrib.messages import get_messages
from django.core.paginator import Page
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from optimas_web import figures
from optimas_web.difference import difference
from optimas_web.drawing import across, bar_list, interval_plot, slices
from optimas_web.heat import bar, heat_rows
from optimas_web.words import KINDS, LOOKS, TITLES, Look

register = template.Library()

for function in (
    figures.duration,
    figures.quantity,
    figures.size,
    figures.percent,
    figures.signed_percent,
    figures.count,
    figures.speedup,
    figures.short_hash,
    interval_plot,
    bar_list,
    slices,
    difference,
    heat_rows,
):
    register.filter(function.__name__, function)

register.filter("stacked_bar", bar)

KEPT_MESSAGES = 20


@register.filter
def seconds(value: float | None) -> str:
    """A duration given in seconds."""
    return figures.duration(None if value is None else value * 1e9)


@register.filter
def words(text: str) -> list[str]:
    return text.split()


@register.filter
def look(status: str) -> Look:
    """Words, tone and icon of a status, for parts that need them one by one."""
    return LOOKS[status]


@register.filter
def named(name: str) -> str:
    """The title of a gate or a score."""
    return TITLES[name]


@register.filter
def titled(name: str) -> str:
    """The same for stages, of which only the gates have a title besides their name."""
    return TITLES.get(name, name)


register.filter("width", across)


@register.simple_tag
def icon(name: str, extra: str = "") -> SafeString:
    """A drawing from static/icons.svg. It is decoration: a word always stands beside it, or in an aria-label."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true" width="20" height="20"><use href="{}#{}"></use></svg>',
        extra,
        static("icons.svg"),
        name,
    )


@register.simple_tag
def status(word: str, words: str = "", solid: bool = False) -> SafeString:
    """A badge for any status of any room. ``words`` says it differently."""
    found = LOOKS[word]
    drawing = icon(found.icon, "spin" if found.icon == "spinner" else "")
    classes = f"badge tone-{found.tone}{' solid' if solid else ''}"
    return format_html('<span class="{}">{}{}</span>', classes, drawing, words or found.words)


@register.inclusion_tag("parts/chip.html")
def chip(label: str, href: str = "", known: bool = True, current: bool = False) -> dict[str, Any]:
    """An evidence id. ``known=False``: cited, but never offered."""
    return {"label": label, "kind": KINDS.get(label[:1], "unknown"), "href": href, "known": known, "current": current}


@register.simple_tag
def when(moment: datetime | None) -> SafeString | str:
    """How long ago, with the exact time to point at."""
    if moment is None:
        return figures.NONE
    text = figures.ago(moment, timezone.now())
    exact = f"{timezone.localtime(moment):%Y-%m-%d %H:%M:%S %Z}"
    return format_html('<time datetime="{}" title="{}" class="nowrap">{}</time>', moment.isoformat(), exact, text)


@register.inclusion_tag("parts/why.html")
def why(text: str, note: str = "", **facts: Any) -> dict[str, Any]:
    """A number that tells where it came from: ``{% why "1.84×" metric="gpu__time_duration.sum" launch="4" %}``."""
    named = [(name.replace("_", " ").capitalize(), fact) for name, fact in facts.items() if fact not in (None, "")]
    return {"id": f"why-{secrets.token_hex(4)}", "text": text, "note": note, "facts": named}


@register.inclusion_tag("parts/sort_header.html", takes_context=True)
def sort_header(context: template.Context, words: str, field: str, numeric: bool = False) -> dict[str, Any]:
    """A table head that sorts by ``field``, and the other way round when it already does (?sort=-field)."""
    now = context["request"].GET.get("sort", "")
    direction = {field: "ascending", f"-{field}": "descending"}.get(now, "none")
    query = context["request"].GET.copy()
    query.pop("page", None)
    query["sort"] = f"-{field}" if direction == "ascending" else field
    drawing = {"ascending": "up", "descending": "down", "none": "sort"}[direction]
    return {"words": words, "query": query.urlencode(), "direction": direction, "icon": drawing, "numeric": numeric}


@register.inclusion_tag("parts/nav_link.html", takes_context=True)
def nav_link(context: template.Context, url_name: str, words: str, drawing: str, kind: str) -> dict[str, Any]:
    """A link of the app bar (kind ``bar-link``) or its folded menu (``menu-item``), marked on the pages below it."""
    url, path = reverse(url_name), context["request"].path
    here = path == url or (url != "/" and path.startswith(url))
    return {"url": url, "words": words, "icon": drawing, "kind": kind, "here": here}


@register.filter
def page_numbers(page: Page) -> Iterator[int | str]:
    return page.paginator.get_elided_page_range(page.number, on_each_side=1, on_ends=1)


@register.simple_tag(takes_context=True)
def take_messages(context: template.Context) -> list[dict[str, str]]:
    """Messages nobody has seen yet; the same list for all who ask on one page.

    They are kept in the session, newest first, so that the bell can show them again.
    """
    request = context["request"]
    if not hasattr(request, "fresh_messages"):
        request.fresh_messages = [
            {"text": str(message), "level": message.level_tag, "time": timezone.now().isoformat()}
            for message in get_messages(request)
        ]
        if request.fresh_messages:
            kept = request.session.get("messages", [])
            request.session["messages"] = (request.fresh_messages[::-1] + kept)[:KEPT_MESSAGES]
    return request.fresh_messages


@register.filter
def moment(text: str) -> datetime:
    """The time in a stored message."""
    return datetime.fromisoformat(text)
