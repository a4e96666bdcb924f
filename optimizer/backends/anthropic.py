"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from optimizer.backends.wire import Line, Piece, ask
from optimizer.presets import preset
from optimizer.prompts import contract
from optimizer.types import BackendOptions, Completion, Prompt, Stop

if TYPE_CHECKING:
    import anthropic

TITLE = "Anthropic"
LEAVES = "The prompt leaves this server for Anthropic, with the source code in it."
ORIGIN: Literal["model"] = "model"
REPAIRS = True
ADDRESS = "https://api.anthropic.com"
NEEDS_KEY = True

STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def outlook(prompt: Prompt, options: BackendOptions) -> str:
    return f"Anthropic's {options.model} answers; the wait is minutes."


def complete(prompt: Prompt, options: BackendOptions) -> Completion:
    """Raises Trouble."""
    return ask("anthropic", TITLE, options, lambda line: _talk(line, prompt, options), _errors)


def models(options: BackendOptions) -> tuple[str, ...]:
    """The models that the key may ask. Raises Trouble."""
    line = Line(TITLE, options.access, options.patience)
    return line.wait_for(lambda: tuple(model.id for model in _client(line).models.list(limit=100).data), _errors())


def _errors() -> tuple[type[Exception], ...]:
    import anthropic

    return (anthropic.AnthropicError,)


def _client(line: Line) -> anthropic.Anthropic:
    import anthropic
    import httpx2

    return anthropic.Anthropic(
        api_key=line.access.key,
        base_url=line.access.base_url or ADDRESS,
        max_retries=0,  # a wait is the job's, where it can be seen and cancelled
        http_client=httpx2.Client(**line.client_options(httpx2)),
    )


def _talk(line: Line, prompt: Prompt, options: BackendOptions) -> Iterator[Piece]:
    known = preset("anthropic", options.model)
    schema: Any = {"format": {"type": "json_schema", "schema": contract()}}
    with (
        _client(line) as client,
        client.messages.create(
            model=options.model,
            max_tokens=known.output_limit(options.output_tokens),
            messages=[{"role": "user", "content": prompt.text}],
            output_config=schema,
            stream=True,
        ) as events,
    ):
        for event in events:
            yield from _pieces(event)


def _pieces(event: Any) -> Iterator[Piece]:
    """Thinking is left out: it is no part of the answer."""
    if event.type == "message_start":
        used = event.message.usage
        cached = (used.cache_creation_input_tokens or 0) + (used.cache_read_input_tokens or 0)
        yield Piece(model=event.message.model, prompt_tokens=used.input_tokens + cached)
    elif event.type == "content_block_delta" and event.delta.type == "text_delta":
        yield Piece(text=event.delta.text)
    elif event.type == "message_delta":
        reason = event.delta.stop_reason
        stop = STOPS.get(reason or "")
        note = "" if stop else f"The model ended with {reason!r}."
        yield Piece(stop=stop or "empty", note=note, completion_tokens=event.usage.output_tokens)
