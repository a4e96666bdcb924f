"""Damaged and hostile prints end in launches or in a sentence, and never in anything else."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import test_formats_ncu_text_console as console
import test_formats_ncu_text_source as source
from ncu_pages import MEMORY, RAW, TIME, details, launch, quoted, raw, read_text, rule, value

from analysis.formats.ncu_text import launches
from analysis.pipeline import analyse
from optimas_web.errors import UserError

DETAILS = details(
    [
        value(0, "Duration", "us", "41.28"),
        rule(0, "Basics", "OPT", 'First "this",\nthen that.', "local", "53.49"),
        value(1, "Memory Throughput", "Tbyte/s", "2.24", MEMORY),
    ]
)
FILES = {
    "raw": RAW.encode(),
    "utf-16": RAW.encode("utf-16"),
    "details": DETAILS.encode(),
    "source": source.SETTLED.encode(),
    "console": console.CONSOLE.encode(),
    "all": (DETAILS + RAW + source.SETTLED + console.CONSOLE).encode(),
}
PIECES = (
    b'"',
    b"\n",
    b",",
    b"\0",
    b"==ERROR== x\n",
    b"9" * 50,
    b"e99999999",
    b"\xff\xfe",
    b'"ID","Kernel Name","a__b"\n',
)


def cut(text: bytes, at: int, chance: random.Random) -> bytes:
    return text[:at]


def flip(text: bytes, at: int, chance: random.Random) -> bytes:
    return text[:at] + bytes([text[at] ^ 1 << chance.randrange(8)]) + text[at + 1 :]


def insert(text: bytes, at: int, chance: random.Random) -> bytes:
    return text[:at] + chance.choice(PIECES) + text[at:]


def repeat(text: bytes, at: int, chance: random.Random) -> bytes:
    return text[:at] + text[at : at + chance.randrange(300)] + text[at:]


def lose(text: bytes, at: int, chance: random.Random) -> bytes:
    return text[:at] + text[at + chance.randrange(100) :]


@pytest.mark.parametrize("damage", [cut, flip, insert, repeat, lose])
@pytest.mark.parametrize("name", FILES)
def test_damage_is_survived(tmp_path: Path, name: str, damage: Callable[[bytes, int, random.Random], bytes]) -> None:
    chance = random.Random(f"{name} {damage.__name__}")
    for _ in range(15):
        text = FILES[name]
        for _ in range(chance.choice((1, 1, 3, 9))):
            text = damage(text, chance.randrange(max(1, len(text) - 1)), chance) if text else text
        try:
            found = analyse(read_text(tmp_path, text), {})
        except UserError as error:
            assert error.message
        else:
            assert found.profile.launches


@pytest.mark.parametrize("cell", ["9" * 5_000, "1e99999999", "-" * 100_000, '"' * 9, "1," * 1_000, "\0"])
def test_a_hostile_cell_is_left_out(tmp_path: Path, cell: str) -> None:
    profile = read_text(tmp_path, raw({TIME: "us"}, [[*launch(0), "1.5"], [*launch(1), cell]]))
    assert [each.cost for each in profile.launches] == [1_500, None]
    assert profile.launches[1].load().metrics[TIME] is None


def test_a_line_number_or_an_address_out_of_all_bounds_is_passed_over(tmp_path: Path) -> None:
    lines = [source.line(9, "x", 5, 0), source.line(2_000_000_000, "y", 7, 0), source.instruction(0x80, "NOP", 5, 0)]
    huge = ["", "", "0x" + "f" * 40, "NOP", *source.counted(5, 0)]
    profile = read_text(tmp_path, source.block(source.STEP, "f()", *lines, huge))
    assert [len(text) for text in profile.sources.values()] == [len("\n" * 9 + "x")]
    assert len(profile.launches[0].load().code) == 1


def test_warnings_do_not_grow_with_the_file(tmp_path: Path) -> None:
    metrics = {f"a__{n}": f"unit{n}" for n in range(200)}
    profile = read_text(tmp_path, raw(metrics, [[*launch(0), *["1"] * 200]]))
    assert len(profile.warnings) == 41
    assert profile.warnings[-1] == "160 more problems of this kind are not listed."


def test_a_quote_that_is_never_closed_costs_one_line(tmp_path: Path) -> None:
    lines = DETAILS.splitlines(keepends=True)
    broken = quoted([*launch(0), "Section", "Odd", "%", "1.5"])[:-2] + "\n"
    profile = read_text(tmp_path, "".join([lines[0], broken, *lines[1:]]))
    assert [each.cost for each in profile.launches] == [41_280, None]


def test_the_text_of_sources_is_kept_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "MOST_TEXT", 1_500_000)
    files = [source.block(f"/b/{n}.cu", "f()", source.line(900_000, "x", 5, 0)) for n in range(9)]
    profile = read_text(tmp_path, "".join(files))
    assert list(profile.sources) == ["/b/0.cu"]
