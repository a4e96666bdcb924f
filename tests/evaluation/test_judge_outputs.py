"""Gate 6 on real programs whose outputs hold more, or less, than they seem to."""

import shutil
from dataclasses import replace

import pytest

from evaluation import workspace
from evaluation.judge import Case
from evaluation.steps import SIDES, Bench, Found, compare
from evaluation.toolchains import load
from evaluation.types import Limits
from optimas_web.errors import UserError
from projects.types import Manifest, WorkloadSpec

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

AGAIN = """#include <cstdio>
#include <cstdlib>
#include <ctime>

__attribute__((noinline)) void tides(float* level, int n) {
    for (int i = 0; i < n; i += 1) level[i] = 0.25f * i;
}

int main() {
    const int n = 3000;
    float* level = (float*)std::malloc(n * sizeof(float));
    for (int i = 0; i < n; ++i) level[i] = 0.25f * i;  // what tides is to write, worked out in another way
    std::free(level);
    level = (float*)std::malloc(n * sizeof(float));
    tides(level, n);
    double sum = 0.0;
    for (int i = 8; i < n; ++i) sum += level[i];
    std::printf("started %ld\\nsum %.2f\\n", (long)std::time(nullptr), sum);
    return 0;
}
"""
MANIFEST = Manifest(
    "tides",
    "cpu",
    "g++ -O1 {flags} -o tides tides.cpp",
    "tides",
    (WorkloadSpec("default", "./tides"),),
    "./tides",
)
SECOND = "    double sum"
PRINT = '    std::printf("started'
WRITE = """    std::FILE* out = std::fopen("level.bin", "wb");
    std::fwrite(level, sizeof(float), n, out);
    std::fclose(out);
"""


def outputs_gate(original: str, candidate: str, manifest: Manifest = MANIFEST):
    """The gate alone, on both programs built for it."""
    sides = {"original": {"tides.cpp": original.encode()}, "candidate": {"tides.cpp": candidate.encode()}}
    case = Case(sides["original"], sides["candidate"], manifest, load("cpu"), None, seed=1)
    with workspace.opened(sides["original"]) as one, workspace.opened(sides["candidate"]) as two:
        folders = dict(zip(SIDES, (one, two), strict=True))
        built = {side: case.toolchain.build(folders[side], manifest, limits=Limits(wall_s=60)) for side in SIDES}
        assert all(each.ok for each in built.values()), built
        bench = Bench(case, folders, lambda stage, fraction: None, lambda: False)
        return compare.step(bench, Found(built=built))[0]


def changed(old: str, new: str, text: str = AGAIN) -> str:
    assert old in text
    return text.replace(old, new)


def test_a_result_left_in_memory_by_somebody_else_is_not_the_candidates():
    half = outputs_gate(AGAIN, changed("i += 1", "i += 2"))
    assert half.status == "failed"
    assert "stdout line 2 was 'sum 1124" in half.reason


def test_a_clock_that_tells_seconds_is_masked_though_quick_runs_show_the_same():
    slow = "\n#include <unistd.h>\n"
    honest = outputs_gate(AGAIN, changed(SECOND, "    sleep(1);\n    double sum", slow + AGAIN))
    assert honest.status == "passed", honest.reason
    assert "masked for varying by itself: 1 place)" in honest.reason
    wrong = outputs_gate(AGAIN, changed("double sum = 0.0", "double sum = sleep(1) + 1.0", slow + AGAIN))
    assert wrong.status == "failed"
    assert "stdout line 2 was 'sum" in wrong.reason


def test_an_original_that_uses_unwritten_memory_is_told_so():
    writes = changed(PRINT, WRITE + PRINT)
    manifest = replace(MANIFEST, workloads=(WorkloadSpec("default", "./tides", outputs=("level.bin",)),))
    half = changed("i += 1", "i += 2", writes)
    with pytest.raises(UserError, match="memory that it has not written.*level.bin differs from byte"):
        outputs_gate(half, writes, manifest)


def test_a_check_of_its_own_is_no_output():
    passes = changed('"started %ld\\nsum %.2f\\n", (long)std::time(nullptr), sum', '"%s\\n", sum > 0 ? "PASS" : "no"')
    with pytest.raises(UserError, match="nothing that can be compared but its verdict on itself, 'PASS'"):
        outputs_gate(passes, passes)
