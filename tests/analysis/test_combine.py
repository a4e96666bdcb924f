"""Several reports of one program as one profile: shares from the whole run, depth from what was measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from nsys_writer import Export, Ran
from profile_builder import counted, cpu, function, gpu, launch, sampled

from analysis.combine import Report, combine
from analysis.formats import read
from analysis.pipeline import analyse
from analysis.types import Launch, Part, Profile, Tally
from optimas_web.errors import UserError

ROWRANK = Path(__file__).parents[2] / "samples" / "rowrank" / "rowrank.ncu-rep"
ONE = ((1, 1, 1), (32, 1, 1))


def tally(name: str, total: float, count: int = 1, **fields: object) -> Tally:
    grid, block = ONE
    found = Tally(name, name, name.split("(")[0], grid, block, "0: NVIDIA H200", count, total, costs=(total,))
    return replace(found, **fields)  # type: ignore[arg-type]


def run(*tallies: Tally) -> Report:
    fields = {"format": "nsys_sqlite", "tool": "Nsight Systems", "whole_run": True, "tallies": tallies}
    return Report("run.sqlite", gpu(**fields))


def depth(*launches: Launch, file: str = "depth.ncu-rep", **fields: object) -> Report:
    return Report(file, gpu(*launches, **fields))


def said(profile: Profile) -> str:
    return " ".join(profile.warnings)


def test_shares_are_those_of_the_run_and_samples_those_of_the_report() -> None:
    measured = launch("hot(int)", 10, [sampled("/p/k.cu:3", wait=200)], {"launch__registers_per_thread": 32})
    profile = combine([run(tally("hot(int)", 900, count=90), tally("cold(int)", 100)), depth(measured)])
    analysis = analyse(profile, {"k.cu": "a\nb\nc\n"})
    hot, cold = analysis.kernels
    assert (hot.kernel.launch_count, hot.kernel.share, hot.kernel.launches) == (90, 0.9, (0,))
    assert hot.stalls is not None and hot.stalls.total == 200
    assert (cold.kernel.share, cold.stalls, profile.whole_run) == (0.1, None, True)
    assert hot.evidence[0].value == 200
    assert "Measured in 1 of its 90 launches." in hot.evidence[0].statement
    told = [note.message for note in analysis.doctor if note.severity == "info"]
    assert "Numbers of launches, times and shares are from run.sqlite (Nsight Systems)." in told
    assert "Metrics, samples and lines are from depth.ncu-rep (ncu)." in told


@pytest.mark.parametrize(
    ("counted_name", "measured_name"),
    [
        ("void scale<float, (bool)1>(const T1 *, int)", "scale<float, true>(T1 const*, int)"),
        ("void ns::<unnamed>::scale(float *)", "ns::(anonymous namespace)::scale(float*)"),
        ("void scale<(Order)0, (unsigned long)2>(int)", "void scale<0, 2>(int)"),
        ("scale", "scale(float*, int)"),
    ],
)
def test_names_that_tools_spell_differently_are_joined(counted_name: str, measured_name: str) -> None:
    profile = combine([run(tally(counted_name, 5)), depth(launch(measured_name, 1, mangled="_Z5scale"))])
    (kernel,) = analyse(profile, {}).kernels
    assert (kernel.kernel.mangled, kernel.kernel.name, kernel.kernel.total_cost) == ("_Z5scale", measured_name, 5)


def test_instances_of_one_template_are_not_joined_with_one_another() -> None:
    profile = combine(
        [run(tally("f<float>(T1)", 5), tally("f<int>(T1)", 7)), depth(launch("f<int>(T1)", 1), launch("g", 1))]
    )
    found = {each.kernel.name: each.kernel.launches for each in analyse(profile, {}).kernels}
    assert (found["f<int>(T1)"], found["f<float>(T1)"]) == ((0,), ())


def test_grid_and_block_decide_between_kernels_of_one_name() -> None:
    wide = {"grid": (9, 1, 1)}
    counted_ = run(tally("f", 5, mangled="1"), tally("f", 7, mangled="2", **wide))
    a, b = launch("f(int)", 1, mangled="_Z1fi"), replace(launch("f(long)", 1, mangled="_Z1fl"), grid=(9, 1, 1))
    profile = combine([counted_, depth(a, b)])
    assert {(each.mangled, each.total) for each in profile.tallies} == {("_Z1fi", 5), ("_Z1fl", 7)}
    assert profile.warnings == ()


def test_what_stays_ambiguous_is_left_apart_and_said() -> None:
    counted_ = run(tally("f", 5), tally("g(int)", 1))
    profile = combine([counted_, depth(launch("f(int)", 1), launch("f(long)", 1), launch("g(int)", 1))])
    assert profile.tallies[0].mangled == "f"
    assert "f: fits several kernels by name, grid and block, and was left apart" in said(profile)


def test_shapes_that_were_not_measured_and_kernels_that_did_not_run_are_said() -> None:
    counted_ = run(tally("f(int)", 30), tally("f(int)", 70, grid=(9, 1, 1)), tally("h(int)", 1, grid=(3, 1, 1)))
    profile = combine([counted_, depth(launch("f(int)", 1), launch("g(int)", 1), launch("h(int)", 1))])
    assert "f: launches with other grids and blocks than those in depth.ncu-rep hold 70% of its time." in said(profile)
    assert "g is measured in depth.ncu-rep, but run.sqlite has no launch of it: its share is not known." in said(
        profile
    )
    assert "h was launched with other grids and blocks in run.sqlite than in depth.ncu-rep." in said(profile)
    last = analyse(profile, {}).kernels[-1].kernel
    assert (last.short_name, last.launch_count, last.share) == ("g", 0, None)


def test_a_hot_kernel_that_was_not_measured_gets_the_command_for_it() -> None:
    profile = combine([run(tally("hot(int)", 90), tally("cold(int)", 10)), depth(launch("cold(int)", 1))])
    notes = analyse(profile, {}).doctor
    (note,) = [note for note in notes if "not among the launches that were measured" in note.message]
    assert "-k 'regex:^(hot)$' -c 3" in note.remedy


def test_reports_without_a_common_kernel_are_of_two_programs() -> None:
    with pytest.raises(UserError, match=r"No kernel of depth\.ncu-rep can be found in run\.sqlite"):
        combine([run(tally("f(int)", 1)), depth(launch("g(int)", 1))])


# --- two builds ------------------------------------------------------------------------------------


def test_another_number_of_registers_is_another_build() -> None:
    counted_ = run(tally("f(int)", 1, registers=40))
    measured = depth(launch("f(int)", 1, metrics={"launch__registers_per_thread": 32}))
    with pytest.raises(UserError, match="f uses 40 registers a thread in one and 32 in the other"):
        combine([counted_, measured])


def test_the_least_number_of_registers_that_ncu_tells_is_no_difference() -> None:
    counted_ = run(tally("f(int)", 1, registers=10))
    assert combine([counted_, depth(launch("f(int)", 1, metrics={"launch__registers_per_thread": 16}))]).tallies


def test_other_instruction_counts_are_another_build() -> None:
    a, b = (launch("f(int)", 1, metrics={"smsp__inst_executed.sum": count}) for count in (1000, 900))
    with pytest.raises(UserError, match=r"one\.ncu-rep and two\.ncu-rep are of two builds.*1,000 instructions.*900"):
        combine([depth(a, file="one.ncu-rep"), depth(b, file="two.ncu-rep")])


def test_counts_whose_ranges_touch_are_data_and_no_build() -> None:
    def counts(*numbers: float) -> list[Launch]:
        return [launch("f(int)", 1, metrics={"smsp__inst_executed.sum": number}) for number in numbers]

    assert combine([depth(*counts(900, 1000)), depth(*counts(950), file="two.ncu-rep")]).launch_count == 3


def test_other_machine_code_of_one_kernel_is_another_build() -> None:
    a, b = (depth(launch("f(int)", 1), modules=frozenset({code})) for code in "ab")
    with pytest.raises(UserError, match="machine code is not the same"):
        combine([a, b])
    other = depth(launch("g(int)", 1), modules=frozenset("b"))
    assert combine([a, other]).launch_count == 2


# --- several of one kind ------------------------------------------------------------------------------


def test_two_pages_of_one_report_tell_of_the_same_launches() -> None:
    """The numbers of launches shift in a filtered print."""
    details = depth(launch("copy(int)", 3070), launch("copy(int)", 3200), file="filtered.csv", format="ncu_csv")
    names = [("level", 41280, 2.36e6), ("copy", 3070, 14000.0), ("level", 40960, 2.36e6), ("copy", 3200, 14000.0)]
    raw = depth(*(launch(f"{n}(int)", cost, metrics={"dram__bytes.sum": moved}) for n, cost, moved in names))
    profile = combine([details, raw])
    copies = [each for each in profile.launches if each.short_name == "copy"]
    assert [each.load().metrics["dram__bytes.sum"] for each in copies] == [14000.0, 14000.0]
    assert (profile.launch_count, [each.index for each in profile.launches]) == (4, [0, 1, 2, 3])
    assert "Launch 0 is copy in filtered.csv and level in depth.ncu-rep" in said(profile)


def test_a_page_of_lines_and_a_page_of_metrics_of_one_report_become_one() -> None:
    metrics = launch("f()", 80_896, metrics={"m": 1}), launch("g()", 1_250_000), launch("f()", 80_001)
    lines = [
        replace(launch(each.name, None, [sampled("a.cu:1", wait=n)]), grid=None) for n, each in enumerate(metrics, 5)
    ]
    for first, second in ((metrics, lines), (lines, metrics)):
        both = combine([depth(*first, format="ncu_text"), depth(*second, format="ncu_text")])
        assert [each.cost for each in both.launches] == [80_896, 1_250_000, 80_001]
        assert [each.load().code[0].costs["samples"] for each in both.launches] == [5, 6, 7]
        assert both.launches[0].load().metrics == {"m": 1} and both.launches[0].grid == (1, 1, 1)


def test_pages_that_round_their_times_are_joined_in_order_and_others_are_not() -> None:
    def page(*costs: float) -> Report:
        return depth(*(launch("f()", cost) for cost in costs), format="ncu_text")

    assert len(combine([page(80_896, 80_904), page(80_900, 80_900)]).launches) == 2
    assert len(combine([page(80_896, 80_904), page(80_900, 80_950)]).launches) == 4
    assert len(combine([page(80_896, 80_904), page(80_900)]).launches) == 3


def test_two_time_lines_are_added_up_and_said() -> None:
    profile = combine([run(tally("f", 1)), run(tally("f", 2))])
    (kernel,) = analyse(profile, {}).kernels
    assert (kernel.kernel.launch_count, kernel.kernel.total_cost) == (2, 3)
    assert "added up" in said(profile)


def test_a_cpu_and_a_gpu_profile_are_two() -> None:
    with pytest.raises(UserError, match="two profiles"):
        combine([run(tally("f", 1)), Report("callgrind.out.1", cpu())])


def part(number: int, *functions: Launch, last: bool = False, process: str = "7", thread: int = 0) -> Report:
    told = Part(process, thread, (number,), last)
    return Report(f"callgrind.out.{number}", cpu(*functions, whole_run=False, part=told))


def test_parts_of_a_run_are_added_up() -> None:
    work = function("work", counted("work", "a.c:3", Ir=10))
    more = function("work", counted("work", "a.c:3", Ir=5), counted("work", "a.c:4", Ir=1))
    profile = combine([part(2, more, function("end", counted("end", "a.c:9", Ir=2)), last=True), part(1, work)])
    assert {each.mangled: each.cost for each in profile.launches} == {"work": 16, "end": 2}
    assert profile.whole_run
    lines = {each.places[0].line: each.costs["Ir"] for each in profile.launches[0].load().code}
    assert lines == {3: 15, 4: 1}


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([part(1), part(2, last=True)], True),
        ([part(1), part(3, last=True)], False),
        ([part(1), part(2)], False),
        ([part(1, thread=1, last=True), part(1, thread=2, last=True)], True),
        ([part(1, thread=2, last=True), part(1, thread=3, last=True)], False),
    ],
)
def test_the_sum_is_the_whole_run_when_no_part_is_missing(parts: list[Report], whole: bool) -> None:
    profile = combine(parts)
    assert profile.whole_run == whole
    assert ("missing" in said(profile)) != whole


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([part(1), part(2, process="8")], "different runs"),
        ([part(1), part(1)], "given twice"),
        ([part(1), Report("callgrind.out.9", cpu())], "whole run"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(parts: list[Report], why: str) -> None:
    with pytest.raises(UserError, match=why):
        combine(parts)


def test_a_real_report_with_a_time_line_of_its_program(tmp_path: Path) -> None:
    measured = read(ROWRANK)
    launches = [
        Ran(
            each.name, 1, 1 + int(each.cost or 0), each.grid or (0, 0, 0), each.block or (0, 0, 0), mangled=each.mangled
        )
        for each in measured.launches
        for _ in range(20)
    ]
    line = read(Export(launches=launches, without=["registersPerThread"]).write(tmp_path / "run.sqlite"))
    profile = combine([Report("run.sqlite", line), Report("rowrank.ncu-rep", measured)])
    analysis, alone = analyse(profile, {}), analyse(measured, {})
    assert [each.kernel.launch_count for each in analysis.kernels] == [60, 20, 20]
    assert [each.stalls for each in analysis.kernels] == [each.stalls for each in alone.kernels]
    assert [each.value for each in analysis.evidence] == [each.value for each in alone.evidence]
    assert profile.warnings == ()
