"""Where kernels wait, by line."""

import pytest
from profile_builder import at, counted, cpu, function, gpu, launch, sampled

from analysis.pipeline import analyse
from analysis.places import Sources
from analysis.stalls import waits_for
from analysis.types import Profile, Stalls

KERNEL = "\n".join(f"line {number}" for number in range(1, 21))


def stalls(profile: Profile, **sources: str) -> Stalls:
    texts = {name.replace("_cu", ".cu"): text for name, text in sources.items()}
    found = analyse(profile, texts).kernels[0].stalls
    assert found is not None
    return found


def test_issuing_and_being_ready_are_no_stalls():
    code = [sampled("/b/k.cu:3", 0, selected=50, not_selected=30, wait=20), sampled("/b/k.cu:4", 16, selected=9)]
    found = stalls(gpu(launch("k", 1, code)), k_cu=KERNEL)
    assert (found.total, [(line.line, line.value, line.reasons) for line in found.lines]) == (
        20,
        [(3, 20, {"wait": 1})],
    )


def test_lines_are_weighed_by_their_share_of_the_kernel_not_of_themselves():
    code = [sampled("/b/k.cu:3", 0, wait=1), sampled("/b/k.cu:7", 16, long_scoreboard=60, wait=39)]
    found = stalls(gpu(launch("k", 1, code)), k_cu=KERNEL)
    assert [(line.file, line.line, line.share, line.text) for line in found.lines] == [
        ("k.cu", 7, 0.99, "line 7"),
        ("k.cu", 3, 0.01, "line 3"),
    ]
    assert list(found.lines[0].reasons.items()) == [("long_scoreboard", 60 / 99), ("wait", 39 / 99)]


def test_samples_of_all_launches_and_of_all_instructions_of_a_line_add_up():
    code = [sampled("/b/k.cu:3", 0, wait=5), sampled("/b/k.cu:3", 16, wait=7)]
    found = stalls(gpu(launch("k", 1, code), launch("k", 1, code)), k_cu=KERNEL)
    assert (found.total, len(found.lines), found.lines[0].value) == (24, 1, 24)


def test_an_inlined_line_keeps_its_own_file_when_that_is_the_users():
    places = ("/b/lib/sum.cuh:12", "/b/k.cu:5")
    found = stalls(gpu(launch("k", 1, [sampled(places, wait=4)])), **{"k_cu": KERNEL, "lib/sum.cuh": KERNEL})
    assert [(line.file, line.line) for line in found.lines] == [("lib/sum.cuh", 12)]


def test_a_toolkit_header_is_charged_to_the_users_line_that_called_it_once():
    header = "/usr/local/cuda/targets/x86_64-linux/include/device_atomic_functions.hpp:88"
    profile = gpu(launch("k", 1, [sampled((header, "/b/k.cu:5"), wait=4)]))
    for sources in ({"k_cu": KERNEL}, {}):
        found = stalls(profile, **sources)
        assert [(line.file, line.line, line.value) for line in found.lines] == [
            ("k.cu" if sources else "/b/k.cu", 5, 4)
        ]


def test_what_has_no_line_is_unknown_and_never_line_zero_or_one():
    code = [
        sampled(None, 0, wait=14),
        sampled(None, 16, long_scoreboard=880, wait=20),
        sampled("/b/k.cu:0", 32, wait=8),
    ]
    found = stalls(gpu(launch("k", 1, code)), k_cu=KERNEL)
    (line,) = found.lines
    assert (line.file, line.line, line.value, line.share) == (None, None, 922, 1)
    assert line.reasons["long_scoreboard"] == pytest.approx(880 / 922)


def test_two_files_of_one_name_are_never_merged():
    code = [sampled("/srv/demo/a/step.cu:6", 0, wait=700), sampled("/srv/demo/b/step.cu:6", 16, wait=300)]
    for sources in ({"a/step.cu": KERNEL, "b/step.cu": KERNEL}, {"step.cu": KERNEL}, {}):
        assert sorted(line.value for line in stalls(gpu(launch("k", 1, code)), **sources).lines) == [300, 700]


def test_nothing_sampled_is_none_and_not_an_empty_list():
    assert analyse(gpu(launch("k", 1)), {}).kernels[0].stalls is None


def test_a_wait_is_booked_where_the_value_is_used_and_the_loads_before_it_are_named():
    code = [
        sampled("reuse.cu:9", 0x80, "LDG", wait=12),
        sampled("reuse.cu:11", 0xA0, "IMAD", long_scoreboard=580, wait=10),
        sampled("reuse.cu:11", 0xB0, "LDG", wait=20),
        sampled("reuse.cu:12", 0xC0, "FMUL", long_scoreboard=365, wait=5),
        sampled("reuse.cu:12", 0xD0, "STG", wait=10),
    ]
    loads = waits_for(code, Sources())
    assert loads[at("reuse.cu:11")] == (at("reuse.cu:9"),)
    assert loads[at("reuse.cu:12")] == (at("reuse.cu:11"), at("reuse.cu:9"))
    found = stalls(gpu(launch("hop", 1, code)))
    assert [(line.line, line.value) for line in found.lines] == [(11, 610), (12, 380), (9, 12)]


def test_callgrind_lines_are_estimated_cycles_split_by_kind_of_miss():
    found = stalls(
        cpu(function("f", counted("f", "a.cpp:2", Ir=100, D1mr=30, DLmw=1), counted("f", "a.cpp:3", Ir=500)))
    )
    assert (found.unit, found.total) == ("estimated cycles", 1000)
    assert [(line.line, line.value, dict(line.reasons)) for line in found.lines] == [
        (2, 500, {"D1 read misses": 0.6, "instructions": 0.2, "LL write misses": 0.2}),
        (3, 500, {"instructions": 1}),
    ]
