"""Ask for edits, read the answer, and hold it against gates 1-3."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from analysis.evidence import offered
from analysis.models import Kernel, Profile
from analysis.services import source_texts, stored_analysis
from analysis.types import Analysis, Evidence, SourceKind
from optimas_web.jobs import RunningJob
from optimizer import check, prompt
from optimizer.backends import backend
from optimizer.models import Attempt, Run
from optimizer.rows import as_text, gate_of, store_checked, store_completion, store_prompt
from optimizer.types import BackendOptions, Checked, Completion, Prompt
from projects.models import Snapshot
from projects.services import manifest_of


def propose(job: RunningJob) -> None:
    """Build the prompt, get an answer, check it. While a person's answer is waited for, only the prompt is stored."""
    attempt = Attempt.objects.select_related("run__snapshot__project", "run__profile", "parent").get(pk=job.target_id)
    if attempt.outcome:
        return
    run, started = attempt.run, time.monotonic()
    job.stage("writing the prompt", 0.1)
    asked = build_prompt(attempt)
    with job.write():
        store_prompt(attempt, asked)
        book(run, "summarise", time.monotonic() - started)
    vendor = backend(run.backend)
    if vendor.ORIGIN == "person" and attempt.answer_text is None:
        return
    job.stage(f"asking {run.backend}", 0.3)
    completion = vendor.complete(asked, options_of(attempt))
    job.check()
    job.stage("checking the answer", 0.8)
    checked = understood(attempt, asked, completion)
    with job.write():
        store_completion(attempt, completion)
        store_checked(attempt, checked)
        book(run, "infer", completion.seconds)


def build_prompt(attempt: Attempt) -> Prompt:
    """What the attempt's backend reads; for a repair, with the answer that failed and why it did."""
    run = attempt.run
    analysis = stored_analysis(profile_of(run))
    asked = prompt_for(run.snapshot, analysis, run.kernels.all(), run.sources, run.guidance)
    if attempt.parent is None:
        return asked
    failed = attempt.parent.gates.get(status="failed")
    return prompt.repair(asked, as_text(attempt.parent.completion.text), gate_of(failed))


def prompt_for(
    snapshot: Snapshot, analysis: Analysis, kernels: Iterable[Kernel], kinds: Collection[SourceKind], guidance: str
) -> Prompt:
    """The first prompt of a run with these choices, whether it has started or not. No kernels: the hot ones.

    Raises UserError as ``prompt.build`` does.
    """
    return prompt.build(
        analysis,
        sources=analysis.sources,
        toolchain=manifest_of(snapshot).toolchain,
        kernels=[kernel.mangled for kernel in kernels] or None,
        kinds=kinds,
        guidance=guidance,
        severities=snapshot.project.rules,
    )


def understood(attempt: Attempt, asked: Prompt, completion: Completion) -> Checked:
    """The completion through gates 1-3. Nothing is stored."""
    run = attempt.run
    return check.check(completion, asked, source_texts(profile_of(run)), run.snapshot.project.rules)


def options_of(attempt: Attempt) -> BackendOptions:
    run = attempt.run
    options = options_for(run.snapshot, stored_analysis(profile_of(run)))
    text = as_text(attempt.answer_text) if attempt.answer_text is not None else None
    return replace(options, model=run.options.get("model", ""), text=text)


def options_for(snapshot: Snapshot, analysis: Analysis) -> BackendOptions:
    """What every backend may know of a program."""
    recordings = tuple(Path(folder) for folder in settings.RECORDINGS)
    return BackendOptions(snapshot=snapshot.sha256, evidence=analysis.evidence, recordings=recordings)


def profile_of(run: Run) -> Profile:
    """The run's profile, which is there from the moment that it asks for an answer."""
    assert run.profile is not None
    return run.profile


def run_kernels(run: Run) -> list[Kernel]:
    """The kernels that may be changed: the ones chosen, else those the prompt named."""
    chosen = list(run.kernels.all())
    return chosen or list(profile_of(run).kernels.filter(hot=True))


def offered_evidence(attempt: Attempt) -> tuple[Evidence, ...]:
    """The evidence that stood in the attempt's prompt, with weights that add up to 1."""
    kernels = {kernel.mangled for kernel in run_kernels(attempt.run)}
    return offered(
        stored_analysis(profile_of(attempt.run)).evidence, kernels, attempt.run.sources, attempt.prompt.labels
    )


def book(run: Run, what: str, seconds: float) -> None:
    """Add to where the time of the run went."""
    run.seconds = {**run.seconds, what: run.seconds.get(what, 0.0) + seconds}
    run.save(update_fields=["seconds"])
