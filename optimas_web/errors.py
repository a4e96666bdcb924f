"""The one exception that a person is meant to read.

Every room may import this module; it imports nothing.
"""

from __future__ import annotations


class UserError(Exception):
    """Something the user can mend: one sentence that says what is wrong and where, and a hint that says what to do.

    ``message`` names the file and the line when there is one. ``hint`` may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()
