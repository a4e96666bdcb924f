"""optimas.toml: how a program is built and run. Read strictly, completed by what the files say, written back.

Pure. Whatever is wrong is a UserError with one sentence that names the line, the table and the key, and a remedy.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optimas_web.errors import UserError
from projects import detect, names
from projects.types import Manifest, ToolchainName, WorkloadSpec

FILE = "optimas.toml"
TOOLCHAINS: tuple[ToolchainName, ...] = ("cuda", "cpu")
KEYS = {
    "project": ("name", "toolchain"),
    "build": ("command", "binary"),
    "workload": ("name", "command", "outputs", "timeout_s", "bytes", "flops"),
    "profile": ("command",),
    "kernels": ("include",),
    "output": ("mask",),
}
MAX_FILE_BYTES = 64 * 1024
MAX_WORKLOADS = 50
MAX_LIST = 100
MAX_TEXT = 2000
MAX_NAME = 100
TIMEOUT_S = (0.1, 3600.0)
MAX_COUNT = 2**63 - 1


def load(files: Mapping[str, bytes]) -> Manifest:
    """The manifest of a snapshot's files (relative path -> content): optimas.toml, and detection for the rest.

    Raises UserError for anything in optimas.toml that is not understood, and for files without a program.
    """
    declared = _Declared.read(files[FILE]) if FILE in files else _Declared("", {})
    chain = declared.toolchain() or detect.toolchain(files)
    command = declared.table("build").text("command")
    binary = declared.binary() or detect.binary(files, command)
    build = command or detect.build_command(files, chain, binary)
    workloads = declared.workloads() or (WorkloadSpec("default", detect.run_command(files, binary)),)
    profile = declared.table("profile").text("command")
    given = {
        "name": declared.name(),
        "toolchain": declared.toolchain(),
        "build_command": command,
        "binary": declared.binary(),
        "workloads": declared.workloads(),
        "profile_command": profile,
    }
    return Manifest(
        name=declared.name() or binary.rpartition("/")[2],
        toolchain=chain,
        build_command=build,
        binary=binary,
        workloads=workloads,
        profile_command=profile or workloads[0].command,
        include_kernels=declared.table("kernels").texts("include"),
        masks=declared.masks(),
        detected=tuple(field for field, value in given.items() if not value),
    )


def dump(manifest: Manifest, without: Collection[str] = ()) -> str:
    """The manifest as an optimas.toml that ``load`` reads back to the same; the fields ``without`` are left out."""

    def said(field: str) -> Any:
        return None if field in without else getattr(manifest, field)

    parts = [
        _table("[project]", name=said("name"), toolchain=said("toolchain")),
        _table("[build]", command=said("build_command"), binary=said("binary")),
        *(_workload_table(workload) for workload in said("workloads") or ()),
        _table("[profile]", command=said("profile_command")),
        _table("[kernels]", include=manifest.include_kernels or None),
        _table("[output]", mask=manifest.masks or None),
    ]
    return "\n".join(part for part in parts if part)


def corrected(found: Manifest, wanted: Manifest) -> str:
    """An optimas.toml that makes ``wanted`` of the files in which ``load`` found ``found``.

    What was detected and not changed is left out, so that it is detected anew in the next version of the files.
    """
    return dump(wanted, [field for field in found.detected if getattr(wanted, field) == getattr(found, field)])


# --- reading ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Table:
    """One table of optimas.toml. ``place`` is how a sentence calls it: [build], [[workload]] number 2."""

    source: str
    place: str
    header: str
    number: int
    values: Mapping[str, Any]

    def wrong(self, key: str, problem: str, hint: str = "") -> UserError:
        line = _line_of(self.source, self.header, self.number, key)
        where = f"{FILE} line {line}" if line else FILE
        return UserError(f"{where}: {key} in {self.place} {problem}.", hint)

    def only(self, keys: Sequence[str]) -> None:
        for key in self.values:
            if key not in keys:
                raise self.wrong(_shown(key), "is not known", f"The keys of {self.place} are {', '.join(keys)}.")

    def text(self, key: str) -> str:
        """A command or a name; empty when not declared."""
        value = self.values.get(key, "")
        if not isinstance(value, str):
            raise self.wrong(key, f"must be text, not {_kind(value)}", f'Write {key} = "..."')
        self._check_text(key, value)
        return value.strip()

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(key, f"must be a list of texts, not {_kind(value)}", f'Write {key} = ["..."]')
        if len(value) > MAX_LIST:
            raise self.wrong(key, f"has more than {MAX_LIST} entries", "Shorten the list.")
        for item in value:
            self._check_text(key, item)
            if not item:
                raise self.wrong(key, "holds an empty text", "Remove it.")
        return tuple(value)

    def seconds(self, key: str, default: float) -> float:
        value = self.values.get(key, default)
        low, high = TIMEOUT_S
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(key, f"must be a number of seconds, not {_kind(value)}", f"Write {key} = {default:g}")
        if not low <= value <= high:
            raise self.wrong(key, f"is {value:g}", f"It must lie between {low:g} and {high:g} seconds.")
        return float(value)

    def count(self, key: str) -> int | None:
        value = self.values.get(key)
        if value is None:
            return None
        whole = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value) and value.is_integer())
        if isinstance(value, bool) or not whole or not 0 < value <= MAX_COUNT:
            raise self.wrong(key, f"must be a whole number above 0, not {_kind(value)}", "Leave it out if not known.")
        return int(value)

    def inside(self, key: str, path: str) -> str:
        """A path or glob below the program's folder."""
        try:
            return names.clean(path)
        except UserError as error:
            raise self.wrong(key, f"must stay inside the program's folder: {error.message.rstrip('.')}") from error

    def _check_text(self, key: str, value: str) -> None:
        if key in self.values and not value.strip() and isinstance(self.values[key], str):
            raise self.wrong(key, "is empty", "Remove the line, so that it is detected, or fill it in.")
        if len(value) > MAX_TEXT:
            raise self.wrong(key, f"is longer than {MAX_TEXT} characters", "Put it into a script or a Makefile.")
        if any(unicodedata.category(char) == "Cc" and char != "\t" for char in value):
            raise self.wrong(key, "holds a line break or a control character", "Write it on one line; join with &&.")


