"""What every toolchain promises, and the sample program taken through the CPU one."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation import workspace
from evaluation.toolchains import TOOLCHAINS, base, cpu, gpus, load
from evaluation.types import Limits
from projects.types import Manifest

HEAT: Mapping[str, bytes] = {
    "heat2d.cpp": (Path(__file__).resolve().parents[2] / "samples" / "heat2d" / "heat2d.cpp").read_bytes()
}
MANIFEST = Manifest("heat2d", "cpu", "g++ -O2 {flags} -o heat2d heat2d.cpp", "heat2d", (), "./heat2d 100 90 3")
needs_gxx = pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
needs_valgrind = pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind")
without_gpu = pytest.mark.skipif(bool(gpus.gpus()), reason="this host has a GPU")

BROKEN = HEAT["heat2d.cpp"].replace(b"row < now.rows - 1", b"row < now.rows + 1")
RACE = b"""
#include <thread>
int total = 0;
void add(int* what) { for (int i = 0; i < 1000; ++i) *what += i; }
int main() { std::thread a(add, &total), b(add, &total); a.join(); b.join(); return total == 0; }
"""


@pytest.mark.parametrize("name", TOOLCHAINS)
def test_every_toolchain_has_every_function(name: str) -> None:
    toolchain = load(name)
    for function in ("tools", "build", "run", "outputs_of", "sanitize", "profile"):
        assert callable(getattr(toolchain, function))


@pytest.mark.parametrize("name", TOOLCHAINS)
def test_missing_tools_come_with_a_remedy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert all(tool.version is None and tool.remedy for tool in load(name).tools() if tool.name != "GPU")


@pytest.mark.parametrize("name", TOOLCHAINS)
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo main.cpp:3: error: no such thing; exit 2", "the build command ended with status 2"),
        ("echo fine", "the build command ended well but made no file prog"),
        ("ln -s /bin/sh prog", "the build command ended well but made no file prog"),
        (None, "none is declared and none was recognised"),
    ],
)
def test_a_failed_build_is_a_value_with_a_reason(name: str, command: str | None, reason: str) -> None:
    manifest = Manifest("prog", "cpu", command, "prog", (), "./prog")
    with workspace.opened({"prog": b"a product from before"}) as folder:
        made = load(name).build(folder, manifest)
    assert not made.ok
    assert reason in made.reason
    assert made.binary is None


def test_what_a_build_prints_is_kept_in_order() -> None:
    manifest = Manifest("prog", "cpu", "echo one; echo two >&2; echo three; false", "prog", (), "./prog")
    with workspace.opened({}) as folder:
        assert cpu.build(folder, manifest).log == "one\ntwo\nthree\n"


def test_a_build_that_never_ends_is_stopped() -> None:
    manifest = Manifest("prog", "cpu", "sleep 600", "prog", (), "./prog")
    with workspace.opened({}) as folder:
        made = cpu.build(folder, manifest, limits=Limits(wall_s=1))
    assert made.reason == "the build: no end after 1 s: killed"


def test_placeholders_are_filled_and_other_braces_stay() -> None:
    manifest = Manifest("prog", "cpu", "echo '{arch} {flags} ${x} {}'; false", "prog", (), "./prog")
    with workspace.opened({}) as folder:
        made = cpu.build(folder, manifest, extra_flags="-g -O1", arch="x86-64-v3")
    assert made.log == "x86-64-v3 -g -O1 ${x} {}\n"
    assert (made.arch, made.flags) == ("x86-64-v3", "-g -O1")


@pytest.mark.parametrize(
    ("command", "prefixed"),
    [
        ("./main 512 2", "TOOL ./main 512 2"),
        ("OMP_NUM_THREADS=2 X= ./main > out", "OMP_NUM_THREADS=2 X= TOOL ./main > out"),
        ("  ./main a=b", "  TOOL ./main a=b"),
    ],
)
def test_a_tool_goes_in_front_of_the_program(command: str, prefixed: str) -> None:
    assert base.prefixed(command, "TOOL") == prefixed


# --- heat2d -----------------------------------------------------------------------------------


@needs_gxx
def test_the_sample_is_built_and_run() -> None:
    with workspace.opened(HEAT) as folder:
        made = cpu.build(folder, MANIFEST)
        assert made.ok and made.binary_sha256 and made.seconds > 0
        ran = cpu.run(folder, made, "./heat2d 30 20 2", Limits())
        assert ran.ok
        assert ran.stdout.startswith(b"30 x 20, 2 steps: warmth ")
        (plate,) = cpu.outputs_of(folder, ["out/*.bin"])
        assert (plate.path, plate.size) == ("out/plate.bin", 30 * 20 * 8)


@needs_gxx
@pytest.mark.slow
def test_the_sample_is_clean_and_a_broken_one_is_not() -> None:
    with workspace.opened(HEAT) as folder:
        clean = cpu.sanitize(folder, MANIFEST)
    assert (clean.done, clean.findings, clean.tools) == (True, (), ("asan", "ubsan"))
    with workspace.opened({"heat2d.cpp": BROKEN}) as folder:
        broken = cpu.sanitize(folder, MANIFEST)
    assert broken.done
    assert ("asan", "heap-buffer-overflow") in {(finding.tool, finding.kind) for finding in broken.findings}
    assert all("Plate" in finding.function for finding in broken.findings)


@needs_gxx
@pytest.mark.slow
def test_threads_are_checked_for_races() -> None:
    manifest = Manifest("race", "cpu", "g++ -O1 -pthread {flags} -o race race.cpp", "race", (), "./race")
    with workspace.opened({"race.cpp": RACE}) as folder:
        found = cpu.sanitize(folder, manifest)
    assert found.done, found.reason
    assert found.tools == ("asan", "ubsan", "tsan")
    assert [(finding.kind, finding.function) for finding in found.findings] == [("data race", "add(int*)")]


@needs_gxx
def test_what_stands_in_the_sanitizers_way_is_said() -> None:
    with workspace.opened(HEAT) as folder:
        fixed = replace(MANIFEST, build_command="g++ -O2 -o heat2d heat2d.cpp")
        assert "no {flags}" in cpu.sanitize(folder, fixed).reason
        wrong = replace(MANIFEST, profile_command="./heat2d 1 1 1")
        assert "ended with status 2" in cpu.sanitize(folder, wrong).reason


@needs_gxx
@needs_valgrind
@pytest.mark.slow
def test_callgrind_runs_with_cache_sizes_of_our_own() -> None:
    with workspace.opened(HEAT) as folder:
        taken = cpu.profile(folder, MANIFEST)
        assert taken.path is not None, taken.reason
        text = taken.path.read_text()
    assert "desc: D1 cache: 32768 B, 64 B, 8-way associative" in text
    assert "desc: LL cache: 8388608 B, 64 B, 16-way associative" in text
    assert "events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw" in text
    assert "heat2d.cpp" in text


@needs_gxx
@needs_valgrind
def test_a_profile_that_cannot_be_taken_says_why() -> None:
    with workspace.opened(HEAT) as folder:
        taken = cpu.profile(folder, replace(MANIFEST, profile_command="./heat2d 1 1 1"))
    assert taken.path is None
    assert taken.reason == "the run under Callgrind: it ended with status 2"


# --- CUDA without a GPU -----------------------------------------------------------------------


@without_gpu
def test_without_a_gpu_nothing_is_run_and_the_reason_says_so() -> None:
    cuda, reason = load("cuda"), "there is no NVIDIA GPU on this host"
    manifest = Manifest("x", "cuda", "nvcc -o x x.cu", "x", (), "./x")
    with workspace.opened({}) as folder:
        ran = cuda.run(folder, cuda.build(folder, manifest), "./x", Limits())
        assert (ran.ended, ran.status) == ("not_started", None)
        assert ran.reason.startswith(reason)
        assert cuda.sanitize(folder, manifest).reason.startswith(reason)
        assert cuda.profile(folder, manifest).reason.startswith(reason)


def test_gpus_are_read_from_the_drivers_files(tmp_path: Path) -> None:
    for address, minor, name in (("0000:01:00.0", 1, "B"), ("0000:02:00.0", 0, "A")):
        folder = tmp_path / "gpus" / address
        folder.mkdir(parents=True)
        text = f"Model: \t\t NVIDIA {name}\nIRQ:   \t\t 61\nGPU UUID: \t GPU-{name}\nDevice Minor: \t {minor}\n"
        (folder / "information").write_text(text)
    (tmp_path / "params").write_text("EnableMSI: 1\nRmProfilingAdminOnly: 1\n")
    assert gpus.gpus(tmp_path) == (gpus.Gpu(0, "GPU-A", "NVIDIA A"), gpus.Gpu(1, "GPU-B", "NVIDIA B"))
    assert gpus.counters_are_for_admins(tmp_path)
    assert gpus.gpus(tmp_path / "nowhere") == ()
    assert not gpus.counters_are_for_admins(tmp_path / "nowhere")
