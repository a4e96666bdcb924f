"""Is the candidate faster? Paired runs in, one verdict out; nothing here measures, and everything is reproducible.

**Interval.** Of n pairs take d_i = log(t_original / t_candidate). With the sorted values d_(1) .. d_(n) the interval
[d_(k), d_(n+1-k)] misses the median of d with probability at most 2 P(Bin(n, 1/2) <= k-1), whatever the distribution
(the sign test turned round; H. A. David, Order Statistics, 7.1). No normality, no variance, no resampling: two
numbers of the list are the answer, so anyone can recompute it from the raw pairs.

**Looks.** The data are looked at after 10, 20 and 30 pairs and nowhere else, and measuring ends at the first look
that decides. A wrong verdict needs at least one of the three intervals to miss, so by the union bound the total error
is at most the sum of the three. `SHARES` splits 5 % so that little of it is wasted by the coarse binomial steps:

    look   pairs   share    k    2 P(Bin(n, 1/2) <= k-1)
      1      10    0.0216   2    22 / 2^10          = 0.02148
      2      20    0.0119   5    12392 / 2^20       = 0.01182
      3      30    0.0165   9    17313874 / 2^30    = 0.01612        sum 0.04943

Counted exactly, over the joint law of the three nested counts, the total is 0.0391. Most goes to the first look because
it always takes place and is the cheapest; k = 1 there would hang the verdict on the single worst pair. Where tainted
pairs leave fewer than planned, k is the largest that keeps within the share.

**Why drift does not hurt.** Which side runs first is a fair coin of its own for each pair (`first_side`). When both
sides are the same program, exchanging them changes nothing but the sign of d_i: the signs are independent fair coins
however the machine drifts, warms up or jumps between modes, and that is all the interval needs.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median

from evaluation.types import Ceilings, Pair, Side, Timing, TimingVerdict

LOOKS = (10, 20, 30)
SHARES = (0.0216, 0.0119, 0.0165)
CONFIDENCE = 0.95
SAME_BAND = 0.01
"""A speedup whose whole interval lies within 1 % of 1 is no difference."""
LEAST_BUDGET_S = 60.0
BUDGET_RUNS = 40
WHOLE = ("gpu", "program")
"""Scopes that hold all work of a workload: a declaration of that work can be held against these only."""
DECIDED: frozenset[TimingVerdict] = frozenset({"impossible", "same_machine_code", "no_difference", "faster", "slower"})


def first_side(seed: int, index: int) -> Side:
    """Which side of pair ``index`` runs first: one bit of SHA-256, so that any language can check it."""
    digest = hashlib.sha256(f"{seed}:{index}".encode()).digest()
    return "original" if digest[0] & 1 else "candidate"


def rank_for(count: int, share: float) -> int:
    """The largest k whose interval over ``count`` pairs misses with at most ``share``; 0 when there is none."""
    below, rank = 0, 0
    while rank <= count // 2:
        below += math.comb(count, rank)
        if 2 * below > share * 2**count:
            return rank
        rank += 1
    return rank


def interval(ratios: Sequence[float], share: float) -> tuple[float, float]:
    """Bounds of the median of ``ratios``; infinite where so few of them cannot bound it."""
    ordered, rank = sorted(ratios), rank_for(len(ratios), share)
    return (ordered[rank - 1], ordered[-rank]) if rank else (-math.inf, math.inf)


def enough_time(elapsed_s: float, done: int, planned: int, program_s: float) -> bool:
    """Whether ``planned`` pairs, at the pace of the ``done`` so far, fit what one evaluation may cost."""
    return elapsed_s * planned / done <= max(LEAST_BUDGET_S, BUDGET_RUNS * program_s)


def measure(
    run_pair: Callable[[int, Side], Mapping[str, Pair]],
    carrier: str,
    seed: int,
    elapsed_s: Callable[[], float],
    *,
    ceiling: Physics | None = None,
) -> dict[str, tuple[Pair, ...]]:
    """Run pairs until the scope ``carrier`` is decided or the budget is spent.

    ``run_pair(index, first)`` runs both sides and returns one Pair a scope, that of ``carrier`` always; ``elapsed_s``
    tells the seconds since the start. The first ten always run; when every one is tainted, no more are. Returns all
    pairs by scope, in the order they ran.
    """
    rounds: list[Mapping[str, Pair]] = []
    for planned, following in zip(LOOKS, (*LOOKS[1:], None), strict=True):
        rounds += [run_pair(index, first_side(seed, index)) for index in range(len(rounds), planned)]
        timed = [pairs[carrier] for pairs in rounds]
        hopeless = all(pair.tainted for pair in timed)
        decided = verdict_of(carrier, timed, seed, ceiling=ceiling).verdict in DECIDED
        if following is None or decided or hopeless:
            break
        program_s = median(pairs.get("program", pairs[carrier]).original_ns for pairs in rounds) / 1e9
        if not enough_time(elapsed_s(), planned, following, program_s):
            break
    scopes = dict.fromkeys(scope for pairs in rounds for scope in pairs)
    return {scope: tuple(_pair(pairs, scope, seed, at) for at, pairs in enumerate(rounds)) for scope in scopes}


def _pair(pairs: Mapping[str, Pair], scope: str, seed: int, index: int) -> Pair:
    """The scope's pair of one round. A round without it leaves a tainted one, so that all scopes count alike."""
    return pairs.get(scope) or Pair(index, first_side(seed, index), 0.0, 0.0, "not measured in this pair")