@dataclass(frozen=True, slots=True)
class _Declared:
    """What optimas.toml says."""

    source: str
    tables: Mapping[str, Any]

    @classmethod
    def read(cls, content: bytes) -> _Declared:
        if len(content) > MAX_FILE_BYTES:
            raise UserError(f"{FILE} is larger than {MAX_FILE_BYTES // 1024} KiB.", "Put long commands into scripts.")
        try:
            source = content.decode("utf-8-sig").replace("\r\n", "\n")
            declared = cls(source, tomllib.loads(source))
        except UnicodeDecodeError as error:
            raise UserError(f"{FILE} is not UTF-8, at byte {error.start}.", "Save it as UTF-8.") from error
        except RecursionError as error:
            raise UserError(f"{FILE} nests values too deeply.", "Write plain lists and tables.") from error
        except ValueError as error:
            raise UserError(f"{FILE} is not valid TOML: {error}.", "Mend it at that place.") from error
        declared._check_tables()
        return declared

    def table(self, name: str) -> _Table:
        return _Table(self.source, f"[{name}]", f"[{name}]", 1, self.tables.get(name, {}))

    def name(self) -> str:
        table = self.table("project")
        if len(table.text("name")) > MAX_NAME:
            raise table.wrong("name", f"is longer than {MAX_NAME} characters", "Shorten it.")
        return table.text("name")

    def toolchain(self) -> ToolchainName | None:
        table = self.table("project")
        value = table.text("toolchain")
        if value and value not in TOOLCHAINS:
            raise table.wrong("toolchain", f"is {_shown(value)}", f"Toolchains are {' and '.join(TOOLCHAINS)}.")
        return value if value else None

    def binary(self) -> str:
        value = self.table("build").text("binary")
        return value and self.table("build").inside("binary", value)

    def masks(self) -> tuple[str, ...]:
        table = self.table("output")
        for pattern in table.texts("mask"):
            try:
                hides_everything = re.compile(pattern).fullmatch("")
            except (re.error, OverflowError, RecursionError) as error:
                raise table.wrong("mask", f"holds {_shown(pattern)}, no regular expression: {error}") from error
            if hides_everything:
                raise table.wrong("mask", f"holds {_shown(pattern)}, which fits even nothing", "Name what varies.")
        return table.texts("mask")

    def workloads(self) -> tuple[WorkloadSpec, ...]:
        tables = [_Table(self.source, f"[[workload]] number {number}", "[[workload]]", number, values)
                  for number, values in enumerate(self.tables.get("workload", ()), start=1)]  # fmt: skip
        seen: set[str] = set()
        for table in tables:
            name = table.text("name")
            if name in seen:
                raise table.wrong("name", f"is {_shown(name)}, as in one before", "Give every workload its own name.")
            seen.add(name)
        return tuple(_workload(table) for table in tables)

    def _check_tables(self) -> None:
        for name, value in self.tables.items():
            if name not in KEYS:
                line = _line_of_header(self.source, name)
                known = ", ".join(f"[{key}]" if key != "workload" else "[[workload]]" for key in KEYS)
                raise UserError(f"{FILE}{line}: {_shown(name)} is not known.", f"The tables are {known}.")
            if name != "workload" and not isinstance(value, dict):
                raise UserError(f"{FILE}: {name} must be a table.", f"Write [{name}] on a line of its own.")
            if name == "workload":
                self._check_workload_list(value)
            else:
                self.table(name).only(KEYS[name])

    def _check_workload_list(self, value: object) -> None:
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            line = _line_of_header(self.source, "workload")
            raise UserError(f"{FILE}{line}: workloads are a list of tables.", "Write [[workload]], in double brackets.")
        if not 0 < len(value) <= MAX_WORKLOADS:
            raise UserError(
                f"{FILE}: there are {len(value)} workloads.",
                f"Declare 1 to {MAX_WORKLOADS}, or none, so that one is detected.",
            )


