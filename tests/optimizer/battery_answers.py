"""Programs to be changed, and answers that change them: any new text, written in any of the forms that are read."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from random import Random

from analysis.source import Function, functions
from optimizer.check import check_edits
from optimizer.regions import regions
from optimizer.types import Checked

HERE = Path(__file__).parent / "battery"


@dataclass(frozen=True)
class Program:
    """One file; ``open_`` are the functions that may change."""

    file: str
    text: str
    open_: tuple[str, ...]

    def function(self, name: str) -> Function:
        (found,) = [each for each in functions(self.text) if name in (each.qualified, each.name)]
        return found

    def body(self, name: str) -> str:
        """From the opening bracket to the closing one."""
        return self.text[self.function(name).body : self.function(name).end]

    def head(self, name: str) -> str:
        return self.text[self.function(name).start : self.function(name).body]


RIPPLE = Program("ripple.cu", (HERE / "ripple.cu").read_text(), ("ripple", "pond::settle", "total"))
ORBIT = Program("orbit.cpp", (HERE / "orbit.cpp").read_text(), ("pull", "multiply"))
HONEST: Mapping[str, Sequence[Mapping[str, str]]] = tomllib.loads((HERE / "honest.toml").read_text())


def judged(rng: Random, program: Program, after: str) -> Checked:
    """``after`` as an answer in one of the forms, taken through gates 1 to 3."""
    form = rng.choice((_as_json, _as_json, _as_diff, _as_blocks, _as_file))
    sources = {program.file: program.text}
    return check_edits(
        form(rng, program, after), sources, ("S1",), regions(sources, program.open_), program.open_, None
    )


def _as_json(rng: Random, program: Program, after: str) -> str:
    start, end, old, new = _changed(program.text, after)
    edit = {"file": program.file, "start_line": start, "end_line": end, "original_text": old, "new_text": new}
    answer = {"summary": "", "edits": [edit | {"evidence": ["S1"], "rationale": "", "expect": []}], "not_applied": []}
    text = json.dumps(answer, indent=rng.choice((None, 1)), ensure_ascii=rng.random() < 0.5)
    return rng.choice((text, f"```json\n{text}\n```", f"<think>\nperhaps\n</think>\n{text}"))


def _as_diff(rng: Random, program: Program, after: str) -> str:
    old, new = (text.split("\n")[:-1] for text in (program.text, after))
    lines = unified_diff(old, new, f"a/{program.file}", f"b/{program.file}", lineterm="", n=rng.choice((2, 3, 8)))
    return "Evidence: S1\n" + "\n".join(lines) + "\n"


def _as_blocks(rng: Random, program: Program, after: str) -> str:
    start, end, _, _ = _changed(program.text, after)
    old, new = program.text.split("\n"), after.split("\n")
    first, last = max(1, start - 3), end + 3
    shift = len(new) - len(old)
    before, behind = old[first - 1 : last], new[first - 1 : last + shift]
    block = ["<<<<<<< SEARCH", *before, "=======", *behind, ">>>>>>> REPLACE"]
    return "\n".join(["Evidence: S1", program.file, *block]) + "\n"


def _as_file(rng: Random, program: Program, after: str) -> str:
    return f"Evidence: S1\n\n{program.file}\n````cpp\n{after}````\n"


def _changed(before: str, after: str) -> tuple[int, int, str, str]:
    """The lines that differ as one edit; for an insertion the line before it is the original text."""
    old, new = before.split("\n"), after.split("\n")
    first = next(n for n in range(len(old)) if old[n] != new[n])
    most = min(len(old), len(new)) - first
    same = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
    last = len(old) - same
    text = "".join(f"{line}\n" for line in new[first : len(new) - same])
    kept = old[first:last] or old[first - 1 : first]
    return first + 1, last, "".join(f"{line}\n" for line in kept), text


# --- new texts ---------------------------------------------------------------------------------


def name(rng: Random) -> str:
    return rng.choice(("spare", "carry", "lift", "depth", "bonus")) + rng.choice(("", "_", "2", "Now"))


def filled(rng: Random, template: str) -> str:
    """``@n`` becomes a new name and ``@k`` a number; now and then a comment or a blank line comes in front."""
    text = template.replace("@n", name(rng)).replace("@k", str(rng.randint(2, 60)))
    return rng.choice(("", "", "/* first */ ", "\n    ")) + text


def inserted(rng: Random, program: Program, statement: str, into: str = "") -> str:
    """The program with a statement more between two statements of one of its open functions."""
    found = program.function(into or rng.choice(program.open_))
    body = program.text[found.body : found.end]
    places = [found.body + each.start() for each in re.finditer(r"(?<=[;{}]\n)(?= +[^\s}])", body)]
    at = rng.choice(places)
    return f"{program.text[:at]}    {statement}\n{program.text[at:]}"


def replaced(program: Program, old: str, new: str) -> str:
    assert program.text.count(old) >= 1, old
    return program.text.replace(old, new, 1)


def meant(rng: Random, changes: Sequence[Mapping[str, str]]) -> tuple[Program, str]:
    """The program that an entry of ``honest.toml`` is about, and its text with all its changes."""
    (program,) = [each for each in (RIPPLE, ORBIT) if each.file == changes[0]["file"]]
    chosen = {"@n": name(rng), "@u": str(rng.choice((2, 3, 4, 8))), "@t": str(rng.choice((8, 16, 32)))}
    after = program.text
    for change in changes:
        old, new = change.get("old") or program.body(change["body"]), change["new"]
        for mark, value in chosen.items():
            new = new.replace(mark, value)
        assert old in after, old
        after = after.replace(old, new, 1)
    return program, after
