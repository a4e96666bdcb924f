"""How fast and in how much memory profiles are read, each beside a plain reference in the same run.

    python -m benchmarks.readers sqlite [--launches 2000000] [--repeats 3]
    python -m benchmarks.readers report [--launches 1000] [--repeats 3]

``sqlite``: an export of Nsight Systems with five kernels in three shapes each, made here. Ours is from the file to the
ranked kernels with exact medians; the reference is the sum and number of launches by name, asked of SQLite directly.
``report``: an .ncu-rep with the launches of the sample of an H200 again and again. Three depths of ours: to the ranked
kernels, to the whole analysis, and with the columnar file as well; the reference walks all values of all metrics
field by field, as a plain decoder does.
Every measurement is a process of its own, ours and the reference by turns.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from analysis.formats.ncu_rep.container import scan
from analysis.formats.ncu_rep.file import open_report
from tests.analysis.ncu_writer import number

MEASURED = """
import json, resource, sys, time
path, wall, cpu = sys.argv[1], time.perf_counter(), time.process_time()
{body}
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu,
                  resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, sorted(found)]))
"""
KERNELS = """
from pathlib import Path
from analysis.formats import read
from analysis.hotspots import rank
found = [[k.name.partition("(")[0], k.launch_count, k.total_cost] for k in rank(read(Path(path)))]
"""
SQL = """
import sqlite3
found = [[name.partition("(")[0], count, float(total)] for name, count, total in sqlite3.connect(path).execute(
    "SELECT s.value, COUNT(*), SUM(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
    "JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value")]
"""
ANALYSIS = """
from pathlib import Path
from analysis import columns
from analysis.formats import read
from analysis.pipeline import analyse
profile = read(Path(path))
found = [[k.kernel.name.partition("(")[0], k.kernel.launch_count, k.kernel.total_cost]
         for k in analyse(profile, {}).kernels]
"""
STORED = (
    ANALYSIS
    + """
columns.write(profile, Path(path + ".npz"))
"""
)
FIELDS = """
from pathlib import Path
from analysis.formats.ncu_rep.container import scan
from analysis.formats.ncu_rep.file import open_report
from analysis.formats.ncu_rep.instances import pairs
from analysis.formats.ncu_rep.wire import fields, metric_value, text
file, sums = open_report(Path(path)), {}
container = scan(file)
for span in container.results:
    for number, raw in fields(span.read_from(file)):
        if number == 7:
            name = text(raw).partition("(")[0]
        elif number == 13:
            parts = dict(fields(raw))
            value = metric_value(parts[2]) if 2 in parts else None
            values = list(pairs(raw))
            if container.strings[parts[1]] == "gpu__time_duration.sum":
                count, total = sums.get(name, (0, 0.0))
                sums[name] = (count + 1, total + value)
found = [[name, count, total] for name, (count, total) in sums.items()]
"""
PARTS = {
    "sqlite": {"ours": KERNELS, "reference": SQL},
    "report": {"kernels": KERNELS, "analysis": ANALYSIS, "stored": STORED, "reference": FIELDS},
}
SAMPLE = Path(__file__).resolve().parent.parent / "samples" / "rowrank" / "rowrank.ncu-rep"
COLUMNS = (
    "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,"
    " globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER, registersPerThread INTEGER,"
    " gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,"
    " staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, gridId INTEGER,"
    " graphNodeId INTEGER"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--launches", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with TemporaryDirectory(prefix="optimas-readers-") as folder:
        path = Path(folder) / f"run.{options.part}"
        if options.part == "sqlite":
            launches = options.launches or 2_000_000
            write_export(path, launches)
        else:
            launches = options.launches or 1000
            write_report(path, launches)
        print(f"{launches:,} launches, {path.stat().st_size / 1e6:,.0f} MB")
        compare(path, PARTS[options.part], options.repeats)


def write_report(path: Path, launches: int) -> None:
    """The sample, and after it blocks of one launch each, in the order of the sample's own."""
    sample = open_report(SAMPLE)
    results = [bytes(span.read_from(sample)) for span in scan(sample).results]
    with path.open("wb") as to:
        to.write(SAMPLE.read_bytes())
        for at in range(launches - len(results)):
            payload = _sized(results[at % len(results)])
            to.write(_sized(number(2, 1) + number(5, len(payload))) + payload)


def _sized(message: bytes) -> bytes:
    return struct.pack("<I", len(message)) + message


def write_export(path: Path, launches: int) -> None:
    with sqlite3.connect(path) as to:
        to.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        to.executemany("INSERT INTO StringIds VALUES (?, ?)", [(k, f"hot{k}(float *, int)") for k in range(5)])
        to.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({COLUMNS})")
        question = f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({', '.join('?' * 22)})"  # noqa: S608 (no input in it)
        to.executemany(question, _rows(launches))
    to.close()


def _rows(launches: int) -> Iterator[tuple[int | None, ...]]:
    """Two of five launches are hot0's."""
    chance, end = random.Random(5), 10**9  # noqa: S311 (numbers to measure with)
    for at in range(launches):
        kernel = 0 if at % 5 < 2 else 1 + (at // 5 + at) % 4
        start, end = end + 500, end + 500 + chance.randrange(1000, 30_000)
        shape = (1024 + at % 3, 1, 1, 256, 1, 1)
        yield (start, end, 0, 1, 7, at, 281479271678000, kernel, kernel, kernel, 32, *shape, 4096, 0, 0, at, None)


def compare(path: Path, bodies: Mapping[str, str], repeats: int) -> None:
    measured: dict[str, list[tuple[float, float, float]]] = {who: [] for who in bodies}
    found = {}
    for _ in range(repeats):
        for who, body in bodies.items():
            wall, cpu, peak, found[who] = _measure(body, path)
            measured[who].append((wall, cpu, peak))
    for who, values in measured.items():
        wall, cpu, peak = (median(column) for column in zip(*values, strict=True))
        each = f"{1e6 * cpu / path.stat().st_size:.4f} s/MB"
        print(f"{who:10} {wall:6.2f} s  {cpu:6.2f} s of a processor, {each}  {peak:5.0f} MB at most")
    same = all(each == found["reference"] for each in found.values())
    print("same launches and times of every kernel:", "yes" if same else "NO")


def _measure(body: str, path: Path) -> tuple[float, float, float, object]:
    command = [sys.executable, "-c", MEASURED.format(body=body), str(path)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    wall, cpu, peak, found = json.loads(ran.stdout)
    return wall, cpu, peak, found


if __name__ == "__main__":
    main()
