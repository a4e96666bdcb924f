"""Google's Gemini."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from optimizer.backends.wire import Line, Piece, ask
from optimizer.presets import preset
from optimizer.prompts import contract
from optimizer.types import BackendOptions, Completion, Prompt

if TYPE_CHECKING:
    from google import genai

TITLE = "Google Gemini"
LEAVES = "The prompt leaves this server for Google, with the source code in it."
ORIGIN: Literal["model"] = "model"
REPAIRS = True
ADDRESS = "https://generativelanguage.googleapis.com"
NEEDS_KEY = True

FILTERS = {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "LANGUAGE"}


def outlook(prompt: Prompt, options: BackendOptions) -> str:
    return f"Google's {options.model} answers; the wait is minutes."


def complete(prompt: Prompt, options: BackendOptions) -> Completion:
    """Raises Trouble."""
    return ask("gemini", TITLE, options, lambda line: _talk(line, prompt, options), _errors)


def models(options: BackendOptions) -> tuple[str, ...]:
    """The models that the key may ask. Raises Trouble."""
    line = Line(TITLE, options.access, options.patience)

    def names() -> tuple[str, ...]:
        with _client(line) as client:
            return tuple((model.name or "").removeprefix("models/") for model in islice(client.models.list(), 500))

    return line.wait_for(names, _errors())


def _errors() -> tuple[type[Exception], ...]:
    from google.genai import errors

    return (errors.APIError,)


def _client(line: Line) -> genai.Client:
    import httpx
    from google import genai
    from google.genai.types import HttpOptions

    options = HttpOptions(
        base_url=line.access.base_url or ADDRESS, httpx_client=httpx.Client(**line.client_options(httpx))
    )
    return genai.Client(api_key=line.access.key, vertexai=False, http_options=options)


def _talk(line: Line, prompt: Prompt, options: BackendOptions) -> Iterator[Piece]:
    from google.genai.types import GenerateContentConfig

    known = preset("gemini", options.model)
    config = GenerateContentConfig(
        max_output_tokens=known.output_limit(options.output_tokens),
        temperature=known.temperature,
        response_mime_type="application/json",
        response_json_schema=dict(contract()),
    )
    with _client(line) as client:
        for chunk in client.models.generate_content_stream(model=options.model, contents=prompt.text, config=config):
            yield from _pieces(chunk)


def _pieces(chunk: Any) -> Iterator[Piece]:
    """Parts that are thoughts are left out. A blocked prompt has no candidates, an ended one may have no parts."""
    used = chunk.usage_metadata
    if used is not None:
        spent = [used.candidates_token_count, used.thoughts_token_count]
        told = None if spent == [None, None] else sum(each or 0 for each in spent)
        yield Piece(model=chunk.model_version or "", prompt_tokens=used.prompt_token_count, completion_tokens=told)
    blocked = chunk.prompt_feedback and chunk.prompt_feedback.block_reason
    if blocked:
        yield Piece(stop="filter", note=f"The prompt was blocked: {blocked.value}.")
    for candidate in (chunk.candidates or [])[:1]:
        parts = (candidate.content and candidate.content.parts) or []
        text = "".join(part.text or "" for part in parts if not part.thought)
        yield Piece(text=text)
        if candidate.finish_reason is not None:
            yield _ended(candidate.finish_reason.value)


def _ended(reason: str) -> Piece:
    if reason == "STOP":
        return Piece(stop="end")
    if reason == "MAX_TOKENS":
        return Piece(stop="length", note="Hidden reasoning counts towards the limit.")
    if reason in FILTERS:
        return Piece(stop="filter", note=f"The answer was blocked: {reason}.")
    return Piece(stop="empty", note=f"The model ended with {reason}.")
