"""How often is the timing verdict wrong? A program against itself, under several kinds of noise.

    python benchmarks/aa_verdicts.py                      # simulated noise, 400 verdicts a model
    python benchmarks/aa_verdicts.py --verdicts 2000
    python benchmarks/aa_verdicts.py --real ./a.out 400   # 20 real verdicts on a small program

Every verdict goes through `evaluation.timing.measure` and `verdict_of`, looks and budget included, so what is counted
is what the product does. Beside it, on the same simulated machine, the naive judge: unpaired runs, a Welch t interval
of the means after every run from the third on, stop when it looks decided. Prints one line a noise model: the share
of false alarms (faster or slower although nothing changed) and how often a true 2 % is found. Ends with 1 when the
product's false alarms exceed 5 % anywhere.
"""

# ruff: noqa: S311  (simulated noise has to be reproducible, not secret)
from __future__ import annotations

import argparse
import math
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, variance

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from evaluation.timing import LOOKS, measure, verdict_of
from evaluation.types import Pair, Side

Clock = Callable[[], float]
"""One run of a program that takes a second on a quiet machine: its time in seconds."""
FALSE_ALARMS_ALLOWED = 0.05
NAIVE_T = 2.05  # 97.5 % point of Student's t, between its value at 4 (2.78) and at 58 (2.00) degrees of freedom


def normal(source: random.Random) -> Clock:
    return lambda: 1.0 + source.gauss(0.0, 0.01)


def heavy_tails(source: random.Random) -> Clock:
    """Now and then another process takes the core for a while: Pareto, without a variance."""
    return lambda: 1.0 + 0.003 * source.paretovariate(1.5)


def drifting(source: random.Random) -> Clock:
    """Each run remembers the last (a warming chip): AR(1) with 0.95, 0.3 % a step."""
    state = 0.0

    def run() -> float:
        nonlocal state
        state = 0.95 * state + source.gauss(0.0, 0.003)
        return 1.0 + state

    return run


def bimodal(source: random.Random) -> Clock:
    """Two clock states, 4 % apart, that change every eight runs or so."""
    high = False

    def run() -> float:
        nonlocal high
        high = high != (source.random() < 1 / 8)
        return 1.0 + 0.04 * high + source.gauss(0.0, 0.002)

    return run


def second_is_slower(source: random.Random) -> Clock:
    """Every other run is 1 % slower: what the first run of a pair leaves behind costs the second."""
    turn = 0

    def run() -> float:
        nonlocal turn
        turn += 1
        return 1.0 + 0.01 * (turn % 2) + source.gauss(0.0, 0.002)

    return run


MODELS: dict[str, Callable[[random.Random], Clock]] = {
    "normal": normal,
    "heavy tails": heavy_tails,
    "drifting": drifting,
    "bimodal": bimodal,
    "second is slower": second_is_slower,
}


def paired_verdict(clock: Clock, saved: float, seed: int) -> str:
    """The product's verdict when the candidate truly saves ``saved`` of the time."""
    spent = 0.0

    def run(side: Side) -> float:
        nonlocal spent
        seconds = clock() * (1.0 - saved if side == "candidate" else 1.0)
        spent += seconds
        return seconds * 1e9

    pairs = measure(lambda index, first: {"program": run_pair(run, index, first)}, "program", seed, lambda: spent)
    return verdict_of("program", pairs["program"], seed).verdict


def run_pair(run: Callable[[Side], float], index: int, first: Side) -> Pair:
    """Both sides once, in the order that was drawn."""
    second: Side = "candidate" if first == "original" else "original"
    times = {side: run(side) for side in (first, second)}
    return Pair(index, first, times["original"], times["candidate"])


def naive_verdict(clock: Clock, saved: float) -> str:
    """Originals and candidates in turn; stop as soon as the t interval of the difference of the means excludes 0."""
    before: list[float] = []
    after: list[float] = []
    for _ in range(LOOKS[-1]):
        before.append(clock())
        after.append(clock() * (1.0 - saved))
        if len(before) < 3:
            continue
        error = math.sqrt((variance(before) + variance(after)) / len(before))
        if abs(fmean(before) - fmean(after)) > NAIVE_T * error:
            return "faster" if fmean(before) > fmean(after) else "slower"
    return "cannot_tell"


def share(verdicts: list[str], wanted: set[str]) -> float:
    return sum(verdict in wanted for verdict in verdicts) / len(verdicts)


def simulate(model: Callable[[random.Random], Clock], count: int) -> tuple[float, float, float, float]:
    """False alarms and found 2 % of the product, then of the naive judge, over ``count`` verdicts each."""
    wrong, found = {"faster", "slower"}, {"faster"}
    same = [paired_verdict(model(random.Random(seed)), 0.0, seed) for seed in range(count)]
    real = [paired_verdict(model(random.Random(seed)), 0.02, seed) for seed in range(count)]
    naive_same = [naive_verdict(model(random.Random(seed)), 0.0) for seed in range(count)]
    naive_real = [naive_verdict(model(random.Random(seed)), 0.02) for seed in range(count)]
    return share(same, wrong), share(real, found), share(naive_same, wrong), share(naive_real, found)


def real_clock(command: list[str]) -> Clock:
    def run() -> float:
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - start

    return run


def print_real(command: list[str], count: int) -> float:
    clock = real_clock(command)
    verdicts = [paired_verdict(clock, 0.0, seed) for seed in range(count)]
    alarms = share(verdicts, {"faster", "slower"})
    tally = ", ".join(f"{verdict} {verdicts.count(verdict)}" for verdict in sorted(set(verdicts)))
    print(f"{' '.join(command)} against itself, {count} verdicts: {tally}; false alarms {alarms:.1%}")
    return alarms


def print_simulated(count: int) -> float:
    print(f"{count} verdicts a line{'':14}  false alarms   2 % found | naive: false alarms   2 % found")
    worst = 0.0
    for name, model in MODELS.items():
        alarms, found, naive_alarms, naive_found = simulate(model, count)
        print(f"{name:30} {alarms:13.1%} {found:11.1%} | {naive_alarms:19.1%} {naive_found:11.1%}")
        worst = max(worst, alarms)
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verdicts", type=int, help="how many a line (default: 400 simulated, 20 real)")
    parser.add_argument("--real", nargs=argparse.REMAINDER, metavar="COMMAND", help="time this program against itself")
    options = parser.parse_args()
    if options.real:
        print_real(options.real, options.verdicts or 20)
        return 0
    return int(print_simulated(options.verdicts or 400) > FALSE_ALARMS_ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
