"""What can go wrong between us and a vendor, told apart, and what is worth waiting for.

Trouble is no answer: it costs no attempt, and its text never reaches the reader of answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from optimas_web.errors import UserError

Kind = Literal[
    "quota",  # the account is empty, or has had its share of the day
    "rate_limited",  # too much at once
    "busy",  # the vendor's own trouble
    "auth",  # the key is wrong, or may not do this
    "no_model",
    "unreachable",
    "slow",  # nothing came for too long
    "cut",  # the connection ended before the answer did
    "malformed",
    "too_large",  # the reply
    "too_long",  # the prompt
    "prompt_cut",  # the model read only some of the prompt
    "rejected",  # the vendor finds fault with the request
]

TRIES: Mapping[Kind, int] = {"rate_limited": 40, "busy": 7, "unreachable": 5, "cut": 3, "slow": 2, "malformed": 2}
"""How often a request is made in all before its trouble ends the job; every other kind ends it at once."""
LONGEST_WAIT_S = 6 * 3600.0
LONGEST_BACK_OFF_S = 120.0


class Trouble(UserError):
    """Trouble with a vendor. ``wait_s``: the seconds that the vendor says to wait; None when it does not say."""

    def __init__(self, kind: Kind, message: str, hint: str = "", wait_s: float | None = None) -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.wait_s = wait_s


def pause_s(trouble: Trouble, waits: int) -> float | None:
    """Seconds until the request is worth making again after ``waits`` earlier ones; None: it is not."""
    if waits + 1 >= TRIES.get(trouble.kind, 1):
        return None
    if trouble.wait_s is not None:
        return trouble.wait_s if trouble.wait_s <= LONGEST_WAIT_S else None
    return float(min(2 ** (waits + 1), LONGEST_BACK_OFF_S))


def of_status(who: str, status: int, headers: Mapping[str, str], body: str, now: datetime) -> Trouble:
    """What a reply with this HTTP status means. ``headers`` have names in lower case."""
    said = _said(body)
    words = f"{body} {said}".lower()
    because = f": {said}" if said else "."
    told_s = _told_wait(headers, body, now)
    if status == 402 or (status in (400, 403, 429) and _is_quota(words)):
        return Trouble("quota", f"{who} has no quota left for this key{because}", "Top up the account, or wait a day.")
    if status == 429:
        return Trouble("rate_limited", f"{who} is asked too much at once{because}", wait_s=told_s)
    if status in (401, 403):
        return Trouble("auth", f"{who} refuses the key{because}", "Put in a key that may do this: Settings, team.")
    if status == 404:
        return Trouble("no_model", f"{who} knows no such model or address{because}", "Choose another, or test the key.")
    if status == 413 or (status in (400, 422) and _is_too_long(words)):
        return Trouble(
            "too_long", f"The prompt is too long for {who}{because}", "Choose fewer kernels or less evidence."
        )
    if status in (408, 409, 425) or status >= 500:
        return Trouble("busy", f"{who} could not answer (HTTP {status}){because}", wait_s=told_s)
    if 300 <= status < 400:
        return Trouble("rejected", f"{who} points elsewhere (HTTP {status}).", "Give the address that answers itself.")
    return Trouble("rejected", f"{who} rejects the request (HTTP {status}){because}", "The message says what it minds.")


STATUS_OF: Mapping[str, int] = {
    "overloaded_error": 529,
    "overloaded": 529,
    "api_error": 500,
    "server_error": 500,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "resource_exhausted": 429,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "unavailable": 503,
    "internal": 500,
}


def of_body(who: str, body: str, now: datetime) -> Trouble:
    """What an error in the middle of an answer means: its type stands for the status that it has no more."""
    for key in ("code", "type", "status"):
        word = next(_values(_json(body), key), None)
        if isinstance(word, int) and 400 <= word < 600:
            return of_status(who, word, {}, body, now)
        if str(word).lower() in STATUS_OF:
            return of_status(who, STATUS_OF[str(word).lower()], {}, body, now)
    return Trouble("busy", f"{who} broke off: {_said(body) or 'it does not say why.'}")


def _is_quota(words: str) -> bool:
    """Vendors speak of quota and billing when they mean a minute, too: only what is sure counts."""
    marks = ("insufficient_quota", "billing_hard_limit", "billing_not_active", "billing_error", "credit balance",
             "insufficient credit", "perday")  # fmt: skip
    return any(mark in words for mark in marks)


def _is_too_long(words: str) -> bool:
    marks = ("context_length", "context length", "too long", "context window", "maximum context", "token count exceeds")
    return any(mark in words for mark in marks)


def _told_wait(headers: Mapping[str, str], body: str, now: datetime) -> float | None:
    """Seconds from ``Retry-After`` (seconds or a date) or from the body's ``retryDelay`` ("38.5s")."""
    if milliseconds := _number(headers.get("retry-after-ms", "")):
        return milliseconds / 1000
    told = headers.get("retry-after", "").strip()
    if (seconds := _number(told)) is not None:
        return seconds
    if told and (date := _date(told)):
        return max((date - now).total_seconds(), 0.0)
    delay = next(_values(_json(body), "retryDelay"), "")
    return _number(str(delay).removesuffix("s"))


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d+)?", text.strip()) else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, IndexError):
        return None
    return date if date.tzinfo else None


def _json(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _values(value: Any, key: str, depth: int = 8) -> Iterator[Any]:
    """Everything called ``key`` in a JSON value, outermost first."""
    if depth == 0 or not isinstance(value, dict | list):
        return
    if isinstance(value, dict) and value.get(key) not in (None, ""):
        yield value[key]
    for inner in value.values() if isinstance(value, dict) else value:
        yield from _values(inner, key, depth - 1)


def _said(body: str) -> str:
    """The vendor's own sentence, or nothing: pages of HTML are not for people."""
    value = _json(body)
    said = next((text for key in ("message", "error") for text in _values(value, key) if isinstance(text, str)), "")
    words = " ".join(said.split())[:300]
    return f"{words}." if words and words[-1] not in ".!?" else words
