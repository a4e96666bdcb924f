"""What of a program's output can be compared, and whether a change kept it."""

from __future__ import annotations

import hashlib
import struct

import pytest

from evaluation.outputs import again, baseline, compare
from evaluation.types import Ended, OutputFile, Outputs, Ran
from optimas_web.errors import UserError
from projects.types import WorkloadSpec

PRINTS = WorkloadSpec("default", "./main")
WRITES = WorkloadSpec("default", "./main", outputs=("out/*.bin",))


def ran(stdout: str = "", stderr: str = "", status: int = 0, ended: Ended = "exited", reason: str = "") -> Ran:
    return Ran(ended, status, reason, stdout.encode(), stderr.encode(), 0, 1)


def file(path: str, content: bytes, *, kept: bool = True) -> OutputFile:
    return OutputFile(path, len(content), hashlib.sha256(content).hexdigest(), content if kept else None)


def outputs(stdout: str = "", *files: OutputFile, **how: object) -> Outputs:
    return Outputs(ran(stdout, **how), files)  # type: ignore[arg-type]


CHATTY = [
    "run 1796122598 pid 31 buffer 0x7f5510\nsum 5559680\nkernel took 0.071 ms\n256 of 256 values written\n",
    "run 1796122599 pid 47 buffer 0x7fa5d0\nsum 5559680\nkernel took 0.068 ms\n256 of 256 values written\n",
    "run 1796122601 pid 52 buffer 0x7f0c30\nsum 5559680\nkernel took 0.093 ms\n256 of 256 values written\n",
]


def chatty() -> list[Outputs]:
    return [outputs(text) for text in CHATTY]


def test_only_tokens_that_vary_are_masked() -> None:
    found = baseline(PRINTS, chatty())
    assert found.stable
    assert found.problem == ""
    assert [(mask.origin, mask.lines, mask.example) for mask in found.masks] == [
        ("seen", (1,), CHATTY[0].splitlines()[0]),
        ("seen", (3,), "kernel took 0.071 ms"),
    ]


def test_a_run_that_differs_only_in_masked_tokens_is_the_same() -> None:
    text = "run 5 pid 9 buffer 0x1\nsum 5559680\nkernel took 12.5 ms\n256 of 256 values written\n"
    found = compare(baseline(PRINTS, chatty()), outputs(text))
    assert found.same, found.differences
    assert found.compared_bytes == len("runpidbuffersum5559680kerneltookms256of256valueswritten")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("sum 5559680", "sum 5559681", "stdout line 2 was 'sum 5559680' and is 'sum 5559681'"),
        ("0.071 ms", "nan ms", "stdout line 3 was 'kernel took 0.071 ms' and is 'kernel took nan ms'"),
        ("written\n", "written", "stdout has 3 line ends, before 4"),
        ("written\n", "written\nmore\n", "stdout line 5 was '' and is 'more'"),
        ("256 of", "256  of", "stdout line 4 was '256 of 256 values written' and is '256  of 256 values written'"),
    ],
)
def test_any_other_difference_is_named_with_its_line(old: str, new: str, sentence: str) -> None:
    found = compare(baseline(PRINTS, chatty()), outputs(CHATTY[0].replace(old, new)))
    assert not found.same
    assert any(sentence in difference for difference in found.differences), found.differences


def test_nothing_is_masked_because_it_looks_like_a_time() -> None:
    found = compare(baseline(PRINTS, [outputs("took 5 ms\n")] * 3), outputs("took 4 ms\n"))
    assert found.differences == ("stdout line 1 was 'took 5 ms' and is 'took 4 ms'",)


def test_a_declared_mask_covers_what_was_not_seen_to_vary() -> None:
    original = baseline(PRINTS, [outputs("x 1\ntime: 5.1 s\n")] * 3, declared=["time: [0-9.]+"])
    assert compare(original, outputs("x 1\ntime: 7.25 s\n")).same
    assert not compare(original, outputs("x 1\ntime: soon s\n")).same


