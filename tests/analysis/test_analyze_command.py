"""``manage.py analyze``, on real reports, against its schema."""

import json
import shutil
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from jsonschema import Draft202012Validator
from nsys_writer import Export, Ran
from profile_builder import counted, cpu, function, gpu, launch, sampled

from analysis import align, evidence
from analysis.documents import analysis_document
from analysis.formats import read
from analysis.pipeline import analyse
from analysis.types import Profile

ROOT = Path(__file__).parents[2]
ROWRANK = ROOT / "samples" / "rowrank"
HEAT2D = ROOT / "samples" / "heat2d"
CALLGRIND = ROOT / "tests" / "data" / "profiles" / "callgrind" / "callgrind.out.heat2d"
SCHEMA = Draft202012Validator(json.loads((ROOT / "docs" / "schemas" / "analysis.schema.json").read_text()))


def analyze(*arguments: object) -> tuple[int, str, str]:
    out, err, code = StringIO(), StringIO(), 0
    try:
        call_command("analyze", *map(str, arguments), stdout=out, stderr=err, no_color=True)
    except SystemExit as end:
        code = int(end.code or 0)
    return code, out.getvalue(), err.getvalue()


def document(*arguments: object) -> dict[str, Any]:
    code, out, _ = analyze(*arguments, "--format", "json")
    found: dict[str, Any] = json.loads(out)
    SCHEMA.validate(found)
    assert code == (0 if found["kernels"] else 1)
    return found


def test_the_schema_itself_is_one():
    Draft202012Validator.check_schema(SCHEMA.schema)


def test_a_gpu_report_as_a_document():
    found = document(ROWRANK / "rowrank.ncu-rep", "--source", ROWRANK)
    assert found["report"]["device"] == {"name": "NVIDIA H200", "compute_capability": "9.0"}
    assert [kernel["short_name"] for kernel in found["kernels"] if kernel["hot"]] == ["rank_rows", "fill_scores"]
    assert found["kernels"][0]["stalls"]["lines"][0]["file"] == "rowrank.cu"
    assert "launches" not in found


def test_launches_have_every_metric_and_all_code_in_base_units():
    found = document(ROWRANK / "rowrank.ncu-rep", "--launches")
    assert [launch["kernel"].split("(")[0] for launch in found["launches"]] == [
        "fill_scores", "rank_rows", "rank_rows", "rank_rows", "count_top",
    ]  # fmt: skip
    second = found["launches"][1]
    assert (second["index"], second["grid"], second["block"], second["duration_ns"]) == (
        1,
        [8192, 1, 1],
        [256, 1, 1],
        84352,
    )
    assert second["metrics"]["gpu__time_duration.sum"] == 84352
    assert len(second["metrics"]) > 2000
    assert sum(code["costs"].get("samples", 0) for code in second["code"]) == 10344
    assert second["opcodes"]["LDG"] > 0 and second["opcodes"]["EXIT"] > 0
    assert sum(second["opcodes"].values()) == second["metrics"]["smsp__inst_executed.sum"]
    assert "SourceCounters" in second["sections"] and second["nvtx"] == []
    (uncoalesced,) = [each for each in second["findings"] if each["rule"] == "UncoalescedGlobalAccess"]
    assert (uncoalesced["kind"], uncoalesced["scope"], round(uncoalesced["speedup"], 2)) == ("OPT", "global", 0.76)


def test_a_callgrind_profile_as_a_document():
    found = document(CALLGRIND, "--source", HEAT2D)
    hot = [kernel for kernel in found["kernels"] if kernel["hot"]]
    assert hot[0]["short_name"] == "spread"
    assert hot[0]["total_time_ns"] is None and hot[0]["total_cycles"] > 0
    assert hot[0]["roofline"]["bound"] == "not_measurable" and hot[0]["roofline"]["points"] == []
    assert found["report"]["device"] is None


def test_a_table_for_people_says_what_shares_are_of():
    code, out, _ = analyze(ROWRANK / "rowrank.ncu-rep", "--source", ROWRANK)
    assert code == 0
    for words in (
        "share among profiled launches",
        "rowrank.cu:57",
        "S1",
        "Roofline: no_flops.",
        "33.8% of the DRAM peak",
    ):
        assert words in out
    assert "share of the whole run" in analyze(CALLGRIND, "--source", HEAT2D)[1]


def test_a_kernel_is_chosen_by_a_part_of_its_name():
    assert [
        kernel["short_name"] for kernel in document(ROWRANK / "rowrank.ncu-rep", "--kernel", "^fill")["kernels"]
    ] == ["fill_scores"]


