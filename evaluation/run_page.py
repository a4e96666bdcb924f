"""What the page of a run says about its progress: stages with their time, where the time went, why it stopped. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from optimizer.types import GATES, Gate, GateName

ENDED = ("done", "needs_review", "cancelled", "failed")
LIVE = ("queued", "running")

QUESTIONS: Mapping[GateName, str] = {
    "parse": "Can the answer be read, and its edits placed?",
    "citations": "Does every edit cite evidence that was offered?",
    "guardrails": "Does it keep the rules: only the chosen functions, same signatures, same harness?",
    "build": "Do both versions build with the same command?",
    "symbols": "Did only the chosen functions change in the binary?",
    "outputs": "Are the outputs the same on every workload, bit for bit?",
    "sanitizer": "Does it add no error that the sanitizers find?",
    "timing": "How fast are both, run in pairs one after the other?",
    "re_profile": "Did the cited evidence move as predicted?",
}
"""What a gate asks."""

SPENT = {
    "profile": "Profile",
    "summarise": "Write the prompt",
    "infer": "Answer",
    "build": "Build",
    "validate": "Compare, check and time",
    "re_profile": "Measure the evidence again",
}
"""Keys of a run's ``seconds``, in the order in which things happen."""

HEADLINES = {
    "queued": "It waits for a worker.",
    "profiling": "The program is being built and profiled.",
    "proposing": "The prompt is being written and an answer asked for.",
    "waiting_for_answer": "The prompt is ready. Somebody has to bring an answer; nothing runs meanwhile.",
    "evaluating": "The answer is being judged, gate by gate.",
    "needs_review": "No answer passed every gate.",
    "cancelled": "It was cancelled. What was found until then is kept.",
    "failed": "It could not go on.",
}


SCOPES = {"program": "whole program", "selected": "selected kernels", "gpu": "all GPU time"}
"""What is timed, besides single kernels."""


@dataclass(frozen=True, slots=True)
class Work:
    """A job as the page sees it. ``seconds`` since it started, None while it is queued; ``note``: what it waits for."""

    status: str
    stage: str = ""
    progress: float = 0.0
    seconds: float | None = None
    note: str = ""

    @property
    def is_live(self) -> bool:
        return self.status in LIVE


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is. ``works``: the newest job of each of ``profile``, ``propose`` and ``evaluate``.

    ``outcome``, ``message`` and ``gates`` are those of the newest attempt; ``spent`` counts seconds over all of them.
    """

    status: str
    profile_state: str = ""
    works: Mapping[str, Work] = field(default_factory=dict)
    outcome: str = ""
    message: str = ""
    gates: Sequence[Gate] = ()
    spent: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        """Nothing works for it any more either: a cancelled job takes a moment to stop."""
        return self.status in ENDED and not any(work.is_live for work in self.works.values())


@dataclass(frozen=True, slots=True)
class Stage:
    """One line for parts/stages.html; a gate goes by its own name."""

    name: str
    status: str
    seconds: float | None = None
    note: str = ""
    progress: float | None = None


def headline(now: Progress) -> str:
    """The state in a sentence."""
    if now.status != "done":
        return HEADLINES[now.status]
    missed = sum(gate.status == "not_run" for gate in now.gates)
    return f"No gate failed; {missed} could not be run and say why." if missed else "Every gate passed."


def stages(now: Progress) -> tuple[Stage, ...]:
    """Profiling, asking, and the nine gates of the newest attempt, each as far as it is."""
    return (_profile(now), _ask(now), *(_gate(name, now) for name in GATES))


def _profile(now: Progress) -> Stage:
    work = now.works.get("profile")
    if now.profile_state == "ready" and (work is None or work.status == "done"):
        seconds = now.spent.get("profile")
        return Stage("Profile", "done", seconds, "" if seconds else "The profile was there already.")
    return _worked("Profile", now, work)


def _ask(now: Progress) -> Stage:
    name = "Ask for edits"
    if now.outcome:
        seconds = now.spent.get("summarise", 0.0) + now.spent.get("infer", 0.0)
        return Stage(name, "done" if now.outcome == "edits" else now.outcome, seconds, now.message)
    if now.status == "waiting_for_answer":
        return Stage(name, now.status, None, "The prompt is ready.")
    return _worked(name, now, now.works.get("propose"))


def _gate(name: GateName, now: Progress) -> Stage:
    known = {gate.name: gate for gate in now.gates}
    if name in known:
        gate = known[name]
        return Stage(name, gate.status, gate.seconds or None, gate.reason)
    waiting = [each for each in GATES[3:] if each not in known]
    work = now.works.get("evaluate")
    if work and work.is_live and now.outcome and name == waiting[0]:
        judged = sum(known[each].seconds for each in GATES[3:] if each in known)
        return _live(name, now, work, judged)
    return Stage(name, _not_yet(now), note=QUESTIONS[name])


def _worked(name: str, now: Progress, work: Work | None) -> Stage:
    if work is None or work.status == "done":
        return Stage(name, _not_yet(now))
    return _live(name, now, work) if work.is_live else Stage(name, work.status)


def _live(name: str, now: Progress, work: Work, before: float = 0.0) -> Stage:
    """``before``: seconds that the job spent on earlier stages."""
    if now.status in ENDED:
        return Stage(name, now.status, note="It is being stopped.")
    if work.status == "queued":
        return Stage(name, "queued", note=work.note)
    seconds = None if work.seconds is None else max(0.0, work.seconds - before)
    return Stage(name, "running", seconds, work.stage.capitalize(), work.progress or None)


def _not_yet(now: Progress) -> str:
    if now.status == "cancelled":
        return "cancelled"
    return "not_run" if now.status in ENDED else "queued"


def spent(seconds: Mapping[str, float]) -> dict[str, float]:
    """Where the time went, in the order in which it goes; nothing for what took none."""
    return {words: seconds[key] for key, words in SPENT.items() if seconds.get(key)}


@dataclass(frozen=True, slots=True)
class Measured:
    """A timing whose scope is named for people."""

    scope: str
    speedup: float | None
    low: float | None
    high: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds that earlier runs worked, waiting for people and workers left out. ``runs``: how many there were."""

    runs: int
    middle: float
    least: float
    most: float


def estimate(earlier: Sequence[Mapping[str, float]], *, has_profile: bool) -> Estimate | None:
    """From the ``seconds`` of runs that came to an end; None without any."""
    left_out = {"profile"} if has_profile else set()
    totals = [sum(value for key, value in each.items() if key not in left_out) for each in earlier if each]
    return Estimate(len(totals), median(totals), min(totals), max(totals)) if totals else None


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """One attempt for parts/timeline.html.

    ``outcome``: of its answer, or while there is none what the run does; ``failed``: the gate that it failed;
    ``recorded``: where a replayed answer comes from.
    """

    number: int
    url: str
    origin: str
    outcome: str
    message: str
    gates: Sequence[Gate]
    verdict: str = ""
    speedup: float | None = None
    failed: Gate | None = None
    repairs: int | None = None
    recorded: str = ""
    best: bool = False


def why_no_repair(*, takes_repairs: bool, allowed: int, used: int) -> str:
    """Why a failed gate went to a person and not back to whoever answered."""
    if not takes_repairs:
        return "A recorded answer cannot be sent back for repair."
    if not allowed:
        return "No repairs were allowed."
    return f"All {allowed} repairs are used." if used >= allowed else ""
