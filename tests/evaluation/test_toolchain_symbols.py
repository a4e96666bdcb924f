"""Hashes of machine code: equal when the code is, different when it is not. Real compilers, real binaries."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evaluation import workspace
from evaluation.toolchains import cpu, cuda, fatbin, machine_code
from evaluation.types import Built
from projects.types import Manifest

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
HEAT = (SAMPLES / "heat2d" / "heat2d.cpp").read_bytes()
ROWRANK = (SAMPLES / "rowrank" / "rowrank.cu").read_bytes()
needs_gxx = pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
needs_nvcc = pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")

MIXED = b"""
#include <cstdio>
static const double kTable[4] = {1.5, 2.5, 3.5, 4.5};
int counter = 3;
__attribute__((noinline)) double first(double x) { return x * 1.25 + 7.75; }
__attribute__((noinline)) double second(int n, double x) {
    for (int i = 0; i < n; ++i) x = x * kTable[i & 3] + first(x);
    return x;
}
__attribute__((noinline)) const char* third(int n) {
    switch (n) {
        case 0: return "zero"; case 1: return "one"; case 2: counter++; return "two"; case 3: return "three";
        case 4: std::puts("four"); return "four"; case 5: return "five"; case 6: std::puts("six"); return "";
        default: return "many";
    }
}
int main(int argc, char**) { std::printf("%s %f %d\\n", third(argc), second(argc, 0.5), counter); }
"""
FIRST, SECOND, THIRD = "_Z5firstd", "_Z6secondid", "_Z5thirdi"


def built(source: bytes, flags: str = "-O2", extra: str = "") -> Built:
    manifest = Manifest("x", "cpu", f"g++ {flags} {{flags}} -o x x.cpp", "x", (), "./x")
    with workspace.opened({"x.cpp": source}) as folder:
        made = cpu.build(folder, manifest, extra_flags=extra)
    assert made.ok, made.log
    return made


def changed(before: Built, after: Built) -> set[str]:
    a, b = ({symbol.mangled: symbol.code_hash for symbol in side.symbols} for side in (before, after))
    assert a and b
    return {name for name in a.keys() | b.keys() if a.get(name) != b.get(name)}


@needs_gxx
def test_functions_are_named_and_bound() -> None:
    symbols = {symbol.mangled: symbol for symbol in built(HEAT).symbols}
    spread = symbols["_Z6spreadRK5PlateRS_d"]
    assert (spread.name, spread.binding) == ("spread(Plate const&, Plate&, double)", "global")
    assert "main" in symbols


@needs_gxx
@pytest.mark.parametrize("flags", ["-O0", "-O2", "-O3 -fno-inline", "-O2 -fPIC -fstack-protector-all"])
def test_comments_and_debug_information_change_nothing(flags: str) -> None:
    before = built(MIXED, flags)
    commented = b"// a comment\n/* and\n another */\n" + MIXED.replace(b"int counter", b"/* here */ int counter")
    assert changed(before, built(commented, flags)) == set()
    assert changed(before, built(MIXED, flags, extra="-g")) == set()


@needs_gxx
@pytest.mark.parametrize(
    ("old", "new", "functions"),
    [
        (b"* 1.25", b"* 1.26", {FIRST}),  # a literal in .rodata
        (b"+ 7.75", b"- 7.75", {FIRST}),
        (b"3.5, 4.5}", b"3.5, 4.25}", {SECOND}),  # a named constant table
        (b"i & 3", b"i & 1", {SECOND}),
        (b'"three"', b'"trois"', {THIRD}),
        (b'case 5: return "five"', b'case 5: return "one"', {THIRD}),  # only the jump table's targets move
        (b"counter++", b"counter--", {THIRD}),
        (b"0.5)", b"0.25)", {"main"}),
        (b"%s %f", b"%s  %f", {"main"}),
    ],
)
def test_a_real_change_changes_its_function_and_no_other(old: bytes, new: bytes, functions: set[str]) -> None:
    assert MIXED.count(old) == 1
    assert changed(built(MIXED), built(MIXED.replace(old, new))) == functions


@needs_gxx
def test_a_function_that_grows_leaves_the_others_alone() -> None:
    """Everything behind it moves: calls, literals, jump tables."""
    longer = MIXED.replace(b"return x * 1.25 + 7.75;", b"""
        for (int i = 0; i < 40; ++i) { std::printf("%f %d some more text\\n", x * 3.125, i); x += 0.375 * i; }
        return x * 1.25 + 7.75;""")  # fmt: skip
    found = changed(built(MIXED), built(longer))
    assert FIRST in found
    assert THIRD not in found
    assert found <= {FIRST, SECOND, "main", "main.cold"}  # callers may keep other registers now


@needs_gxx
def test_a_new_function_between_two_leaves_them_alone() -> None:
    extra = b'__attribute__((noinline, used)) int extra(int n) { std::printf("extra %f\\n", n * 9.875); return n; }\n'
    with_extra = MIXED.replace(
        b"__attribute__((noinline)) double second", extra + b"__attribute__((noinline)) double second"
    )
    assert changed(built(MIXED), built(with_extra)) == {"_Z5extrai"}


@needs_gxx
def test_at_fixed_addresses_read_only_data_count_for_all() -> None:
    before, after = (built(source, "-O2 -no-pie") for source in (MIXED, MIXED.replace(b"* 1.25", b"* 1.26")))
    assert {FIRST, SECOND, THIRD} <= changed(before, after)
    assert changed(before, built(b"// x\n" + MIXED, "-O2 -no-pie")) == set()


@needs_gxx
def test_a_stripped_binary_says_why_it_has_no_functions() -> None:
    made = built(MIXED, "-O2 -s")
    assert made.symbols == ()
    assert "no symbol table" in made.symbols_reason


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01\x01" + b"\xff" * 200, b"#!/bin/sh\n"])
def test_what_is_no_elf_file_is_refused_with_a_sentence(data: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        machine_code.function_symbols(data, "")
    with pytest.raises(ValueError, match="cannot be read"):
        fatbin.cubins(data)
    assert machine_code.undefined_symbols(data) == frozenset()


# --- CUDA -------------------------------------------------------------------------------------


def compiled(source: bytes, flags: str = "-arch={arch}", extra: str = "") -> Built:
    manifest = Manifest("x", "cuda", f"nvcc -O3 {flags} {{flags}} -o x x.cu", "x", (), "./x")
    with workspace.opened({"x.cu": source}) as folder:
        made = cuda.build(folder, manifest, extra_flags=extra, arch="sm_90")
    assert made.ok, made.log
    return made


@needs_nvcc
@pytest.mark.slow
def test_kernels_are_read_from_the_executable_without_a_gpu() -> None:
    made = compiled(ROWRANK)
    assert made.symbols_reason == ""
    assert [(symbol.mangled, symbol.binding) for symbol in made.symbols] == [
        ("_Z11fill_scoresPfPiiij", "kernel"),
        ("_Z9count_topPKiPiii", "kernel"),
        ("_Z9rank_rowsPKfPKiPiii", "kernel"),
    ]
    assert made.symbols[2].name == "rank_rows(float const*, int const*, int*, int, int)"
    assert changed(made, compiled(b"// a comment\n\n" + ROWRANK, extra="-lineinfo")) == set()
    fewer = ROWRANK.replace(b"atomicAdd(&above, 1)", b"atomicAdd(&above, 2)")
    assert changed(made, compiled(fewer)) == {"_Z9rank_rowsPKfPKiPiii"}


@needs_nvcc
@pytest.mark.slow
def test_several_architectures_make_one_hash() -> None:
    two = "-gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=[sm_100,compute_100]"
    symbols = compiled(ROWRANK, two).symbols
    assert len(symbols) == 3
    assert changed(compiled(ROWRANK), compiled(ROWRANK, two)) == {symbol.mangled for symbol in symbols}


@needs_nvcc
@pytest.mark.slow
def test_compressed_code_needs_cuobjdump_and_says_so() -> None:
    made = compiled(ROWRANK, extra="-Xfatbin -compress-all")
    if cuda.tool_path("cuobjdump"):
        assert changed(made, compiled(ROWRANK)) == set()
    else:
        assert made.symbols == ()
        assert "is compressed, and cuobjdump" in made.symbols_reason
