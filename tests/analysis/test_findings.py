"""The profiler's own rules as evidence: what is kept, what is left out and why, and how it is measured again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from profile_builder import gpu, launch, sampled

from analysis import evidence, findings
from analysis.formats import read
from analysis.pipeline import analyse
from analysis.types import Analysis, Evidence, Finding, Launch, Place, Value

ROWRANK = Path(__file__).parents[2] / "samples" / "rowrank" / "rowrank.ncu-rep"
SECTORS = "derived__memory_l2_theoretical_sectors_global_excessive"
ACTIVE = "smsp__issue_active.avg.per_cycle_active"
STALLED = "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"
FMUL = "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed"
MEASURED: dict[str, Value] = {SECTORS: 1000, ACTIVE: 0.3, STALLED: 28.0}
SOURCE = "\n".join(f"line {number}" for number in range(1, 31))


def finding(rule: str, speedup: float | None = 0.5, message: str = "Said.", **fields: object) -> Finding:
    made = Finding(rule, "OPT", message, speedup, "Section", "global")
    return replace(made, **fields)  # type: ignore[arg-type]


UNCOALESCED = finding("UncoalescedGlobalAccess", 0.76, places=(Place("/p/k.cu", 5),))


def told(*found: Finding, metrics: Mapping[str, Value] | None = None, name: str = "k") -> Launch:
    made = launch(name, 10, [sampled("/p/k.cu:5", 0, wait=500)], MEASURED if metrics is None else metrics)
    detail = replace(made.load(), findings=found)
    return replace(made, load=lambda: detail)


def analysed(*launches: Launch) -> Analysis:
    return analyse(gpu(*launches), {"k.cu": SOURCE})


def rules(analysis: Analysis) -> list[Evidence]:
    return [item for item in analysis.evidence if item.kind == "findings"]


def left_out(analysis: Analysis) -> list[str]:
    return [note.message for note in analysis.doctor if note.page == "findings"]


def test_a_finding_is_evidence_on_the_line_it_marks_with_a_metric_to_measure_again() -> None:
    (item,) = rules(analysed(told(UNCOALESCED)))
    assert (item.label, item.metric, item.value, item.unit, item.direction) == (
        "N1", SECTORS, 1000, "sector a launch", "down",
    )  # fmt: skip
    assert (item.file, item.lines, item.text) == ("k.cu", (5, 5), "line 5")
    assert item.statement == (
        "k: rule UncoalescedGlobalAccess says: Said. It expects to save 76% of the kernel's time. It marks k.cu:5."
    )


def test_several_marks_are_named_and_none_is_cited() -> None:
    marks = tuple(Place("/p/k.cu", line) for line in (5, 7, 9, 11)) + (Place("/usr/include/cuda.h", 3),)
    (item,) = rules(analysed(told(replace(UNCOALESCED, places=marks))))
    assert (item.file, item.lines) == (None, None)
    assert item.statement.endswith("It marks k.cu:5, k.cu:7, k.cu:9 and 1 more.")


def test_launches_of_one_kernel_say_it_once_with_the_median_estimate() -> None:
    launches = [told(replace(UNCOALESCED, speedup=speedup)) for speedup in (0.2, 0.3, 0.7)]
    (item,) = rules(analysed(*launches))
    assert "It expects to save 30% of" in item.statement


def test_of_two_findings_on_one_metric_the_one_that_expects_more_stays() -> None:
    items = rules(analysed(told(finding("IssueSlotUtilization", 0.2), finding("CPIStall", 0.4))))
    assert [item.statement.split()[2] for item in items] == ["CPIStall"]


@pytest.mark.parametrize("title", ["Long Scoreboard Stalls", "long_scoreboard"])
def test_a_stall_is_measured_by_its_own_cycles(title: str) -> None:
    (item,) = rules(analysed(told(finding("CPIStall", title=title))))
    assert (item.metric, item.value, item.direction) == (STALLED, 28.0, "down")


def test_findings_stand_in_the_order_of_what_they_expect() -> None:
    local = finding("IssueSlotUtilization", 0.9, scope="local")
    items = rules(analysed(told(local, finding("CPIStall", 0.1, title="long_scoreboard"), UNCOALESCED)))
    assert [item.metric for item in items] == [SECTORS, STALLED, ACTIVE]
    assert [round(item.weight / items[-1].weight) for item in items] == [76, 10, 1]
    assert items[-1].statement.endswith("It expects to save 90% of the time of one unit.")


NO_FLOPS: Mapping[str, Value] = {
    f"smsp__sass_thread_inst_executed_op_{kind}{op}_pred_on.sum.per_cycle_elapsed": 0.0
    for kind in "fd"
    for op in ("add", "mul", "fma")
} | {"smsp__cycles_elapsed.avg.per_second": 1e9}
FP = finding("FPInstructions", message="This kernel executes 0 fused and 9 non-fused FP32 instructions.")


@pytest.mark.parametrize(
    ("found", "metrics", "why"),
    [
        (FP, NO_FLOPS, "FPInstructions (the kernel does no floating-point work)"),
        (finding("SOLBottleneck"), MEASURED, "SOLBottleneck (the roofline says it)"),
        (finding("PMSamplingData"), MEASURED, "it is about the profile, not about the kernel"),
        (finding("MemoryL2Compression", 0.33), MEASURED, "which no edit of a kernel does"),
        (finding("UncoalescedGlobalAccess", 0.004), MEASURED, "it expects less than 1%"),
        (finding("UncoalescedGlobalAccess"), {}, "no metric of the profile stands behind it"),
        (finding("RuleOfNextYear"), MEASURED, "RuleOfNextYear (no metric of the profile stands behind it)"),
    ],
)
def test_what_helps_no_edit_is_left_out_and_the_reason_is_kept(
    found: Finding, metrics: Mapping[str, Value], why: str
) -> None:
    analysis = analysed(told(found, metrics=metrics))
    assert rules(analysis) == []
    (note,) = left_out(analysis)
    assert note.startswith("k: left out of the evidence") and why in note


def test_floating_point_advice_stays_for_a_kernel_that_does_such_work() -> None:
    (item,) = rules(analysed(told(FP, metrics={**NO_FLOPS, FMUL: 9.0})))
    assert (item.metric, item.value) == (FMUL, 9.0)


def test_what_only_informs_is_neither_evidence_nor_left_out() -> None:
    analysis = analysed(told(replace(UNCOALESCED, kind="INF")))
    assert rules(analysis) == [] and left_out(analysis) == []


def test_a_long_message_ends_with_a_whole_sentence() -> None:
    words = "This is one. " * 40
    (item,) = rules(analysed(told(replace(UNCOALESCED, message=words.strip()))))
    assert len(item.statement) < 600
    assert "This is one. It expects to save" in item.statement


def test_a_finding_is_measured_again_whether_or_not_the_rule_speaks_there() -> None:
    (item,) = rules(analysed(told(UNCOALESCED)))
    assert evidence.measure(item, analysed(told(metrics={SECTORS: 10}))) == 10
    assert evidence.measure(item, analysed(told(metrics={}))) is None


def test_the_sample_is_told_to_coalesce_and_the_line_is_the_one_that_strides() -> None:
    analysis = analyse(read(ROWRANK), {})
    hot = [item for item in rules(analysis) if item.kernel == "_Z9rank_rowsPKfPKiPiii"]
    by_rule = {item.statement.split()[2]: item for item in hot}
    marked = by_rule["UncoalescedGlobalAccess"]
    assert (marked.file, marked.lines, marked.value) == ("rowrank.cu", (56, 56), 29360128)
    assert "scores[(long long)row * cols + col]" in marked.text
    assert "HighPipeUtilization (it names no cause)" in left_out(analysis)[0]


def test_only_metrics_that_findings_rest_on_are_kept() -> None:
    assert findings.wanted(SECTORS) and findings.wanted(STALLED)
    assert not findings.wanted("smsp__average_warps_issue_stalled_wait_not_issued.ratio")
