"""Attempts as rows for tests of pages: real sources, profiles, prompts and recorded answers of the samples, through
the product's own gates 1-3. Only what a machine would have measured is made up here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from analysis import formats
from analysis.models import Profile
from analysis.pipeline import analyse
from analysis.rows import store
from analysis.services import source_texts
from analysis.types import SOURCE_KINDS, Analysis
from evaluation import ear
from evaluation import recorded as recordings
from evaluation import types as t
from evaluation.documents import evaluation_document
from evaluation.models import Host
from evaluation.rows import store_evaluation, store_recorded
from evaluation.timing import first_side, verdict_of
from optimizer import check
from optimizer.backends import backend
from optimizer.models import Attempt, AttemptOrigin, Run, RunStatus
from optimizer.rows import checked_of, store_checked, store_completion, store_prompt
from optimizer.services import build_prompt, offered_evidence, options_of
from optimizer.types import GATES, Completion, Gate, Region
from projects.models import Project, Snapshot
from projects.services import add_snapshot, create_team
from projects.snapshot import from_files

ROOT = Path(__file__).parents[1]
REPORTS = {
    "heat2d": ROOT / "tests/data/profiles/callgrind/callgrind.out.heat2d",
    "rowrank": ROOT / "samples/rowrank/rowrank.ncu-rep",
}
KERNELS = {"heat2d": ["spread"], "rowrank": ["rank_rows", "fill_scores"]}
SPEEDUPS = {"program": 2.4}


def sample(name: str) -> dict[str, bytes]:
    found = (path for path in (ROOT / "samples" / name).iterdir() if path.suffix in (".cu", ".cpp", ".toml", ".md"))
    return {path.name: path.read_bytes() for path in found}


def snapshot_of(name: str, files: dict[str, bytes], owner: User) -> Snapshot:
    project = Project.objects.create(team=create_team(f"{name} team", owner), name=name, created_by=owner)
    return add_snapshot(project, from_files(files), owner)


def profiled(snapshot: Snapshot, report: Path) -> Profile:
    row = Profile.objects.create(snapshot=snapshot, origin="host")
    store(row, analysed(report, tuple(sorted(source_texts(row).items()))), "")
    return row


@cache
def analysed(report: Path, sources: tuple[tuple[str, str], ...]) -> Analysis:
    return analyse(formats.read(report), dict(sources))


def asked(name: str, owner: User, files: dict[str, bytes] | None = None) -> Attempt:
    """An attempt whose prompt is written and whose answer is waited for."""
    snapshot = snapshot_of(name, files or sample(name), owner)
    run = Run.objects.create(
        snapshot=snapshot,
        profile=profiled(snapshot, REPORTS[name]),
        sources=list(SOURCE_KINDS),
        backend="replay",
        status=RunStatus.PROPOSING,
        created_by=owner,
    )
    run.kernels.set(run.profile.kernels.filter(short_name__in=KERNELS[name]))
    attempt = Attempt.objects.create(run=run, number=1, origin=AttemptOrigin.RECORDED)
    store_prompt(attempt, build_prompt(attempt))
    attempt.refresh_from_db()
    return attempt


def answered(name: str, owner: User, answer: str | None = None, files: dict[str, bytes] | None = None) -> Attempt:
    """The answer went through gates 1-3: the sample's recorded one, or the one given."""
    attempt = asked(name, owner, files)
    prompt = build_prompt(attempt)
    if answer is None:
        completion = backend("replay").complete(prompt, options_of(attempt))
    else:
        completion = Completion(answer, "end", "a model of the tests", 2680, 812, 0.0123, 8.25)
    sources = source_texts(attempt.run.profile)
    store_completion(attempt, completion)
    store_checked(attempt, check.check(completion, prompt, sources, attempt.run.snapshot.project.rules))
    failed = attempt.gates.filter(status="failed").exists()
    attempt.run.status = RunStatus.NEEDS_REVIEW if failed else RunStatus.EVALUATING
    attempt.run.save()
    attempt.refresh_from_db()
    return attempt


def judged(owner: User, failed: str = "", **answering: object) -> Attempt:
    """All nine gates, with measurements that are made up; ``failed`` names the gate that ends it."""
    attempt = answered("heat2d", owner, **answering)
    evaluation = evaluation_of(attempt, failed)
    host = Host.objects.update_or_create(name="bench-4", defaults={"last_seen": timezone.now()})[0]
    store_evaluation(attempt, evaluation, evaluation_document(evaluation), host)
    run = attempt.run
    run.status = RunStatus.NEEDS_REVIEW if failed else RunStatus.DONE
    run.seconds = {"profile": 3.1, "summarise": 0.2, "infer": 8.25, "build": 4.4, "validate": 71.5, "re_profile": 24.8}
    run.ended = timezone.now()
    run.save()
    return attempt


