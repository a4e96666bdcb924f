"""``./optimas manage`` starts the stores only for commands that need them."""

from __future__ import annotations

import pytest

from optimas_web.supervisor import needs_rows, needs_stores


@pytest.mark.parametrize("command", ["analyze", "prompt", "check_answer", "evaluate"])
def test_commands_about_files_run_without_stores(command):
    assert not needs_stores([command, "--format", "json"])


@pytest.mark.parametrize("command", ["migrate", "shell", "sweep", "prepare", "optimize", "run_samples"])
def test_commands_about_rows_get_the_stores(command):
    assert needs_stores([command])


@pytest.mark.parametrize("arguments", [[], ["--help"], ["no_such_command"]])
def test_nothing_is_started_where_there_is_no_command(arguments):
    assert not needs_stores(arguments)


@pytest.mark.parametrize(
    ("command", "needs"), [("optimize", True), ("run_samples", True), ("migrate", False), ("analyze", False)]
)
def test_commands_on_rows_find_the_tables_made(command, needs):
    assert needs_rows([command]) is needs
