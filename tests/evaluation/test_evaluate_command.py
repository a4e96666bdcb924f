"""``manage.py evaluate``: a patch and an answer through all gates, documents, sentences and exit codes."""

import json
import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from jsonschema import Draft202012Validator

from evaluation import workspace
from evaluation.toolchains import gpus, load
from projects import manifest as manifests
from projects import snapshot

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
needs_cpu_tools = pytest.mark.skipif(
    not all(map(shutil.which, ("g++", "valgrind", "objdump"))), reason="needs g++, binutils and valgrind"
)
pytestmark = pytest.mark.slow

COL = "    for (int col = 1; col < now.cols - 1; ++col) {\n"
ROW = "        for (int row = 1; row < now.rows - 1; ++row) {\n"
TURNED = """\
    for (int row = 1; row < now.rows - 1; ++row) {
        for (int col = 1; col < now.cols - 1; ++col) {
"""


@pytest.fixture(scope="module")
def heat2d(tmp_path_factory):
    """The sample with small plates, in a folder of its own."""
    folder = tmp_path_factory.mktemp("heat2d")
    for name in ("heat2d.cpp", "optimas.toml"):
        shutil.copy(SAMPLES / "heat2d" / name, folder)
    toml = folder / "optimas.toml"
    sizes = {
        "1200 1200 12": "1200 1200 4", "509 731 7 5": "109 73 3 5", "3 4001 5 9": "3 401 2 9", "400 400 8": "256 256 2",
    }  # fmt: skip
    text = toml.read_text()
    for large, small in sizes.items():
        assert large in text
        text = text.replace(large, small)
    toml.write_text(text.replace("timeout_s = 60", "timeout_s = 20"))
    return folder


@pytest.fixture(scope="module")
def report(heat2d):
    """A Callgrind profile of the sample, taken here."""
    files = snapshot.from_folder(heat2d).files
    with workspace.opened(files) as folder:
        taken = load("cpu").profile(folder, manifests.load(files))
        assert taken.path, taken.reason
        return shutil.copy(taken.path, heat2d.parent / "callgrind.out.report")


def evaluate(*arguments):
    """Exit code, standard output and standard error of the command."""
    out, err, code = StringIO(), StringIO(), 0
    try:
        call_command("evaluate", *map(str, arguments), stdout=out, stderr=err)
    except SystemExit as end:
        code = end.code
    return code, out.getvalue(), err.getvalue()


def patch_file(folder, old, new, source="heat2d.cpp"):
    """A unified diff that replaces the lines ``old`` of the source by ``new``."""
    before = (folder / source).read_text()
    assert before.count(old) == 1
    first = before[: before.index(old)].count("\n") + 1
    body = "".join(f"-{line}\n" for line in old.splitlines()) + "".join(f"+{line}\n" for line in new.splitlines())
    path = folder.parent / f"{abs(hash((old, new)))}.patch"
    header = f"@@ -{first},{old.count(chr(10))} +{first},{new.count(chr(10))} @@\n"
    path.write_text(f"--- a/{source}\n+++ b/{source}\n{header}{body}")
    return path


def answer_file(folder, cites):
    lines = (folder / "heat2d.cpp").read_text().split("\n")
    start = lines.index(COL.rstrip("\n")) + 1
    edit = {
        "file": "heat2d.cpp",
        "start_line": start,
        "end_line": start + 1,
        "original_text": COL + ROW,
        "new_text": TURNED,
        "evidence": cites,
        "rationale": "Walk along the rows, as the plate is stored.",
        "expect": [{"evidence": cites[0], "direction": "down", "by_percent": 50}],
    }
    path = folder.parent / f"answer_{'_'.join(cites)}.json"
    path.write_text(json.dumps({"summary": "Loops turned round.", "edits": [edit], "not_applied": []}))
    return path


def document_of(output):
    document = json.loads(output)
    schema = json.loads((ROOT / "docs/schemas/evaluation.schema.json").read_text())
    Draft202012Validator(schema).validate(document)
    return document


def statuses(document):
    return {gate["name"]: gate["status"] for gate in document["gates"]}


