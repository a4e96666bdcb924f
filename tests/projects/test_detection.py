"""Without optimas.toml the files say how a program is built and run; every guess is listed."""

from __future__ import annotations

import time

import pytest

from optimas_web.errors import UserError
from projects import manifest

MAIN = b"int main(int argc, char** argv) { return 0; }\n"
EVERYTHING = ("name", "toolchain", "build_command", "binary", "workloads", "profile_command")


@pytest.mark.parametrize(
    ("files", "chain"),
    [
        ({"a.cu": MAIN}, "cuda"),
        ({"a.cpp": MAIN, "k.cuh": b""}, "cuda"),
        ({"a.cpp": b'#include "k.h"\n' + MAIN, "k.h": b"__global__ void k();"}, "cuda"),
        ({"a.cpp": b"// no __global__ here\n" + MAIN}, "cpu"),
        ({"a.c": MAIN}, "cpu"),
    ],
)
def test_cuda_is_known_by_file_names_and_kernels(files: dict[str, bytes], chain: str):
    assert manifest.load(files).toolchain == chain


@pytest.mark.parametrize(
    ("files", "command", "binary"),
    [
        ({"wave.cu": MAIN}, "nvcc -O3 -arch={arch} {flags} -o wave wave.cu", "wave"),
        ({"wave.c": MAIN}, "gcc -O2 {flags} -o wave wave.c -lm", "wave"),
        (
            {"z.cpp": b"void z() {}", "my main.cpp": MAIN, "include/z.h": b""},
            "g++ -O2 {flags} -Iinclude -o 'my main' 'my main.cpp' z.cpp",
            "my main",
        ),
        ({"a.cpp": MAIN, "Makefile": b"a: a.cpp\n\tg++ -o a a.cpp\n"}, "make", "a"),
        (
            {"a.cu": MAIN, "Makefile": b"TARGET := bin/run\n$(TARGET): a.cu\n\tnvcc -arch=$(ARCH) $(FLAGS) -o $@ $<\n"},
            "make ARCH={arch} FLAGS='{flags}'",
            "bin/run",
        ),
        (
            {
                "a.cu": MAIN,
                "Makefile": b"ARCH ?= sm_80\nFLAGS = -O3\nprogram = main\n$(program): ; nvcc $(ARCH) $(FLAGS)\n",
            },
            "make ARCH={arch}",
            "main",
        ),
        (
            {"a.cu": MAIN, "Makefile": b"ARCH = 80\nall: wave\nwave: a.cu\n\tnvcc -arch=sm_$(ARCH) -o $@ a.cu\n"},
            "make",
            "wave",
        ),
        (
            {"a.cpp": MAIN, "CMakeLists.txt": b"project(x)\nadd_executable(wave a.cpp)\n"},
            "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS='{flags}' && cmake --build build",
            "build/wave",
        ),
        (
            {"a.cpp": MAIN, "CMakeLists.txt": b"project(wave)\nadd_executable(${PROJECT_NAME} a.cpp)\n"},
            "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS='{flags}' && cmake --build build",
            "build/wave",
        ),
        (
            {"a.cu": MAIN, "CMakeLists.txt": b"ADD_EXECUTABLE( wave a.cu)\n"},
            "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES=$(echo {arch} | cut -c4-)"
            " -DCMAKE_CUDA_FLAGS='{flags}' && cmake --build build",
            "build/wave",
        ),
    ],
)
def test_build_command_and_binary(files: dict[str, bytes], command: str, binary: str):
    found = manifest.load(files)
    assert (found.build_command, found.binary) == (command, binary)
    assert found.detected == EVERYTHING
    assert found.name == binary.rpartition("/")[2]


def test_a_declared_build_command_names_the_binary():
    toml = b"[build]\ncommand = 'gcc -c a.c -o a.o && gcc a.o -o ./bin/wave'\n"
    found = manifest.load({"a.c": MAIN, "optimas.toml": toml})
    assert found.binary == "bin/wave"
    assert "binary" in found.detected
    assert "build_command" not in found.detected


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("README.md", "Run it:\n\n    ./wave 100 7\n", "./wave 100 7"),
        ("README.md", "Use `./wave 9 out.txt` for a start.\n", "./wave 9 out.txt"),
        ("readme", "$ ./wave 5\n", "./wave 5"),
        ("README.md", "    ./wave ROWS [SEED]\n    ./wave <n>\n    ./wave 3\n", "./wave 3"),
        ("README.md", "    ./waves 3\n", "./wave"),
        ("Makefile", "wave: wave.c\n\tgcc -o wave wave.c\nrun: wave\n\t@./wave 1000\n", "./wave 1000"),
        ("Makefile", "program=wave\nrun: $(program)\n\t$(LAUNCHER) ./$(program) 8 8\n", "./wave 8 8"),
        ("Makefile", "program=wave\nrun:\n", "./wave"),
    ],
)
def test_the_run_command_comes_from_makefile_or_readme(name: str, text: str, command: str):
    found = manifest.load({"wave.c": MAIN, name: text.encode()})
    assert [workload.command for workload in found.workloads] == [command]
    assert found.profile_command == command


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"notes.txt": b"int main()"}, "There is no C, C\\+\\+ or CUDA source"),
        ({"only.h": b"void f();"}, "There are headers but no source to compile"),
        ({"a.c": MAIN, "b.c": MAIN}, "More than one file has a function main: a.c, b.c. Say in optimas.toml"),
    ],
)
def test_files_without_one_program_are_refused(files: dict[str, bytes], sentence: str):
    with pytest.raises(UserError, match=sentence):
        manifest.load(files)


def test_a_main_in_a_comment_does_not_count():
    found = manifest.load({"a.c": MAIN, "b.c": b"/*\nint main() {}\n*/\n// int main()\n"})
    assert found.binary == "a"


def test_a_program_in_another_language_needs_no_detection():
    toml = "[project]\ntoolchain='cpu'\n[build]\ncommand='gfortran -o w w.f90'\n[[workload]]\nname='a'\ncommand='./w'\n"
    found = manifest.load({"w.f90": b"end program", "optimas.toml": toml.encode()})
    assert (found.binary, found.detected) == ("w", ("name", "binary", "profile_command"))


def test_a_makefile_that_never_stops_growing_is_cut():
    text = b"A = $(A)$(A)$(A)\nTARGET = $(A)\nrun:\n\t./$(A)\n"
    assert manifest.load({"wave.c": MAIN, "Makefile": text}).workloads[0].command == "./wave"


@pytest.mark.parametrize(
    "piece", [b"/*", b"\n", b" ", b"int\n", b'"', b"//", b"main", b"A =  \t", b"\t-o ", b"run:\n\t", b"./wave "]
)
def test_long_repetitions_are_looked_at_once(piece: bytes):
    content = piece * (600_000 // len(piece))
    files = {"wave.cpp": MAIN + content, "Makefile": b"wave: x\n" + content, "README.md": content}
    started = time.perf_counter()
    manifest.load(files)
    assert time.perf_counter() - started < 5
