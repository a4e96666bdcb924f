"""Whatever speaks OpenAI's chat protocol at an address of yours: vLLM, llama.cpp's server, a gateway."""

from __future__ import annotations

from typing import Any, Literal

from optimizer.backends.openai import client, errors, listed, talk
from optimizer.backends.trouble import Trouble
from optimizer.backends.wire import Line, ask
from optimizer.presets import preset
from optimizer.types import BackendOptions, Completion, Prompt

TITLE = "A server that speaks OpenAI's protocol"
LEAVES = "The prompt leaves this server for the address in the settings of the team, with the source code in it."
ORIGIN: Literal["model"] = "model"
REPAIRS = True
ADDRESS = ""
NEEDS_KEY = False
WHO = "The model server"


def outlook(prompt: Prompt, options: BackendOptions) -> str:
    return f"{options.model} answers at {options.access.base_url}."


def complete(prompt: Prompt, options: BackendOptions) -> Completion:
    """Raises Trouble. Such servers know ``max_tokens``, the older name."""
    known = preset("openai_compatible", options.model)
    asked: dict[str, Any] = {"max_tokens": known.output_limit(options.output_tokens)}
    if known.temperature is not None:
        asked["temperature"] = known.temperature
    return ask(
        "openai_compatible",
        WHO,
        options,
        lambda line: talk(client(line, address(options)), prompt, options.model, asked),
        errors,
    )


def models(options: BackendOptions) -> tuple[str, ...]:
    """The models that the server has. Raises Trouble."""
    return listed(Line(WHO, options.access, options.patience), address(options))


def address(options: BackendOptions) -> str:
    """Raises Trouble when nobody has said where the server is."""
    if not options.access.base_url:
        raise Trouble("unreachable", "No address is given for the model server.", "Give one: Settings, team.")
    return options.access.base_url
