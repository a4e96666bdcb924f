"""What the gates decide, each from values alone."""

from types import SimpleNamespace

import pytest

from analysis.types import Evidence, Launch
from evaluation.steps import build, gpu, measure, reprofile, sanitize, symbols
from evaluation.steps.compare import outcome
from evaluation.types import Baseline, Built, Comparison, Outputs, Ran, Sanitized, SanitizerFinding, Symbol
from optimas_web.errors import UserError


def symbol(mangled, name=None, code="1", binding="global"):
    return Symbol(mangled, name or mangled, code, binding)


def built(*symbols, ok=True, reason="", log=""):
    return Built(ok, reason, log, "main", "", "x86-64", 1.5, tuple(symbols))


# --- build


def test_an_original_that_does_not_build_is_the_projects_fault_and_shows_the_first_error():
    log = "make: entering\nk.cpp:3: error: no such thing\n" + "note\n" * 1000 + "make: *** Error 1\n"
    error = build.original_does_not_build(built(ok=False, reason="the build command ended with status 2", log=log))
    assert "does not build: the build command ended with status 2 (k.cpp:3: error: no such thing)." in error.message
    assert "no edit was judged" in error.hint


# --- symbols


def bench_for(toolchain, kernels=("spread",)):
    return SimpleNamespace(case=SimpleNamespace(manifest=SimpleNamespace(toolchain=toolchain), kernels=kernels))


def symbols_gate(before, after, toolchain="cpu"):
    found = symbols.Found(built={"original": built(*before), "candidate": built(*after)})
    return symbols.step(bench_for(toolchain), found)


SPREAD = symbol("_Z6spreadPfi", "spread(float*, int)")
CONST = symbol("_Z6spreadPKfi", "spread(float const*, int)", "2")
OTHER = symbol("_Z5otherv", "other()", "7")


@pytest.mark.parametrize(
    ("before", "after", "toolchain", "status"),
    [
        ([SPREAD, OTHER], [symbol("_Z6spreadPfi", SPREAD.name, "2"), OTHER], "cpu", "passed"),
        ([SPREAD], [CONST], "cpu", "passed"),
        ([SPREAD], [CONST], "cuda", "passed"),
        ([SPREAD], [symbol("_Z6spreadPdi", "spread(double*, int)")], "cpu", "failed"),
        ([SPREAD, OTHER], [SPREAD], "cpu", "failed"),  # a function that other files may call
        ([SPREAD, symbol("_Z4helpv", "help()", binding="local")], [SPREAD], "cpu", "passed"),  # inlined now
        ([symbol("_ZL6spreadPfi", "spread(float*, int)", binding="local")], [OTHER], "cpu", "failed"),  # selected
        ([SPREAD, symbol("_Z6spreadPfi.cold", "spread.cold", binding="local")], [SPREAD], "cpu", "passed"),
        ([SPREAD], [SPREAD, OTHER], "cpu", "passed"),
        ([SPREAD], [SPREAD, OTHER], "cuda", "failed"),  # a kernel more than there was
    ],
)
def test_which_symbols_must_stay(before, after, toolchain, status):
    assert symbols_gate(before, after, toolchain)[0].status == status


def test_added_const_is_a_renaming_and_the_sentence_names_what_changed():
    outcome, found = symbols_gate([SPREAD, OTHER], [CONST, OTHER])
    assert found.renamed == {"_Z6spreadPfi": "_Z6spreadPKfi"}
    assert "spread(float const*, int)" in outcome.reason
    assert not found.same_code


def test_equal_code_everywhere_is_the_same_machine_code():
    assert symbols_gate([SPREAD, OTHER], [SPREAD, OTHER])[1].same_code
    changed_helper = symbol("_Z5otherv", "other()", "8")
    assert not symbols_gate([SPREAD, OTHER], [SPREAD, changed_helper])[1].same_code


def test_a_binary_without_symbols_is_not_judged_by_them():
    outcome, found = symbols_gate([], [SPREAD])
    assert (outcome.status, found.same_code) == ("not_run", False)


# --- outputs


def test_the_outputs_gate_names_the_workload_and_the_place():
    wrong = Comparison("odd", False, 10, ("out/a.bin differs from byte 7 on",))
    found = outcome([Comparison("default", True, 10), wrong], [])
    assert (found.status, found.reason) == ("failed", "Workload odd: out/a.bin differs from byte 7 on.")


def test_one_workload_alone_is_said_to_be_too_few_for_approval():
    ran = Ran("exited", 0, "", b"", b"", 0, 1)
    alone = outcome([Comparison("default", True, 10)], [Baseline("default", True, 10, (), Outputs(ran, ()))])
    assert alone.status == "passed"
    assert "approval needs two" in alone.reason


# --- sanitizer

OWN = SanitizerFinding("ubsan", "signed integer overflow", "light")
NEW = SanitizerFinding("asan", "heap-buffer-overflow", "spread")