def test_a_declared_mask_that_is_no_pattern_is_refused_with_its_text() -> None:
    with pytest.raises(UserError, match=r"The mask 'time: \(' is not a regular expression"):
        baseline(PRINTS, [outputs("x")] * 3, declared=["time: ("])


def test_a_mask_holds_only_for_the_line_it_was_seen_on() -> None:
    original = baseline(PRINTS, [outputs(f"{n}\n7\n") for n in (1, 2, 3)])
    assert not compare(original, outputs("4\n8\n")).same


def test_standard_error_is_compared_too() -> None:
    original = baseline(PRINTS, [outputs("x\n", stderr="warning A\n")] * 3)
    found = compare(original, outputs("x\n", stderr="warning B\n"))
    assert found.differences == ("stderr line 1 was 'warning A' and is 'warning B'",)


def test_bytes_that_are_no_text_are_compared_as_bytes() -> None:
    old, new = (Outputs(Ran("exited", 0, "", b"\xff\x00" + last, b"", 0, 1), ()) for last in (b"\xfe", b"\xfd"))
    original = baseline(PRINTS, [old] * 3)
    assert compare(original, old).same
    assert not compare(original, new).same


def test_a_later_run_of_the_original_shows_what_changes_slowly() -> None:
    """A clock in seconds stands still over three quick runs; then the candidate runs a second later."""
    start, later = "started 1796122598, 4 ms\nsum 7\n", "started 1796122599, 5 ms\nsum 7\n"
    quick = baseline(PRINTS, [outputs(start), outputs(start.replace("4 ms", "6 ms")), outputs(start)])
    candidate = outputs(later.replace("99", "98", 1).replace("122598", "122600"))
    assert not compare(quick, candidate).same
    known = again(quick, PRINTS, outputs(later))
    assert (known.stable, known.problem, len(known.masks)) == (True, "", 2)
    assert compare(known, candidate).same
    assert not compare(known, outputs(later.replace("sum 7", "sum 8"))).same


def test_a_later_run_that_differs_beyond_masks_makes_the_original_no_proof() -> None:
    known = again(baseline(WRITES, [outputs("x", file("out/a.bin", b"1"))] * 3), WRITES, outputs("x"))
    assert "two runs of the original differ: out/a.bin was not written" in known.problem
    assert "a later run of it ended with status 3" in again(known, WRITES, outputs("x", status=3)).problem


def test_a_run_that_was_ended_is_told_as_that_alone() -> None:
    flood = outputs("x" * 1000, ended="output_limit", reason="printed more than 16 MiB: killed")
    found = compare(baseline(PRINTS, [outputs("sum 7\n")] * 3), flood)
    assert found.differences == ("the run did not end like the original's: printed more than 16 MiB: killed",)


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("PASS\n", 0),
        ("Result: OK\nAll tests passed.\n", 0),
        ("verification = PASSED\nsum 12\n", len("sum12")),
        ("12 passed\n", len("12passed")),
        ("ok 0.5\n", len("ok0.5")),
    ],
)
def test_what_a_program_thinks_of_itself_counts_for_nothing(text: str, bytes_: int) -> None:
    found = baseline(PRINTS, [outputs(text)] * 3)
    assert found.comparable_bytes == bytes_
    assert ("nothing that can be compared but its verdict on itself" in found.problem) == (bytes_ == 0)


def test_two_workloads_are_not_told_apart_by_what_varies_by_itself() -> None:
    one, two = (baseline(PRINTS, [outputs(f"took {n}.5 ms\nsum 7\n") for n in (at, at + 1, at + 2)]) for at in (3, 6))
    assert one.data == two.data
    assert one.data != baseline(PRINTS, [outputs("took 3 ms\nsum 8\n"), outputs("took 4 ms\nsum 8\n")]).data


