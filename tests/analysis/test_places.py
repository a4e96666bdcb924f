"""Which text a path in a profile means."""

import pytest

from analysis.places import Sources, is_toolkit, match, resolve

TEN = "x\n" * 10


@pytest.mark.parametrize(
    ("path", "keys", "found"),
    [
        ("/srv/me/p/src/k.cu", ["src/k.cu", "test/k.cu"], "src/k.cu"),
        ("/srv/me/p/k.cu", ["k.cu", "old/k.cu"], "k.cu"),
        ("k.cu", ["src/k.cu"], "src/k.cu"),
        ("./src/../src/k.cu", ["src/k.cu"], "src/k.cu"),
        ("C:\\p\\src\\k.cu", ["src/k.cu"], "src/k.cu"),
        ("k.cu", ["k.cu", "old/k.cu"], "k.cu"),
        ("/p/k.cu", ["other.cu"], None),
        ("/p/notk.cu", ["k.cu"], None),
    ],
)
def test_a_text_is_matched_by_the_end_of_its_path(path: str, keys: list[str], found: str | None):
    matched, problems = match(dict.fromkeys(keys, TEN), {path: 10})
    assert (matched.get(path), problems) == (found, [])


def test_a_bare_name_that_fits_two_texts_is_used_for_neither():
    matched, problems = match({"a/step.cu": TEN, "b/step.cu": TEN}, {"step.cu": 3})
    assert matched == {}
    assert problems == ["step.cu could be a/step.cu or b/step.cu: none of them is used."]


def test_one_text_that_two_files_claim_is_used_for_neither():
    matched, problems = match({"step.cu": TEN}, {"/p/a/step.cu": 3, "/p/b/step.cu": 3})
    assert matched == {}
    assert len(problems) == 2 and all("used for neither" in problem for problem in problems)


def test_a_text_shorter_than_the_lines_used_is_refused():
    assert match({"k.cu": TEN}, {"/p/k.cu": 10}) == ({"/p/k.cu": "k.cu"}, [])
    matched, problems = match({"k.cu": TEN}, {"/p/k.cu": 11})
    assert (matched, problems) == (
        {},
        ["k.cu has 10 lines, but the profile counts costs at line 11 of /p/k.cu: it is not used."],
    )


def test_a_given_text_wins_over_an_embedded_one_and_a_difference_is_said():
    found = resolve({"k.cu": "new\n"}, {"/p/k.cu": "old\n"}, {"/p/k.cu": 1})
    assert found.texts == {"k.cu": "new\n"}
    assert len(found.problems) == 1
    assert resolve({"k.cu": "same\r\n"}, {"/p/k.cu": "same\n"}, {"/p/k.cu": 1}).problems == ()


def test_embedded_texts_lose_the_folders_they_share_and_toolkit_headers_are_left_out():
    embedded = {"/srv/me/p/k.cu": "k", "/srv/me/p/lib/h.cuh": "h", "/usr/local/cuda/include/cub/x.cuh": "x"}
    found = resolve({}, embedded, {})
    assert found.texts == {"k.cu": "k", "lib/h.cuh": "h"}


@pytest.mark.parametrize(
    ("path", "toolkit"),
    [
        ("/usr/local/cuda-13.0/targets/x86_64-linux/include/sm_20_atomic_functions.hpp", True),
        ("/usr/include/c++/12/bits/stl_vector.h", True),
        ("./string/../sysdeps/x86_64/multiarch/memset.S", True),
        ("/srv/me/project/include/step.h", False),
        ("/tmp/rr/rowrank.cu", False),
        ("kernel.cu", False),
    ],
)
def test_toolkit_files_are_told_from_the_users(path: str, toolkit: bool):
    assert is_toolkit(path) is toolkit


def test_the_text_of_a_line_can_be_stored_anywhere():
    sources = Sources({"k.cu": b"int a;\r\n// \xff \0 \xc3\xa4\r\n".decode("utf-8", "surrogateescape")})
    assert [sources.line("k.cu", line) for line in (0, 1, 2, 3, None)] == [
        "",
        "int a;",
        "// \ufffd \ufffd \u00e4",
        "",
        "",
    ]
    assert sources.line("other.cu", 1) == sources.line(None, 1) == ""