def test_no_such_kernel_is_a_no_that_lists_what_there_is():
    assert document(ROWRANK / "rowrank.ncu-rep", "--kernel", "nothing")["kernels"] == []
    code, out, err = analyze(ROWRANK / "rowrank.ncu-rep", "--kernel", "nothing")
    assert (code, err) == (1, "")
    assert out == "No kernel's name holds 'nothing'. The profile has: count_top, fill_scores, rank_rows.\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.ncu-rep"], "cannot be opened"),
        ([__file__], "is not a profile"),
        ([ROWRANK / "rowrank.ncu-rep", CALLGRIND], "are two profiles"),
        ([ROWRANK / "rowrank.ncu-rep", "--kernel", "("], "not a regular expression"),
        ([ROWRANK / "rowrank.ncu-rep", "--source", "nowhere"], "not a folder"),
    ],
)
def test_bad_input_ends_with_one_sentence_and_code_two(arguments: list[object], words: str):
    code, out, err = analyze(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


@pytest.mark.parametrize(
    "profile",
    [
        gpu(launch("k", None)),
        gpu(launch("k", 0, metrics={"gpu__time_duration.sum": float("nan"), "dram__bytes.sum": float("inf")})),
        gpu(launch("k", 1, [sampled(None, wait=3)]), device=None),
        cpu(function("f", counted("f", None, Ir=0))),
    ],
)
def test_odd_profiles_still_make_documents_without_nan_or_infinity(profile: Profile):
    found = analysis_document(analyse(profile, {}), launches=True)
    SCHEMA.validate(json.loads(json.dumps(found, allow_nan=False)))


def test_names_from_a_report_stay_as_they_are_in_the_document():
    hostile = 'k<"</script>\x1b[2J">(int)'
    found = analysis_document(analyse(gpu(launch(hostile, 1)), {}))
    assert json.loads(json.dumps(found))["kernels"][0]["name"] == hostile


def profiled(folder: Path, text: str) -> Path:
    """Build and profile a version of heat2d; where its costs are."""
    folder.mkdir()
    (folder / "heat2d.cpp").write_text(text)
    caches = ("--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64")
    valgrind = ["valgrind", "--tool=callgrind", *caches, "--callgrind-out-file=costs"]
    for command in (["g++", "-O2", "-g", "-o", "heat2d", "heat2d.cpp"], [*valgrind, "./heat2d", "400", "400", "8"]):
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    return folder / "costs"


live = pytest.mark.skipif(not (shutil.which("g++") and shutil.which("valgrind")), reason="needs g++ and valgrind")


@live
@pytest.mark.slow
def test_heat2d_profiled_now_has_its_read_misses_on_one_line_of_spread(tmp_path: Path):
    text = (HEAT2D / "heat2d.cpp").read_text()
    found = document(profiled(tmp_path / "now", text), "--source", HEAT2D)
    hot = [kernel for kernel in found["kernels"] if kernel["hot"]]
    assert [kernel["short_name"] for kernel in hot] == ["spread"]
    first = hot[0]["evidence"][0]
    assert (first["label"], first["metric"]) == ("S1", "D1mr")
    assert text.splitlines()[first["lines"][0] - 1].strip().startswith("double around")
    assert "D1 read misses" in first["statement"] and "95% of all in the program" in first["statement"]


@live
@pytest.mark.slow
def test_the_misses_of_that_line_fall_when_the_loops_are_swapped(tmp_path: Path):
    before = (HEAT2D / "heat2d.cpp").read_text()
    cols, rows = "int col = 1; col < now.cols - 1; ++col", "int row = 1; row < now.rows - 1; ++row"
    after = before.replace(cols, "@@").replace(rows, cols).replace("@@", rows)
    old = analyse(read(profiled(tmp_path / "old", before)), {"heat2d.cpp": before})
    new = analyse(read(profiled(tmp_path / "new", after)), {"heat2d.cpp": after})
    item = old.evidence[0]
    assert item.lines is not None
    lines = align.mapped(range(item.lines[0], item.lines[1] + 1), align.map_lines(before, after))
    measured = evidence.measure(item, new, lines)
    assert measured is not None and item.value is not None
    assert evidence.measure(item, old) == item.value
    assert 0 < measured < item.value / 5


def test_several_reports_become_one_profile(tmp_path: Path):
    run = Export(launches=[Ran("rank_rows(const float*, const int*, int*, int, int)", 0, 9000)] * 7)
    found = document(run.write(tmp_path / "run.sqlite"), ROWRANK / "rowrank.ncu-rep", "--source", ROWRANK)
    first = found["kernels"][0]
    assert (first["short_name"], first["launch_count"], first["share"]) == ("rank_rows", 7, 1.0)
    assert first["stalls"]["lines"][0]["file"] == "rowrank.cu"
    assert [kernel["launch_count"] for kernel in found["kernels"]] == [7, 0, 0]
    assert any("run.sqlite (Nsight Systems" in note["message"] for note in found["doctor"])


def test_reports_of_two_programs_are_refused_in_a_sentence(tmp_path: Path):
    other = Export(launches=[Ran("other(int)")]).write(tmp_path / "run.sqlite")
    code, _, error = analyze(other, ROWRANK / "rowrank.ncu-rep")
    assert (code, "No kernel of rowrank.ncu-rep can be found in run.sqlite" in error) == (2, True)
