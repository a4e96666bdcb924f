"""What sanitizers print, read. The first three texts are real (GCC 12), the last two follow NVIDIA's manual."""

from __future__ import annotations

import pytest

from evaluation.toolchains.reports import device_findings, sanitizer_findings
from evaluation.types import SanitizerFinding

ADDRESS = """\
=================================================================
==3==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x7ff3d197f008 at pc 0x560d14f99f00 bp 0x7ffc4f4b91c0
WRITE of size 16 at 0x7ff3d197f008 thread T0
    #0 0x7f03f88b94c8 in __interceptor_memcpy ../../../../src/libsanitizer/sanitizer_common/interceptors.inc:827
    #1 0x560d14f99f00 in spread(Plate const&, Plate&, double) /job/heat2d.cpp:41
    #2 0x560d14f99100 in main /job/heat2d.cpp:81

0x7ff3d197f008 is located 0 bytes to the right of 1280000-byte region [0x7ff3d1846800,0x7ff3d197f000)
allocated by thread T0 here:
    #0 0x7f03f88b94c8 in operator new(unsigned long) ../../../../src/libsanitizer/asan/asan_new_delete.cpp:95
    #1 0x55d3887876e3 in light(Plate&, unsigned int) /job/heat2d.cpp:30
SUMMARY: AddressSanitizer: heap-buffer-overflow /job/heat2d.cpp:41 in spread(Plate const&, Plate&, double)
"""
UNDEFINED = """\
race.cpp:6:162: runtime error: signed integer overflow: 3 + 2147483647 cannot be represented in type 'int'
    #0 0x56505cbb76a5 in main /job/race.cpp:6
    #1 0x7f0771645249 in __libc_start_call_main ../sysdeps/nptl/libc_start_call_main.h:58
src/grid.cpp:9:5: runtime error: index 7 out of bounds for type 'int [4]'
    #0 0x56505cbb76a5 in step(int*) /job/src/grid.cpp:9
"""
THREAD = """\
==================
WARNING: ThreadSanitizer: data race (pid=3)
  Read of size 4 at 0x55555555809c by thread T2:
    #0 add(int*) /job/race.cpp:5 (race+0x1243)
    #1 void std::__invoke_impl<void, void (*)(int*), int*>(...) /usr/include/c++/12/bits/invoke.h:61 (race+0x13f8)
    #6 <null> <null> (libstdc++.so.6+0xd44a2)

  Previous write of size 4 at 0x55555555809c by thread T1:
    #0 add(int*) /job/race.cpp:5 (race+0x125f)
==================
"""
MEMCHECK = """\
rows 100, columns 100
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at rank_rows(const float *, const int *, int *, int, int)+0x160 in rowrank.cu:44
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f6510c00001 is out of bounds
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: main [0xb7c0] in rowrank
=========
========= Invalid __global__ write of size 4 bytes
=========     at rank_rows(const float *, const int *, int *, int, int)+0x160 in rowrank.cu:44
=========     by thread (1,0,0) in block (0,0,0)
========= ERROR SUMMARY: 2 errors
"""
RACECHECK = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sum(int *, int *)+0x90 in race.cu:27
=========     and Read access at sum(int *, int *)+0x150 in race.cu:27 [124 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


@pytest.mark.parametrize(
    ("log", "findings"),
    [
        (ADDRESS, [("asan", "heap-buffer-overflow", "spread(Plate const&, Plate&, double)")]),
        (
            UNDEFINED,
            [
                ("ubsan", "signed integer overflow", "main"),
                ("ubsan", "index N out of bounds for type 'int [N]'", "step(int*)"),
            ],
        ),
        (THREAD, [("tsan", "data race", "add(int*)")]),
        (ADDRESS + UNDEFINED + ADDRESS, [("asan", "heap-buffer-overflow", "spread(Plate const&, Plate&, double)"),
                                         ("ubsan", "signed integer overflow", "main"),
                                         ("ubsan", "index N out of bounds for type 'int [N]'", "step(int*)")]),
        ("warmth 80081.6\n", []),
    ],
)  # fmt: skip
def test_findings_are_tool_kind_and_function(log: str, findings: list[tuple[str, str, str]]) -> None:
    assert [(f.tool, f.kind, f.function) for f in sanitizer_findings(log)] == findings


def test_device_findings_are_named_by_kernel_and_counted_once() -> None:
    kernel = "rank_rows(const float *, const int *, int *, int, int)"
    assert device_findings("memcheck", MEMCHECK) == (
        SanitizerFinding("memcheck", "Invalid __global__ write of size N bytes", kernel),
    )
    assert device_findings("racecheck", RACECHECK) == (
        SanitizerFinding("racecheck", "Race reported between Write access", "sum(int *, int *)"),
    )
    assert device_findings("memcheck", "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n") == ()
