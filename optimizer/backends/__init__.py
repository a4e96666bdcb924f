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


def backend(name: str) -> Backend:
    """The module behind a name. Raises UserError for a name that is not listed."""
    if name not in BACKENDS:
        raise UserError(f"There is no backend {name}.", f"Choose one of: {', '.join(BACKENDS)}.")
    return cast(Backend, import_module(BACKENDS[name]))


def complete(name: str, prompt: Prompt, options: BackendOptions) -> Completion:
    """Asks the named backend."""
    return backend(name).complete(prompt, options)
