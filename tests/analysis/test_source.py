"""Functions as the parser finds them, in the forms that real CUDA and C++ files use."""

from __future__ import annotations

import pytest

from analysis.source import Function, function_at, functions, inactive, parse_errors, split_lines, variables


def only(text: str) -> Function:
    (found,) = functions(text)
    return found


@pytest.mark.parametrize(
    ("text", "name", "qualified", "kind"),
    [
        ("__global__ void k(int a) {}", "k", "k", "kernel"),
        ("template <typename T>\n__global__ void\n__launch_bounds__(256) /* tuned */\nk(T* a)\n{}", "k", "k", "kernel"),
        ('extern "C" __global__ void k(float* a) {}', "k", "k", "kernel"),
        ("static __global__ void k() {}", "k", "k", "kernel"),
        ("__global__ void __cluster_dims__(2, 1, 1) k(float* p) {}", "k", "k", "kernel"),
        ("__global__ void __maxnreg__(64) k(float* p) {}", "k", "k", "kernel"),
        ("__global__ void k() { extern __shared__ __align__(128) unsigned char s[]; s[0] = 1; }", "k", "k", "kernel"),
        ("template <> __global__ void k<int>(int* a) {}", "k", "k<int>", "kernel"),
        (
            "namespace a { namespace { __device__ int f(int x) { return x; } } }",
            "f",
            "a::(anonymous namespace)::f",
            "device",
        ),
        ("__host__ __device__ inline float f(float x) { return x; }", "f", "f", "device"),
        ("struct P { double& at(int i) { return c[i]; } double* c; };", "at", "P::at", "host"),
        ("int S::out(int a) noexcept { return a; }", "out", "S::out", "host"),
        ("int (*f(int a))(int) { return 0; }", "f", "f", "host"),
        ("bool operator<(const S& a, const S& b) { return true; }", "operator<", "operator<", "host"),
        ("__attribute__((noinline)) void f(int n) {}", "f", "f", "host"),
    ],
)
def test_each_form_has_its_name_and_kind(text: str, name: str, qualified: str, kind: str) -> None:
    found = only(text)
    assert (found.name, found.qualified, found.kind, found.uncertain) == (name, qualified, kind, False)


def test_lines_begin_with_the_template_head_and_end_with_the_brace() -> None:
    found = only("\n\ntemplate <int W>\n__global__ void\nk(const float* a,\n  int n)\n{\n  f(a);\n}\n")
    assert (found.first_line, found.body_first_line, found.last_line) == (3, 7, 9)
    assert found.parameters == ("const float* a", "int n")
    assert found.signature == "template <int W> __global__ void k(const float* a, int n)"


def test_offsets_are_characters_even_after_other_alphabets() -> None:
    text = "// größer → schneller\n__global__ void k() { int ä = 1; }\n"
    found = only(text)
    assert text[found.start : found.body] == "__global__ void k() "
    assert text[found.body : found.end] == "{ int ä = 1; }"


def test_calls_are_plain_names_and_include_launches_and_methods() -> None:
    found = only("void f() { g(1); a::b<int>(2); x.y(3); k<<<1, 2>>>(4); ns::t<float><<<1, 2>>>(5); }")
    assert found.calls == ("g", "b", "y", "k", "t")


def test_a_local_class_belongs_to_the_function_that_holds_it() -> None:
    assert only("int f() { struct L { int z() { return 1; } }; return 2; }").name == "f"


def test_text_that_no_compiler_reads_does_not_count() -> None:
    text = "#if 0\n__global__ void a() { don't }\n#else\n__global__ void b() {}\n#endif\n"
    text += "#if 1\n__global__ void c() {}\n#else\n__global__ void d() {}\n#endif\n"
    text += "#if defined(X)\n#if 0\n__global__ void e() {}\n#endif\n__global__ void f() {}\n#endif\n"
    assert [each.name for each in functions(text)] == ["b", "c", "f"]
    assert len(inactive(text)) == 3


def test_a_directive_inside_a_comment_or_raw_string_opens_nothing() -> None:
    text = '/*\n#if 0\n*/\nconst char* s = R"(\n#if 0\n)";\n__global__ void k() {}\n'
    assert only(text).name == "k"
    assert inactive(text) == ()


def test_a_kernel_in_a_string_is_no_kernel() -> None:
    assert functions('const char* s = R"x( } __global__ void raw() { )x";\n') == ()


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void k(\n#ifdef A\n int a\n#else\n int b\n#endif\n)\n{\n  f();\n}\n",
        "__global__ void k(int a)\n#ifdef A\n{\n#else\n{ int z;\n#endif\n  f();\n}\n",
        "EXPORT __global__ void k(int a) { f(); }\n",
        "__global__ void k(int a) { a = = 3 }\n",
    ],
)
def test_where_the_parser_is_lost_the_function_is_uncertain_or_missing(text: str) -> None:
    assert all(each.uncertain for each in functions(text))
    assert parse_errors(text)


def test_an_error_next_door_does_not_spread() -> None:
    text = "__global__ void a() {}\nint b( { = }\n__global__ void c() { f(); }\n"
    assert {each.name: each.uncertain for each in functions(text)}["a"] is False


def test_function_at_knows_lines_between_functions() -> None:
    found = functions("void a() {\n}\n\nvoid b() {\n}\n")
    assert [getattr(function_at(found, line), "name", None) for line in range(1, 7)] == ["a", "a", None, "b", "b", None]


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\r\nb", "a\fb\x0bc\u2028d\n", "\n\n"])
def test_lines_put_together_are_the_text(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert len(lines) == text.count("\n") + (not text.endswith("\n") and text != "")


def test_the_samples_parse_without_an_error() -> None:
    from pathlib import Path

    for path in ("samples/rowrank/rowrank.cu", "samples/heat2d/heat2d.cpp"):
        assert parse_errors(Path(path).read_text()) == ()
    kernels = [f.name for f in functions(Path("samples/rowrank/rowrank.cu").read_text()) if f.kind == "kernel"]
    assert kernels == ["fill_scores", "rank_rows", "count_top"]


def test_a_variable_is_known_in_its_scope_only() -> None:
    text = (
        "static int kept;\nvoid f(int given) {\n    { double inner = 1; }\n    for (int turn = 0;;) {}\n"
        "    auto g = [](short s) { return s; };\n    void h(int unused);\n    for (auto& each : all) { each = 0; }\n"
        "}\nstruct S { float *one, two[2]; };\n"
    )
    found = {each.name: (each.type, each.plain, each.field, text[each.start : each.scope]) for each in variables(text)}
    assert found["kept"] == ("static int", True, False, text[text.index("kept") :])
    assert found["given"][3] == text[text.index("given") : text.index("\nstruct")]
    assert found["inner"] == ("double", True, False, "inner = 1; }")
    assert found["turn"][3] == "turn = 0;;) {}"
    assert found["s"][3] == "s) { return s; }"
    assert found["unused"][3] == "unused);"
    assert found["each"][1:] == (False, False, "each : all) { each = 0; }")
    assert found["one"][:3] == ("float", False, True) and found["two"][:3] == ("float", False, True)
    assert "f" not in found and "h" not in found and "S" not in found
