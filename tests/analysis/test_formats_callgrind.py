"""Callgrind profiles of the sample heat2d, and small ones written here."""

from __future__ import annotations

import gzip
import random
import re
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pytest

from analysis.formats import read
from analysis.types import Launch, Profile
from optimas_web.errors import UserError

DATA = Path(__file__).parents[1] / "data" / "profiles" / "callgrind"
WHOLE = DATA / "callgrind.out.heat2d"


def launch_of(profile: Profile, short_name: str) -> Launch:
    return next(launch for launch in profile.launches if launch.short_name == short_name)


def write(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "callgrind.out.1"
    path.write_text("# callgrind format\n" + "\n".join(lines) + "\n")
    return path


def total(profile: Profile, event: str) -> float:
    return sum(float(launch.load().metrics[event] or 0) for launch in profile.launches)


def test_the_profile_says_what_was_run_and_how() -> None:
    profile = read(WHOLE)
    assert (profile.format, profile.tool, profile.cost_unit) == ("callgrind", "Callgrind 3.19.0", "cycle")
    assert profile.command == "./heat2d 40 40 3"
    assert profile.whole_run
    assert profile.versions["D1 cache"] == "2048 B, 64 B, 2-way associative"
    assert profile.warnings == ()


def test_every_count_equals_what_callgrind_annotate_prints() -> None:
    ours: dict[str, list[float]] = defaultdict(lambda: [0.0] * 9)
    for launch in read(WHOLE).launches:
        for cost in launch.load().code:
            file = cost.places[0].file if cost.places else None
            row = ours[f"{file or launch.file or '???'}:{launch.mangled}"]
            counts = list(cost.costs.values())[:9]
            row[:] = [a + b for a, b in zip(row, counts, strict=True)]
    printed = annotated()
    agreed = [key for key, counts in printed.items() if ours[key] == counts]
    assert len(agreed) > 400
    assert set(printed) - set(agreed) == set()


def annotated() -> dict[str, list[float]]:
    """The table of callgrind_annotate, without lines of unknown files: it cannot tell those apart.

    A function that called itself stands there twice, the second time with a mark of how deep: it is one.
    """
    text = gzip.decompress((DATA / "callgrind.out.heat2d.annotate.txt.gz").read_bytes()).decode()
    table: dict[str, list[float]] = defaultdict(lambda: [0.0] * 9)
    for line in text.splitlines():
        found = re.match(r"\s*((?:[\d,.]+\s+){9})(.+?)(?: \[[^\[\]]+\])?$", line)
        if found and ":" in found[2] and not found[2].startswith("???"):
            counts = [0.0 if cell == "." else float(cell.replace(",", "")) for cell in found[1].split()]
            name = re.sub(r"'\d+$", "", found[2])
            table[name] = [a + b for a, b in zip(table[name], counts, strict=True)]
    return table


def test_column_by_column_walking_shows_as_read_misses_of_one_line() -> None:
    spread = launch_of(read(WHOLE), "spread")
    misses = {cost.places[0].line: cost.costs["D1mr"] for cost in spread.load().code}
    assert spread.file == "/tmp/heat2d/heat2d.cpp"
    assert max(misses, key=lambda line: misses[line]) == 39
    assert misses[39] > 0.9 * sum(misses.values())


def test_cycles_are_estimated_from_instructions_and_misses() -> None:
    spread = launch_of(read(WHOLE), "spread")
    m = {name: float(value or 0) for name, value in spread.load().metrics.items()}
    assert m["estimated_cycles"] == (
        m["Ir"] + 10 * (m["I1mr"] + m["D1mr"] + m["D1mw"]) + 100 * (m["ILmr"] + m["DLmr"] + m["DLmw"])
    )
    assert spread.cost == m["estimated_cycles"]
    assert m["Ir"] == 74883


def test_costs_of_instructions_add_up_to_the_same_lines() -> None:
    by_line, by_instruction = (
        {cost.places: cost.costs["Ir"] for cost in launch_of(read(path), "spread").load().code}
        for path in (WHOLE, DATA / "callgrind.out.heat2d.instr")
    )
    assert by_instruction == by_line


@pytest.mark.parametrize("name", ["instr", "plain", "parts"])
def test_all_kinds_of_files_agree_with_their_own_totals(name: str) -> None:
    path = DATA / f"callgrind.out.heat2d.{name}"
    profile = read(path)
    said = [int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith("totals:")]
    assert sum(said) > 0
    assert total(profile, "Ir") == sum(said)
    assert not any("add up" in warning for warning in profile.warnings)


def test_several_parts_are_added_up() -> None:
    profile = read(DATA / "callgrind.out.heat2d.parts")
    assert launch_of(profile, "spread").load().metrics["Ir"] == 74883
    assert profile.whole_run


def test_without_cache_simulation_cycles_are_instructions_and_a_warning_says_so() -> None:
    profile = read(DATA / "callgrind.out.heat2d.plain")
    assert launch_of(profile, "spread").cost == 74883
    assert profile.warnings[0].startswith("Caches were not simulated")


def test_what_a_callee_cost_is_not_counted_for_its_caller(tmp_path: Path) -> None:
    profile = read(
        write(
            tmp_path,
            "events: Ir",
            "fl=(1) a.c",
            "fn=(1) main",
            "10 5",
            "cfn=(2) work",
            "calls=3 20",
            "11 900",
            "+2 7",
            "fn=(2)",
            "20 900",
            "totals: 912",
        )
    )
    assert [(launch.name, launch.cost) for launch in profile.launches] == [("main", 12.0), ("work", 900.0)]
    assert [cost.places[0].line for cost in profile.launches[0].load().code] == [10, 13]


def test_code_from_an_included_file_stays_with_its_function(tmp_path: Path) -> None:
    body = ("fl=(1) a.c", "fn=(1) f", "1 1", "fi=(2) b.h", "+4 2", "fe=(1)", "2 3", "totals: 6")
    profile = read(write(tmp_path, "events: Ir", *body))
    places = [(cost.places[0].file, cost.places[0].line) for cost in profile.launches[0].load().code]
    assert places == [("a.c", 1), ("b.h", 5), ("a.c", 2)]


def test_functions_of_one_name_in_two_files_are_two(tmp_path: Path) -> None:
    profile = read(write(tmp_path, "events: Ir", "fl=a.c", "fn=init", "1 4", "fl=b.c", "fn=init", "1 5", "totals: 9"))
    assert [(launch.file, launch.cost) for launch in profile.launches] == [("a.c", 4.0), ("b.c", 5.0)]


def test_a_file_that_was_cut_off_says_so(tmp_path: Path) -> None:
    path = tmp_path / "callgrind.out.1"
    path.write_bytes(WHOLE.read_bytes()[:60_000].rpartition(b"\n")[0] + b"\n")
    warnings = read(path).warnings
    assert any("cut off" in warning for warning in warnings)
    assert any("add up to" in warning for warning in warnings)


def test_cachegrinds_files_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "cachegrind.out.1"
    path.write_text(
        "desc: D1 cache:         32768 B, 64 B, 8-way associative\ncmd: ./a\nevents: Ir D1mr\n"
        "fl=a.c\nfn=main\n3 10 1\nsummary: 10 1\n"
    )
    profile = read(path)
    assert (profile.tool, profile.command, profile.launches[0].cost, profile.warnings) == (
        "Cachegrind",
        "./a",
        20.0,
        (),
    )


def test_one_part_of_a_run_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    profile = read(write(tmp_path, "part: 2", "events: Ir", "fn=f", "1 1", "totals: 1"))
    assert not profile.whole_run
    assert any("one part" in warning for warning in profile.warnings)


def test_process_numbers_are_dropped() -> None:
    profile = read(WHOLE)
    pid = re.search(r"pid: (\d+)", WHOLE.read_text())
    assert pid and pid[1] not in repr((profile.tool, profile.command, profile.versions, profile.warnings))


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["events: Ir", "fn=f", "1 x"], "callgrind.out.1, line 4 has something else than numbers among its counts."),
        (["events: Ir", "fn=f", "1 2 3"], "callgrind.out.1, line 4 has 2 counts for 1 events."),
        (["events: Ir", "fn=f", "one 2", "1 2"], "callgrind.out.1, line 4 is neither a header, a position nor a cost."),
        (["events: Ir", "fn=f", "+x 2"], "callgrind.out.1, line 4 has '+x' where a line number belongs."),
        (["events: Ir", "fn=(7)", "1 2"], "callgrind.out.1, line 3 uses name (7), which no line before defines."),
        (["events: Ir", "fn=f", "1 -2"], "line 4 has a negative count or one of more than 64 bits."),
        (["events: Ir", "fn=f", "1 " + "9" * 300], "line 4 has a negative count or one of more than 64 bits."),
        (["events: Ir", "fn=f", "9" * 40 + " 2"], "line 4 has a line number that no file reaches."),
        (["events: Ir", "1 2"], "callgrind.out.1, line 3 has costs, but no line before names the function."),
        (["positions: instr line", "events: Ir", "fn=f", "0x10"], "callgrind.out.1, line 5 is cut off."),
        (["events: Ir", "fn=f", "1 2", "events: Dr"], "line 5 changes the counted events in the middle of the file."),
        (["events: Ir"], "callgrind.out.1 has no costs: nothing was counted."),
        (["events: Time", "fn=f", "1 2"], "callgrind.out.1 counts Time, not the instructions of a program (Ir)."),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path: Path, lines: list[str], sentence: str) -> None:
    with pytest.raises(UserError) as failure:
        read(write(tmp_path, *lines))
    assert sentence in failure.value.message
    assert "valgrind --tool=callgrind" in failure.value.hint


