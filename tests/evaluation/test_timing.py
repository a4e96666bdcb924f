"""The verdict on a timing: exact error, order of the verdicts, looks, budget, physics."""

import math
import random
from itertools import count

import pytest

from evaluation import timing
from evaluation.timing import LOOKS, SHARES, at_look, first_side, interval, measure, physics, rank_for, verdict_of
from evaluation.types import Ceilings, Pair


def pairs_of(ratios, seed=1, base_ns=1e9):
    """Pairs whose original is ``ratio`` times as slow as the candidate."""
    return [Pair(i, first_side(seed, i), base_ns * ratio, base_ns) for i, ratio in enumerate(ratios)]


def spread(middle, width, amount):
    """``amount`` ratios evenly over middle +- width, shuffled the same way every time."""
    steps = [middle + width * (2 * i / (amount - 1) - 1) for i in range(amount)]
    random.Random(3).shuffle(steps)
    return steps


def exact_error(ranks):
    """Probability that any look's interval misses the median: the joint law of the three nested sign counts."""
    alive, missed = {0: 1.0}, 0.0
    for n in range(1, LOOKS[-1] + 1):
        grown: dict[int, float] = {}
        for above, chance in alive.items():
            for step in (0, 1):
                grown[above + step] = grown.get(above + step, 0.0) + chance / 2
        alive = grown
        if n in LOOKS:
            k = ranks[LOOKS.index(n)]
            missed += sum(alive.pop(above) for above in list(alive) if above < k or above > n - k)
    return missed


def test_the_three_looks_together_miss_with_at_most_five_percent():
    ranks = [rank_for(n, share) for n, share in zip(LOOKS, SHARES, strict=True)]
    union = sum(2 * sum(math.comb(n, i) for i in range(k)) / 2**n for n, k in zip(LOOKS, ranks, strict=True))
    assert ranks == [2, 5, 9]
    assert sum(SHARES) <= 0.05
    assert union == pytest.approx(0.04943, abs=1e-5)
    assert exact_error(ranks) == pytest.approx(0.03905, abs=1e-5)


@pytest.mark.parametrize(
    ("amount", "share", "rank"), [(1, 0.05, 0), (5, 0.05, 0), (6, 0.05, 1), (10, 0.0215, 2), (10, 0.0214, 1)]
)
def test_the_rank_is_the_largest_that_keeps_within_its_share(amount, share, rank):
    assert rank_for(amount, share) == rank


def test_the_interval_is_two_order_statistics_and_needs_no_order():
    values = [5.0, 1.0, 4.0, 2.0, 3.0, 9.0, 7.0, 8.0, 6.0, 10.0]
    assert interval(values, SHARES[0]) == (2.0, 9.0)
    assert interval(values[:4], SHARES[0]) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        (spread(1.5, 0.02, 10), "faster"),
        (spread(0.7, 0.02, 10), "slower"),
        (spread(1.0, 0.008, 10), "no_difference"),
        (spread(1.005, 0.004, 10), "no_difference"),  # above 1, but not by anything that matters
        (spread(1.0, 0.2, 10), "cannot_tell"),
        (spread(1.5, 0.02, 9), "cannot_tell"),
    ],
)
def test_verdicts_of_the_first_look(ratios, verdict):
    assert verdict_of("program", pairs_of(ratios), seed=1).verdict == verdict


def test_a_verdict_carries_both_figures_and_the_smallest_effect_it_could_have_seen():
    found = verdict_of("program", pairs_of(spread(2.0, 0.1, 10)), seed=7)
    assert found.speedup == pytest.approx(2.0, rel=0.02)
    assert found.time_saved == pytest.approx(1 - 1 / found.speedup)
    assert found.low < found.speedup < found.high
    assert (found.low, found.high) == pytest.approx((1.9222, 2.0778), abs=1e-3)
    assert found.smallest_effect == pytest.approx(max(found.speedup / found.low, found.high / found.speedup) - 1)
    assert (found.pairs, found.confidence, found.seed) == (10, 0.95, 7)


def test_one_stray_pair_cannot_carry_the_verdict():
    ratios = [1.5] * 9 + [0.01]
    assert verdict_of("program", pairs_of(ratios), seed=1).verdict == "faster"
    assert verdict_of("program", pairs_of([1.5] * 8 + [0.01] * 2), seed=1).verdict == "cannot_tell"


def test_tainted_pairs_are_left_out_and_ten_must_remain():
    clean = pairs_of(spread(1.5, 0.02, 20))
    spoilt = [
        Pair(p.index, p.first, p.original_ns, p.original_ns * 9, "clock fell") if p.index < 10 else p for p in clean
    ]
    assert at_look("program", spoilt[:19], SHARES[1], 1).verdict == "cannot_tell"
    found = verdict_of("program", spoilt, seed=1)
    assert (found.verdict, found.pairs) == ("faster", 10)
    assert "undisturbed" in at_look("program", spoilt[:19], SHARES[1], 1).reason


def test_the_verdict_is_that_of_the_first_look_that_decides():
    ratios = spread(1.5, 0.02, 10) + [0.5] * 20
    assert verdict_of("program", pairs_of(ratios), seed=1).pairs == 10
    assert verdict_of("program", pairs_of(spread(1.5, 0.02, 17)), seed=1).pairs == 10


