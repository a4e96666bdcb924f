"""The whole analysis on a real report: an H200 profile of samples/rowrank."""

from collections import defaultdict
from functools import cache
from math import fsum
from pathlib import Path

import pytest

from analysis.formats import read
from analysis.pipeline import analyse
from analysis.types import Analysis, KernelAnalysis
from optimas_web.errors import UserError

SAMPLE = Path(__file__).parents[2] / "samples" / "rowrank"


@cache
def rowrank(kernels: str | None = None) -> Analysis:
    text = (SAMPLE / "rowrank.cu").read_text()
    return analyse(read(SAMPLE / "rowrank.ncu-rep"), {"rowrank.cu": text}, kernels=kernels)


def kernel(name: str, analysis: Analysis) -> KernelAnalysis:
    return next(each for each in analysis.kernels if each.kernel.short_name == name)


def test_the_hot_kernels_hold_most_of_the_profiled_time():
    kernels = [each.kernel for each in rowrank().kernels]
    assert [(k.short_name, k.launch_count, k.hot) for k in kernels] == [
        ("rank_rows", 3, True),
        ("fill_scores", 1, True),
        ("count_top", 1, False),
    ]
    assert kernels[0].total_cost == 84352 + 83936 + 84032
    assert kernels[0].median_cost == 84032
    assert fsum(k.share or 0 for k in kernels) == pytest.approx(1)


def test_every_stalled_sample_is_counted_once():
    analysis = rowrank()
    for each in analysis.kernels:
        launches = [analysis.profile.launches[index].load() for index in each.kernel.launches]
        stalled: dict[str, float] = defaultdict(float)
        for detail in launches:
            for code in detail.code:
                stalled["all"] += code.costs.get("samples", 0)
                stalled["issued"] += sum(code.costs.get(reason, 0) for reason in ("selected", "not_selected"))
        assert stalled["all"] == sum(detail.samples_total or 0 for detail in launches) == each.measures.samples
        assert each.stalls is not None
        assert each.stalls.total == stalled["all"] - stalled["issued"]
        assert sum(line.value for line in each.stalls.lines) == each.stalls.total
        assert fsum(line.share for line in each.stalls.lines) == pytest.approx(1)


def test_the_hot_lines_are_in_the_loop_of_rank_rows_and_carry_its_text():
    stalls = kernel("rank_rows", rowrank()).stalls
    assert stalls is not None
    assert {(line.file, line.line) for line in stalls.lines[:3]} == {("rowrank.cu", line) for line in (57, 58, 59)}
    assert stalls.lines[0].text == "            float labelled = scores[(long long)row * cols + labels[row]];"
    assert next(iter(stalls.lines[1].reasons)) == "long_scoreboard"
    assert not {"selected", "not_selected"} & {reason for line in stalls.lines for reason in line.reasons}


def test_a_line_inlined_from_a_toolkit_header_stands_at_the_line_that_used_it():
    files = {line.file for each in rowrank().kernels if each.stalls for line in each.stalls.lines}
    assert files == {"rowrank.cu"}


def test_the_roofline_is_against_the_ceilings_at_the_profiled_clock():
    roof = kernel("fill_scores", rowrank()).roofline
    assert roof.bound == "latency"
    (point,) = roof.points
    assert point.precision == "fp32"
    assert point.peak_bytes_per_s == pytest.approx(1504 * 3.1984e9, rel=1e-3)
    assert point.flop_per_s and point.bytes_per_s and point.flop_per_byte
    assert point.flop_per_byte == pytest.approx(point.flop_per_s / point.bytes_per_s)
    # one multiplication a cell
    assert point.flop_per_s == pytest.approx(8192 * 4096 / 80896e-9, rel=0.02)


def test_a_kernel_without_floating_point_work_still_has_its_memory_said():
    roof = kernel("rank_rows", rowrank()).roofline
    assert roof.bound == "no_flops"
    assert roof.at_most_saved == pytest.approx(1 - 0.338, abs=0.002)
    assert "33.8% of the DRAM peak" in roof.reason
    assert "Busiest is the L1 cache, at 92.0%" in roof.reason
    assert [(point.precision, point.flop_per_s) for point in roof.points] == [("none", None)]


def test_weights_of_all_evidence_add_up_to_one_and_labels_count_through_the_kernels():
    evidence = rowrank().evidence
    assert fsum(item.weight for item in evidence) == 1
    for letter in "RS":
        labels = [item.label for item in evidence if item.label.startswith(letter)]
        assert labels == [f"{letter}{number}" for number in range(1, len(labels) + 1)]
    first = kernel("rank_rows", rowrank())
    assert fsum(item.weight for item in first.evidence) == pytest.approx(first.kernel.share)


def test_stall_evidence_is_absolute_and_knows_its_noise():
    first = next(item for item in rowrank().evidence if item.label == "S1")
    assert (first.file, first.lines, first.metric, first.direction) == (
        "rowrank.cu",
        (57, 57),
        "stalled_cycles",
        "down",
    )
    assert first.value == pytest.approx(11270 * 2048 / 3)
    assert first.noise == pytest.approx(3 / 11270**0.5)
    assert "11,270 of 29,875" in first.statement
    assert "waiting here for a load issued earlier" in first.statement


def test_choosing_kernels_renumbers_nothing_and_weighs_anew():
    whole, part = rowrank(), rowrank("fill")
    assert [each.kernel.short_name for each in part.kernels] == ["fill_scores"]
    assert part.kernels[0].kernel == whole.kernels[1].kernel
    assert [item.label for item in part.evidence] == [item.label for item in whole.kernels[1].evidence]
    assert fsum(item.weight for item in part.evidence) == 1


def test_without_given_sources_the_texts_of_the_report_serve_under_short_names():
    analysis = analyse(read(SAMPLE / "rowrank.ncu-rep"), {})
    assert list(analysis.sources) == ["rowrank.cu"]
    stalls = kernel("rank_rows", analysis).stalls
    assert stalls is not None and stalls.lines[0].text.strip().startswith("float labelled")


def test_a_given_text_that_differs_from_the_profiled_one_is_reported():
    text = (SAMPLE / "rowrank.cu").read_text()
    changed = analyse(read(SAMPLE / "rowrank.ncu-rep"), {"rowrank.cu": "// new\n" + text})
    assert any("differs from the text inside the profile" in note.message for note in changed.doctor)
    short = analyse(read(SAMPLE / "rowrank.ncu-rep"), {"rowrank.cu": "int main() {}\n"})
    assert any("has 1 lines, but the profile counts costs at line" in note.message for note in short.doctor)


def test_a_broken_expression_is_the_users_to_mend():
    with pytest.raises(UserError, match="not a regular expression"):
        rowrank("rank(")
