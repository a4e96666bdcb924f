"""A patch becomes an attempt with gates 1-3, allowed to change what was named, else what it touches."""

import pytest

from evaluation.attempt import from_patch

SOURCE = """\
int used(int n) {
    return n + 1;
}

void spread(int* cells, int n) {
    for (int i = 0; i < n; ++i) cells[i] = used(i);
}

int main() {
    return 0;
}
"""


def diff(line, new):
    old = SOURCE.split("\n")[line - 1]
    return f"--- a/k.cpp\n+++ b/k.cpp\n@@ -{line} +{line} @@\n-{old}\n+{new}\n"


INNER = diff(6, "    for (int i = n - 1; i >= 0; --i) cells[i] = used(i);")


def gates(attempt):
    return [(gate.name, gate.status) for gate in attempt.checked.gates]


def test_without_kernels_the_touched_function_may_change_and_the_gate_says_so():
    attempt = from_patch(INNER, {"k.cpp": SOURCE}, (), "")
    assert gates(attempt) == [("parse", "passed"), ("citations", "not_applicable"), ("guardrails", "passed")]
    assert attempt.kernels == ("spread",)
    assert [(region.first, region.last) for region in attempt.regions] == [(5, 7)]
    assert "spread: for want of a report" in attempt.checked.gates[2].reason
    assert "i >= 0" in attempt.checked.after["k.cpp"]


def test_named_kernels_bind_the_patch():
    assert gates(from_patch(INNER, {"k.cpp": SOURCE}, ("spread",), "[kernels]"))[2] == ("guardrails", "passed")
    attempt = from_patch(diff(2, "    return n + 2;"), {"k.cpp": SOURCE}, ("spread",), "[kernels] in optimas.toml")
    assert gates(attempt)[2] == ("guardrails", "failed")
    assert "[kernels] in optimas.toml" in attempt.checked.gates[2].reason


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (diff(5, "void spread(float* cells, int n) {"), "signature"),
        (diff(10, "    return 1;"), "region"),  # main is nobody's kernel
    ],
)
def test_the_other_rules_hold_whatever_the_patch_touches(change, rule):
    attempt = from_patch(change, {"k.cpp": SOURCE}, (), "")
    assert gates(attempt)[2] == ("guardrails", "failed")
    assert rule in {violation.rule for violation in attempt.checked.violations}


def test_a_patch_that_does_not_apply_fails_at_the_first_gate():
    attempt = from_patch(diff(6, "x").replace("for (", "while ("), {"k.cpp": SOURCE}, (), "")
    assert gates(attempt)[0] == ("parse", "failed")
    assert "does not apply" in attempt.checked.gates[0].reason
