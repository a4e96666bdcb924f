"""Does our reader of a report say what ncu itself prints of it? Value by value.

    ncu --import R.ncu-rep --page raw --csv --print-units base                > raw.csv
    ncu --import R.ncu-rep --page source --csv --print-source sass            > sass.csv
    ncu --import R.ncu-rep --page source --csv --print-source cuda,sass       > cuda_sass.csv
    python -m benchmarks.ncu_agreement R.ncu-rep --raw raw.csv --sass sass.csv --cuda-sass cuda_sass.csv

Prints may be gzipped. Exit code 1 when a value disagrees without an explanation.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from analysis.formats import read
from analysis.formats.ncu_text.columns import cost_name
from analysis.names import tidy
from analysis.types import CodeCost, Launch, Place, Profile, Value

Rows = list[list[str]]
Costs = Mapping[str, float]

DROPPED = {"Process ID", "Process Name", "Host Name", "Context", "Stream", "Device"}
# Kinds of memory access are numbers in the report and words in print; 0 is printed as nothing.
MEMORY_KINDS = {
    "Address Space": ("memory_type", {0: "", 4: "Global", 16: "Shared"}),
    "Access Operation": ("memory_access_type", {0: "", 2: "Load", 4: "Store", 8: "Atomic"}),
    "Access Size": ("memory_access_size_type", {0: ""}),
}
# ncu lists the lines that have a row at the instruction's address; callers of inlined code often have none there.
CALLERS = "caller of inlined code, known from the inline stack, that ncu leaves out"
EVICT_TYPE = "smsp__sass_inst_executed_memdesc_explicit_evict_type"


@dataclass
class Tally:
    """``explained``: values that cannot be compared as they are, by reason. ``disagreed``: one sentence each."""

    agreed: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    disagreed: list[str] = field(default_factory=list)

    def note(self, same: bool, where: str, printed: object, ours: object) -> None:
        if same:
            self.agreed += 1
        else:
            self.disagreed.append(f"{where}: ncu prints {printed!r}, we read {ours!r}")


def same_number(printed: str, ours: float) -> bool:
    """Equal to the last printed digit. ncu puts commas between thousands."""
    digits = printed.replace(",", "")
    try:
        value = float(digits)
    except ValueError:
        return False
    decimals = len(digits.partition(".")[2])
    return abs(value - ours) <= 0.5 * 10**-decimals * (1 + 1e-6) + 1e-12 * abs(ours)


# --- the raw page ------------------------------------------------------------------------------


def compare_raw(profile: Profile, rows: Rows) -> Tally:
    """Every cell of the raw page: names, sizes, and all metrics in base units."""
    tally = Tally()
    header, units, *body = rows
    if any(units[:5]):
        raise SystemExit("the raw page has no row of units: print it with --print-units base")
    tally.note(len(body) == len(profile.launches), "number of launches", len(body), len(profile.launches))
    for launch, row in zip(profile.launches, body, strict=False):
        metrics = launch.load().metrics
        for name, cell in zip(header, row, strict=True):
            _raw_cell(tally, launch, profile, metrics, name, cell)
        for name in set(metrics) - set(header):
            tally.disagreed.append(f"launch {launch.index}: {name} is not on ncu's page")
    return tally


def _raw_cell(
    tally: Tally, launch: Launch, profile: Profile, metrics: Mapping[str, Value], name: str, cell: str
) -> None:
    where = f"launch {launch.index}, {name}"
    heads = _head_cells(launch, profile)
    if name in DROPPED:
        tally.explained["names of processes, hosts and contexts are dropped on purpose"] += 1
    elif name in heads:
        printed = tidy(cell) if name == "Kernel Name" else cell
        tally.note(printed == heads[name], where, printed, heads[name])
    elif cell == "":
        tally.note(metrics.get(name) in (None, ""), where, cell, metrics.get(name))
    else:
        ours = metrics.get(name)
        tally.note(_same_value(cell, ours), where, cell, ours)


def _head_cells(launch: Launch, profile: Profile) -> dict[str, str]:
    capability = profile.device.compute_capability if profile.device else None
    return {
        "ID": str(launch.index),
        "Kernel Name": launch.name,
        "Block Size": str(launch.block),
        "Grid Size": str(launch.grid),
        "CC": ".".join(map(str, capability or ())),
    }


def _same_value(cell: str, ours: Value) -> bool:
    if ours is None:
        return cell in ("no data", "nan", "n/a", "inf", "-inf")
    if isinstance(ours, str):
        return cell == ours
    return same_number(cell, ours)


# --- the source page by instruction ---------------------------------------------------------------


def compare_sass(profile: Profile, rows: Rows) -> Tally:
    """Every count of every instruction, and the instruction's name."""
    tally = Tally()
    blocks = _without_repeats(_sass_blocks(rows))
    tally.note(len(blocks) == len(profile.launches), "number of launches", len(blocks), len(profile.launches))
    for launch, block in zip(profile.launches, blocks, strict=False):
        _sass_block(tally, launch, block)
    return tally


