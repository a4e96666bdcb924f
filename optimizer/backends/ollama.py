"""Ollama, on this machine or one of yours.

Without ``num_ctx`` it cuts a long prompt and says nothing. So the context is set from the prompt, and what the model
says it has read is held against what was sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from optimizer.backends.trouble import Trouble
from optimizer.backends.wire import Line, Piece, ask
from optimizer.presets import preset
from optimizer.prompts import contract
from optimizer.types import BackendOptions, Completion, Prompt, Stop

if TYPE_CHECKING:
    import ollama

TITLE = "Ollama"
LEAVES = "The prompt leaves this server for the Ollama server in the settings of the team, with the source code in it."
ORIGIN: Literal["model"] = "model"
REPAIRS = True
ADDRESS = "http://127.0.0.1:11434"
NEEDS_KEY = False

STOPS: dict[str, Stop] = {"stop": "end", "length": "length"}
CONTEXT_STEP = 1024  # Ollama loads the model anew for every other context size
# Tokenizers take no more than this at once: a word with what stands before it, three digits, signs, white space.
_LEAST = re.compile(r"[^\r\n\w]?[^\W\d_]+|\d{1,3}| ?(?:[^\s\w]|_)+[\r\n]*|\s+")


def outlook(prompt: Prompt, options: BackendOptions) -> str:
    return f"{options.model} answers at {options.access.base_url or ADDRESS}; a large model needs its time."


def complete(prompt: Prompt, options: BackendOptions) -> Completion:
    """Raises Trouble; also when the model has read only some of the prompt."""
    found = ask("ollama", TITLE, options, lambda line: _talk(line, prompt, options), _errors)
    least = least_tokens(prompt.text)
    if found.prompt_tokens is not None and found.prompt_tokens < least:
        raise Trouble(
            "prompt_cut",
            f"{options.model} read {found.prompt_tokens:,} of about {prompt.tokens_estimated:,} prompt tokens; "
            "the answer is not used.",
            "Raise the context length of the Ollama server (OLLAMA_CONTEXT_LENGTH), or show fewer kernels.",
        )
    return found


def models(options: BackendOptions) -> tuple[str, ...]:
    """The models that the server has. Raises Trouble."""
    line = Line(TITLE, options.access, options.patience)
    return line.wait_for(lambda: tuple(each.model or "" for each in _client(line).list().models), _errors())


def context_tokens(prompt: Prompt, output_tokens: int) -> int:
    """What ``num_ctx`` has to be, for the prompt (its estimate is on the high side) and the answer."""
    needed = prompt.tokens_estimated + output_tokens
    return -(-needed // CONTEXT_STEP) * CONTEXT_STEP


def least_tokens(text: str) -> int:
    """A number of tokens that any tokenizer makes of ``text``, with a fifth to spare."""
    return sum(1 for _ in _LEAST.finditer(text)) * 4 // 5


def _errors() -> tuple[type[Exception], ...]:
    import ollama

    return ollama.RequestError, ollama.ResponseError


def _client(line: Line) -> ollama.Client:
    import httpx
    import ollama

    key = line.access.key
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return ollama.Client(line.access.base_url or ADDRESS, headers=headers, **line.client_options(httpx))


def _talk(line: Line, prompt: Prompt, options: BackendOptions) -> Iterator[Piece]:
    known = preset("ollama", options.model)
    output = known.output_limit(options.output_tokens)
    wishes: dict[str, Any] = {"num_ctx": context_tokens(prompt, output), "num_predict": output}
    if known.temperature is not None:
        wishes["temperature"] = known.temperature
    client = _client(line)
    for chunk in client.chat(
        model=options.model,
        messages=[{"role": "user", "content": prompt.text}],
        format=dict(contract()),
        options=wishes,
        stream=True,
    ):
        yield Piece(text=chunk.message.content or "", model=chunk.model or "")
        if chunk.done:
            stop = STOPS.get(chunk.done_reason or "stop")
            note = "" if stop else f"The model ended with {chunk.done_reason!r}."
            yield Piece(
                stop=stop or "empty",
                note=note,
                prompt_tokens=chunk.prompt_eval_count,
                completion_tokens=chunk.eval_count,
            )
