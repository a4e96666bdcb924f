"""What is to be judged: edits that went through gates 1-3, and what they were allowed to change. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.source import function_at, functions
from analysis.types import Evidence
from evaluation import patch
from optimizer.check import check_edits
from optimizer.regions import regions
from optimizer.types import Answer, Checked, Region


@dataclass(frozen=True, slots=True)
class Attempt:
    """``kernels``: the functions that were to be changed; ``regions``: where they stand; ``offered``: the evidence."""

    checked: Checked
    kernels: tuple[str, ...]
    regions: tuple[Region, ...]
    offered: tuple[Evidence, ...] = ()

    def candidate(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """The program's files with the edits made; as they were when the edits could not be read."""
        before, after = self.checked.before, self.checked.after
        changed = {path: text for path, text in after.items() if text != before[path]}
        return {**files, **{path: text.encode("utf-8", "surrogateescape") for path, text in changed.items()}}


def from_patch(text: str, sources: Mapping[str, str], kernels: Sequence[str], because: str) -> Attempt:
    """A unified diff against ``sources``, allowed to change ``kernels``.

    Without kernels these are the functions that it touches, since nobody said otherwise: the rules then cannot tell
    whether it changed the right ones, but signature, harness and all others still hold. ``because`` says where the
    kernels come from. The guardrails gate names the choice.
    """
    answer = patch.read(text, sources)
    named = tuple(kernels) or touched(answer, sources)
    allowed = regions(sources, named) if named else ()
    checked = check_edits(answer, sources, (), allowed, named)
    why = because if kernels else "for want of a report and of [kernels], the functions that the patch touches"
    note = f" Changes were allowed in {', '.join(named) or 'no function'}: {why}."
    gates = tuple(
        replace(gate, reason=gate.reason + note) if gate.name == "guardrails" else gate for gate in checked.gates
    )
    return Attempt(replace(checked, gates=gates), named, allowed)


def touched(answer: Answer, sources: Mapping[str, str]) -> tuple[str, ...]:
    """Qualified names of the functions that hold the edits' first lines; ``main`` is never one that may be changed."""
    found = (function_at(functions(sources[edit.file]), edit.start_line) for edit in answer.edits)
    return tuple(dict.fromkeys(each.qualified for each in found if each and each.name != "main"))