def recorded(owner: User) -> Attempt:
    """The GPU sample with the evaluation that was really made on a GPU."""
    attempt = answered("rowrank", owner)
    found = recordings.find(settings.RECORDINGS, attempt.run.snapshot.sha256, attempt.patch_sha256)
    assert found is not None
    store_recorded(attempt, found.document, found.said)
    attempt.run.status = RunStatus.DONE
    attempt.run.save()
    return attempt


def evaluation_of(attempt: Attempt, failed: str) -> t.Evaluation:
    checked = checked_of(attempt, source_texts(attempt.run.profile))
    offered = offered_evidence(attempt)
    measured = [measured_again(item.label, item.value, index) for index, item in enumerate(offered)]
    regions = tuple(Region(**region) for region in attempt.prompt.regions)
    reasoning = ear.Reasoning(
        offered,
        checked.answer.edits,
        checked.answer.not_applied,
        regions,
        checked.before,
        {m.label: m for m in measured},
    )
    timed = not failed
    pairs = {scope: made_pairs(attempt.pk, ratio) for scope, ratio in SPEEDUPS.items()} if timed else {}
    workloads = [row.name for row in attempt.run.snapshot.workloads.all()]
    return t.Evaluation(
        workload=workloads[0],
        gates=(*checked.gates, *made_gates(failed)),
        comparisons=tuple(comparison(workload, failed) for workload in workloads),
        pairs=pairs,
        timings={scope: verdict_of(scope, rows, attempt.pk) for scope, rows in pairs.items()},
        scores=ear.scores(reasoning),
        environment={"processor": "Imagined CPU", "cores": 8, "memory_bytes": 64e9, "tool g++": "12.2.0"},
        baselines=tuple(baseline(workload) for workload in workloads),
        measured=tuple(measured),
        seed=attempt.pk,
    )


def measured_again(label: str, value: float | None, index: int) -> t.Measured:
    factors = (0.1, 0.4, 1.5, None)
    factor = factors[index % len(factors)]
    return t.Measured(label, value, None if value is None or factor is None else value * factor, 0.02)


def made_pairs(seed: int, ratio: float, count: int = 10, tainted: Sequence[int] = ()) -> tuple[t.Pair, ...]:
    wobble = (0, 3, -2, 5, -4, 1, -1, 2, -3, 4)
    return tuple(
        t.Pair(
            index=index,
            first=first_side(seed, index),
            original_ns=2e8 * (1 + wobble[index % 10] / 1000),
            candidate_ns=2e8 / ratio * (1 - wobble[(index * 3) % 10] / 1000),
            tainted="another process used the machine" if index in tainted else "",
        )
        for index in range(count)
    )


def made_gates(failed: str) -> tuple[Gate, ...]:
    found: list[Gate] = []
    for name in GATES[3:]:
        ended = any(gate.status == "failed" for gate in found)
        status = "not_run" if ended else "failed" if name == failed else "passed"
        reason = f"The gate {failed} failed before it." if ended else f"Made up: {name} {status}."
        found.append(Gate(name, status, reason, 0.0 if ended else 1.25, "" if ended else f"log of {name}\n" * 3))
    return tuple(found)


def comparison(workload: str, failed: str) -> t.Comparison:
    differs = failed == "outputs" and workload != "default"
    return t.Comparison(
        workload, not differs, 4_000_000, ("out/plate.bin differs at byte 4,096: 0x3f, not 0x40",) * differs
    )


def baseline(workload: str) -> t.Baseline:
    ran = t.Ran("exited", 0, "", workload.encode(), b"", 0, 1)
    masks = (t.Mask("stdout", "time: ([0-9.]+)", "seen", "time: 1.25"),) if workload == "default" else ()
    return t.Baseline(workload, True, 4_000_000, masks, t.Outputs(ran, ()), printed=workload)


def edit(text: str, first: int, last: int, new: str, labels: Sequence[str], **more: object) -> dict[str, object]:
    """One edit of an answer; ``text`` is the file it changes."""
    original = "\n".join(text.split("\n")[first - 1 : last])
    return {
        "file": "heat2d.cpp",
        "start_line": first,
        "end_line": last,
        "original_text": original,
        "new_text": new,
        "evidence": list(labels),
        "rationale": "because",
        "expect": [],
        **more,
    }


def answer(*edits: dict[str, object], summary: str = "A summary.", not_applied: Sequence[object] = ()) -> str:
    return json.dumps({"summary": summary, "edits": edits, "not_applied": not_applied})
