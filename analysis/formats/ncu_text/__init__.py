"""What Nsight Compute prints as text: the CSV pages ``raw``, ``details`` and ``source``, and the console.

The first pass finds where each launch lies and how long it took; ``Launch.load`` reads the rest of one launch again
from the file, so that nothing but one launch is held. Lines of the program, of ncu and of the shell may stand
anywhere between the rows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path

from analysis.formats.ncu_text.launches import DETAILS, RAW, SOURCE, Detail, Found, Scan, names
from analysis.formats.ncu_text.lines import Rows, Text, codec_of, decoded
from analysis.formats.ncu_text.messages import PROFILE_AGAIN, without_launches
from analysis.formats.ncu_text.numbers import Numbers
from analysis.formats.ncu_text.scan import scan
from analysis.formats.ncu_text.tables import MOST_INVOCATIONS
from analysis.formats.units import unit
from analysis.types import Device, Launch, LaunchDetail, Profile
from optimas_web.errors import UserError

PRINT_AGAIN = "Print it again without a locale: LC_ALL=C ncu --import report.ncu-rep --csv --page raw > raw.csv"
MOST_NULS = 0.01
"""More of them are in no text, whatever some of its lines look like."""
_SIGNS = re.compile(
    r"^==(PROF|ERROR|WARNING)== "
    r"|^\"?ID\"?[,;\t]\"?Process ID|^[^\n]*\"?Process ID\"?[,;\t][^\n]*\"?Kernel Name\"?[,;\t]"
    r"|^[^\n]*\"?Kernel Name\"?[,;\t][^\n]*(\"?Metric Name\"?[,;\t]|__)"
    r"|^\"(Kernel Name|File Path|File Name)\"[,;\t]"
    r"|^(Kernel Name|File Path|File Name)[,;\t][^\n]*\n(Address|Function Name|Line No|#)[,;\t]"
    r"|^\"?(#\"?[,;\t]\"?)?(Address|Line No)\"?[,;\t]\"?Source\"?([,;\t]|$)"
    r"|^\"?(Session|Launch|Device) Attribute\"?,"
    r"|^ {1,4}\S[^\n]*, (Context \d+, Stream \d+|Device \d+, CC \d)",
    re.MULTILINE,
)
_DISPLAY_NAME = "device__attribute_display_name"
_ATTRIBUTE = "device__attribute_"


def detect(head: bytes, name: str) -> bool:
    codec = codec_of(head)
    if codec == "utf-8" and head.count(0) > len(head) * MOST_NULS:
        return False
    return _SIGNS.search(decoded(head, codec).replace("\r\n", "\n")) is not None


def parse(path: Path) -> Profile:
    """Read a print. The file must stay where it is as long as launches are loaded.

    Raises UserError when it holds no launch, or when it cannot be told whether a comma is a decimal sign.
    """
    try:
        with path.open("rb") as file:
            text = Text(path, codec_of(file.read(4)))
        found = scan(text)
    except OSError as error:
        raise UserError(f"{path.name} cannot be read: {error.strerror}.") from error
    if not found.found:
        raise without_launches(found)
    if found.numbers.decimal is None and found.numbers.doubtful:
        raise _ambiguous(found)
    joined = _joined(found)
    launches = tuple(_launches(text, found, joined))
    return Profile(
        format="ncu_text",
        tool="Nsight Compute",
        device=_device(found, launches[0]),
        clocks_locked=found.clocks_locked,
        cost_unit="ns",
        whole_run=False,
        launches=launches,
        sources={file: _text(lines) for file, lines in found.sources.items()},
        warnings=tuple(_warnings(found, joined)),
    )


def _ambiguous(found: Scan) -> UserError:
    return UserError(
        f"{found.file}: {found.numbers.doubtful} could be a thousand and more or a number with three decimals, and no "
        "other number of the file tells which.",
        PRINT_AGAIN,
    )


def _launches(text: Text, scanned: Scan, joined: list[Found]) -> Iterator[Launch]:
    index = 0
    for found in joined:
        mangled, name, short = names(found.name)
        load = partial(_load, text, scanned.numbers, found)
        shared = cache(load) if found.count > 1 else load
        cost = _cost(scanned.numbers, found)
        for _ in range(found.count):
            yield Launch(index, mangled, name, short, found.grid, found.block, cost, shared)
            index += 1


def _cost(numbers: Numbers, found: Found) -> float | None:
    return numbers.number(found.duration.cell, unit(found.duration.unit)) if found.duration else None


def _load(text: Text, numbers: Numbers, found: Found) -> LaunchDetail:
    """Read one launch again. Raises UserError when the file is gone."""
    detail = Detail(numbers)
    try:
        for part in found.parts:
            part.page.decode(iter(Rows(text.lines(part.start, part.end), part.page.delimiter)), found.key, detail)
    except OSError as error:
        raise UserError(f"{text.path.name} cannot be read again: {error.strerror}.", PROFILE_AGAIN) from error
    return LaunchDetail(
        detail.metrics, tuple(detail.code), warnings=tuple(detail.warnings), findings=tuple(detail.findings)
    )


def _text(lines: Mapping[int, str]) -> str:
    """The lines that a page shows, each at its number, the others empty."""
    return "".join(f"{lines.get(number, '')}\n" for number in range(1, max(lines) + 1))


def _device(scanned: Scan, first: Launch) -> Device | None:
    attributes = {name: value for name, value in first.load().metrics.items() if name.startswith(_ATTRIBUTE)}
    capability = next((each for each in scanned.devices.values() if each), None)
    name = attributes.get(_DISPLAY_NAME)
    if name is None and capability is None:
        return None
    return Device(str(name) if name is not None else None, capability, attributes)


def _warnings(scanned: Scan, joined: list[Found]) -> Iterator[str]:
    yield from scanned.warnings
    if scanned.unsaid:
        yield f"{scanned.unsaid} more problems of this kind are not listed."
    if scanned.foreign:
        yield f"{_lines(scanned.foreign)} of {scanned.file} belong to no table and were passed over."
    if scanned.repeated:
        yield f"{_lines(scanned.repeated)} of {scanned.file} say again what another one says, and count once."
    if len(scanned.devices) > 1:
        yield f"The launches ran on {len(scanned.devices)} devices; the first is shown."
    for found in joined:
        if found.count > 1:
            most = ", at the most that are counted" if found.count == MOST_INVOCATIONS else ""
            yield f"{names(found.name)[1]}: printed as the average of {found.count:,} launches{most}, not one by one."
    for number, several in _contradictions(scanned):
        told = " and ".join(sorted(several))
        yield f"ID {number} is {told} in different tables: they are kept apart as different launches."


def _contradictions(scanned: Scan) -> Iterator[tuple[str, set[str]]]:
    """IDs that two tables give to different kernels, as a filter on kernels makes them."""
    if not {RAW, DETAILS} <= scanned.pages:
        return
    several: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for found in scanned.by_key.values():
        several[found.key[:2]].add(names(found.name)[2])
    yield from ((key[0], told) for key, told in several.items() if len(told) > 1)


def _lines(count: int) -> str:
    return f"{count:,} line" if count == 1 else f"{count:,} lines"


def _joined(scanned: Scan) -> list[Found]:
    """Blocks of the source page have no ID. They are joined to the launches of the other tables when both have the
    same kernels in the same order, and stand apart otherwise."""
    tabled = [each for each in scanned.found if each.parts[0].page.kind in (RAW, DETAILS)]
    blocks = [each for each in scanned.found if each.parts[0].page.kind == SOURCE]
    if not tabled or not blocks:
        return scanned.found
    if [each.name for each in tabled] != [each.name for each in blocks]:
        scanned.warn("The source page does not list the same launches as the other tables: its counts stand apart.")
        return scanned.found
    for launch, block in zip(tabled, blocks, strict=True):
        launch.parts += block.parts
    return [each for each in scanned.found if each.parts[0].page.kind != SOURCE]
