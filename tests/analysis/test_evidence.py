"""Evidence: numbered once, weighed anew, measured again."""

from dataclasses import replace
from math import fsum

import pytest
from profile_builder import counted, cpu, function, gpu, launch, sampled

from analysis import evidence
from analysis.pipeline import analyse
from analysis.types import Analysis, Evidence, Profile, Value

TEXT = "\n".join(f"line {number}" for number in range(1, 31))
MOVING: dict[str, Value] = {
    "dram__bytes.sum": 5e8,
    "dram__bytes.sum.per_second": 1e12,
    "dram__bytes.sum.peak_sustained": 1000.0,
    "dram__cycles_elapsed.avg.per_second": 2e9,
    "smsp__pcsamp_interval_cycles": 2048.0,
    **{f"smsp__sass_thread_inst_executed_op_f{op}_pred_on.sum.per_cycle_elapsed": 0.0 for op in ("add", "mul", "fma")},
    "smsp__cycles_elapsed.avg.per_second": 1e9,
}
HOT = [sampled("/p/k.cu:5", 0, long_scoreboard=750), sampled("/p/k.cu:9", 16, barrier=250)]
COOL = [sampled("/p/k.cu:20", 0, wait=400)]


def two_kernels() -> Profile:
    return gpu(launch("cool", 25, COOL, MOVING), launch("hot", 75, HOT, MOVING))


def analysed(profile: Profile) -> Analysis:
    return analyse(profile, {"k.cu": TEXT})


def labelled(analysis: Analysis, label: str) -> Evidence:
    return next(item for item in analysis.evidence if item.label == label)


def test_labels_count_through_the_kernels_by_rank_and_weights_follow_the_rule():
    """Weight = time share of the kernel / kinds of evidence on it x share within the kind."""
    items = analysed(two_kernels()).evidence
    assert [(item.label, item.kernel) for item in items] == [
        ("R1", "hot"), ("S1", "hot"), ("S2", "hot"), ("R2", "cool"), ("S3", "cool"),
    ]  # fmt: skip
    expected = {"R1": 0.375, "S1": 0.375 * 0.75, "S2": 0.375 * 0.25, "R2": 0.125, "S3": 0.125}
    assert {item.label: item.weight for item in items} == pytest.approx(expected)
    assert fsum(item.weight for item in items) == 1


def test_a_subset_keeps_its_labels_and_is_weighed_anew():
    items = analysed(two_kernels()).evidence
    stalls = evidence.offered(items, kinds={"stalls"})
    assert {item.label: item.weight for item in stalls} == pytest.approx({"S1": 0.5625, "S2": 0.1875, "S3": 0.25})
    cool = evidence.offered(items, kernels={"cool"})
    assert {item.label: item.weight for item in cool} == pytest.approx({"R2": 0.5, "S3": 0.5})
    few = evidence.offered(items, labels={"R1", "S2", "S3"})
    assert {item.label: item.weight for item in few} == pytest.approx({"R1": 0.375, "S2": 0.375, "S3": 0.25})
    assert evidence.offered(items, kernels=set()) == ()


def test_weighing_twice_is_weighing_once():
    items = analysed(two_kernels()).evidence
    once = evidence.offered(items, kernels={"hot"}, kinds={"stalls"})
    assert evidence.offered(evidence.offered(items, kernels={"hot"}), kinds={"stalls"}) == pytest.approx(once)
    assert evidence.offered(once) == once


@pytest.mark.parametrize("count", [1, 3, 7, 11, 30])
def test_weights_add_up_to_exactly_one_whatever_is_offered(count: int):
    launches = [launch(f"k{n}", 1 + n / 7, COOL, MOVING) for n in range(count)]
    assert fsum(item.weight for item in analysed(gpu(*launches)).evidence) == 1


def test_kernels_without_a_time_are_weighed_alike():
    items = analysed(gpu(launch("a", None, COOL), launch("b", None, COOL))).evidence
    assert [item.weight for item in items] == [0.5, 0.5]


def test_few_samples_are_marked_in_the_statement_and_in_the_noise():
    code = [sampled("/p/k.cu:5", 0, long_scoreboard=4), sampled("/p/k.cu:6", 16, wait=3)]
    first = labelled(analysed(gpu(launch("shortLived", 1, code))), "S1")
    assert "only 7 samples: shares are not reliable" in first.statement
    assert first.noise == 1


def test_a_line_of_few_samples_is_no_evidence_beside_lines_of_many():
    """Under ten samples the noise swallows any change: nothing could ever be measured again."""
    code = [sampled(f"/p/k.cu:{n}", 16 * n, wait=count) for n, count in enumerate((60, 10, 9, 8), start=1)]
    items = analysed(gpu(launch("k", 1, code))).evidence
    assert [item.lines for item in items] == [(1, 1), (2, 2)]
    assert all(item.noise < 1 for item in items)


def test_samples_without_a_line_do_not_lengthen_the_list():
    code = [sampled(f"/p/k.cu:{n + 1}", 16 * n, wait=count) for n, count in enumerate((500, 300, 110, 60, 30))]
    items = analysed(gpu(launch("k", 1, [*code, sampled(None, 160, wait=400)]))).evidence
    assert [item.lines for item in items] == [(1, 1), (2, 2), (3, 3)]


