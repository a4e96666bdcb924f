"""Callgrind profiles (``callgrind.out.*``): what each source line of a CPU program cost under valgrind's model.

The format is described in chapter "Callgrind Format Specification" of the valgrind manual. One function with costs of
its own becomes one ``Launch``; costs of what it called are its callees' and are not counted twice. Cycles are
estimated as KCachegrind's "Cycle Estimation" does: Ir + 10 Bm + 10 L1m + 100 LLm, where L1m, LLm and Bm are the misses
of the first-level caches, of the last-level cache, and of the branch predictor. It is a model, not a measurement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add
from pathlib import Path

from analysis.names import demangle, short_name, tidy
from analysis.types import CodeCost, Launch, LaunchDetail, Part, Place, Profile, Value
from optimas_web.errors import UserError

PROFILE_AGAIN = "Profile again: valgrind --tool=callgrind --cache-sim=yes ./program (built with -g)."
LONGEST_LINE = 2**20
LAST_LINE = 2**31 - 1
LARGEST_COUNT = 2**64 - 1
CYCLE_WEIGHTS = {
    "Ir": 1,
    **dict.fromkeys(("Bcm", "Bim", "I1mr", "D1mr", "D1mw"), 10),
    **dict.fromkeys(("ILmr", "DLmr", "DLmw"), 100),
}
CYCLES = "estimated_cycles"
CACHEGRIND = "Cachegrind"
PROGRAM_END = "Program termination"
_COMPRESSED = re.compile(r"\((\d+)\)(?:\s+(.*))?$")
_RECURSION = re.compile(r"'\d+$")
"""Callgrind's mark of a function that called itself: it is the same function."""
_FILES = ("fl", "fi", "fe")
_MENTIONED = {"ob": "ob", "cob": "ob", "cfi": "fl", "cfl": "fl", "cfn": "fn", "jfi": "fl", "jfn": "fn"}
_COST_LINE_STARTS = frozenset("0123456789+-*")
_UNKNOWN = "???"

Costs = list[int]
Line = tuple[str, int]  # file, line number; a number below 1 is "not known"


def detect(head: bytes, name: str) -> bool:
    if head.startswith(b"# callgrind format"):
        return True
    return re.search(rb"^events:", head, re.MULTILINE) is not None and (
        re.search(rb"^(positions:|creator: callgrind|desc:|fl=|fn=)", head, re.MULTILINE) is not None
    )


def parse(path: Path) -> Profile:
    """Read a profile; several parts in one file are added up.

    Raises UserError when a line cannot be understood or nothing was counted.
    """
    reader = _Reader(path.name)
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        for line in iter(partial(file.readline, LONGEST_LINE), ""):
            reader.read_line(line)
    return _profile(path, reader)


@dataclass(frozen=True, slots=True)
class _Function:
    """Functions of one name are told apart by their files."""

    name: str
    file: str


@dataclass
class _Reader:
    """The state that the lines of a file change one after another."""

    file_name: str
    number: int = 0
    events: list[str] = field(default_factory=list)
    header: dict[str, str] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    costs: dict[_Function, dict[Line, Costs]] = field(default_factory=dict)
    totals: Costs = field(default_factory=list)
    summary: Costs = field(default_factory=list)
    _names: dict[str, dict[str, str]] = field(default_factory=lambda: {"ob": {}, "fl": {}, "fn": {}})
    _line_column: int | None = 0
    _columns: int = 1
    _line: int = 0
    _file: str = _UNKNOWN
    _lines: dict[Line, Costs] | None = None
    _function: _Function | None = None
    _after_call: bool = False

    def read_line(self, line: str) -> None:
        self.number += 1
        if line[0] in _COST_LINE_STARTS:
            self._cost_line(line.split())
            return
        if len(line) >= LONGEST_LINE:
            raise self._error("is too long")
        line = line.strip()
        if not line or line.startswith("#"):
            return
        if re.match(r"[a-z]+=", line):
            self._specification(*line.split("=", 1))
        elif ":" in line:
            self._header_line(*line.split(":", 1))
        else:
            raise self._error("is neither a header, a position nor a cost")

    def _error(self, problem: str) -> UserError:
        return UserError(f"{self.file_name}, line {self.number} {problem}.", PROFILE_AGAIN)

    def _header_line(self, key: str, value: str) -> None:
        value = value.strip()
        if key == "events":
            self._set_events(value.split())
        elif key == "positions":
            columns = value.split()
            self._columns = len(columns)
            self._line_column = columns.index("line") if "line" in columns else None
        elif key == "totals":
            self.totals = _added(self.totals, self._counts(value.split()))
        elif key == "summary":
            self.summary = _added(self.summary, self._counts(value.split()))
        elif key == "desc":
            name, _, text = value.partition(":")
            self.descriptions[name.strip()] = text.strip()
        elif key == "part":
            self.parts.append(value)
        elif key in ("cmd", "creator", "thread", "pid"):
            self.header[key] = value

    def _set_events(self, events: list[str]) -> None:
        if self.events and self.events != events:
            raise self._error("changes the counted events in the middle of the file")
        self.events = events

    def _specification(self, key: str, value: str) -> None:
        if key == "calls":
            self._after_call = True
        elif key in _FILES:
            self._file = self._name("fl", value)
        elif key == "fn":
            self._function = _Function(_RECURSION.sub("", self._name("fn", value)), self._file)
            self._lines = None
        elif key in _MENTIONED:
            self._name(_MENTIONED[key], value)

    def _name(self, kind: str, value: str) -> str:
        """A name may be given a number at its first use and be only that number from then on."""
        value = value.strip()
        found = _COMPRESSED.match(value)
        if not found:
            return value
        number, name = found.groups()
        if name:
            self._names[kind][number] = name
        elif number not in self._names[kind]:
            raise self._error(f"uses name ({number}), which no line before defines")
        return self._names[kind][number]

    def _cost_line(self, words: list[str]) -> None:
        if len(words) < self._columns:
            raise self._error("is cut off")
        if self._line_column is not None:
            self._line = self._position(words[self._line_column])
        if self._after_call:  # what the callee cost, all its own callees included
            self._after_call = False
            return
        if len(words) > self._columns:
            self._add(self._counts(words[self._columns :]))

    def _position(self, word: str) -> int:
        if word == "*":
            return self._line
        try:
            line = int(word, 16) if word.startswith("0x") else int(word)
        except ValueError:
            raise self._error(f"has {word[:40]!r} where a line number belongs") from None
        if word[0] in "+-":
            line += self._line
        if abs(line) > LAST_LINE:
            raise self._error("has a line number that no file reaches")
        return line

    def _counts(self, words: Sequence[str]) -> Costs:
        """One count an event; counts that a line leaves out are zeros."""
        try:
            counts = list(map(int, words))
        except ValueError:
            raise self._error("has something else than numbers among its counts") from None
        missing = len(self.events) - len(counts)
        if missing < 0:
            raise self._error(f"has {len(counts)} counts for {len(self.events)} events")
        if counts and not 0 <= min(counts) <= max(counts) <= LARGEST_COUNT:
            raise self._error("has a negative count or one of more than 64 bits")
        return counts + [0] * missing

    def _add(self, counts: Costs) -> None:
        if self._lines is None:
            if self._function is None:
                raise self._error("has costs, but no line before names the function")
            self._lines = self.costs.setdefault(self._function, {})
        line = (self._file, self._line)
        old = self._lines.get(line)
        self._lines[line] = counts if old is None else _added(old, counts)


