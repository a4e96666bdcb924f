"""OpenAI's chat completions, with the parameters of the GPT-5 class of models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from optimizer.backends.wire import Line, Piece, ask
from optimizer.presets import preset
from optimizer.prompts import contract
from optimizer.types import BackendOptions, Completion, Prompt, Stop

if TYPE_CHECKING:
    import openai

TITLE = "OpenAI"
LEAVES = "The prompt leaves this server for OpenAI, with the source code in it."
ORIGIN: Literal["model"] = "model"
REPAIRS = True
ADDRESS = "https://api.openai.com/v1"
NEEDS_KEY = True

STOPS: dict[str, Stop] = {"stop": "end", "length": "length", "content_filter": "filter"}


def outlook(prompt: Prompt, options: BackendOptions) -> str:
    return f"OpenAI's {options.model} answers; the wait is minutes."


def complete(prompt: Prompt, options: BackendOptions) -> Completion:
    """Raises Trouble."""
    known = preset("openai", options.model)
    asked: dict[str, Any] = {"max_completion_tokens": known.output_limit(options.output_tokens)}
    if known.effort is not None:
        asked["reasoning_effort"] = known.effort
    if known.temperature is not None:
        asked["temperature"] = known.temperature
    return ask("openai", TITLE, options, lambda line: talk(client(line, ADDRESS), prompt, options.model, asked), errors)


def models(options: BackendOptions) -> tuple[str, ...]:
    """The models that the key may ask. Raises Trouble."""
    return listed(Line(TITLE, options.access, options.patience), ADDRESS)


# --- shared with whoever speaks the same protocol ---------------------------------------------


def errors() -> tuple[type[Exception], ...]:
    import openai

    return (openai.OpenAIError,)


def client(line: Line, address: str) -> openai.OpenAI:
    import httpx2
    import openai

    return openai.OpenAI(
        api_key=line.access.key or "none",  # the client wants one, even where none is needed
        base_url=line.access.base_url or address,
        max_retries=0,  # a wait is the job's, where it can be seen and cancelled
        http_client=httpx2.Client(**line.client_options(httpx2)),
    )


def listed(line: Line, address: str) -> tuple[str, ...]:
    return line.wait_for(lambda: tuple(model.id for model in client(line, address).models.list().data), errors())


def talk(client: openai.OpenAI, prompt: Prompt, model: str, asked: dict[str, Any]) -> Iterator[Piece]:
    """The answer as it comes. ``asked``: parameters that not every server takes."""
    schema = {"name": "answer", "strict": True, "schema": contract()}
    chat: Any = client.chat.completions  # its parameters are many overloads, and ours are not known beforehand
    with (
        client,
        chat.create(
            model=model,
            messages=[{"role": "user", "content": prompt.text}],
            response_format={"type": "json_schema", "json_schema": schema},
            stream=True,
            stream_options={"include_usage": True},
            **asked,
        ) as chunks,
    ):
        for chunk in chunks:
            yield from _pieces(chunk)


def _pieces(chunk: Any) -> Iterator[Piece]:
    if chunk.usage is not None:
        yield Piece(prompt_tokens=chunk.usage.prompt_tokens, completion_tokens=chunk.usage.completion_tokens)
    for choice in chunk.choices:
        delta = choice.delta
        yield Piece(text=delta.content or "", refusal=delta.refusal or "", model=chunk.model or "")
        if choice.finish_reason is not None:
            stop = STOPS.get(choice.finish_reason)
            note = "" if stop else f"The model ended with {choice.finish_reason!r}."
            yield Piece(stop=stop or "empty", note=note)
