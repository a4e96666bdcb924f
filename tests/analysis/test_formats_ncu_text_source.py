"""The source page: instructions counted once, on their lines, whatever is printed twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from ncu_pages import DRAIN, SETTLE, TIME, costs, launch, quoted, raw, read_text

from analysis.formats.ncu_text.columns import cost_name
from analysis.formats.ncu_text.source import innermost_first, mnemonic
from analysis.pipeline import analyse
from analysis.types import Analysis, Place

COUNTS = ("Warp Stall Sampling (All Samples)", "# Samples", "Instructions Executed", "stall_long_sb", "stall_wait")
SASS = ("Address", "Source", *COUNTS)
LINES = ("Line No", "Source", "Address", "Source", *COUNTS)
STEP = "/build/ponds/step.cu"
HELPER = "/build/ponds/helper.cuh"


def counted(samples: int, long_scoreboard: int, executed: int = 64) -> list[str]:
    return [str(n) for n in (samples, samples, executed, long_scoreboard, samples - long_scoreboard)]


def sass(kernel: str, *rows: tuple[int, str, int, int]) -> str:
    """The SASS view of one launch; each row: address, text, samples, those of them that wait for memory."""
    body = ([f"{address:#x}", f"      {text}", *counted(*told)] for address, text, *told in rows)
    return "".join(map(quoted, [["Kernel Name", kernel, ""], SASS, *body]))


def block(file: str, function: str, *rows: list[str]) -> str:
    return "".join(map(quoted, [["File Path", file], ["Function Name", function], LINES, *rows]))


def line(number: int, text: str, samples: int, long_scoreboard: int) -> list[str]:
    return [str(number), text, "-", "-", *counted(samples, long_scoreboard)]


def instruction(address: int, text: str, samples: int, long_scoreboard: int) -> list[str]:
    return ["", "", f"{address:#x}", text, *counted(samples, long_scoreboard)]


LEFT_OUT = ["", "", "...", "...", *["-"] * len(COUNTS)]
LOAD = instruction(0x80, "LDG.E R4, [R2.64]", 12, 0)
USE = instruction(0x90, "@!P0 FADD R5, R4, R6", 600, 580)
STORE = instruction(0xA0, "STG.E [R2.64], R5", 30, 0)
SETTLED = block(
    STEP, SETTLE, line(9, "float a = in[i];", 12, 0), LOAD, LEFT_OUT, LOAD, line(11, "a += b;", 600, 580), USE, USE,
    line(12, "out[i] = a;", 30, 0), STORE,
)  # fmt: skip


def page(folder: Path, text: str, sources: dict[str, str] | None = None) -> Analysis:
    return analyse(read_text(folder, text), sources or {})


def messages(found: Analysis) -> str:
    return "\n".join(f"{note.severity}: {note.message} {note.remedy}" for note in found.doctor)


def test_the_sass_view_is_instructions_with_samples_and_no_lines(tmp_path: Path) -> None:
    text = sass(SETTLE, (0x7F00, "LDC R1, c[0x0][0x28]", 14, 0), (0x7F10, "@P0 LDG.E R4, [R2.64]", 900, 880))
    profile = read_text(tmp_path, text)
    assert costs(profile) == [("settle", None)]
    first, second = profile.launches[0].load().code
    assert (first.offset, first.mnemonic, first.places, first.costs["samples"]) == (0, "LDC", (), 14)
    assert (second.offset, second.mnemonic) == (16, "LDG")
    assert second.costs == {"samples": 900, "inst_executed": 64, "long_scoreboard": 880, "wait": 20}


def test_without_lines_reasons_are_shown_for_the_kernel_and_the_remedy_is_told(tmp_path: Path) -> None:
    found = page(tmp_path, sass(SETTLE, (0, "NOP", 42, 0), (16, "FADD R5, R4, R6", 880, 880)))
    (kernel,) = found.kernels
    assert kernel.stalls and kernel.stalls.total == 922
    assert [(each.file, each.line) for each in kernel.stalls.lines] == [(None, None)]
    assert "95% long_scoreboard" in kernel.evidence[0].statement and kernel.evidence[0].lines is None
    assert "Compile with -lineinfo (nvcc -O3 -lineinfo ...), then: ncu --set full" in messages(found)
    assert "1 of 1 launches have no time" in messages(found)


def test_few_samples_are_shown_and_marked(tmp_path: Path) -> None:
    found = page(tmp_path, sass(SETTLE, (0, "FADD R5, R4, R6", 4, 4), (16, "STG.E [R2.64], R5", 3, 0)))
    assert "only 7 samples: shares are not reliable" in found.kernels[0].evidence[0].statement
    assert "warning: settle: only 7 stalled samples: shares are not reliable." in messages(found)


def test_blocks_that_are_printed_twice_are_one_launch_and_others_are_several(tmp_path: Path) -> None:
    first, second = sass(SETTLE, (0, "NOP", 5, 0)), sass(SETTLE, (0, "NOP", 6, 0))
    profile = read_text(tmp_path, first + first + second + second + sass(DRAIN, (0, "NOP", 5, 0)))
    assert [(each.short_name, each.load().code[0].costs["samples"]) for each in profile.launches] == [
        ("settle", 5), ("settle", 6), ("drain", 5),
    ]  # fmt: skip


def test_a_line_and_its_instructions_count_once(tmp_path: Path) -> None:
    found = page(tmp_path, SETTLED)
    (kernel,) = found.kernels
    assert kernel.measures.samples == 642
    assert kernel.stalls and [(each.file, each.line, each.value) for each in kernel.stalls.lines] == [
        ("step.cu", 11, 600), ("step.cu", 12, 30), ("step.cu", 9, 12),
    ]  # fmt: skip
    assert kernel.stalls.lines[0].text == "a += b;"


def test_the_wait_is_told_to_be_for_the_load_before(tmp_path: Path) -> None:
    statement = page(tmp_path, SETTLED).kernels[0].evidence[0].statement
    assert statement.startswith("step.cu:11 holds 93% of the stalled samples of settle (600 of 642).")
    assert "waiting here for a load issued earlier" in statement and "on line 9" in statement


def test_given_sources_stand_for_the_lines_that_a_page_shows_in_part(tmp_path: Path) -> None:
    source = "\n" * 8 + "    float a = in[i];\n\n    a += b;\n    out[i] = a;\n}\n"
    found = page(tmp_path, SETTLED, {"ponds/step.cu": source})
    assert found.kernels[0].stalls and found.kernels[0].stalls.lines[0].file == "ponds/step.cu"
    assert "differs" not in messages(found)
    other = page(tmp_path, SETTLED, {"ponds/step.cu": source.replace("a += b", "a -= b")})
    assert "The source given for ponds/step.cu differs" in messages(other)


def test_files_of_one_name_stay_two(tmp_path: Path) -> None:
    text = block("/b/a/step.cu", SETTLE, line(6, "x", 700, 0), instruction(16, "FMUL R3, R2, 2", 700, 0)) + block(
        "/b/b/step.cu", DRAIN, line(6, "y", 300, 0), instruction(4112, "MUFU.RSQ R3, R2", 300, 0)
    )
    found = page(tmp_path, text)
    lines = [
        (each.file, each.line, each.value) for kernel in found.kernels if kernel.stalls for each in kernel.stalls.lines
    ]
    assert lines == [("a/step.cu", 6, 700), ("b/step.cu", 6, 300)]


def test_a_bare_name_that_fits_two_sources_is_asked_about(tmp_path: Path) -> None:
    found = page(tmp_path, SETTLED.replace(STEP, "step.cu"), {"a/step.cu": "x\n" * 20, "b/step.cu": "x\n" * 20})
    assert "step.cu could be a/step.cu or b/step.cu: none of them is used." in messages(found)


def test_inlined_instructions_count_once_at_their_innermost_line(tmp_path: Path) -> None:
    inlined = instruction(0x100, "SHFL.DOWN R1, R2", 40, 0)
    text = block(
        STEP, SETTLE, line(9, "load", 12, 0), LOAD, line(20, "sum = fold(sum);", 52, 0), inlined, STORE
    ) + block(HELPER, SETTLE, line(3, "return shuffle(x);", 40, 0), inlined)
    profile = read_text(tmp_path, text)
    assert len(profile.launches) == 1
    code = {each.offset: each for each in profile.launches[0].load().code}
    assert sum(each.costs["samples"] for each in code.values()) == 12 + 30 + 40
    assert code[0x80].places == (Place(HELPER, 3), Place(STEP, 20))


def test_a_file_that_comes_again_is_the_next_launch(tmp_path: Path) -> None:
    again = SETTLED.replace('"600"', '"500"')
    profile = read_text(tmp_path, SETTLED + again + again)
    assert [sum(each.costs["samples"] for each in found.load().code) for found in profile.launches] == [642, 542]


def test_a_page_of_lines_alone(tmp_path: Path) -> None:
    rows = [["9", "float a = in[i];", *counted(12, 0)], ["11", "a += b;", *counted(600, 580)]]
    header = ["Line No", "Source", *COUNTS]
    text = "".join(map(quoted, [["File Path", STEP], ["Function Name", SETTLE], header, *rows]))
    found = page(tmp_path, text)
    assert found.kernels[0].stalls and [(each.line, each.value) for each in found.kernels[0].stalls.lines] == [
        (11, 600),
        (9, 12),
    ]


def test_blocks_join_the_launches_of_the_other_pages_when_all_names_agree(tmp_path: Path) -> None:
    table = raw({TIME: "us"}, [[*launch(0), "1.5"], [*launch(1, DRAIN), "2.5"]])
    source = sass(SETTLE, (0, "NOP", 5, 0)) + sass(DRAIN, (0, "NOP", 6, 0))
    profile = read_text(tmp_path, table + source)
    assert costs(profile) == [("settle", 1_500), ("drain", 2_500)]
    assert [each.load().code[0].costs["samples"] for each in profile.launches] == [5, 6]
    apart = read_text(tmp_path, table + sass(DRAIN, (0, "NOP", 6, 0)))
    assert costs(apart) == [("settle", 1_500), ("drain", 2_500), ("drain", None)]
    assert "its counts stand apart" in apart.warnings[0]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Sampling Data (All)", "samples"),
        ("Warp Stall Sampling (All Cycles)", "samples"),
        ("smsp__pcsamp_sample_count", "samples"),
        ("stall_sleep", "sleeping"),
        ("stall_sleeping (Not Issued)", "sleeping_not_issued"),
        ("smsp__pcsamp_warps_issue_stalled_long_scoreboard", "long_scoreboard"),
        ("smsp__pcsamp_warps_issue_stalled_wait_not_issued", "wait_not_issued"),
        ("stall_new_reason", "new_reason"),
        ("L2 Theoretical Sectors Global Excessive", "derived__memory_l2_theoretical_sectors_global_excessive"),
        ("Warp Stall Sampling (Not-issued Samples)", None),
        ("Access Size", None),
    ],
)
def test_columns_of_all_versions_have_the_names_of_a_report(title: str, name: str | None) -> None:
    assert cost_name(title) == name


def test_samples_are_the_sum_of_their_reasons_where_a_page_has_no_column_for_them(tmp_path: Path) -> None:
    header, row = ["Address", "Source", "stall_long_sb", "stall_wait"], ["0x10", "NOP", "3", "4"]
    text = "".join(map(quoted, [["Kernel Name", SETTLE], header, row]))
    assert read_text(tmp_path, text).launches[0].load().code[0].costs["samples"] == 7


def test_mnemonics_have_neither_predicate_nor_modifiers() -> None:
    assert [mnemonic(text) for text in ("@!UP0 LDG.E.64 R4 ;", "EXIT;", "  ")] == ["LDG", "EXIT", None]


def test_the_lines_of_inlined_code_run_from_the_inside_out() -> None:
    helper, inner, call, own = Place(HELPER, 3), Place(STEP, 5), Place(STEP, 20), Place(STEP, 21)
    listed = {0: (own,), 1: (call, inner), 2: (call, inner, helper), 3: (call,), 4: (own,)}
    assert innermost_first(listed) == {
        0: (own,), 1: (inner, call), 2: (helper, inner, call), 3: (call,), 4: (own,),
    }  # fmt: skip
