"""Pages as ncu prints them, written cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from analysis.formats import read
from analysis.types import Profile

IDENTITY = (
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size",
    "Device", "CC",
)  # fmt: skip
VALUES = ("Section Name", "Metric Name", "Metric Unit", "Metric Value")
RULES = ("Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup")
SETTLE = "settle(const float *, float *, int)"
DRAIN = "void drain<(int)4, Order<settle>>(float *, int)"
SOL, MEMORY = "GPU Speed Of Light Throughput", "Memory Workload Analysis"
TIME, BYTES = "gpu__time_duration.sum", "dram__bytes.sum"

Cells = Sequence[str]


def launch(number: int | str, kernel: str = SETTLE, grid: str = "(64, 2, 1)", process: str = "4711") -> list[str]:
    """The cells that tell which launch a row is of."""
    return [str(number), process, "ponds", "127.0.0.1", kernel, "1", "7", "(128, 1, 1)", grid, "0", "9.0"]


def quoted(cells: Cells, delimiter: str = ",") -> str:
    return delimiter.join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n"


def raw(metrics: dict[str, str], rows: Iterable[Cells], delimiter: str = ",") -> str:
    """``metrics``: name -> unit. Each row has the cells of ``launch`` and one for each metric."""
    lines = [[*IDENTITY, *metrics], [*[""] * len(IDENTITY), *metrics.values()], *rows]
    return "".join(quoted(line, delimiter) for line in lines)


def details(rows: Iterable[Cells], columns: Cells = (*IDENTITY, *VALUES, *RULES), delimiter: str = ",") -> str:
    return "".join(quoted(line, delimiter) for line in [columns, *rows])


def value(number: int | str, label: str, unit: str, cell: str, section: str = SOL, kernel: str = SETTLE) -> list[str]:
    """A row of the details page: it ends early."""
    return [*launch(number, kernel), section, label, unit, cell, ""]


def rule(number: int | str, *told: str, section: str = "SpeedOfLight") -> list[str]:
    return [*launch(number), section, "", "", "", *told]


def read_text(folder: Path, text: str | bytes, name: str = "page.csv") -> Profile:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(path)


def costs(profile: Profile) -> list[tuple[str, float | None]]:
    return [(each.short_name, each.cost) for each in profile.launches]


INSTRUCTIONS, SHARE = "smsp__inst_executed.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed"
METRICS = {TIME: "us", BYTES: "Mbyte", SHARE: "%", INSTRUCTIONS: "inst"}
ROWS = (
    [*launch(0), "12.500000", "1.572864", "37.11", "1,048,576"],
    [*launch(1, DRAIN), "3.000000", "0.007168", "0.42", "1,208"],
    [*launch(2), "12.250000", "1.572864", "nan", "1,048,576"],
)
RAW = raw(METRICS, ROWS)
COSTS = [("settle", 12_500), ("drain", 3_000), ("settle", 12_250)]
