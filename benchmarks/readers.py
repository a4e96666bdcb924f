"""How fast and in how much memory profiles are read, each beside a plain reference in the same run.

    python -m benchmarks.readers sqlite [--launches 2000000] [--repeats 3]

``sqlite``: an export of Nsight Systems with five kernels in three shapes each, made here. Ours is from the file to the
ranked kernels with exact medians; the reference is the sum and number of launches by name, asked of SQLite directly.
Every measurement is a process of its own, ours and the reference by turns.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

MEASURED = """
import json, resource, sys, time
path, wall, cpu = sys.argv[1], time.perf_counter(), time.process_time()
{body}
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu,
                  resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, sorted(found)]))
"""
OURS = """
from pathlib import Path
from analysis.formats import read
from analysis.hotspots import rank
found = [[k.name.partition("(")[0], k.launch_count, k.total_cost] for k in rank(read(Path(path)))]
"""
REFERENCE = """
import sqlite3
found = [[name.partition("(")[0], count, float(total)] for name, count, total in sqlite3.connect(path).execute(
    "SELECT s.value, COUNT(*), SUM(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
    "JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value")]
"""
COLUMNS = (
    "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,"
    " globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER, registersPerThread INTEGER,"
    " gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,"
    " staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, gridId INTEGER,"
    " graphNodeId INTEGER"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["sqlite"])
    parser.add_argument("--launches", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with TemporaryDirectory(prefix="optimas-readers-") as folder:
        path = Path(folder) / "run.sqlite"
        write_export(path, options.launches)
        print(f"{options.launches:,} launches, {path.stat().st_size / 1e6:,.0f} MB")
        compare(path, options.repeats)


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


def compare(path: Path, repeats: int) -> None:
    measured: dict[str, list[tuple[float, float, float]]] = {"ours": [], "reference": []}
    found = {}
    for _ in range(repeats):
        for who, body in (("ours", OURS), ("reference", REFERENCE)):
            wall, cpu, peak, found[who] = _measure(body, path)
            measured[who].append((wall, cpu, peak))
    for who, values in measured.items():
        wall, cpu, peak = (median(column) for column in zip(*values, strict=True))
        print(f"{who:10} {wall:6.2f} s  {cpu:6.2f} s of a processor  {peak:5.0f} MB at most")
    print("same launches and times of every kernel:", "yes" if found["ours"] == found["reference"] else "NO")


def _measure(body: str, path: Path) -> tuple[float, float, float, object]:
    command = [sys.executable, "-c", MEASURED.format(body=body), str(path)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    wall, cpu, peak, found = json.loads(ran.stdout)
    return wall, cpu, peak, found


if __name__ == "__main__":
    main()
