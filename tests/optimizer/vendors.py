"""A local server that speaks the wire formats of the vendors, so that their own clients can be driven for real."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Events = Sequence[Any]


@dataclass(frozen=True)
class Reply:
    """What the server does with a request. ``then`` happens after the body: "close", "hang" or "drop"."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Iterator[bytes] = b""
    then: str = "close"


@dataclass
class Vendor:
    """``replies``: one a request, the last one again and again. ``asked``: path, headers and JSON of each request."""

    address: str
    replies: list[Reply] = field(default_factory=list)
    asked: list[tuple[str, Mapping[str, str], Any]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def next_reply(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def serving(*replies: Reply) -> Iterator[Vendor]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    vendor = server.vendor = Vendor(f"http://127.0.0.1:{server.server_port}", list(replies))  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield vendor
    finally:
        vendor.released.set()
        server.shutdown()
        server.server_close()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        size = int(self.headers.get("content-length", 0))
        self.reply(json.loads(self.rfile.read(size) or b"null"))

    def do_GET(self) -> None:
        self.reply(None)

    def reply(self, sent: Any) -> None:
        vendor: Vendor = self.server.vendor  # type: ignore[attr-defined]
        vendor.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}, sent))
        answer = vendor.next_reply()
        if answer.then == "mute":
            vendor.released.wait(20)
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.then == "drop":  # promises more than it sends
            self.send_header("content-length", "1000000")
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):
            for piece in [answer.body] if isinstance(answer.body, bytes) else answer.body:
                self.wfile.write(piece)
                self.wfile.flush()
        if answer.then == "hang":
            vendor.released.wait(20)

    def log_message(self, *about: object) -> None:
        pass


# --- the dialects -----------------------------------------------------------------------------

SSE = {"content-type": "text/event-stream"}
NDJSON = {"content-type": "application/x-ndjson"}


def sse(events: Events) -> bytes:
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


@dataclass(frozen=True)
class Dialect:
    """How one vendor says things. ``answer(text, stop)`` is a whole stream, ``begun(text)`` one that has not ended."""

    backend: str
    model: str
    path: str
    answer: Callable[..., Reply]
    begun: Callable[[str], bytes]
    headers: Mapping[str, str]
    models: Reply
    cut_stop: str


def openai_chunks(text: str, stop: str | None = "stop", **delta: Any) -> Events:
    def chunk(delta: dict[str, Any], stop: str | None = None, **more: Any) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": stop}
        return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m-1", "choices": [choice]} | more

    half = len(text) // 2
    texts = [
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": text[:half]}),
        chunk({"content": text[half:]}),
    ]
    said = [chunk(delta)] if delta else []
    if stop is None:
        return [*texts, *said]
    usage = {"prompt_tokens": 3000, "completion_tokens": 500, "total_tokens": 3500}
    return [*texts, *said, chunk({}, stop), chunk({}, choices=[], usage=usage)]


def openai_answer(text: str, stop: str = "stop", **delta: Any) -> Reply:
    return Reply(headers=SSE, body=sse(openai_chunks(text, stop, **delta)) + b"data: [DONE]\n\n")


def anthropic_events(text: str, stop: str | None = "end_turn") -> bytes:
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "claude-sonnet-4-6",
               "stop_reason": None, "stop_sequence": None,
               "usage": {"input_tokens": 3000, "output_tokens": 1}}  # fmt: skip
    thinking = {"type": "thinking_delta", "thinking": 'perhaps {"edits": []}'}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": thinking},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": text}},
    ]
    if stop is not None:
        end = {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 500},
        }
        events += [{"type": "content_block_stop", "index": 1}, end, {"type": "message_stop"}]
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def anthropic_answer(text: str, stop: str = "end_turn") -> Reply:
    return Reply(headers=SSE, body=anthropic_events(text, stop))


USED = {"promptTokenCount": 3000, "candidatesTokenCount": 400, "thoughtsTokenCount": 100, "totalTokenCount": 3500}


def gemini_chunk(text: str, stop: str | None = None) -> dict[str, Any]:
    parts = [{"text": 'Let me think {"edits": []}', "thought": True}, {"text": text}]
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if stop:
        candidate["finishReason"] = stop
    return {"candidates": [candidate], "usageMetadata": USED, "modelVersion": "gemini-2.5-pro"}


def gemini_answer(text: str, stop: str = "STOP") -> Reply:
    half = len(text) // 2
    return Reply(headers=SSE, body=sse([gemini_chunk(text[:half]), gemini_chunk(text[half:], stop)]))


def ollama_lines(text: str, done: Mapping[str, Any] | None) -> bytes:
    def line(content: str, **more: Any) -> bytes:
        said = {
            "model": "llama3.1:70b",
            "created_at": "2026-12-01T00:00:00Z",
            "message": {"role": "assistant", "content": content},
        }
        return json.dumps(said | {"done": False} | more).encode() + b"\n"

    half = len(text) // 2
    return line(text[:half]) + line(text[half:]) + (line("", done=True, **done) if done is not None else b"")


def ollama_answer(text: str, stop: str = "stop", **more: Any) -> Reply:
    done = {"done_reason": stop, "prompt_eval_count": 3000, "eval_count": 500} | more
    return Reply(
        headers=NDJSON, body=ollama_lines(text, {key: value for key, value in done.items() if value is not None})
    )


def listing(value: Any) -> Reply:
    return Reply(headers={"content-type": "application/json"}, body=json.dumps(value).encode())


OPENAI_MODELS = listing({"object": "list", "data": [{"id": "m-1", "object": "model", "created": 1, "owned_by": "us"}]})
DIALECTS = {
    "openai": Dialect("openai", "gpt-5", "/chat/completions", openai_answer,
                      lambda text: sse(openai_chunks(text, None)), SSE, OPENAI_MODELS, "length"),
    "openai_compatible": Dialect("openai_compatible", "any-coder", "/chat/completions", openai_answer,
                                 lambda text: sse(openai_chunks(text, None)), SSE, OPENAI_MODELS, "length"),
    "anthropic": Dialect("anthropic", "claude-sonnet-4-6", "/v1/messages", anthropic_answer,
                         lambda text: anthropic_events(text, None), SSE,
                         listing({"data": [{"id": "m-1", "type": "model", "display_name": "M",
                                            "created_at": "2026-01-01T00:00:00Z"}],
                                  "has_more": False, "first_id": "m-1", "last_id": "m-1"}), "max_tokens"),
    "gemini": Dialect("gemini", "gemini-2.5-pro", "/v1/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
                      gemini_answer, lambda text: sse([gemini_chunk(text)]), SSE,
                      listing({"models": [{"name": "models/m-1"}]}), "MAX_TOKENS"),
    "ollama": Dialect("ollama", "llama3.1:70b", "/api/chat", ollama_answer,
                      lambda text: ollama_lines(text, None), NDJSON,
                      listing({"models": [{"model": "m-1", "name": "m-1"}]}), "length"),
}  # fmt: skip


def endless(start: bytes) -> Iterator[bytes]:
    """A reply without an end, as fast as it is taken."""
    yield start
    while True:
        yield b"x" * 65536


def dribble(whole: bytes, pause_s: float) -> Iterator[bytes]:
    """A reply in small pieces, with a pause after each."""
    for at in range(0, len(whole), 200):
        yield whole[at : at + 200]
        time.sleep(pause_s)
