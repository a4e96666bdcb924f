"""Hundreds of answers against the rules: what is refused, by which rule, and what is not. Seeded: always the same."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from battery_answers import HONEST, Program, filled, inserted, judged, meant, replaced
from battery_refused import KINDS, PROGRAMS, Try

from optimizer.types import Checked

SEED = 20261201
VARIATIONS = 2


def changed(rng: Random, program: Program, what: Try) -> str:
    if isinstance(what, tuple):
        return replaced(program, filled(rng, what[0]) if "@" in what[0] else what[0], what[1])
    return inserted(rng, program, filled(rng, what))


def refused() -> Iterator[tuple[str, int, Program, Try]]:
    for kind, (_, tries) in KINDS.items():
        listed = [(program, each) for key, ways in tries.items() for program in PROGRAMS[key] for each in ways]
        for number, (program, each) in enumerate(listed):
            yield kind, number, program, each


ALL = list(refused())


@pytest.mark.parametrize(("kind", "number", "program", "what"), ALL, ids=[f"{each[0]}-{each[1]}" for each in ALL])
def test_it_does_not_pass(kind: str, number: int, program: Program, what: Try) -> None:
    rng = Random(f"{SEED} {kind} {number}")
    after = changed(rng, program, what)
    checked = judged(rng, program, after)
    if checked.answer.form == "file" and checked.gates[0].status == "failed":
        return  # whole code of which a function is gone: the reader takes no part of it
    assert checked.gates[0].status == "passed", checked.gates[0].reason
    assert checked.after[program.file] == after
    assert checked.gates[2].status == "failed", checked.diff
    blocking = {each.rule for each in checked.violations if each.severity == "block"}
    assert blocking & KINDS[kind][0], (checked.violations, checked.diff)
    well_said(checked, program)


HONESTLY = [(kind, number) for kind in HONEST for number in range(VARIATIONS)]


@pytest.mark.parametrize(("kind", "number"), HONESTLY)
def test_honest_work_passes(kind: str, number: int) -> None:
    rng = Random(f"{SEED} {kind} {number}")
    program, after = meant(rng, HONEST[kind])
    checked = judged(rng, program, after)
    assert checked.passed, [gate.reason for gate in checked.gates]
    assert checked.after[program.file] == after


def well_said(checked: Checked, program: Program) -> None:
    """Every violation names the file and a line that the file has."""
    for each in checked.violations:
        assert each.file == program.file
        assert 1 <= each.line <= program.text.count("\n")
        assert program.file in each.message and str(each.line) in each.message, each.message


def test_there_are_enough_of_enough_kinds() -> None:
    assert len(ALL) >= 200
    assert len(KINDS) >= 20
    assert len(HONESTLY) >= 100
