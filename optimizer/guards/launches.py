"""Launch configurations stay, unless a project opens them: grids and blocks are half of what makes a kernel fast.

While this rule does not block, ``region`` and ``harness`` look past the configurations of the selected kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from optimizer.launches import launches, unconfigured
from optimizer.structure import changed_files, original_line
from optimizer.types import GuardContext, Severity, Violation

RULE = "launches"
DEFAULT: Severity = "block"
WORDS = "Leave launch configurations (<<<...>>>) as they are."


def check(before: Mapping[str, str], after: Mapping[str, str], context: GuardContext) -> list[Violation]:
    return [each for file in changed_files(before, after) for each in _file(file, before[file], after[file])]


def settled(text: str, context: GuardContext) -> str:
    """The text without what an answer may change outside the functions that are open to it."""
    if context.severities.get(RULE, DEFAULT) == "block":
        return text
    return unconfigured(text, {region.function.split("<")[0].split("::")[-1] for region in context.regions})


def _file(file: str, before: str, after: str) -> Iterator[Violation]:
    """Launches are paired by order. Where one is added or taken out the rule ``harness`` says so."""
    old, new = launches(before), launches(after)
    if [each.name for each in old] != [each.name for each in new]:
        return
    for one, two in zip(old, new, strict=True):
        if one.configuration != two.configuration:
            line = original_line(before, after, two.line)
            message = (
                f"The launch configuration of {one.name} changes from `<<<{one.configuration}>>>` to "
                f"`<<<{two.configuration}>>>` (line {line} of {file}). Put it back."
            )
            yield Violation(RULE, DEFAULT, file, line, message)
