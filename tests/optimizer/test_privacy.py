"""What is found in a prompt before it leaves, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.privacy import scan

SAMPLES = Path(__file__).parents[2] / "samples"
# Put together here, so that no scanner of repositories takes them for real ones.
TOKEN = "Zx81Qw3e" + "R5tY7uI9" + "oP0aSdFg" + "HjKlMnBv" + "C6d4"


def found(line: str) -> list[tuple[str, str]]:
    return [(each.sort, each.what) for each in scan(line)]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("-----BEGIN " + "RSA PRIVATE KEY-----", "private key"),
        ("-----BEGIN " + "PRIVATE KEY-----", "private key"),
        ("-----BEGIN PGP " + "PRIVATE KEY BLOCK-----", "private key"),
        ("// AK" + "IAQ3EGPLE7TTB6VXYZ", "AWS key"),
        ("gh" + f"p_{TOKEN}", "GitHub token"),
        ("glpat" + f"-{TOKEN[:20]}", "GitLab token"),
        ("xox" + "b-1234567890-abcdef", "Slack token"),
        ("AI" + f"za{TOKEN[:35]}", "Google key"),
        ("hf" + f"_{TOKEN}", "Hugging Face token"),
        ("curl -H 'Bearer sk" + f"-proj-{TOKEN}'", "key of a model's vendor"),
        ("eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".c2lnbmF0dXJl", "signed token"),
        ("postgres://ada:hunter22@db/x", "password in an address"),
        ('const char *password = "k8Jw2xQ9vT";', "value that looks like a secret"),
        ('{"api_key": "9f86d081884c7d65"}', "value that looks like a secret"),
        ('setenv("SERVICE_TOKEN", "a8f5f167f44f4964e6c998de", 1);', "value that looks like a secret"),
    ],
)
def test_secrets_are_found_and_not_shown(line: str, what: str):
    assert found(f"  {line}  ") == [("secret", what)]
    (finding,) = scan(line)
    assert len(finding.shown) <= 5


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("// written by ada.lovelace@engines.co.uk", "mail address"),
        ('#include "/home/' + 'ada/src/ponds.h"', "home folder"),
        (r"C:\Users" + r"\Ada.L\ponds.cu", "home folder"),
        ("IBAN GB82 WEST 1234 5698 7654 32", "account number"),
        ("4111 1111 1111 1111", "card number"),
        ("call +44 20 7946 0123", "telephone number"),
    ],
)
def test_data_about_people_is_found(line: str, what: str):
    assert found(line) == [("personal", what)]


@pytest.mark.parametrize(
    "line",
    [
        "token = next_token(stream);",
        'printf("password: %s", "incorrect");',
        "const uint64_t secret_seed = 0x9E3779B97F4A7C15ull;",
        'auto_tune("tile_size_of_rows");',
        "float x = 0.1234567890123456f; int n = 4111111111111112;",
        "long big = 12345678901234567890;",
        "a + 12 - 345 + 6789",
        "someone@example.com, root@localhost, x@y.invalid",
        "/home/user/x /Users/Shared/y",
        "cudaMemcpy(d, h, n*sizeof(float)); // 100+200+300 bytes",
        "__global__ void step(float* __restrict__ out)",
        "@param rows@cols  a@b",
        "DE12 is no account",
        "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_what_is_neither_is_left_alone(line: str):
    assert found(line) == []


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.c*")))
def test_the_samples_raise_no_alarm(path: Path):
    if path.suffix in (".cu", ".cpp"):
        assert scan(path.read_text()) == ()


def test_lines_count_in_the_prompt():
    assert [each.line for each in scan("one\ntwo a.b@c.org\nthree\nfour d@e.org")] == [2, 4]


def test_a_long_line_does_not_take_long():
    assert scan("x = " + "a1" * 400_000) == ()
    assert scan("password = " * 100_000) == ()
    assert scan("+1 " * 100_000) == ()