def _sass_blocks(rows: Rows) -> Iterator[Rows]:
    block: Rows = []
    for row in rows:
        if row[0] == "Kernel Name" and block:
            yield block
            block = []
        block.append(row)
    if block:
        yield block


def _without_repeats(blocks: Iterable[Rows]) -> list[Rows]:
    """ncu 2025.3 prints every launch twice; two launches never agree in all their samples."""
    kept: list[Rows] = []
    for block in blocks:
        if not kept or kept[-1] != block:
            kept.append(block)
    return kept


def _sass_block(tally: Tally, launch: Launch, block: Rows) -> None:
    (_, name, *_), header, *rows = block
    tally.note(tidy(name) == launch.name, f"launch {launch.index}", name, launch.name)
    start = int(rows[0][0], 16)
    code = {cost.offset: cost for cost in launch.load().code if cost.function == launch.mangled}
    for row in rows:
        offset = int(row[0], 16) - start
        cost = code.pop(offset, None)
        where = f"launch {launch.index}, instruction {offset:#x}"
        if cost is None:
            never = all(cell in ("0", "-", "", "n/a") for cell in row[2:])
            tally.note(never, where, row[2:], "nothing counted")
            continue
        _mnemonic(tally, where, row[1], cost)
        for title, cell in zip(header[2:], row[2:], strict=True):
            _source_cell(tally, f"{where}, {title}", title, cell, cost.costs)
    for cost in code.values():
        tally.disagreed.append(f"launch {launch.index}, instruction {cost.offset:#x} is not on ncu's page")


def _mnemonic(tally: Tally, where: str, text: str, cost: CodeCost) -> None:
    words = re.sub(r"^@!?U?P\w+", "", text.strip()).split()
    printed = words[0].rstrip(";").partition(".")[0]
    if (cost.mnemonic or "?").startswith("?"):
        tally.explained["opcode without a name in our table"] += 1
    else:
        tally.note(cost.mnemonic == printed, where, printed, cost.mnemonic)


def _source_cell(tally: Tally, where: str, title: str, cell: str, costs: Costs) -> None:
    if title in MEMORY_KINDS:
        metric, words = MEMORY_KINDS[title]
        code = costs.get(metric)
        ours = "-" if code is None else words.get(int(code), f"{code:.0f}")
        tally.note(cell == ours, where, cell, ours)
    elif title == "L2 Explicit Evict Policies":
        set_here = bool(costs.get(EVICT_TYPE))
        tally.note(set_here == (cell not in ("", "-")), where, cell, set_here)
    else:
        value = _count(title, costs)
        if value is None:
            tally.disagreed.append(f"{where}: no count of ours stands for this column")
        else:
            tally.note(same_number("0" if cell == "-" else cell, value), where, cell, value)


def _count(title: str, costs: Costs) -> float | None:
    """Our count for a column of ncu's source page; what was not counted at an instruction is 0 there."""
    if title == "Warp Stall Sampling (Not-issued Samples)":
        return sum(value for name, value in costs.items() if name.endswith("_not_issued"))
    name = cost_name(title)
    return None if name is None else costs.get(name, 0)


# --- the source page by line -----------------------------------------------------------------------


@dataclass
class _LinePage:
    """One launch as the ``cuda,sass`` page shows it."""

    name: str
    addresses: defaultdict[Place, set[int]] = field(default_factory=lambda: defaultdict(set))
    sums: dict[Place, dict[str, str]] = field(default_factory=dict)


