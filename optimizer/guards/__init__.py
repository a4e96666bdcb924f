"""The rules that an edit must keep, one module a rule.

A module has ``DEFAULT`` (its severity), ``WORDS`` (the sentence in the prompt, with ``{targets}`` for what may change)
and ``check(before, after, context) -> list[Violation]``. Adding a rule is one module and one line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Protocol, cast

from optimizer.types import GuardContext, Severity, Violation

GUARDS: Mapping[str, str] = {
    "region": "optimizer.guards.region",
    "signature": "optimizer.guards.signature",
    "one_definition": "optimizer.guards.one_definition",
    "launch_bounds": "optimizer.guards.launch_bounds",
    "harness": "optimizer.guards.harness",
    "launches": "optimizer.guards.launches",
    "escape": "optimizer.guards.escape",
    "precision": "optimizer.guards.precision",
    "placeholder": "optimizer.guards.placeholder",
    "hidden_text": "optimizer.guards.hidden_text",
    "no_op": "optimizer.guards.no_op",
}


class Guard(Protocol):
    """What every module listed in ``GUARDS`` provides."""

    DEFAULT: Severity
    WORDS: str

    def check(self, before: Mapping[str, str], after: Mapping[str, str], context: GuardContext) -> list[Violation]: ...


def guard(rule: str) -> Guard:
    """The module behind a rule."""
    return cast(Guard, import_module(GUARDS[rule]))


def severity(rule: str, chosen: Mapping[str, Severity]) -> Severity:
    """What the project chose for this rule, or its default."""
    return chosen.get(rule, guard(rule).DEFAULT)


def check(before: Mapping[str, str], after: Mapping[str, str], context: GuardContext) -> tuple[Violation, ...]:
    """All violations of all rules that are on. What cannot be checked blocks whatever the severity."""
    found: list[Violation] = []
    for rule in GUARDS:
        weight = severity(rule, context.severities)
        if weight != "off":
            broken = guard(rule).check(before, after, context)
            found += [replace(each, severity="block" if each.cannot_check else weight) for each in broken]
    return tuple(found)


def words(chosen: Mapping[str, Severity], targets: str) -> tuple[str, ...]:
    """The rules as sentences for the prompt: all that are not off."""
    return tuple(guard(rule).WORDS.format(targets=targets) for rule in GUARDS if severity(rule, chosen) != "off")