def _added(old: Costs, new: Costs) -> Costs:
    return list(map(add, old, new)) if old else new


def _profile(path: Path, reader: _Reader) -> Profile:
    if "Ir" not in reader.events:
        counted = ", ".join(reader.events) or "nothing"
        raise UserError(f"{path.name} counts {counted}, not the instructions of a program (Ir).", PROFILE_AGAIN)
    launches = tuple(_launches(reader))
    if not launches:
        raise UserError(f"{path.name} has no costs: nothing was counted.", PROFILE_AGAIN)
    return Profile(
        format="callgrind",
        tool=_tool(reader),
        device=None,
        clocks_locked=None,
        cost_unit="cycle",
        whole_run=not _partial(reader),
        launches=launches,
        part=_part(reader) if _partial(reader) else None,
        command=reader.header.get("cmd") or None,
        warnings=tuple(_warnings(reader)),
        versions={name: text for name, text in reader.descriptions.items() if name.endswith("cache") and text},
    )


def _tool(reader: _Reader) -> str:
    """Cachegrind does not name itself; it ends its files with a summary where Callgrind writes totals."""
    creator = reader.header.get("creator")
    return creator.replace("callgrind-", "Callgrind ") if creator else CACHEGRIND


def _launches(reader: _Reader) -> Iterator[Launch]:
    for index, (function, lines) in enumerate(reader.costs.items()):
        metrics = _named(reader.events, reduce(_added, lines.values()))
        name = tidy(demangle(function.name))
        yield Launch(
            index=index,
            mangled=function.name,
            name=name,
            short_name=short_name(name),
            grid=None,
            block=None,
            cost=float(metrics[CYCLES]),
            load=_loader(function.name, reader.events, metrics, lines),
            file=None if function.file == _UNKNOWN else function.file,
        )


def _loader(
    function: str, events: list[str], metrics: dict[str, int], lines: dict[Line, Costs]
) -> Callable[[], LaunchDetail]:
    def load() -> LaunchDetail:
        code = tuple(
            CodeCost(function, 0, None, _places(*line), _named(events, counts)) for line, counts in lines.items()
        )
        values: dict[str, Value] = {**metrics}
        return LaunchDetail(values, code)

    return load


def _places(file: str, line: int) -> tuple[Place, ...]:
    return (Place(file, line),) if line > 0 and file != _UNKNOWN else ()


def _named(events: list[str], counts: Costs) -> dict[str, int]:
    named = dict(zip(events, counts, strict=True))
    named[CYCLES] = sum(CYCLE_WEIGHTS.get(event, 0) * count for event, count in named.items())
    return named


def _partial(reader: _Reader) -> bool:
    """Whether the file holds one thread of several, or not all parts of a run."""
    part = _part(reader)
    return part.thread > 0 or part.numbers[0] != 1 or not part.last


def _part(reader: _Reader) -> Part:
    trigger = reader.descriptions.get("Trigger", PROGRAM_END)
    return Part(
        process=reader.header.get("pid", ""),
        thread=_whole_number(reader.header.get("thread", "")),
        numbers=tuple(map(_whole_number, reader.parts)) or (1,),
        last=trigger == PROGRAM_END,
    )


def _whole_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _warnings(reader: _Reader) -> Iterator[str]:
    if "D1mr" not in reader.events:
        yield (
            "Caches were not simulated: cycles are estimated from instructions alone. "
            "Profile with --cache-sim=yes to see cache misses."
        )
    if _partial(reader):
        yield "The file holds one part or one thread of a run: shares are of that part."
    counted = reduce(_added, (counts for lines in reader.costs.values() for counts in lines.values()))
    expected = reader.totals or reader.summary
    if not (reader.totals or (reader.summary and _tool(reader) == CACHEGRIND)):
        yield "The file does not end with its totals: it may be cut off."
    if expected and expected != counted:
        yield f"The lines add up to {counted[0]} {reader.events[0]}, but the file says {expected[0]}."