@pytest.mark.parametrize(
    ("original", "candidate", "status", "words"),
    [
        (Sanitized(True, "", ("asan",)), Sanitized(True, "", ("asan",)), "passed", "found nothing"),
        (Sanitized(True, "", ("asan",), (OWN,)), Sanitized(True, "", ("asan",), (OWN,)), "passed", "light"),
        (Sanitized(True, "", ("asan",), (OWN,)), Sanitized(True, "", ("asan",), (OWN, NEW)), "failed", "in spread"),
        (Sanitized(True, "", ("asan",)), Sanitized(False, "it never ended"), "failed", "it never ended"),
    ],
)
def test_only_new_findings_fail(original, candidate, status, words):
    found = sanitize.compare(original, candidate)
    assert found.status == status
    assert words in found.reason


# --- re-profile

ITEM = Evidence("S1", "stalls", "k", "", "D1mr", 1.0, "count", 0.01, "down", 1.0)


def test_repeats_become_a_median_and_a_noise_floor():
    before = [{"S1": value} for value in (100.0, 102.0, 98.0)]
    after = [{"S1": value} for value in (10.0, 10.0, 11.0)]
    found = reprofile.summed(ITEM, before, after)
    assert (found.before, found.after) == (100.0, 10.0)
    assert found.noise == pytest.approx(0.06)  # three times the median deviation of the original


def test_a_repeat_without_the_metric_makes_it_not_measured():
    found = reprofile.summed(ITEM, [{"S1": 1.0}, {"S1": None}, {"S1": 1.0}], [{"S1": 1.0}] * 3)
    assert (found.before, found.after) == (None, 1.0)


# --- kernel times


def launch(index, mangled, ns):
    return Launch(index, mangled, mangled, mangled.removeprefix("_Z"), None, None, ns, lambda: None)


@pytest.mark.parametrize(("costs", "figure"), [([9.0, 2.0, 4.0], 3.0), ([9.0, 2.0], 5.5), ([9.0], 9.0)])
def test_the_first_of_three_or_more_launches_pays_for_loading_and_is_dropped(costs, figure):
    assert gpu.figure(costs) == figure


def test_scopes_are_the_selected_kernels_their_sum_and_all():
    launches = [launch(i, "_Zrank", ns) for i, ns in enumerate([90.0, 10.0, 12.0])] + [launch(3, "_Zfill", 50.0)]
    assert gpu.scopes(launches, ["rank"], {}) == {"_Zrank": 11.0, "selected": 33.0, "gpu": 83.0}


def test_a_renamed_kernel_keeps_the_name_of_the_original():
    launches = [launch(0, "_Zrank", 5.0)]
    assert "before" in gpu.scopes(launches, ["rank"], {"before": "_Zrank"})


def test_no_selected_kernel_launched_is_said():
    with pytest.raises(UserError, match="rank"):
        gpu.scopes([launch(0, "_Zfill", 5.0)], ["rank"], {})


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (["_Zfill", "_Zrank", "_Zrank"], ""),
        (["_Zfill", "_Zrank"], "it launches 2 kernels, the original 3"),
        (["_Zfill"] + ["_Zrank"] * 3, "it launches 4 kernels, the original 3"),
        (["_Zrank", "_Zfill", "_Zrank"], "launch 1 is rank, in the original fill"),
    ],
)
def test_kernel_launches_must_agree_in_number_and_order(after, words):
    before = [launch(i, name, 1.0) for i, name in enumerate(["_Zfill", "_Zrank0", "_Zrank0"])]
    seen = [launch(i, name, 1.0) for i, name in enumerate(after)]
    assert gpu.launch_difference(before, seen, {"_Zrank0": "_Zrank"}) == words


# --- pairs


@pytest.mark.parametrize(
    ("original", "candidate", "scope", "times", "tainted"),
    [
        (({"program": 9.0}, ""), ({"program": 3.0}, ""), "program", (9.0, 3.0), ""),
        (({"program": 9.0}, ""), ({}, "it ended with status 1"), "program", (9.0, 0.0), "the candidate: it ended with"),
        (({"program": 9.0}, "no ncu"), ({"program": 3.0}, "no ncu"), "program", (9.0, 3.0), ""),
        (
            ({"program": 9.0}, "no ncu"),
            ({"program": 3.0}, "no ncu"),
            "selected",
            (0.0, 0.0),
            "the original: no ncu; the",
        ),
        (({"program": 9.0, "rank": 2.0}, ""), ({"program": 3.0}, ""), "rank", (2.0, 0.0), "did not launch this kernel"),
    ],
)
def test_a_pair_is_tainted_where_a_side_has_no_time(original, candidate, scope, times, tainted):
    pair = measure._pair(scope, 4, "candidate", {"original": original, "candidate": candidate})
    assert (pair.original_ns, pair.candidate_ns) == times
    assert tainted in pair.tainted
    assert bool(pair.tainted) == bool(tainted)


@pytest.mark.parametrize("kernels", [("spread",), ("_Z6spreadPfi",), ("other", "spread")])
def test_the_profiler_is_told_the_mangled_names_of_either_side(kernels):
    before, after = built(SPREAD, OTHER), built(CONST, OTHER)
    renamed = {SPREAD.mangled: CONST.mangled}
    assert SPREAD.mangled in reprofile.mangled(kernels, before, renamed)
    assert CONST.mangled in reprofile.mangled(kernels, after, renamed)
    assert (OTHER.mangled in reprofile.mangled(kernels, after, renamed)) == ("other" in kernels)