# --- the original -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "problem"),
    [
        ([outputs("")] * 3, "zero compared bytes prove nothing"),
        ([outputs(f"{n}\n") for n in (11, 22, 33)], "zero compared bytes prove nothing"),
        ([outputs("check: FAIL\n")] * 3, "says that it failed: line 1, 'check: FAIL'"),
        ([outputs("ok\n", stderr="2 tests FAILED\n")] * 3, "says that it failed: line 1, '2 tests FAILED'"),
        ([outputs("x\n", status=139, ended="signalled", reason="ended by SIGSEGV")] * 3, "ended by SIGSEGV"),
        ([outputs("x\n", status=3, stderr="no such file\n")] * 3, "ended with status 3: 'no such file'"),
        ([outputs("x\n", ended="timeout", reason="no end after 60 s: killed")] * 3, "no end after 60 s"),
        ([outputs("a\n"), outputs("a\nb\n"), outputs("a\n")], "stdout has 2 line ends, before 1"),
    ],
)
def test_an_original_that_proves_nothing_is_named(runs: list[Outputs], problem: str) -> None:
    assert problem in baseline(PRINTS, runs).problem


def test_a_word_that_contains_fail_is_no_failure() -> None:
    assert baseline(PRINTS, [outputs("FAILSAFE on, 0 failures\n")] * 3).problem == ""


def test_an_original_without_its_declared_files_is_named() -> None:
    assert "none of the declared output files (out/*.bin)" in baseline(WRITES, [outputs("x\n")] * 3).problem


def test_zero_compared_bytes_are_never_the_same() -> None:
    assert not compare(baseline(PRINTS, [outputs("")] * 3), outputs("")).same


def test_a_file_that_varies_makes_the_workload_unstable_and_says_by_how_much() -> None:
    old = struct.pack("<4d", 1.0, 2.0, 3.0, 4.0)
    new = struct.pack("<4d", 1.0, 2.0, 3.0000000000000004, 4.0)
    runs = [outputs("x\n", file("out/a.bin", content)) for content in (old, old, new)]
    found = baseline(WRITES, runs)
    assert not found.stable
    assert found.problem == (
        "two runs of the original differ: out/a.bin differs from byte 16 on (1 of 32 bytes); "
        "read as 64-bit floats at most 4.44e-16 apart, 1.48e-16 relative, 1 ULP"
    )


# --- files ------------------------------------------------------------------------------------


def written(*files: OutputFile) -> tuple[str, ...]:
    before = [outputs("", file("out/a.bin", b"abcdefghijk"), file("out/b.bin", b"1234567"))] * 3
    return compare(baseline(WRITES, before), outputs("", *files)).differences


def test_files_are_compared_byte_for_byte() -> None:
    assert written(file("out/a.bin", b"abcdefghijk"), file("out/b.bin", b"1234567")) == ()
    assert written(file("out/a.bin", b"abcdeFghijK"), file("out/b.bin", b"1234567")) == (
        "out/a.bin differs from byte 5 on (2 of 11 bytes)",
    )


def test_missing_extra_and_resized_files_are_named() -> None:
    assert written(file("out/b.bin", b"12345678"), file("out/c.bin", b"")) == (
        "out/a.bin was not written",
        "out/b.bin has 8 bytes, before 7",
        "out/c.bin was written, which the original does not write",
    )


def test_files_too_large_to_keep_are_compared_by_their_hashes() -> None:
    before = [outputs("", file("out/a.bin", b"abc", kept=False))] * 3
    original = baseline(WRITES, before)
    assert compare(original, outputs("", file("out/a.bin", b"abc", kept=False))).same
    assert (
        "only the hashes were compared"
        in compare(original, outputs("", file("out/a.bin", b"abd", kept=False))).differences[0]
    )


def test_minus_zero_is_not_zero() -> None:
    before = [outputs("", file("out/a.bin", struct.pack("<2d", 0.0, 1.0)))] * 3
    found = compare(baseline(WRITES, before), outputs("", file("out/a.bin", struct.pack("<2d", -0.0, 1.0))))
    assert not found.same


def test_a_candidate_that_ends_otherwise_differs() -> None:
    original = baseline(PRINTS, [outputs("x\n")] * 3)
    assert compare(original, outputs("x\n", status=1)).differences == ("the exit status was 0 and is 1",)
    hung = outputs("x\n", ended="timeout", status=None, reason="no end after 60 s: killed")
    assert compare(original, hung).differences == (
        "the run did not end like the original's: no end after 60 s: killed",
    )
