"""The judge on a real program: every gate refuses what it is there for, and an honest edit passes them all."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from analysis import evidence, formats, pipeline
from evaluation import workspace
from evaluation.documents import verdict
from evaluation.judge import Cancelled, Case, judge
from evaluation.toolchains import load
from optimas_web.errors import UserError
from optimizer.check import check_edits
from optimizer.regions import regions
from optimizer.types import Answer, Edit, Expectation, NotApplied
from projects import manifest as manifests
from projects import snapshot

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(map(shutil.which, ("g++", "valgrind", "objdump"))), reason="needs g++, binutils and valgrind"
    ),
]

HEAT2D = Path(__file__).resolve().parents[2] / "samples" / "heat2d"
FILE = "heat2d.cpp"
LOOPS = """\
    for (int col = 1; col < now.cols - 1; ++col) {
        for (int row = 1; row < now.rows - 1; ++row) {
"""
TURNED = """\
    for (int row = 1; row < now.rows - 1; ++row) {
        for (int col = 1; col < now.cols - 1; ++col) {
"""
HERE = "            double here = now.at(row, col);\n"
NEXT = "            next.at(row, col) = here + share * (around - 4.0 * here);\n"


@pytest.fixture(scope="module")
def heat2d():
    """The sample with smaller plates, so that a test takes a second."""
    tree = snapshot.from_folder(HEAT2D)
    manifest = manifests.load(tree.files)
    sizes = {"default": "./heat2d 1200 1200 4", "odd": "./heat2d 109 73 3 5", "thin": "./heat2d 3 401 2 9"}
    workloads = tuple(replace(each, command=sizes[each.name], timeout_s=5.0) for each in manifest.workloads)
    return tree.files, replace(manifest, workloads=workloads, profile_command="./heat2d 256 256 2")


def case_of(heat2d, *changes, **options):
    """A case whose candidate has each (old, new) text replaced."""
    files, manifest = heat2d
    text = files[FILE].decode()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    candidate = {**files, FILE: text.encode()}
    return Case(files, candidate, manifest, load("cpu"), None, seed=5, kernels=("spread",), **options)


def judged(case, **options):
    evaluation = judge(case, **options)
    return evaluation, {gate.name: gate for gate in evaluation.gates}


def failed_gate(gates):
    return [name for name, gate in gates.items() if gate.status == "failed"]


def named(analysis, name):
    return [each.kernel for each in analysis.kernels if each.kernel.short_name == name]


@pytest.fixture(scope="module")
def honest(heat2d):
    """Loops turned round, in an answer that cites the evidence of a profile taken here."""
    files, manifest = heat2d
    sources = {FILE: files[FILE].decode()}
    with workspace.opened(files) as folder:
        taken = load("cpu").profile(folder, manifest)
        assert taken.path, taken.reason
        analysis = pipeline.analyse(formats.read(taken.path), sources)
    offered = evidence.offered(analysis.evidence, {each.mangled for each in named(analysis, "spread")})
    start = sources[FILE][: sources[FILE].index(LOOPS)].count("\n") + 1
    promise = Expectation(offered[0].label, "down", 50)
    edit = Edit(FILE, start, start + 1, LOOPS, TURNED, (offered[0].label,), "row order", (promise,))
    rejected = NotApplied((offered[-1].label,), "follows from the order")
    answer = Answer("edits", "One edit.", edits=(edit,), not_applied=(rejected,))
    allowed = regions(sources, ("spread",))
    labels = tuple(item.label for item in offered)
    checked = check_edits(answer, sources, labels, allowed, ("spread",))
    case = Case(
        files, workspace.apply(files, checked.after), manifest, load("cpu"), checked,
        seed=5, kernels=("spread",), regions=allowed, offered=offered,
    )  # fmt: skip
    stages, gates = [], []
    evaluation = judge(case, progress=lambda stage, fraction: stages.append((stage, fraction)), on_gate=gates.append)
    return evaluation, stages, gates


def test_an_honest_answer_passes_all_nine_gates_and_is_faster(honest):
    evaluation, _, _ = honest
    assert [(gate.name, gate.status) for gate in evaluation.gates if gate.status != "passed"] == []
    assert len(evaluation.gates) == 9
    timing = evaluation.timings["program"]
    assert (verdict(evaluation), timing.verdict) == ("faster", "faster")
    assert timing.low > 1.0
    assert evaluation.proved
    assert evaluation.different_data == 3


def test_its_evidence_is_measured_again_and_scored(honest):
    evaluation, _, _ = honest
    scores = {score.name: score for score in evaluation.scores}
    assert set(scores) == {"coverage", "location", "direction"}
    assert scores["direction"].value == 1.0
    assert scores["location"].value == 1.0
    assert 0.0 < scores["coverage"].value < 1.0
    assert [row["outcome"] for row in scores["direction"].parts["promises"]] == ["kept"]
    assert evaluation.measured[0].after < 0.5 * evaluation.measured[0].before


def test_gates_come_one_by_one_and_stages_are_told(honest):
    evaluation, stages, gates = honest
    assert tuple(gates) == evaluation.gates[3:]
    assert {"building the original", "timing, pair 10", "profiling the candidate, 3 of 3"} <= {s for s, _ in stages}
    assert all(0.0 <= fraction <= 1.0 for _, fraction in stages)


def test_a_syntax_error_fails_at_build_with_the_compilers_words(heat2d):
    _, gates = judged(case_of(heat2d, (HERE, HERE.replace(";", ""))))
    assert failed_gate(gates) == ["build"]
    assert "error: expected" in gates["build"].log
    assert gates["timing"].status == "not_run"
    assert "build failed" in gates["timing"].reason


def test_a_changed_signature_fails_at_symbols(heat2d):
    change = ("Plate& next, double share)", "Plate& next, float share)")
    _, gates = judged(case_of(heat2d, change))
    assert failed_gate(gates) == ["symbols"]
    assert "spread(Plate const&, Plate&, double) is no longer in the binary" in gates["symbols"].reason


def test_one_changed_value_fails_at_outputs_with_file_and_byte(heat2d):
    wrong = NEXT.replace("here);", "here) + (row == 7 && col == 9 ? 1e-9 : 0.0);")
    evaluation, gates = judged(case_of(heat2d, (NEXT, wrong)))
    assert failed_gate(gates) == ["outputs"]
    assert "out/plate.bin differs from byte" in gates["outputs"].reason
    assert verdict(evaluation) == "failed"


def test_the_same_machine_code_is_not_timed(heat2d):
    evaluation, gates = judged(case_of(heat2d, (HERE, "            // here\n" + HERE.replace("(row", "( row"))))
    assert failed_gate(gates) == []
    assert gates["timing"].status == "not_applicable"
    assert (verdict(evaluation), evaluation.same_code) == ("same_machine_code", True)
    assert evaluation.pairs == {}


def test_a_candidate_that_never_ends_fails_at_outputs_after_its_time(heat2d):
    endless = (NEXT, NEXT + "            if (row == 2 && share < 1.0) row = 1;\n")
    _, gates = judged(case_of(heat2d, endless))
    assert failed_gate(gates) == ["outputs"]
    assert "5 s" in gates["outputs"].reason


def test_a_read_past_the_end_that_changes_no_output_fails_at_the_sanitizer(heat2d):
    past = (
        "            const double* end = now.cells.data() + now.cells.size();\n"
        "            if (row == 1 && col == 1 && *end == 12345.678) return;\n"
    )
    _, gates = judged(case_of(heat2d, (HERE, past + HERE)))
    assert failed_gate(gates) == ["sanitizer"]
    assert "asan: heap-buffer-overflow in spread" in gates["sanitizer"].reason


def test_what_a_candidate_keeps_from_its_last_run_does_not_make_it_faster(heat2d):
    keeps = """\
    static int known = -1;
    if (known < 0) {
        FILE* kept = std::fopen("kept", "r");
        known = kept ? 1 : 0;
        if (!kept) kept = std::fopen("kept", "w");
        std::fclose(kept);
    }
    if (known) return;
"""
    evaluation, gates = judged(case_of(heat2d, (LOOPS, keeps + LOOPS)))
    assert failed_gate(gates) == []
    assert evaluation.timings["program"].verdict != "faster"


def test_an_output_file_that_came_with_the_program_cannot_pass_as_written(heat2d):
    files, manifest = heat2d
    silent = "    return true;\n    FILE* out = std::fopen(path"
    case = case_of(
        ({**files, "out/plate.bin": b"from the snapshot"}, manifest), ("    FILE* out = std::fopen(path", silent)
    )
    _, gates = judged(case)
    assert failed_gate(gates) == ["outputs"]
    assert "out/plate.bin" in gates["outputs"].reason


def test_an_original_that_does_not_build_is_a_sentence_about_the_project(heat2d):
    files, manifest = heat2d
    broken = {**files, FILE: files[FILE].replace(b"int main", b"int maim")}
    with pytest.raises(UserError, match="The original program does not build"):
        judge(Case(broken, files, manifest, load("cpu"), None, seed=1))


def test_an_original_that_fails_is_no_proof(heat2d):
    files, manifest = heat2d
    failing = replace(manifest, workloads=(replace(manifest.workloads[0], command="./heat2d 1 1"),))
    with pytest.raises(UserError, match=r"no proof on workload default .* ended with status 2"):
        judge(Case(files, files, failing, load("cpu"), None, seed=1))


def test_cancelling_ends_it(heat2d):
    asked = []

    def cancelled():
        asked.append(1)
        return len(asked) > 3

    with pytest.raises(Cancelled):
        judge(case_of(heat2d, (LOOPS, TURNED)), cancelled=cancelled)
