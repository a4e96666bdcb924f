"""What the profiler's own rules and the program itself say of a launch: findings, NVTX ranges, sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from analysis.formats.ncu_rep.lines import plain_path
from analysis.formats.ncu_rep.wire import double, fields, integer, part, submessages, text
from analysis.types import Finding, Place

LONGEST_TEXT = 2000
MOST_FINDINGS = 500
MOST_PLACES = 20
_KINDS = {0: "INF", 1: "INF", 2: "WRN", 3: "ERR", 4: "OPT"}
_SCOPES: Mapping[int, Literal["local", "global"]] = {1: "local", 2: "global"}
_SOURCE_MARKER = 1
_DEFAULT_DOMAIN = "<default domain>"
# What rules link to, as shown: @section:Id:shown@, @source:file:line:shown@, @url:shown:https://...@
_LINK = re.compile(r"@(?:section:[^:@]*|source:[^@]*):([^:@]*)@|@url:([^:@]*):[^@]*@")


def read_rule(message: memoryview) -> Iterator[Finding]:
    """One finding for each thing that a rule says; a rule that found nothing gives none. Raises Damaged."""
    names = {1: "", 2: "", 4: ""}
    items: list[memoryview] = []
    places: dict[Place, None] = {}
    for number, raw in fields(message):
        if number in names:
            names[number] = plain(text(raw))
        elif number == 3:
            items += submessages(part(raw), 1)
        elif number == 5 and len(places) < MOST_PLACES and (place := _place(part(raw))):
            places[place] = None
    for item in items:
        yield from _findings(item, names[1], names[4], names[2], tuple(places))


def _findings(item: memoryview, rule: str, section: str, name: str, places: tuple[Place, ...]) -> Iterator[Finding]:
    speedup, scope = None, None
    messages: list[memoryview] = []
    for number, raw in fields(item):
        if number == 1:
            messages.append(part(raw))
        elif number == 10:
            speedup, scope = _estimate(part(raw))
    for message in messages:
        said, kind, title = _message(message)
        if said:
            yield Finding(rule, kind, said, speedup, section, _SCOPES.get(scope or 0), title or name, places)


def _message(message: memoryview) -> tuple[str, str, str]:
    said, kind, title = "", 0, ""
    for number, raw in fields(message):
        if number == 1:
            said = plain(text(raw))
        elif number == 2:
            kind = integer(raw)
        elif number == 4:
            title = plain(text(raw))
    return said, _KINDS.get(kind, "INF"), title


def _estimate(message: memoryview) -> tuple[float | None, int]:
    """The share of time that could be saved, 0..1 (the file has percent), and whose time it is."""
    share, scope = None, 0
    for number, raw in fields(message):
        if number == 1:
            scope = integer(raw)
        elif number == 2:
            percent = double(raw)
            share = percent / 100 if percent is not None and 0 <= percent <= 100 else None
    return share, scope


def _place(message: memoryview) -> Place | None:
    kind, line, file = 0, 0, ""
    for number, raw in fields(message):
        if number == 1:
            kind = integer(raw)
        elif number == 2:
            line = integer(raw)
        elif number == 6:
            file = text(raw)
    return Place(plain_path(file), line) if kind == _SOURCE_MARKER and file and line else None


def plain(said: str) -> str:
    """Text of a rule without its links' addresses, in one line and without what no page or store can show."""
    shown = _LINK.sub(lambda found: found[1] or found[2] or "", said[: 2 * LONGEST_TEXT])
    line = " ".join(shown.split())
    if not line.isprintable():
        line = "".join(char if char.isprintable() else "\ufffd" for char in line)
    return line[:LONGEST_TEXT]


def read_nvtx(message: memoryview) -> Iterator[str]:
    """Names of the push/pop ranges open at the launch, outermost first; with their domain, unless it is the default."""
    domains: dict[int, str] = {}
    for domain in submessages(message, 1):
        found = {number: raw for number, raw in fields(domain) if number in (1, 2)}
        domains[integer(found.get(1, 0))] = text(found[2]) if 2 in found else ""
    for thread in submessages(message, 2):
        for stack in submessages(thread, 2):
            number_of_domain = next((integer(raw) for number, raw in fields(stack) if number == 1), 0)
            domain_name = domains.get(number_of_domain, _DEFAULT_DOMAIN)
            prefix = "" if domain_name in ("", _DEFAULT_DOMAIN) else f"{domain_name}: "
            for entry in submessages(stack, 3):
                for number, raw in fields(entry):
                    if number == 1:
                        yield plain(f"{prefix}{text(raw)}")


def read_section(message: memoryview) -> str:
    """Its identifier, such as SpeedOfLight."""
    return next((plain(text(raw)) for number, raw in fields(message) if number == 1), "")
