"""Answers that try to get round the rules, each against the rule that has to stop it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

KERNEL = ("rank_rows",)
# rank_rows stands at lines 43 to 66 of the sample; its loop body is lines 53 to 62
HEAD = "__global__ void rank_rows(const float* scores, const int* labels, int* ranks, int rows, int cols) {\n"


def broken(checked) -> set[str]:
    return {each.rule for each in checked.violations if each.severity == "block"}


def gate(checked, name: str) -> str:
    return next(each.status for each in checked.gates if each.name == name)


def test_an_honest_edit_passes_all_three_gates(rowrank, judge) -> None:
    checked = judge(
        rowrank, KERNEL, (57, 57, "            const float labelled = scores[(long long)row * cols + labels[row]];\n")
    )
    assert [(each.name, each.status) for each in checked.gates] == [
        ("parse", "passed"),
        ("citations", "passed"),
        ("guardrails", "passed"),
    ]
    assert checked.passed
    assert "-            float labelled" in checked.diff


@pytest.mark.parametrize(
    ("start", "end", "new", "rules"),
    [
        # outside the kernel
        (99, 99, "        rank_rows<<<rows, 128>>>(scores, labels, ranks, rows, cols);\n", {"region", "harness"}),
        (80, 80, "    int repeats = argument(argc, argv, 3, 1);\n", {"region", "harness"}),
        (25, 25, "constexpr int kThreads = 128;\n", {"region", "harness"}),
        (13, 12, "#include <cmath>\n", {"region", "harness"}),
        (39, 39, "    scores[cell] = 0.5f;\n", {"region"}),
        (74, 74, "    return fallback;\n", {"region", "harness"}),
        (67, 67, "// a remark between functions\n", {"region", "no_op"}),
        (2, 1, "int ranked;\n", {"region", "harness"}),
        # the signature
        (
            43,
            43,
            HEAD.replace("int rows, int cols", "int cols, int rows"),
            {"signature"},
        ),
        (
            43,
            43,
            HEAD.replace("const int*", "int*"),
            {"signature"},
        ),
        (
            43,
            43,
            HEAD.replace("scores", "s"),
            {"signature"},
        ),
        (
            43,
            43,
            HEAD.replace("cols)", "cols, int x = 0)"),
            {"signature"},
        ),
        (
            43,
            43,
            "static " + HEAD,
            {"signature"},
        ),
        (
            43,
            43,
            'extern "C" ' + HEAD,
            {"signature"},
        ),
        (
            43,
            43,
            HEAD.replace("__global__", "__device__"),
            {"signature"},
        ),
        (
            43,
            43,
            "template <int N = 1>\n" + HEAD,
            {"signature"},
        ),
        # the preprocessor reaches beyond the function it stands in
        (44, 44, "#define main other\n    int row = blockIdx.x;\n", {"harness"}),
        (44, 44, "#\\\ndefine main other\n    int row = blockIdx.x;\n", {"harness"}),
        (44, 44, "%:define main other\n    int row = blockIdx.x;\n", {"harness"}),
        (44, 44, "#define rank_rows(...) other(__VA_ARGS__)\n    int row = blockIdx.x;\n", {"harness"}),
        (44, 44, "#undef CHECK\n    int row = blockIdx.x;\n", {"harness"}),
        (44, 44, '#include "other.inc"\n    int row = blockIdx.x;\n', {"harness"}),
        (44, 44, '#line 1 "other.cu"\n    int row = blockIdx.x;\n', {"harness"}),
        (44, 44, '    _Pragma("push_macro(\\"main\\")") int row = blockIdx.x;\n', {"harness"}),
        (44, 44, "#if 0\n    int row = blockIdx.x;\n#endif\n    int row = 0;\n", {"harness"}),
        # timers, output and launches inside the kernel
        (44, 44, "    int row = blockIdx.x; long long t = clock64();\n", {"harness"}),
        (44, 44, '    int row = blockIdx.x; printf("x");\n', {"harness"}),
        (44, 44, '    int row = blockIdx.x; pri\\\nntf("x");\n', {"harness"}),
        (44, 44, "    int row = blockIdx.x; count_top<<<1, 1>>>(ranks, ranks, rows, 1);\n", {"harness"}),
        # nothing but looks
        (44, 44, "    int row = blockIdx.x;  // the row\n", {"no_op"}),
        (44, 44, "    int   row\n        = blockIdx.x;\n", {"no_op"}),
        (44, 44, "    int ro\\\nw = blockIdx.x;\n", {"no_op"}),
        (44, 44, "    int row = blockIdx.x;\n", {"no_op"}),
    ],
)
def test_a_rule_stops_it(rowrank: Mapping[str, str], judge, start: int, end: int, new: str, rules: set[str]) -> None:
    checked = judge(rowrank, KERNEL, (start, end, new))
    assert gate(checked, "guardrails") == "failed"
    assert rules <= broken(checked)
    assert all(each.file == "rowrank.cu" and 1 <= each.line <= 125 for each in checked.violations)


EARLY = "    if (threadIdx.x == 0) ranks[row] = above;\n}\n"


@pytest.mark.parametrize(
    ("start", "end", "new"),
    [
        # close the kernel early and go on in host code, with the kernel's own brace closing that
        (65, 65, EARLY + "static int prepare() { return 1; }\nvoid other() {\n"),
        (65, 65, EARLY + "namespace {\n"),
        (65, 65, EARLY + "struct Before { Before() {} } before; void other() {\n"),
        (65, 66, EARLY + 'const char* text = R"(}\n)";\n'),
        (65, 66, EARLY + "__global__ void second(int* a) { a[0] = 1; }\n"),
        (65, 66, EARLY + "int tail;\n"),
        # hide the closing brace, or the host code behind it
        (65, 65, "    if (threadIdx.x == 0) ranks[row] = above; /*\n"),
        (65, 65, "    if (threadIdx.x == 0) ranks[row] = above; // \\\n"),
        (65, 65, '    const char* text = R"(\n'),
        (65, 65, "    if (threadIdx.x == 0) ranks[row] = above; %>\n    int tail() <% return 1;\n"),
        (65, 65, "    if (threadIdx.x == 0) ranks[row] = above; ??>\n    int tail() ??< return 1;\n"),
        (65, 66, "    if (threadIdx.x == 0) ranks[row] = above;\n"),
        (66, 66, "}}\n"),
        (66, 66, "} int tail;\n"),
        (
            43,
            43,
            "int head; " + HEAD,
        ),
        (43, 42, "int head;\n"),
        # split the braces between branches that the project's own macros choose
        (65, 66, "#ifdef OTHER\n}\nint tail() {\n#endif\n}\n"),
        (65, 66, "    if (threadIdx.x == 0) ranks[row] = above;\n#ifdef OTHER\n}\n#else\n}\n#endif\n"),
    ],
)
def test_the_end_of_the_kernel_cannot_be_moved(
    rowrank: Mapping[str, str], judge, start: int, end: int, new: str
) -> None:
    checked = judge(rowrank, KERNEL, (start, end, new))
    assert gate(checked, "guardrails") == "failed"
    assert "region" in broken(checked)


def test_a_macro_of_the_file_that_hides_a_brace_cannot_be_used(judge) -> None:
    text = "#define END }\n#define BEGIN {\n__global__ void k(int* a) {\n    a[0] = 1;\n}\nint main() { return 0; }\n"
    checked = judge({"a.cu": text}, ("k",), (4, 4, "    a[0] = 2;\n    END; int tail = 0; BEGIN; a[0] = 3;\n"))
    assert any(each.cannot_check and "unpaired bracket" in each.message for each in checked.violations)


def test_strings_and_characters_with_braces_are_fine_inside(judge) -> None:
    text = "void f(const char** s) {\n    s[0] = 0;\n}\nint main() { return 0; }\n"
    checked = judge({"a.cpp": text}, ("f",), (2, 2, "    if (s[0][0] == '}') s[1] = \"{/*\";  // }\n"))
    assert checked.passed, checked.violations


@pytest.mark.parametrize(
    "new",
    [
        '    SKIP(R"(") } int tail() { SKIP(")")\n',  # no raw string to a compiler of C99
        "    SKIP(1'0') } int tail() { SKIP('x')\n",  # no digit separator before C++14
        "    a[0] = 4 //**/ 2; } int tail() {\n    ;\n",  # no line comment in C90
        "    a[0] = 4; // \\ \n    } int tail() {\n",  # a continued line to some
        "    SKIP({) } int tail() { SKIP(})\n",  # arguments that a macro drops
        "    SKIP(() } int tail() { SKIP())\n",
    ],
)
def test_what_compilers_read_differently_is_not_trusted(judge, new: str) -> None:
    text = "#define SKIP(...)\nvoid f(int* a) {\n    a[0] = 1;\n}\nint main() { return 0; }\n"
    checked = judge({"a.c": text}, ("f",), (3, 3, new))
    assert any(each.cannot_check for each in checked.violations)


def test_an_oddity_that_was_there_before_may_stay(judge) -> None:
    text = "void f(int* a) {\n    //*** why??! ***\n    a[0] = 1'000;\n}\nint main() { return 0; }\n"
    assert judge({"a.cpp": text}, ("f",), (3, 3, "    a[0] = 1'000 + 1;\n")).passed


def test_an_original_that_the_parser_cannot_read_blocks_and_says_why(judge) -> None:
    text = "EXPORT __global__ void k(int* a) {\n    a[0] = 1;\n}\nint main() { return 0; }\n"
    checked = judge({"a.cu": text}, ("k",), (2, 2, "    a[0] = 2;\n"))
    (violation,) = [each for each in checked.violations if each.cannot_check]
    assert violation.severity == "block"
    assert "a.cu:1" in violation.message


def test_cannot_check_blocks_even_where_the_rule_only_warns(judge) -> None:
    text = "EXPORT __global__ void k(int* a) {\n    a[0] = 1;\n}\nint main() { return 0; }\n"
    checked = judge({"a.cu": text}, ("k",), (2, 2, "    a[0] = 2;\n"), severities={"region": "warn"})
    assert gate(checked, "guardrails") == "failed"


@pytest.mark.parametrize(
    "new",
    [
        HEAD.replace("float*", "float* __restrict__"),
        HEAD.replace("int* ranks", "int* __restrict__ const ranks"),
        HEAD.replace("void ", "void\n")
        .replace("* ", " *")
        .replace(", const", ", /* in */\n const")
        .replace("*ranks", "*__restrict__ ranks"),
    ],
)
def test_const_and_restrict_may_be_added_to_pointers(rowrank, judge, new: str) -> None:
    assert judge(rowrank, KERNEL, (43, 43, new)).passed


def test_launch_bounds_warn_and_can_be_made_to_block(rowrank, judge) -> None:
    new = HEAD.replace("void", "void __launch_bounds__(256, 4)")
    warned = judge(rowrank, KERNEL, (43, 43, new))
    assert warned.passed
    assert [(each.rule, each.severity) for each in warned.violations] == [("launch_bounds", "warn")]
    blocked = judge(rowrank, KERNEL, (43, 43, new), severities={"launch_bounds": "block"})
    assert gate(blocked, "guardrails") == "failed"


def test_an_unroll_pragma_is_free(rowrank, judge) -> None:
    assert judge(rowrank, KERNEL, (53, 53, "#pragma unroll 4\n    for (int i = 0; i < chunk; ++i) {\n")).passed


def test_device_functions_that_the_kernel_calls_may_change(rowrank, judge) -> None:
    assert judge(rowrank, ("fill_scores",), (32, 32, "    x ^= (x >> 16);\n")).passed
    assert not judge(rowrank, KERNEL, (32, 32, "    x ^= (x >> 16);\n")).passed


def test_two_kernels_cannot_trade_their_code(rowrank, judge) -> None:
    lines = rowrank["rowrank.cu"].split("\n")
    one, two = "\n".join(lines[42:66]) + "\n", "\n".join(lines[67:71]) + "\n"
    checked = judge(rowrank, ("rank_rows", "count_top"), (43, 66, two), (68, 71, one))
    assert not checked.passed


def test_main_is_never_open(judge) -> None:
    from optimas_web.errors import UserError

    with pytest.raises(UserError, match="main is never changed"):
        judge({"a.cpp": "int main() { return 0; }\n"}, ("main",), (1, 1, "int main() { return 1; }\n"))


def test_a_cpu_function_opens_itself_and_nothing_it_calls(heat2d, judge) -> None:
    assert judge(heat2d, ("spread",), (38, 38, "            double here = now.at(row, col) * 1.0;\n")).passed
    checked = judge(
        heat2d, ("spread",), (22, 22, "    double& at(int row, int col) { return cells[(size_t)col * rows + row]; }\n")
    )
    assert {"region", "harness"} <= broken(checked)


@pytest.mark.parametrize(
    "new",
    [
        "    /* unchanged */\n",
        "    int row = blockIdx.x;\n    // ... rest of the kernel stays the same ...\n",
        "    // ...\n    int row = blockIdx.x;\n",
        "    // remaining code as before\n    int row = 0;\n",
        "    int row = 0;  /* existing code omitted */\n",
        "    // Your code here\n    int row = 0;\n",
        "    // same as before\n    int row = 0;\n",
        "    // kernel body unchanged\n    int row = 0;\n",
        "    // Rest of the loop...\n    int row = 0;\n",
        "    int row = 0;  // the remaining lines stay the same\n",
        "    // \u2026 other code \u2026\n    int row = 0;\n",
        "",
    ],
)
def test_a_promise_of_code_is_no_code(rowrank, judge, new: str) -> None:
    checked = judge(rowrank, KERNEL, (44, 65, new))
    assert "placeholder" in broken(checked)


@pytest.mark.parametrize(
    "comment",
    [
        "the same row for all threads",
        "one element more",
        "other warps wait here",
        "keeps the original order of additions",
        "the same operations in the same order as before",
        "rounding as in the original, order unchanged",
        "columns 0, 1, ..., cols - 1 of the other rows",
        "the loop bounds are the same for all threads of a block",
        "more loads in flight, the order of the additions is the same",
    ],
)
def test_an_honest_comment_is_no_promise(rowrank, judge, comment: str) -> None:
    assert judge(rowrank, KERNEL, (44, 44, f"    const int row = blockIdx.x;  // {comment}\n")).passed


@pytest.mark.parametrize("rule", ["region", "signature", "harness", "no_op"])
def test_a_rule_that_is_off_says_nothing(rowrank, judge, rule: str) -> None:
    checked = judge(
        rowrank, KERNEL, (80, 80, "    int repeats = argument(argc, argv, 3, 1);\n"), severities={rule: "off"}
    )
    assert rule not in {each.rule for each in checked.violations}


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (HEAD.replace("cols)", "cols, int pitch)"), "changes: `, int pitch` is added."),
        (HEAD.replace("int rows, int cols", "int cols, int rows"), "changes: `rows` becomes `cols`, `cols` becomes"),
        (HEAD.replace("const int*", "int*"), "changes: `const` is removed."),
    ],
)
def test_the_signature_rule_says_what_changes_and_not_the_whole_header(rowrank, judge, new, said) -> None:
    (reason,) = [each.message for each in judge(rowrank, KERNEL, (43, 43, new)).violations if each.rule == "signature"]
    assert reason.startswith("The signature of rank_rows (rowrank.cu:43)")
    assert said in reason


def test_an_edit_over_the_header_names_its_lines(rowrank, judge) -> None:
    body = "    int row = 0;\n"
    checked = judge(rowrank, KERNEL, (43, 45, body))
    assert "rank_rows (rowrank.cu:43) cannot be checked: its header (line 43) is lost" in checked.gates[2].reason


def test_a_warning_is_told_though_the_gate_is_passed(rowrank, judge) -> None:
    bounded = HEAD.replace("__global__ void", "__global__ void __launch_bounds__(256)")
    body = "            const float labelled = scores[(long long)row * cols + labels[row]];\n"
    passed = judge(rowrank, KERNEL, (43, 43, bounded), (57, 57, body)).gates[2]
    assert passed.status == "passed"
    assert passed.reason.startswith(
        "No rule that blocks is broken. launch_bounds warns: The launch bounds of rank_rows"
    )


CALL = "        rank_rows<<<rows, kThreads>>>(scores, labels, ranks, rows, cols);\n"


def test_a_project_may_open_the_launch_configurations_and_nothing_else(rowrank, judge) -> None:
    line = next(n for n, each in enumerate(rowrank["rowrank.cu"].split("\n"), 1) if f"{each}\n" == CALL)
    wider, other = CALL.replace("kThreads", "2 * kThreads"), CALL.replace("ranks, rows", "ranks, cols")
    assert {"launches", "region", "harness"} == broken(judge(rowrank, KERNEL, (line, line, wider)))
    for severity in ("warn", "off"):
        opened = {"launches": severity}
        checked = judge(rowrank, KERNEL, (line, line, wider), severities=opened)
        assert checked.passed, checked.violations
        assert [each.rule for each in checked.violations] == (["launches"] if severity == "warn" else [])
        assert {"region", "harness"} <= broken(judge(rowrank, KERNEL, (line, line, other), severities=opened))
        assert {"region", "harness"} <= broken(judge(rowrank, ("fill_scores",), (line, line, wider), severities=opened))
        twice = judge(rowrank, KERNEL, (line, line, CALL + CALL), severities=opened)
        assert {"region", "harness"} <= broken(twice)
