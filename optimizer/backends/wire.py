"""One request to a vendor through the vendor's own client: bounded, watched, and ended when it is cancelled.

A vendor's module brings the client and turns what it sends into ``Piece``; everything else that all vendors have in
common is here. The clients are built on httpx or on httpx2, which is the same under another name.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, TypeVar

from optimizer.backends.trouble import Trouble, of_body, of_status
from optimizer.presets import preset
from optimizer.types import Access, BackendOptions, Completion, Patience, Stop

T = TypeVar("T")
LARGEST_ERROR_BYTES = 100_000
# What a client raises when a reply is not what it expects; its own errors come on top.
NOT_UNDERSTOOD = (ValueError, TypeError, KeyError, AttributeError, IndexError, OSError, RecursionError)


class Cancelled(Exception):
    """Somebody does not want the answer any more."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of an answer, as it comes: text, or what the vendor says of it. None: not said here."""

    text: str = ""
    refusal: str = ""
    stop: Stop | None = None
    note: str = ""
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Line:
    """The way to a vendor for one request. ``who`` is its name in sentences."""

    def __init__(self, who: str, access: Access, patience: Patience) -> None:
        self.who = who
        self.access = access
        self.patience = patience
        self.characters = 0
        self._socket: socket.socket | None = None
        self._over = False

    def client_options(self, httpx: ModuleType) -> dict[str, Any]:
        """Arguments for ``Client`` of the module, with ourselves as the one who watches."""
        return {
            "follow_redirects": False,
            "event_hooks": {"request": [self._sent], "response": [lambda reply: self._came(httpx, reply)]},
        }

    def wait_for(self, work: Callable[[], T], errors: tuple[type[Exception], ...]) -> T:
        """What ``work`` returns. Raises Trouble, and Cancelled at most ``look_s`` after somebody cancels.

        ``errors`` are those of the vendor's client.
        """
        pool = ThreadPoolExecutor(1, thread_name_prefix="vendor")
        caught: tuple[type[Exception], ...] = (*errors, *NOT_UNDERSTOOD, *_transport_errors())
        try:
            future = pool.submit(work)
            ends = time.monotonic() + self.patience.whole_s
            while not wait([future], timeout=self.patience.look_s).done:
                if self.patience.cancelled():
                    raise Cancelled
                if time.monotonic() > ends:
                    raise Trouble("slow", f"{self.who} was not done after {self.patience.whole_s:.0f} s.")
                self.patience.progress(self.characters)
            return future.result()
        except caught as error:
            raise self.trouble_of(error) from error
        finally:
            self._hang_up()
            pool.shutdown(wait=False)

    def trouble_of(self, error: BaseException) -> Trouble:
        """The trouble behind an exception of a client: ours if it went through the client, else what its kind says."""
        causes = list(_causes(error))
        if ours := next((each for each in causes if isinstance(each, Trouble)), None):
            return ours
        names = {name for each in causes for name in (base.__name__ for base in type(each).__mro__)}
        if names & {"ConnectError", "ConnectTimeout", "UnsupportedProtocol", "InvalidURL", "ConnectionRefusedError"}:
            return Trouble("unreachable", f"{self.who} cannot be reached.", "Check the address: Settings, team.")
        if "TimeoutException" in names:
            return Trouble("slow", f"{self.who} sent nothing for {self.patience.silence_s:.0f} s.")
        if names & {"NetworkError", "RemoteProtocolError"}:
            return Trouble("cut", f"{self.who} ended the connection in the middle of the answer.")
        if body := next(filter(None, map(_body, causes)), ""):
            return of_body(self.who, self._without_key(body), datetime.now(UTC))
        return Trouble("malformed", f"What {self.who} sent is no answer: {type(error).__name__}.")

    def _sent(self, request: Any) -> None:
        if self._over:
            raise Cancelled
        request.extensions["trace"] = self._traced
        patience = self.patience  # whatever the client says of timeouts
        silences = dict.fromkeys(("read", "write"), patience.silence_s)
        request.extensions["timeout"] = silences | dict.fromkeys(("connect", "pool"), patience.connect_s)
        request.headers["accept-encoding"] = "identity"  # a small compressed reply can be a huge one
        if not self.access.key:  # clients look for one in the environment, which is not the team's
            request.headers.pop("authorization", None)

    def _traced(self, event: str, about: Mapping[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._socket = about["return_value"].get_extra_info("socket")
            if self._over:  # it ended while this was being connected
                self._hang_up()

    def _came(self, httpx: ModuleType, reply: Any) -> None:
        """Looks at a reply before the client does. Raises Trouble when it is no answer."""
        failed = reply.status_code >= 300
        reply.stream = self._bounded(httpx, reply.stream, LARGEST_ERROR_BYTES if failed else None)
        if reply.headers.get("content-encoding", "identity") != "identity":
            raise Trouble("malformed", f"{self.who} sends compressed replies that were not asked for.")
        if failed:
            body = self._without_key(reply.read().decode("utf-8", "replace"))
            headers = {name.lower(): value for name, value in reply.headers.items()}
            raise of_status(self.who, reply.status_code, headers, body, datetime.now(UTC))

    def _bounded(self, httpx: ModuleType, stream: Any, cut_at: int | None) -> Any:
        """The reply's bytes: cut off at ``cut_at``, or refused when there are too many."""
        line, largest = self, cut_at or self.patience.largest_bytes

        class Bounded(httpx.SyncByteStream):  # type: ignore[misc,name-defined]
            def __iter__(self) -> Iterator[bytes]:
                left = largest
                for chunk in stream:
                    left -= len(chunk)
                    if left < 0 and cut_at:
                        return
                    if left < 0:
                        raise Trouble("too_large", f"{line.who} sent more than {largest:,} bytes; nothing is used.")
                    yield chunk

            def close(self) -> None:
                stream.close()

        return Bounded()

    def _hang_up(self) -> None:
        """Wakes whoever still waits for bytes."""
        self._over = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _without_key(self, text: str) -> str:
        return text.replace(self.access.key, "[key]") if self.access.key else text


def ask(
    backend: str,
    who: str,
    options: BackendOptions,
    talk: Callable[[Line], Iterable[Piece]],
    errors: Callable[[], tuple[type[Exception], ...]],
) -> Completion:
    """The whole answer of ``talk``. Raises Trouble, which is never an answer, and Cancelled."""
    line, started = Line(who, options.access, options.patience), time.monotonic()
    answer = line.wait_for(lambda: _gathered(line, talk(line), options.model), errors())
    known = preset(backend, options.model)
    return Completion(
        text=answer.text or answer.refusal,
        stop=_stop(answer),
        model=answer.model,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        cost_usd=known.cost_usd(answer.prompt_tokens, answer.completion_tokens),
        seconds=time.monotonic() - started,
        note=answer.note,
    )


def _gathered(line: Line, pieces: Iterable[Piece], model: str) -> Piece:
    """All pieces as one. A stream that ends without saying why was cut."""
    came: list[Piece] = []
    for piece in pieces:
        came.append(piece)
        line.characters += len(piece.text)
    if not came:
        raise Trouble("malformed", f"What {line.who} sent is no answer.", "Does the address speak its protocol?")
    stop: Stop | None = _last(piece.stop for piece in came)
    if stop is None:
        raise Trouble("cut", f"{line.who} ended the connection in the middle of the answer.")
    return Piece(
        text="".join(piece.text for piece in came),
        refusal="".join(piece.refusal for piece in came),
        stop=stop,
        note=" ".join(piece.note for piece in came if piece.note),
        model=_last(piece.model or None for piece in came) or model,
        prompt_tokens=_last(piece.prompt_tokens for piece in came),
        completion_tokens=_last(piece.completion_tokens for piece in came),
    )


def _last(values: Iterable[T | None]) -> T | None:
    return next((value for value in reversed(list(values)) if value is not None), None)


def _stop(answer: Piece) -> Stop:
    if answer.refusal and answer.stop == "end":
        return "refusal"
    if answer.stop == "end" and not answer.text.strip():
        return "empty"
    return answer.stop or "end"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(10):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _body(error: BaseException) -> str:
    """What the vendor's client kept of an error that came in the middle of an answer."""
    found = next((getattr(error, name) for name in ("body", "details", "error") if getattr(error, name, None)), "")
    return json.dumps({"error": found} if isinstance(found, str) else found, default=str) if found else ""


def _transport_errors() -> tuple[type[Exception], ...]:
    import httpx
    import httpx2

    return httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError
