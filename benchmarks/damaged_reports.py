"""What comes out of damaged reports: a sentence or what is left of them, soon, and in bounded memory?

    nice python -m benchmarks.damaged_reports [--files 20000] [--seed 1]

Reports with every part, plain and compressed, and the sample of an H200 in between, are damaged at random (cuts,
flipped bits, overwritten, inserted and removed bytes, huge lengths) and then read, analysed, and every launch loaded,
in a process whose address space is limited. Then come those made to hurt. Anything but a sentence is counted and
shown; a file that takes longer than ten seconds of a processor is one that hangs. Ends with 1 when there was any.
"""

# ruff: noqa: S311  (damage has to be repeatable, not secret)
from __future__ import annotations

import argparse
import random
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from backports import zstd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.analysis.damage import HOSTILE, everything, mutate, read_everything

SAMPLE = Path(__file__).resolve().parent.parent / "samples" / "rowrank" / "rowrank.ncu-rep"
ADDRESS_SPACE = 2 * 2**30
SLOW_S = 10.0
REAL_EVERY = 200


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    counts: Counter[str] = Counter()
    slowest = 0.0
    with TemporaryDirectory(prefix="optimas-damaged-") as folder:
        path = Path(folder) / "report.ncu-rep"
        for number, (name, content) in enumerate(damaged(options.files, random.Random(options.seed))):
            if number % 1000 == 0:
                print(f"{number:,} of {options.files:,}", file=sys.stderr)
            path.write_bytes(content)
            began = time.process_time()
            counts[outcome(name, path)] += 1
            took = time.process_time() - began
            slowest = max(slowest, took)
            if took > SLOW_S:
                counts["hangs"] += 1
                print(f"{name}: {took:.1f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(", ".join(f"{count:,} {what}" for what, count in counts.most_common()))
    print(f"slowest {slowest:.2f} s of a processor, {peak:.0f} MB at most")
    return 1 if counts["broke"] or counts["hangs"] else 0


def damaged(files: int, dice: random.Random) -> Iterator[tuple[str, bytes]]:
    whole = everything()
    packed, real = zstd.compress(whole), SAMPLE.read_bytes()
    for number in range(files):
        if number % REAL_EVERY == 0:
            yield f"sample {number}", mutate(real, dice)
        else:
            yield f"file {number}", mutate(packed if number % 5 == 0 else whole, dice)
    for name, make in HOSTILE.items():
        yield name, make()


def outcome(name: str, path: Path) -> str:
    try:
        return "gave launches" if read_everything(path) else "refused in a sentence"
    except Exception:
        print(f"{name}:")
        traceback.print_exc(file=sys.stdout)
        return "broke"


if __name__ == "__main__":
    sys.exit(main())