def run_with(ratio_at, clock=lambda: 0.0, **options):
    ran = []

    def run_pair(index, first):
        ran.append((index, first))
        ratio = ratio_at(index)
        return {"program": Pair(index, first, 1e9 * ratio, 1e9)}

    found = measure(run_pair, "program", 5, clock, **options)
    return ran, found["program"]


def test_measuring_stops_at_the_first_look_that_decides():
    ran, pairs = run_with(lambda index: 1.3 + index * 1e-3)
    assert len(ran) == len(pairs) == 10
    assert [first for _, first in ran] == [first_side(5, index) for index in range(10)]


def test_measuring_stops_when_no_pair_counts_and_the_reason_says_why():
    def run_pair(index, first):
        return {"program": Pair(index, first, 1e9, 1e9, "the candidate: it ended with status 1")}

    pairs = measure(run_pair, "program", 5, lambda: 0.0)["program"]
    assert len(pairs) == 10
    assert "the candidate: it ended with status 1" in verdict_of("program", pairs, 5).reason


def test_measuring_never_goes_beyond_the_last_look():
    _, pairs = run_with(lambda index: 1.0 + (0.3 if index % 2 else -0.2))
    assert len(pairs) == 30


@pytest.mark.parametrize(
    ("seconds_a_run", "expected"),
    [(0.9, 30), (1.2, 20), (100.0, 20)],  # 60 runs fit a minute; 40 runs fit 40 x program, 60 do not
)
def test_later_looks_are_made_only_within_the_budget(seconds_a_run, expected):
    ticks = count(20, 20)  # runs made when the clock is read: after the first ten pairs, after twenty

    def run_pair(index, first):
        ratio = 1.3 if index % 2 else 0.8
        return {"program": Pair(index, first, seconds_a_run * 1e9, seconds_a_run * 1e9 / ratio)}

    pairs = measure(run_pair, "program", 5, lambda: next(ticks) * seconds_a_run)["program"]
    assert len(pairs) == expected


def test_the_order_is_a_fair_coin_that_the_seed_fixes():
    sides = [first_side(11, index) for index in range(2000)]
    assert sides == [first_side(11, index) for index in range(2000)]
    assert 900 < sides.count("original") < 1100
    assert sides != [first_side(12, index) for index in range(2000)]


def test_a_time_above_the_measured_roof_is_impossible_with_the_sum_shown():
    check = physics(10_000_000_000, None, Ceilings(bytes_per_s=4e12))
    assert check is not None
    fast = verdict_of("gpu", pairs_of(spread(2.0, 0.1, 10), base_ns=2e6), seed=1, ceiling=check)
    assert fast.verdict == "impossible"
    assert "1e+10 declared bytes / 0.002 s = 5e+12 a second" in fast.reason
    slow = verdict_of("gpu", pairs_of(spread(2.0, 0.1, 10), base_ns=3e6), seed=1, ceiling=check)
    part = verdict_of("rank_rows", pairs_of(spread(2.0, 0.1, 10), base_ns=2e6), seed=1, ceiling=check)
    assert (slow.verdict, part.verdict) == ("faster", "faster")  # one launch is not the whole declared work


def test_operations_have_a_roof_too():
    check = physics(None, 6_000_000, Ceilings(flop_per_s=1e9))
    assert check is not None
    assert "operations" in check(0.005)
    assert check(0.007) == ""


@pytest.mark.parametrize(
    ("declared", "ceilings"),
    [((None, None), Ceilings(4e12, 6e13)), ((10**10, 10**10), None), ((10**10, None), Ceilings(flop_per_s=1e9))],
)
def test_without_a_declaration_or_a_measured_roof_nothing_is_impossible(declared, ceilings):
    assert physics(*declared, ceilings) is None


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [
        ({"program": "faster"}, "faster"),
        ({"selected": "slower", "program": "faster"}, "slower"),
        ({"selected": "faster", "gpu": "impossible", "program": "faster"}, "impossible"),
        ({}, "cannot_tell"),
    ],
)
def test_one_verdict_from_those_of_all_scopes(verdicts, together):
    assert timing.overall(verdicts) == together


def test_a_scope_missing_in_some_rounds_has_tainted_pairs_there():
    def run_pair(index, first):
        pair = Pair(index, first, 1.3e9, 1e9)
        return {"program": pair, "kernel": pair} if index % 2 else {"program": pair}

    kernel = measure(run_pair, "program", 5, lambda: 0.0)["kernel"]
    assert [pair.index for pair in kernel] == list(range(10))
    assert [bool(pair.tainted) for pair in kernel] == [True, False] * 5
    assert [pair.first for pair in kernel] == [first_side(5, index) for index in range(10)]


def test_autocorrelation_of_a_drift_is_seen():
    assert timing.lag1(pairs_of([1 + i / 100 for i in range(20)])) > 0.7
    assert timing.lag1(pairs_of([1.0, 1.1])) is None
    assert timing.lag1(pairs_of([1.5] * 5)) is None
