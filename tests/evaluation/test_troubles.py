"""Messages of tools that no edit can mend are told as this host's or the project's matter."""

import pytest

from evaluation import troubles
from evaluation.steps.build import original_does_not_build
from evaluation.types import Built

TOO_NEW = """In file included from <command-line>:
/usr/local/cuda/include/crt/host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later than 15 \
are not supported! The nvcc flag '-allow-unsupported-compiler' can be used to override this version check.
"""


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (TOO_NEW, "this host's GNU compiler does not fit its CUDA toolkit"),
        ("#error -- unsupported clang version! clang version must be less than 21", "this host's clang compiler"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_61'\n", "does not know the architecture compute_61"),
        ("nvcc fatal : Value 'sm_61' is not defined for option 'gpu-architecture'\n", "architecture sm_61"),
        (
            'pond.cu(9): error: class "cudaDeviceProp" has no member "clockRate"\n',
            "the program uses cudaDeviceProp.clockRate, which the CUDA toolkit of this host does not have",
        ),
        ('pond.cu(9): error: identifier "cudaThreadExit" is undefined\n', "uses cudaThreadExit, which"),
        ("sh: 2: nvcc: not found\n", "there is no nvcc on this host"),
        ("/bin/sh: line 1: /opt/mpi/bin/mpicxx: command not found\n", "there is no /opt/mpi/bin/mpicxx on this host"),
        ("pond.cu:2:10: fatal error: cuda_runtime.h: No such file or directory\n", "CUDA toolkit (cuda_runtime.h)"),
        ("/usr/bin/ld: cannot find -lcudart: No such file or directory\n", "CUDA toolkit (cudart)"),
        ("g++: fatal error: Killed signal terminated program cc1plus\n", "the compiler ran out of memory"),
        ("/usr/bin/ld: final link failed: No space left on device\n", "the disk of this host is full"),
        ("g++: error: unrecognized command-line option ‘-fast’; did you mean ‘-Ofast’?\n", "the option -fast"),
    ],
)
def test_what_a_build_says_about_its_host(log, message):
    found = troubles.of_build(log)
    assert found and message in found.message
    assert found.remedy.endswith(".")


@pytest.mark.parametrize(
    "log",
    [
        'pond.cu(9): error: identifier "tide" is undefined\n',
        "pond.cpp:3:5: error: 'tide' was not declared in this scope\n",
        "pond.cpp:1:10: fatal error: tide.h: No such file or directory\n",
        'class "Tide" has no member "clockRate"\n',
        "make: *** [Makefile:3: pond] Error 1\n",
        "note: candidate was not found here\n",
    ],
)
def test_what_is_wrong_with_the_code_is_no_trouble_of_the_host(log):
    assert troubles.of_build(log) is None


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ("pond.cu:71: no kernel image is available for execution on the device\n", "no code for the GPU of this host"),
        (
            "CUDA error 35: CUDA driver version is insufficient for CUDA runtime version\n",
            "driver of this host is older",
        ),
        ("the provided PTX was compiled with an unsupported toolchain.\n", "driver of this host is older"),
        ("./pond: /lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by ./pond)\n", "another system"),
        ("sum 7\n", None),
    ],
)
def test_what_a_run_says_about_its_host(printed, message):
    found = troubles.of_run(printed)
    assert (found is None) if message is None else (found and message in found.message)


def test_the_sentence_names_the_trouble_the_line_and_the_remedy():
    built = Built(False, "the build command ended with status 1", TOO_NEW, None, "", "sm_90", 1.0)
    error = original_does_not_build(built)
    assert error.message.startswith(
        "The original program does not build here: this host's GNU compiler does not fit its CUDA toolkit (/usr/local/"
    )
    assert "-ccbin" in error.hint and error.hint.endswith("no edit can mend it. No edit was judged.")