def _workload(table: _Table) -> WorkloadSpec:
    table.only(KEYS["workload"])
    for key in ("name", "command"):
        if key not in table.values:
            raise table.wrong(key, "is missing", f'Add {key} = "..." below [[workload]].')
    name = table.text("name")
    if not re.fullmatch(r"\w[\w.-]{0,63}", name):
        raise table.wrong("name", f"is {_shown(name)}", "Use up to 64 letters, digits, '_', '-' and '.'.")
    return WorkloadSpec(
        name=name,
        command=table.text("command"),
        outputs=tuple(table.inside("outputs", glob) for glob in table.texts("outputs")),
        timeout_s=table.seconds("timeout_s", WorkloadSpec("", "").timeout_s),
        bytes=table.count("bytes"),
        flops=table.count("flops"),
    )


# --- places and words -------------------------------------------------------------------------


def _line_of(source: str, header: str, number: int, key: str) -> int | None:
    """Line of ``key = `` below the ``number``-th ``header``, or of that header when the key is not there."""
    seen, found = 0, None
    for at, line in enumerate(source.split("\n"), start=1):
        text = line.strip()
        if text.startswith("["):
            seen += text.startswith(header)
            if text.startswith(header) and seen == number:
                found = at
        elif seen == number and found and re.match(rf"[\"']?{re.escape(key.strip(chr(39)))}[\"']?\s*=", text):
            return at
    return found


def _line_of_header(source: str, name: str) -> str:
    pattern = re.compile(rf"\s*\[{{0,2}}\s*[\"']?{re.escape(name)}\b")
    at = next((at for at, line in enumerate(source.split("\n"), start=1) if pattern.match(line)), None)
    return f" line {at}" if at else ""


def _shown(text: str) -> str:
    return names.shown(text)


def _kind(value: object) -> str:
    kinds: tuple[tuple[type, str], ...] = (
        (bool, "true or false"), (str, "text"), (list, "a list"), (dict, "a table"), (int, f"{value!s:.40}"),
        (float, f"{value!s:.40}"),
    )  # fmt: skip
    return next((word for kind, word in kinds if isinstance(value, kind)), "a date or time")


# --- writing ----------------------------------------------------------------------------------


def _workload_table(workload: WorkloadSpec) -> str:
    return _table(
        "[[workload]]",
        name=workload.name,
        command=workload.command,
        outputs=workload.outputs or None,
        timeout_s=workload.timeout_s,
        bytes=workload.bytes,
        flops=workload.flops,
    )


def _table(header: str, **values: object) -> str:
    lines = [f"{key} = {_value(value)}" for key, value in values.items() if value is not None]
    return "\n".join([header, *lines, ""]) if lines else ""


def _value(value: object) -> str:
    """A TOML value. A JSON string is a TOML basic string, but for DEL, which ``load`` refuses anyway."""
    writers: dict[type, Callable[[Any], str]] = {
        str: lambda text: json.dumps(text, ensure_ascii=False),
        tuple: lambda items: "[" + ", ".join(_value(item) for item in items) + "]",
        float: lambda number: repr(int(number)) if number.is_integer() else repr(number),
        int: repr,
    }
    return writers[type(value)](value)
