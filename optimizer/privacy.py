"""Looks through the exact prompt for what should not leave the house: secrets, and data about people.

Patterns are few and narrow: a warning that comes with every prompt is read by nobody. What is found is shown masked.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

Sort = Literal["secret", "personal"]


@dataclass(frozen=True, slots=True)
class Finding:
    """``line`` counts in the prompt, from 1; ``shown`` is the place without what makes it useful to a thief."""

    sort: Sort
    what: str
    line: int
    shown: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """What to look for. The group ``it``, or the whole match, has to pass ``sure`` as well."""

    sort: Sort
    what: str
    regex: re.Pattern[str]
    sure: Callable[[str], bool] = lambda text: True


def scan(text: str) -> tuple[Finding, ...]:
    """Everything found, by line. One place is told once, as what the first pattern that fits takes it for."""
    found = [finding for number, line in enumerate(text.split("\n"), 1) for finding in _of_line(line, number)]
    return tuple(found)


def _of_line(line: str, number: int) -> Iterator[Finding]:
    taken: list[tuple[int, int]] = []
    for pattern in PATTERNS:
        for match in pattern.regex.finditer(line[:LONGEST_LINE]):
            start, end = match.span("it" if "it" in pattern.regex.groupindex else 0)
            free = all(end <= first or last <= start for first, last in taken)
            if free and pattern.sure(line[start:end]):
                taken.append((start, end))
                yield Finding(pattern.sort, pattern.what, number, _masked(line[start:end]))


def _masked(text: str) -> str:
    """Enough to find the place again, and no more: the first four characters."""
    return text[:4] + "\u2026" if len(text) > 4 else "\u2026"


def entropy(text: str) -> float:
    """Bits a character, by Shannon: words have about 3, random letters and digits 4 and more."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _random(text: str) -> bool:
    return entropy(text) > 3.2 and bool(re.search(r"\d", text)) and not re.fullmatch(r"(?:0x)?[0-9a-fA-F]{8}", text)


def _luhn(text: str) -> bool:
    """The check digit of cards: every second digit from the right doubled, the sum of digits a multiple of ten."""
    digits = [int(each) for each in text if each.isdigit()]
    doubled = [sum(divmod(2 * each, 10)) for each in digits[-2::-2]]
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _iban(text: str) -> bool:
    """ISO 13616: country and check digits moved to the end, letters as 10 to 35, remainder 1 by 97."""
    plain = re.sub(r"\s", "", text)
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(each, 36)) for each in plain[4:] + plain[:4])) % 97 == 1


def _person(text: str) -> bool:
    """Addresses that stand for nobody are left alone."""
    return not re.search(
        r"@(?:[\w.-]+\.)?(?:example\.(?:com|org|net)|invalid|localhost|users\.noreply\.\w+\.com)$", text
    )


def _home(text: str) -> bool:
    return text.lower() not in ("user", "username", "runner", "root", "public", "shared", "you", "me", "name")


LONGEST_LINE = 20_000
PATTERNS = (
    Pattern("secret", "private key", re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----")),
    Pattern("secret", "AWS key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    Pattern("secret", "GitHub token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{40,})")),
    Pattern("secret", "GitLab token", re.compile(r"\bglpat-[\w-]{20,}")),
    Pattern("secret", "Slack token", re.compile(r"\bxox[abprs]-[\w-]{10,}")),
    Pattern("secret", "Google key", re.compile(r"\bAIza[\w-]{35}")),
    Pattern("secret", "Hugging Face token", re.compile(r"\bhf_[A-Za-z0-9]{30,}")),
    Pattern("secret", "key of a model's vendor", re.compile(r"\bsk-(?:ant-|proj-)?[\w-]{20,}")),
    Pattern("secret", "signed token", re.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{5,}")),
    Pattern(
        "secret", "password in an address", re.compile(r"\b[a-z][a-z0-9+]*://[^\s/:@'\"]+:(?P<it>[^\s/@'\"]{3,})@")
    ),
    Pattern(
        "secret",
        "value that looks like a secret",
        re.compile(
            r"(?:passw(?:or)?d|passwd|secret|token|api_?key|access_?key|auth)\w*[\"']?\s*[]:=(,]+\s*[\"'](?P<it>[^\"'\s]{8,})[\"']",
            re.IGNORECASE,
        ),
        _random,
    ),
    Pattern("personal", "mail address", re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b"), _person),
    Pattern("personal", "home folder", re.compile(r"(?:/home/|/Users/|\\Users\\)(?P<it>[A-Za-z][\w.-]*)"), _home),
    Pattern(
        "personal", "account number", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"), _iban
    ),
    Pattern("personal", "card number", re.compile(r"(?<![\w.])\d(?:[ -]?\d){12,18}(?![\w.])"), _luhn),
    Pattern(
        "personal",
        "telephone number",
        re.compile(r"(?<![\w+])\+[1-9]\d{0,2}[ ./-]\(?\d{1,4}\)?(?:[ ./-]\d{2,5}){1,4}(?!\w)"),
    ),
)