def compare_lines(profile: Profile, rows: Rows) -> Tally:
    """File and line of every instruction, and the sums of every source line."""
    tally = Tally()
    pages = list(_line_pages(rows))
    tally.note(len(pages) == len(profile.launches), "number of launches", len(pages), len(profile.launches))
    for launch, page in zip(profile.launches, pages, strict=False):
        tally.note(tidy(page.name) == launch.name, f"launch {launch.index}", page.name, launch.name)
        code = {cost.offset: cost for cost in launch.load().code if cost.function == launch.mangled}
        start = min(address for listed in page.addresses.values() for address in listed)
        _places(tally, launch, page, code, start)
        _sums(tally, launch, page, code, start)
    return tally


def _line_pages(rows: Rows) -> Iterator[_LinePage]:
    """A launch ends where a file comes again or the function's name changes."""
    page: _LinePage | None = None
    files: set[str] = set()
    file, place, header = "", Place("", 0), [""]
    for row in rows:
        if row[0] == "File Path":
            file = row[1]
        elif row[0] == "Function Name":
            if page is None or row[1] != page.name or file in files:
                if page:
                    yield page
                page, files = _LinePage(row[1]), set()
            files.add(file)
        elif row[0] == "Line No":
            header = row
        elif row[0] and page:
            place = Place(file, int(row[0]))
            page.sums[place] = dict(zip(header[4:], row[4:], strict=True))
        elif row[2].startswith("0x") and page:
            page.addresses[place].add(int(row[2], 16))
    if page:
        yield page


def _places(tally: Tally, launch: Launch, page: _LinePage, code: dict[int, CodeCost], start: int) -> None:
    listed: defaultdict[int, set[Place]] = defaultdict(set)
    for place, addresses in page.addresses.items():
        for address in addresses:
            listed[address - start].add(place)
    for offset, printed in sorted(listed.items()):
        where = f"launch {launch.index}, instruction {offset:#x}"
        cost = code.get(offset)
        if cost is None:
            tally.explained["instruction at which nothing was counted"] += 1
            continue
        innermost = cost.places[0] if cost.places else None
        tally.note(innermost in printed, f"{where}, innermost line", printed, innermost)
        tally.note(printed <= set(cost.places), f"{where}, all lines", printed, cost.places)
        tally.explained[CALLERS] += len(set(cost.places) - printed)


def _sums(tally: Tally, launch: Launch, page: _LinePage, code: dict[int, CodeCost], start: int) -> None:
    """A line's cells are sums over the instructions that ncu lists under it."""
    for place, cells in page.sums.items():
        costs = [code[a - start].costs for a in page.addresses[place] if a - start in code]
        for title, cell in cells.items():
            where = f"launch {launch.index}, {place.file}:{place.line}, {title}"
            if title in MEMORY_KINDS or title == "L2 Explicit Evict Policies":
                tally.explained["kind of access, which has no sum"] += 1
                continue
            counts = [_count(title, cost) for cost in costs]
            value = sum(count or 0 for count in counts)
            tally.note(same_number("0" if cell == "-" else cell, value), where, cell, value)


# --- the command ----------------------------------------------------------------------------------


def load_rows(path: Path) -> Rows:
    """The cells of a printed page, without ncu's own messages."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    kept = [line for line in text.splitlines() if line and not line.startswith("==")]
    return list(csv.reader(io.StringIO("\n".join(kept))))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path)
    pages = {"raw": compare_raw, "sass": compare_sass, "cuda_sass": compare_lines}
    for page in pages:
        parser.add_argument(f"--{page.replace('_', '-')}", type=Path)
    options = parser.parse_args(arguments)
    profile = read(options.report)
    failed = 0
    for page, compare in pages.items():
        if path := getattr(options, page):
            failed += _print(page, compare(profile, load_rows(path)))
    return 1 if failed else 0


def _print(page: str, tally: Tally) -> int:
    explained = sum(tally.explained.values())
    print(f"{page}: {tally.agreed} agree, {len(tally.disagreed)} disagree, {explained} explained")
    for reason, count in tally.explained.most_common():
        print(f"  {count:6d} {reason}")
    for sentence in tally.disagreed:
        print(f"  {sentence}")
    return len(tally.disagreed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
