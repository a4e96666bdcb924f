"""Tokens as the compiler's first phases make them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.tokens import code, tokens, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int ma\\\nin()", ("int", "main", "(", ")")),
        ("int ma\\ \t\r\nin()", ("int", "main", "(", ")")),
        ("a // gone \\\n also gone\nb", ("a", "b")),
        ("a /* } */ b", ("a", "b")),
        ('"/* no comment */" x', ('"/* no comment */"', "x")),
        ("'\"' x", ("'\"'", "x")),
        ("1'000'000 'a'", ("1'000'000", "'a'")),
        ("1e+5f .5 0x1p-3", ("1e+5f", ".5", "0x1p-3")),
        ('R"x( } )" )x" ;', ('R"x( } )" )x"', ";")),
        ("k<<<g, b>>>(a)", ("k", "<<<", "g", ",", "b", ">>>", "(", "a", ")")),
        ("  #  define /* c */ A(x) \\\n   x // c\nb", ("#define A(x) x", "b")),
        ("/* c */ #if 0\nb", ("#if 0", "b")),
        ("a #b", ("a", "#", "b")),
        ("#define A /* starts\n ends */ 1\nb", ("#define A 1", "b")),
        ('#include "a//b.h"\nc', ('#include "a//b.h"', "c")),
        ("don't\nb", ("don", "'t", "b")),
        ("a /* never closed", ("a",)),
    ],
)
def test_words(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == expected


def test_a_raw_string_keeps_its_backslash_and_may_hold_a_split_delimiter() -> None:
    text = 'auto s = R"x(a)\\\nx" b)x"; c'
    raw = next(token for token in tokens(text) if token.kind == "raw")
    assert raw.text == 'R"x(a)\\\nx" b)x"'
    assert words(text)[-2:] == (";", "c")


def test_lines_count_splices_and_comments() -> None:
    assert [(t.text, t.line) for t in code("a \\\n b /*\n*/ c\n\nd")] == [("a", 1), ("b", 2), ("c", 3), ("d", 5)]


@given(st.text(alphabet="ab1'\"/*\\\n\r #R()x{}<>.\t", max_size=60))
def test_any_text_is_read_in_order_and_inside_its_bounds(text: str) -> None:
    found = tokens(text)
    assert all(one.end <= two.start for one, two in zip(found, found[1:], strict=False))
    assert all(0 <= token.start < token.end <= len(text) for token in found)
    assert all(token.line == text.count("\n", 0, token.start) + 1 for token in found)
