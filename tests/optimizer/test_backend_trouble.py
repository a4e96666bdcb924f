"""Every vendor's own client against a local server that makes trouble of every kind, and Cancel."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from optimizer.backends.trouble import Trouble
from optimizer.backends.wire import Cancelled
from optimizer.types import Patience
from tests.optimizer.asking import ANSWER, KEY, VENDORS, ask, error, troubled
from tests.optimizer.vendors import DIALECTS, SSE, Dialect, Reply, anthropic_events, dribble, endless, serving, sse

pytestmark = pytest.mark.usefixtures("clients")

# --- trouble ----------------------------------------------------------------------------------


@VENDORS
@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "rejected"), (401, "auth"), (402, "quota"), (403, "auth"), (404, "no_model"), (408, "busy"),
     (413, "too_long"), (429, "rate_limited"), (500, "busy"), (502, "busy"), (503, "busy"), (529, "busy")],
)  # fmt: skip
def test_a_status_is_told_for_what_it_is(said: Dialect, status: int, kind: str):
    found = troubled(said, error(status))
    assert found.kind == kind
    assert f"no {status}" in found.message


@VENDORS
def test_a_page_of_html_from_a_proxy_is_not_shown(said: Dialect):
    found = troubled(said, Reply(502, {"content-type": "text/html"}, b"<html><body>Bad gateway</body></html>"))
    assert found.kind == "busy"
    assert "<" not in found.message


@VENDORS
def test_a_key_that_the_vendor_repeats_is_not_shown(said: Dialect):
    found = troubled(said, error(401, {"error": {"message": f"Incorrect key {KEY} given."}}))
    assert "Incorrect key [key] given." in found.message


@VENDORS
def test_a_redirect_is_not_followed(said: Dialect):
    with serving(said.answer(ANSWER)) as elsewhere:
        found = troubled(said, Reply(307, {"location": elsewhere.address}))
        assert elsewhere.asked == []
    assert found.kind == "rejected"


@VENDORS
def test_a_prompt_that_is_too_long_is_told(said: Dialect):
    body = {"error": {"code": "context_length_exceeded", "message": "The prompt is too long: 210000 tokens."}}
    assert troubled(said, error(400, body)).kind == "too_long"


EXHAUSTED = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Check your plan and billing details."}
DAY_QUOTA = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "RequestsPerDayPerModel"}],
}
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38.5s"}
DAY = {"error": EXHAUSTED | {"details": [DAY_QUOTA, RETRY]}}
MINUTE = {"error": EXHAUSTED | {"details": [RETRY]}}
EMPTY = {"error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "The account is empty."}}
TOO_MANY = {"error": {"type": "requests", "code": "rate_limit_exceeded", "message": "Too many requests."}}


@VENDORS
@pytest.mark.parametrize(
    ("reply", "kind", "wait_s"),
    [
        (error(429, EMPTY), "quota", None),
        (error(429, DAY), "quota", None),
        (error(400, {"error": {"message": "Your credit balance is too low."}}), "quota", None),
        (error(429, TOO_MANY, retry_after="7"), "rate_limited", 7.0),
        (error(429, TOO_MANY, retry_after_ms="1500"), "rate_limited", 1.5),
        (error(429, MINUTE), "rate_limited", 38.5),
        (error(429, TOO_MANY), "rate_limited", None),
        (error(503, {}, retry_after="20"), "busy", 20.0),
    ],
)
def test_kinds_of_too_much_are_told_apart(said: Dialect, reply: Reply, kind: str, wait_s: float | None):
    found = troubled(said, reply)
    assert (found.kind, found.wait_s) == (kind, wait_s)


@VENDORS
def test_a_connection_that_ends_early_is_no_answer(said: Dialect):
    assert troubled(said, Reply(headers=said.headers, body=said.begun(ANSWER), then="drop")).kind == "cut"
    assert troubled(said, Reply(headers=said.headers, body=said.begun(ANSWER))).kind == "cut"


@VENDORS
def test_a_vendor_that_falls_silent_is_slow(said: Dialect):
    brief = Patience(silence_s=0.2, look_s=0.02)
    assert troubled(said, Reply(then="mute"), patience=brief).kind == "slow"
    assert (
        troubled(said, Reply(headers=said.headers, body=said.begun(ANSWER), then="hang"), patience=brief).kind == "slow"
    )


@VENDORS
def test_an_answer_that_takes_for_ever_is_ended(said: Dialect):
    dripping = Reply(headers=said.headers, body=dribble(said.answer(ANSWER * 500).body, 0.02))
    assert troubled(said, dripping, patience=Patience(silence_s=5, whole_s=0.3, look_s=0.02)).kind == "slow"


@VENDORS
def test_nobody_at_the_address_is_told(said: Dialect):
    with serving(said.answer(ANSWER)) as vendor:
        pass
    with pytest.raises(Trouble) as caught:
        ask(said, vendor.address)
    assert caught.value.kind == "unreachable"


@VENDORS
@pytest.mark.parametrize(
    "body", [b"", b"{", b"data: {\n\n", b"data: 1\n\n", b"[1]\n", b"<html>hello</html>", b"\xff\xfe\x00"]
)
def test_what_is_no_answer_is_not_taken_for_one(said: Dialect, body: bytes):
    assert troubled(said, Reply(headers=said.headers, body=body)).kind in ("malformed", "cut", "busy")


@VENDORS
@pytest.mark.parametrize("status", [200, 500])
def test_a_reply_without_an_end_is_cut_off(said: Dialect, status: int):
    few = Patience(silence_s=5, whole_s=10, look_s=0.02, largest_bytes=300_000)
    reply = Reply(status, said.headers, endless(b"data: "))
    assert troubled(said, reply, patience=few).kind == ("too_large" if status == 200 else "busy")


@VENDORS
def test_a_compressed_reply_that_nobody_asked_for_is_refused(said: Dialect):
    reply = Reply(headers={**said.headers, "content-encoding": "gzip"}, body=b"\x1f\x8b")
    assert troubled(said, reply).kind == "malformed"


@pytest.mark.parametrize(
    ("name", "late", "kind"),
    [
        ("openai", {"error": {"message": "The server had an error.", "type": "server_error"}}, "busy"),
        ("openai_compatible", {"error": {"message": "Too many.", "code": "rate_limit_exceeded"}}, "rate_limited"),
        ("gemini", {"error": {"code": 503, "status": "UNAVAILABLE", "message": "Overloaded."}}, "busy"),
    ],
)
def test_an_error_in_the_middle_of_a_stream_is_no_answer(name: str, late: Any, kind: str):
    begun = DIALECTS[name].begun(ANSWER)
    assert troubled(DIALECTS[name], Reply(headers=SSE, body=begun + sse([late]))).kind == kind


def test_an_error_event_of_anthropic_is_no_answer():
    late = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    body = anthropic_events(ANSWER, None) + f"event: error\ndata: {json.dumps(late)}\n\n".encode()
    assert troubled(DIALECTS["anthropic"], Reply(headers=SSE, body=body)).kind == "busy"


def test_an_error_line_of_ollama_is_no_answer():
    said = DIALECTS["ollama"]
    body = said.begun(ANSWER) + b'{"error": "model runner has unexpectedly stopped"}\n'
    found = troubled(said, Reply(headers=said.headers, body=body))
    assert "model runner has unexpectedly stopped" in found.message


# --- cancelling -------------------------------------------------------------------------------


@VENDORS
@pytest.mark.parametrize("state", ["silent", "begun"])
def test_cancel_ends_the_request_at_once_and_hangs_up(said: Dialect, state: str):
    reply = (
        Reply(then="mute") if state == "silent" else Reply(headers=said.headers, body=said.begun(ANSWER), then="hang")
    )
    cancelled = threading.Event()
    with serving(reply) as vendor:
        threading.Timer(0.2, cancelled.set).start()
        started = time.monotonic()
        with pytest.raises(Cancelled):
            ask(said, vendor.address, Patience(silence_s=15, look_s=0.02, cancelled=cancelled.is_set))
        assert time.monotonic() - started < 5
        assert_no_thread_waits()


def assert_no_thread_waits() -> None:
    for _ in range(100):
        if not [thread for thread in threading.enumerate() if thread.name.startswith("vendor")]:
            return
        time.sleep(0.02)
    raise AssertionError("a thread still waits for the vendor")
