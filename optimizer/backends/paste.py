"""A person carries the prompt to wherever they like and brings the answer back."""

from __future__ import annotations

from typing import Literal

from optimas_web.errors import UserError
from optimizer.types import BackendOptions, Completion, Prompt

TITLE = "Paste an answer"
LEAVES = "Nothing leaves this server by itself: you copy the prompt and decide whom you show it to."
ORIGIN: Literal["person"] = "person"
REPAIRS = True


def outlook(prompt: Prompt, options: BackendOptions) -> str:
    return "The run waits until somebody pastes an answer, as long as it takes."


def complete(prompt: Prompt, options: BackendOptions) -> Completion:
    """The pasted text as it is. Raises UserError while there is none: waiting for it is a state of the run."""
    if options.text is None:
        raise UserError(
            "No answer has been pasted yet.", "Copy the prompt, ask a model or a person, paste what they say."
        )
    return Completion(options.text, "end" if options.text.strip() else "empty", options.model or "pasted")
