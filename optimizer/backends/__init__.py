"""Who answers a prompt, one module a backend.

A backend takes a prompt and options and returns what came back, as it came: it reads nothing into the text. Trouble
that the user can mend is a UserError; an error of a provider is never an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Literal, Protocol, cast

from optimas_web.errors import UserError
from optimizer.types import BackendOptions, Completion, Prompt

BACKENDS: Mapping[str, str] = {
    "replay": "optimizer.backends.replay",
    "paste": "optimizer.backends.paste",
    "openai": "optimizer.backends.openai",
    "gemini": "optimizer.backends.gemini",
    "anthropic": "optimizer.backends.anthropic",
    "ollama": "optimizer.backends.ollama",
    "openai_compatible": "optimizer.backends.openai_compatible",
}


class Backend(Protocol):
    """What every module listed in ``BACKENDS`` provides.

    ``TITLE`` is what a form shows; ``LEAVES`` tells in a sentence what leaves this server, and to whom; ``ORIGIN`` says
    who answers; ``REPAIRS``: whether a failed gate may be sent back.
    """

    TITLE: str
    LEAVES: str
    ORIGIN: Literal["model", "recorded", "person"]
    REPAIRS: bool

    def outlook(self, prompt: Prompt, options: BackendOptions) -> str:
        """What to expect of ``complete``, in a sentence, without asking anybody. Raises UserError when it would."""
        ...

    def complete(self, prompt: Prompt, options: BackendOptions) -> Completion: ...


class Vendor(Backend, Protocol):
    """A backend that asks a model over the network. ``ADDRESS`` is the vendor's own; empty: a team has to give one.

    The vendor's client is imported by the functions, so that nobody waits for it who does not ask.
    """

    ADDRESS: str
    NEEDS_KEY: bool

    def models(self, options: BackendOptions) -> tuple[str, ...]:
        """The models that the key may ask. Raises Trouble."""
        ...


def backend(name: str) -> Backend:
    """The module behind a name. Raises UserError for a name that is not listed."""
    if name not in BACKENDS:
        raise UserError(f"There is no backend {name}.", f"Choose one of: {', '.join(BACKENDS)}.")
    return cast(Backend, import_module(BACKENDS[name]))


def vendor(name: str) -> Vendor:
    """The backend of that name, which has to be one that asks a model."""
    found = backend(name)
    if found.ORIGIN != "model":
        raise UserError(f"{found.TITLE} asks no vendor.", "It needs neither a key nor an address.")
    return cast(Vendor, found)


def complete(name: str, prompt: Prompt, options: BackendOptions) -> Completion:
    """Asks the named backend."""
    return backend(name).complete(prompt, options)
