"""Many runs of a project with results, as rows only: for pages that list them."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from analysis.models import Origin, Profile, ProfileState
from evaluation.models import Timing, Verdict
from optimizer.models import Attempt, AttemptOrigin, Run, RunStatus
from projects.models import Snapshot

VERDICTS = ("faster", "no_difference", "failed", "slower", "cannot_tell")


def profile(snapshot: Snapshot, **values: object) -> Profile:
    return Profile.objects.create(
        snapshot=snapshot,
        **{
            "origin": Origin.HOST,
            "state": ProfileState.READY,
            "tool": "callgrind 3.19",
            "cost_unit": "cycle",
            **values,
        },
    )


def runs(snapshot: Snapshot, count: int, user: object = None) -> list[Run]:
    """``count`` finished runs, of every verdict in turn; a faster one is faster by up to a half."""
    taken = profile(snapshot)
    made = Run.objects.bulk_create(
        Run(snapshot=snapshot, profile=taken, backend="replay", status=RunStatus.DONE, created_by=user)
        for _ in range(count)
    )
    attempts = Attempt.objects.bulk_create(
        Attempt(run=run, number=1, origin=AttemptOrigin.RECORDED, outcome="edits") for run in made
    )
    judged = [(attempt, VERDICTS[at % len(VERDICTS)], at) for at, attempt in enumerate(attempts)]
    verdicts = Verdict.objects.bulk_create(
        Verdict(attempt=attempt, verdict=verdict, document={}) for attempt, verdict, _ in judged
    )
    for at, row in enumerate(verdicts):
        row.created = timezone.now() - timedelta(hours=count - at)
    Verdict.objects.bulk_update(verdicts, ["created"])
    Timing.objects.bulk_create(
        timing(attempt, verdict, at, scope)
        for attempt, verdict, at in judged
        for scope in ("program", "selected")
        if verdict != "failed"
    )
    return made


def timing(attempt: Attempt, verdict: str, at: int, scope: str) -> Timing:
    speedup = {"faster": 1.1 + 0.4 * ((at * 7) % 11) / 10, "slower": 0.9}.get(verdict, 1.0)
    if scope == "program":
        speedup = 1 + (speedup - 1) / 4
    return Timing(
        attempt=attempt,
        scope=scope,
        workload="default",
        speedup=speedup,
        time_saved=1 - 1 / speedup,
        low=speedup * 0.98,
        high=speedup * 1.02,
        pairs=20,
        verdict=verdict,
        confidence=0.95,
        reason="20 pairs",
        seed=1,
    )