def test_a_function_that_calls_itself_is_one(tmp_path: Path) -> None:
    fib = ("fn=(1) fib(int)'2", "3 7", "calls=2 3", "3 9", "fn=(2) fib(int)", "3 1")
    (launch,) = read(write(tmp_path, "events: Ir", "fl=a.c", *fib, "totals: 8")).launches
    assert (launch.name, launch.cost) == ("fib(int)", 8)


@pytest.mark.parametrize(
    ("headers", "whole"),
    [
        (["part: 1", "desc: Trigger: Program termination"], True),
        (["part: 1", "desc: Trigger: --dump-after=work(int)"], False),
        (["part: 3", "desc: Trigger: Program termination"], False),
        (["part: 1", "thread: 1", "desc: Trigger: Program termination"], False),
        ([], True),
    ],
)
def test_a_part_is_not_taken_for_the_whole_run(tmp_path: Path, headers: list[str], whole: bool) -> None:
    profile = read(write(tmp_path, "pid: 7", *headers, "events: Ir", "fl=a.c", "fn=f", "1 2", "totals: 2"))
    assert profile.whole_run == whole
    assert (profile.part is None) == whole


def test_damaged_profiles_end_in_a_sentence_or_a_profile(tmp_path: Path) -> None:
    whole = (DATA / "callgrind.out.heat2d.parts").read_bytes()
    chance, path = random.Random(7), tmp_path / "damaged"
    pieces = (b"fn=(", b"calls=", b"+9", b"*", b"\0", b"\n", b"-")
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 30)):
            at = chance.randrange(len(damaged))
            damaged[at : at + chance.randrange(3)] = chance.choice(pieces)
        path.write_bytes(damaged[: chance.randrange(1, len(damaged))] if chance.random() < 0.3 else damaged)
        with suppress(UserError):
            assert read(path).launches