def test_the_load_that_a_line_waits_for_is_named_where_it_stands():
    code = [
        sampled("/p/k.cu:5", 0, "LDG", wait=12),
        sampled("/p/k.cu:9", 16, "IMAD", long_scoreboard=600),
        sampled("/p/k.cu:9", 32, "LDG", wait=20),
        sampled("/p/k.cu:9", 48, "FMUL", long_scoreboard=700),
        sampled("/lib/far.h:3", 64, "LDG", wait=20),
        sampled("/p/k.cu:12", 80, "FADD", long_scoreboard=500),
    ]
    said = {item.lines: item.statement for item in analysed(gpu(launch("k", 1, code))).evidence}
    assert said[9, 9].endswith("The loads issued just before: on this line itself and on line 5.")
    assert said[12, 12].endswith("The loads issued just before: /lib/far.h:3 and on line 9.")


def test_without_source_lines_the_reasons_of_the_whole_kernel_are_evidence():
    code = [sampled(None, 0, long_scoreboard=880, wait=42)]
    (item,) = analysed(gpu(launch("k", 1, code))).evidence
    assert (item.file, item.lines, item.metric, item.value) == (None, None, "stalled_samples", 922)
    assert "922 stalled samples" in item.statement and "95% long_scoreboard" in item.statement


def test_a_list_of_lines_ends_at_nine_tenths_of_the_stalls():
    code = [sampled(f"/p/k.cu:{n + 1}", 16 * n, wait=count) for n, count in enumerate((500, 300, 110, 60, 30))]
    items = analysed(gpu(launch("k", 1, code))).evidence
    assert [item.lines for item in items] == [(1, 1), (2, 2), (3, 3)]


def test_at_the_memory_roof_the_bytes_have_to_go_down():
    busy = MOVING | {"dram__bytes.sum.per_second": 1.9e12}
    item = labelled(analysed(gpu(launch("k", 1, metrics=busy))), "R1")
    assert (item.metric, item.value, item.unit, item.direction) == ("dram__bytes.sum", 5e8, "byte", "down")
    item = labelled(analysed(gpu(launch("k", 1, metrics=MOVING))), "R1")
    assert (item.metric, item.value, item.direction) == ("achieved_over_roof", 0.5, "up")


@pytest.mark.parametrize(
    ("repeats", "samples", "floor"),
    [
        ([], None, 0.01),
        ([100, 100, 100], None, 0.01),
        ([100, 104, 96, 100, 108], None, 0.12),
        ([100, 150], None, 0.01),
        ([], 10_000, 0.03),
        ([], 4, 1.0),
        ([], 0, 1.0),
        ([0, 0, 0], None, 0.01),
    ],
)
def test_the_noise_floor_is_the_largest_of_spread_one_percent_and_sampling(repeats, samples, floor):
    assert evidence.noise_floor(repeats, samples) == pytest.approx(floor)


def test_stalls_are_measured_again_per_launch_on_the_lines_that_took_their_place():
    before = analysed(two_kernels())
    item = labelled(before, "S1")
    assert item.value == 750 * 2048
    assert evidence.measure(item, before) == item.value
    code = [sampled("/p/k.cu:6", 0, long_scoreboard=80), sampled("/p/k.cu:7", 16, wait=20), *COOL]
    after = analysed(gpu(launch("hot", 9, code, MOVING), launch("hot", 9, code, MOVING)))
    assert evidence.measure(item, after, {6, 7}) == 100 * 2048
    assert evidence.measure(item, after, {6}) == 80 * 2048
    assert evidence.measure(item, after, set()) == 0
    assert evidence.measure(item, after) == 0


def test_a_kernel_that_changed_its_symbol_is_measured_under_the_new_one():
    item = labelled(analysed(two_kernels()), "R1")
    after = analysed(
        gpu(launch("hot(const)", 9, HOT, MOVING | {"dram__bytes.sum.per_second": 1.5e12}, mangled="_Z3hotPK"))
    )
    assert evidence.measure(item, after, kernel="_Z3hotPK") == 0.75
    assert evidence.measure(replace(item, kernel="gone"), after) is None


def test_what_was_not_sampled_is_not_measured_instead_of_zero():
    before = analysed(two_kernels())
    bare = analysed(gpu(launch("hot", 9)))
    assert evidence.measure(labelled(before, "S1"), bare) is None
    assert evidence.measure(labelled(before, "R1"), bare) is None


def heat(misses: float) -> Profile:
    lines = (counted("spread", "/p/k.cu:5", Ir=100, D1mr=misses), counted("spread", "/p/k.cu:6", Ir=900))
    return cpu(function("spread", *lines), function("main", counted("main", "/p/k.cu:20", Ir=10, D1mr=5)))


def test_callgrind_evidence_names_the_worst_miss_and_counts_it():
    item, rest, _ = analysed(heat(95)).evidence
    assert (item.label, item.metric, item.value, item.unit) == ("S1", "D1mr", 95, "D1 read misses")
    assert "95% of all in the program" in item.statement
    assert (item.lines, item.noise, item.direction) == ((5, 5), 0.01, "down")
    assert (rest.metric, rest.value) == ("estimated_cycles", 900)


def test_a_function_that_hardly_costs_anything_is_no_evidence():
    tiny = function("tiny", counted("tiny", "/p/k.cu:20", Ir=1))
    items = analysed(cpu(function("spread", counted("spread", "/p/k.cu:5", Ir=10_000)), tiny)).evidence
    assert [item.lines for item in items] == [(5, 5)]


def test_callgrind_is_measured_again_over_all_functions():
    item = analysed(heat(95)).evidence[0]
    moved = cpu(function("helper", counted("helper", "/p/k.cu:7", Ir=5, D1mr=3)), *heat(9).launches)
    assert evidence.measure(item, analysed(moved), {5, 7}) == 12