def verdict_of(scope: str, pairs: Sequence[Pair], seed: int, *, ceiling: Physics | None = None) -> Timing:
    """The verdict of the first look that decides, else of the last one made. Replays what `measure` did."""
    timing = unmeasured(scope, "cannot_tell", f"only {len(pairs)} of the first {LOOKS[0]} pairs ran", seed)
    for planned, share in zip(LOOKS, SHARES, strict=True):
        if len(pairs) < planned:
            break
        timing = at_look(scope, pairs[:planned], share, seed, ceiling)
        if timing.verdict in DECIDED:
            break
    return timing


def at_look(scope: str, pairs: Sequence[Pair], share: float, seed: int, ceiling: Physics | None = None) -> Timing:
    """One look at the pairs: point, interval and verdict, in the order in which the verdicts are tested."""
    clean = [pair for pair in pairs if not pair.tainted]
    if len(clean) < LOOKS[0]:
        why = next((f" ({pair.tainted})" for pair in pairs if pair.tainted), "")
        reason = f"only {len(clean)} of {len(pairs)} pairs ran undisturbed, {LOOKS[0]} are needed{why}"
        return unmeasured(scope, "cannot_tell", reason, seed, len(clean))
    ratios = [math.log(pair.original_ns / pair.candidate_ns) for pair in clean]
    middle, (low, high) = median(ratios), interval(ratios, share)
    sum_shown = ceiling(median(pair.candidate_ns for pair in clean) / 1e9) if ceiling and scope in WHOLE else ""
    verdict: TimingVerdict = "impossible" if sum_shown else _verdict(math.exp(low), math.exp(high))
    return Timing(
        scope=scope,
        speedup=math.exp(middle),
        time_saved=1.0 - math.exp(-middle),
        low=math.exp(low),
        high=math.exp(high),
        pairs=len(clean),
        verdict=verdict,
        confidence=CONFIDENCE,
        smallest_effect=math.expm1(max(middle - low, high - middle)),
        reason=sum_shown or _sentence(verdict, math.exp(middle), math.exp(low), math.exp(high), len(clean)),
        seed=seed,
    )


def overall(verdicts: Mapping[str, TimingVerdict]) -> TimingVerdict:
    """One verdict from those of all scopes: impossible if any is, else that of the selected kernels, else the program.

    Without any it is ``cannot_tell``.
    """
    if "impossible" in verdicts.values():
        return "impossible"
    return verdicts.get("selected") or verdicts.get("program") or "cannot_tell"


def unmeasured(scope: str, verdict: TimingVerdict, reason: str, seed: int, pairs: int = 0) -> Timing:
    """A verdict that stands without numbers."""
    return Timing(scope, None, None, None, None, pairs, verdict, CONFIDENCE, None, reason, seed)


def lag1(pairs: Sequence[Pair]) -> float | None:
    """Lag-1 autocorrelation of the log ratios: shows a machine that drifts. None below 3 pairs or without spread."""
    ratios = [math.log(pair.original_ns / pair.candidate_ns) for pair in pairs if not pair.tainted]
    if len(ratios) < 3 or min(ratios) == max(ratios):
        return None
    mean = fmean(ratios)
    spread = sum((value - mean) ** 2 for value in ratios)
    return sum((a - mean) * (b - mean) for a, b in zip(ratios, ratios[1:], strict=False)) / spread


# --- the physics gate ---------------------------------------------------------------------------

Physics = Callable[[float], str]
"""Seconds of the candidate -> the sum that shows it to be impossible, or an empty string."""


def physics(declared_bytes: int | None, declared_flops: int | None, ceilings: Ceilings | None) -> Physics | None:
    """A check of a time against ceilings *measured* on this machine; None without a declaration or without ceilings.

    The declaration is the workload's least DRAM traffic (bytes) and work (operations). The candidate's own counters
    are never asked: a program that skips work lowers them.
    """
    if ceilings is None:
        return None
    rows = (
        (declared_bytes, ceilings.bytes_per_s, "bytes", "moves"),
        (declared_flops, ceilings.flop_per_s, "operations", "does"),
    )
    known = [(amount, roof, unit, verb) for amount, roof, unit, verb in rows if amount and roof]

    def check(seconds: float) -> str:
        for amount, roof, unit, verb in known:
            if amount / seconds > roof:
                return (
                    f"{amount:.4g} declared {unit} / {seconds:.4g} s = {amount / seconds:.4g} a second, "
                    f"but this machine {verb} at most {roof:.4g} a second (measured)"
                )
        return ""

    return check if known else None


def _verdict(low: float, high: float) -> TimingVerdict:
    if low >= 1.0 - SAME_BAND and high <= 1.0 + SAME_BAND:
        return "no_difference"
    if low > 1.0:
        return "faster"
    return "slower" if high < 1.0 else "cannot_tell"


def _sentence(verdict: TimingVerdict, speedup: float, low: float, high: float, pairs: int) -> str:
    figures = f"speedup {speedup:.3f}, {low:.3f} to {high:.3f} from {pairs} pairs"
    words = {
        "faster": "the whole interval is above 1",
        "slower": "the whole interval is below 1",
        "no_difference": f"the whole interval is within {SAME_BAND:.0%} of 1",
        "cannot_tell": "the interval holds 1 and is wider than a difference of 1 %",
    }
    return f"{figures}: {words[verdict]}"