@needs_cpu_tools
def test_an_answer_passes_all_nine_gates_and_gets_three_scores(heat2d, report):
    answer = answer_file(heat2d, ["S1"])
    code, out, err = evaluate(heat2d, "--answer", answer, "--report", report, "--seed", 4, "--format", "json")
    document = document_of(out)
    assert code == 0
    assert set(statuses(document).values()) == {"passed"}
    assert document["verdict"] == "faster"
    assert document["timing"]["program"]["low"] > 1.0
    assert document["ear"]["location"]["value"] == 1.0
    assert document["ear"]["direction"]["value"] == 1.0
    assert 0.0 < document["ear"]["coverage"]["value"] < 1.0
    assert document["samples"]["seed"] == 4
    assert document["proof"] == {
        "proved": True, "workloads_agreeing": 3, "different_data": 3, "enough_for_approval": True,
    }  # fmt: skip
    assert [line.split()[1] for line in err.splitlines()] == [gate["name"] for gate in document["gates"]]


@needs_cpu_tools
def test_a_patch_has_no_citations_and_no_scores_and_a_table_says_both_figures(heat2d):
    code, out, _ = evaluate(heat2d, "--patch", patch_file(heat2d, COL + ROW, TURNED))
    assert code == 0
    assert "2 citations   not applicable" in out
    assert "program: faster, speedup" in out
    assert "time saved" in out
    assert out.rstrip().endswith("verdict: faster")


@needs_cpu_tools
@pytest.mark.parametrize(
    ("old", "new", "gate", "words"),
    [
        ("4.0 * here);", "4.0 * here) + 1e-9 * (row == 9);", "outputs", "out/plate.bin differs from byte"),
        ("Plate& next, double share)", "Plate& next, float share)", "guardrails", "signature"),
        ("now.at(row, col);", "now.at(row, colour);", "build", "does not build"),
        ("spread(now, next, 0.2);", "spread(now, next, 0.1);", "guardrails", "may not change"),
    ],
)
def test_a_patch_that_must_not_pass_ends_at_its_gate(heat2d, old, new, gate, words):
    lines = (heat2d / "heat2d.cpp").read_text().splitlines(keepends=True)
    (line,) = [line for line in lines if old in line]
    patch = patch_file(heat2d, line, line.replace(old, new))
    code, out, _ = evaluate(heat2d, "--patch", patch, "--format", "json")
    document = document_of(out)
    reason = next(each["reason"] for each in document["gates"] if each["name"] == gate)
    assert (code, document["verdict"], statuses(document)[gate]) == (1, "failed", "failed")
    assert words in reason
    assert document["ear"] is None


@needs_cpu_tools
def test_an_unknown_label_ends_at_citations_before_anything_is_built(heat2d, report):
    answer = answer_file(heat2d, ["S99"])
    code, out, _ = evaluate(heat2d, "--answer", answer, "--report", report, "--format", "json")
    document = document_of(out)
    assert (code, statuses(document)["citations"], statuses(document)["build"]) == (1, "failed", "not_run")


@pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")
@pytest.mark.skipif(bool(gpus.gpus()), reason="this host has a GPU")
def test_without_a_gpu_a_cuda_patch_is_built_and_nothing_is_claimed(tmp_path):
    folder = tmp_path / "rowrank"
    shutil.copytree(SAMPLES / "rowrank", folder, ignore=shutil.ignore_patterns("*.ncu-rep"))
    text = (folder / "rowrank.cu").read_text()
    old = next(line for line in text.splitlines(keepends=True) if "if (score > labelled)" in line)
    patch = patch_file(folder, old, old.replace("score > labelled", "labelled < score"), "rowrank.cu")
    code, out, _ = evaluate(folder, "--patch", patch, "--format", "json")
    document = document_of(out)
    found = statuses(document)
    assert (found["build"], found["symbols"]) == ("passed", "passed")
    assert {found[name] for name in ("outputs", "sanitizer", "timing", "re_profile")} == {"not_run"}
    assert all("no NVIDIA GPU" in gate["reason"] for gate in document["gates"][5:])
    assert (code, document["verdict"], document["proof"]["proved"]) == (1, "cannot_tell", False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere", "--patch", "x"], "nowhere is not a folder"),
        (["DIR", "--patch", "nowhere.patch"], "nowhere.patch cannot be read"),
        (["DIR", "--answer", "a.json"], "--answer needs --report"),
        (["DIR", "--answer", "a.json", "--report", "nowhere"], "nowhere"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(heat2d, arguments, words):
    code, out, err = evaluate(*(heat2d if each == "DIR" else each for each in arguments))
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.strip().splitlines()) == 1
