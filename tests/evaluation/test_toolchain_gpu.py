"""CUDA programs on a real GPU, inside the sandbox. Skipped where there is none."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation import workspace
from evaluation.toolchains import cuda, gpus
from evaluation.types import Limits
from projects.types import Manifest

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not gpus.gpus(), reason="needs an NVIDIA GPU")]
needs_ncu = pytest.mark.skipif(not cuda.tool_path("ncu"), reason="needs ncu")
needs_sanitizer = pytest.mark.skipif(not cuda.tool_path("compute-sanitizer"), reason="needs compute-sanitizer")

ROWRANK = (Path(__file__).resolve().parents[2] / "samples" / "rowrank" / "rowrank.cu").read_bytes()
ENDLESS = b"""
#include <cstdio>
__global__ void wait(volatile int* flag) { while (*flag == 0) { } }
int main() {
    int* flag;
    cudaMalloc(&flag, 4);
    cudaMemset(flag, 0, 4);
    wait<<<1, 1>>>(flag);
    std::printf("launched\\n");
    std::fflush(stdout);
    return cudaDeviceSynchronize();
}
"""
SHOUTS = b"""
#include <cstdio>
__global__ void shout(int step) { printf("step %d block %d thread %d\\n", step, blockIdx.x, threadIdx.x); }
int main() {
    for (int step = 0; step < 10000; ++step) { shout<<<1024, 256>>>(step); cudaDeviceSynchronize(); }
}
"""


MANIFEST = Manifest("main", "cuda", "nvcc -O3 -arch={arch} {flags} -o main main.cu", "main", (), "./main 1009 3001 3 7")


@pytest.fixture
def rowrank() -> Iterator[Path]:
    with workspace.opened({"main.cu": ROWRANK}) as folder:
        yield folder


def test_the_sample_runs_and_agrees_with_itself(rowrank: Path) -> None:
    made = cuda.build(rowrank, MANIFEST)
    assert made.ok, made.log
    assert made.arch == gpus.architecture(gpus.gpus()[0])
    runs = []
    for _ in range(2):
        ran = cuda.run(rowrank, made, MANIFEST.profile_command, Limits())
        assert ran.ok, ran
        runs.append((ran.stdout, cuda.outputs_of(rowrank, ["out/*.bin"])))
    assert runs[0] == runs[1]
    assert runs[0][1][0].size == 1009 * 4


@needs_sanitizer
def test_the_sample_is_clean_and_a_broken_one_is_not(rowrank: Path) -> None:
    clean = cuda.sanitize(rowrank, MANIFEST)
    assert (clean.done, clean.tools) == (True, cuda.SANITIZERS), (clean.reason, clean.log)
    broken = ROWRANK.replace(b"ranks[row] = above;", b"ranks[row + 100000] = above;")
    with workspace.opened({"main.cu": broken}) as folder:
        found = cuda.sanitize(folder, MANIFEST)
    assert any(f.tool == "memcheck" and f.function.startswith("rank_rows") for f in found.findings), found.log


@needs_ncu
def test_the_sample_is_profiled_inside_the_sandbox(rowrank: Path) -> None:
    taken = cuda.profile(rowrank, MANIFEST, kernels=["_Z9rank_rowsPKfPKiPiii"])
    if gpus.counters_are_for_admins():
        assert "RmProfilingAdminOnly" in taken.reason
        return
    assert taken.path is not None, (taken.reason, taken.log)
    assert taken.path.read_bytes()[:4] == b"NVR\0"


def test_an_endless_kernel_is_killed_at_the_limit() -> None:
    with workspace.opened({"main.cu": ENDLESS}) as folder:
        made = cuda.build(folder, MANIFEST)
        began = time.monotonic()
        ran = cuda.run(folder, made, "./main", Limits(wall_s=3))
    assert (ran.ended, ran.reason) == ("timeout", "no end after 3 s: killed")
    assert ran.stdout == b"launched\n"
    assert time.monotonic() - began < 15


def test_a_kernel_that_floods_standard_output_is_cut() -> None:
    with workspace.opened({"main.cu": SHOUTS}) as folder:
        made = cuda.build(folder, MANIFEST)
        ran = cuda.run(folder, made, "./main", Limits(wall_s=60, output_bytes=1_000_000))
    assert ran.ended == "output_limit"
    assert len(ran.stdout) == 1_000_000
