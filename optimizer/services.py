"""Ask for edits, read the answer, and hold it against gates 1-3."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from analysis.evidence import offered
from analysis.models import Kernel, Profile
from analysis.services import source_texts, stored_analysis
from analysis.types import Analysis, Evidence, SourceKind
from optimas_web.errors import UserError
from optimas_web.jobs import Postponed, RunningJob
from optimizer import check, prompt
from optimizer.backends import address, backend, trouble, vendor, wire
from optimizer.budget import Cap, dollars, most_usd, refuse_over
from optimizer.models import Attempt, Charge, Run, VendorAccess
from optimizer.presets import preset
from optimizer.rows import as_text, gate_of, store_checked, store_completion, store_prompt
from optimizer.sealed import seal, unseal
from optimizer.types import Access, BackendOptions, Checked, Completion, Patience, Prompt
from projects.models import Project, Snapshot, Team
from projects.services import manifest_of

audit = logging.getLogger("optimas.audit")
PROGRESS_EVERY_S = 5.0
MOST_LISTED = 500
UNBILLED = ("quota", "rate_limited", "busy", "auth", "no_model", "unreachable", "too_long", "rejected")
"""Trouble that came before the model had read anything."""


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
    who = backend(run.backend)
    if who.ORIGIN == "person" and attempt.answer_text is None:
        return
    job.stage(f"asking {run.backend}", 0.3)
    completion = ask_vendor(job, attempt, asked) if who.ORIGIN == "model" else who.complete(asked, options_of(attempt))
    job.check()
    job.stage("checking the answer", 0.8)
    checked = understood(attempt, asked, completion)
    with job.write():
        store_completion(attempt, completion)
        store_checked(attempt, checked)
        book(run, "infer", completion.seconds)


def ask_vendor(job: RunningJob, attempt: Attempt, asked: Prompt) -> Completion:
    """The model's answer, within the caps. Trouble that passes postpones the job, which costs no attempt."""
    run = attempt.run
    access = access_for(run.snapshot.project, run.backend)
    options = replace(
        options_of(attempt), access=access, output_tokens=output_tokens(attempt), patience=watched(job, run)
    )
    with job.write():
        charge = reserve(attempt, asked, options)
    try:
        completion = backend(run.backend).complete(asked, options)
    except wire.Cancelled:
        job.check()
        raise
    except trouble.Trouble as met:
        release(charge, met.kind)
        pause = trouble.pause_s(met, job.row.waits)
        if pause is None:
            raise
        raise Postponed(pause, met.message) from met
    settle(charge, completion.cost_usd)
    return completion


def watched(job: RunningJob, run: Run) -> Patience:
    """Patience that ends with the job, and that tells every few seconds how far the answer is."""
    told = time.monotonic()

    def progress(characters: int) -> None:
        nonlocal told
        if time.monotonic() - told >= PROGRESS_EVERY_S:
            told = time.monotonic()
            job.stage(f"{model_of(run)} has written {characters:,} characters" if characters else "it thinks", 0.4)

    return Patience(cancelled=job.cancelled, progress=progress)


def output_tokens(attempt: Attempt) -> int | None:
    """Twice as many for every answer of the run before that was cut off: the same limit is not tried again."""
    cut = attempt.run.attempts.filter(number__lt=attempt.number, outcome="cut_off").count()
    return preset(attempt.run.backend, model_of(attempt.run)).output_tokens * 2**cut if cut else None


def model_of(run: Run) -> str:
    return str(run.options.get("model", ""))


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
    checked = check.check(completion, asked, source_texts(profile_of(run)), run.snapshot.project.rules)
    if not completion.note:
        return checked
    return replace(checked, answer=replace(checked.answer, message=f"{checked.answer.message} {completion.note}"))


def options_of(attempt: Attempt) -> BackendOptions:
    run = attempt.run
    options = options_for(run.snapshot, stored_analysis(profile_of(run)))
    text = as_text(attempt.answer_text) if attempt.answer_text is not None else None
    return replace(options, model=model_of(run), text=text)


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


# --- money ------------------------------------------------------------------------------------


def reserve(attempt: Attempt, asked: Prompt, options: BackendOptions) -> Charge | None:
    """Put aside what the request may cost, inside a transaction. Raises UserError when a cap does not allow it.

    The team's row is locked, so that requests at the same moment are counted one after the other. None: nothing is
    known to cost anything.
    """
    run = attempt.run
    project = Project.objects.get(pk=run.snapshot.project_id)
    known = preset(run.backend, options.model)
    most = most_usd(known, asked.tokens_estimated, options.output_tokens)
    if most is None and address.is_local(options.access.base_url or vendor(run.backend).ADDRESS):
        return None  # a machine of one's own sends no bill
    team = Team.objects.select_for_update(no_key=True).get(pk=project.team_id)
    refuse_over(caps(team, project, run), most, options.model)
    return Charge.objects.create(team=team, project=project, attempt=attempt, most_usd=most) if most else None


def caps(team: Team, project: Project | None = None, run: Run | None = None) -> list[Cap]:
    """The caps that hold for a request, the widest first, with what was spent and what is on its way."""
    month = timezone.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    found = [Cap("team for this month", team.budget_usd, spent(team.charges.filter(created__gte=month)))]
    if project is not None:
        found.append(Cap("project", project.budget_usd, spent(project.charges)))
    if run is not None:
        found.append(Cap("run", run.budget_usd, spent(Charge.objects.filter(attempt__run=run))))
    return found


def spent(charges: Any) -> Decimal:
    """What requests cost; where that is not known, what they may have cost."""
    total: Decimal | None = charges.aggregate(total=Sum(Coalesce("cost_usd", "most_usd")))["total"]
    return total or Decimal(0)


def set_budget(team: Team, budget_usd: Decimal | None, by: User) -> None:
    audit.info("%s set what team %s may spend in a month to %s USD", by, team.pk, budget_usd)
    team.budget_usd = budget_usd
    team.save(update_fields=["budget_usd"])


def set_limits(
    project: Project, by: User, *, local_only: bool, vendors_allowed: list[str], budget_usd: Decimal | None
) -> None:
    """Where the project's sources may go, and what may be spent on it in all."""
    audit.info(
        "%s let project %s ask %s, local only: %s, %s USD", by, project.pk, vendors_allowed, local_only, budget_usd
    )
    project.local_only, project.vendors_allowed, project.budget_usd = local_only, vendors_allowed, budget_usd
    project.save(update_fields=["local_only", "vendors_allowed", "budget_usd"])


def settle(charge: Charge | None, cost_usd: float | None) -> None:
    """A request is over. When the vendor does not say what it used, what was put aside counts."""
    if charge is not None:
        charge.cost_usd = dollars(cost_usd)
        charge.save(update_fields=["cost_usd"])


def release(charge: Charge | None, kind: str) -> None:
    """A request came to nothing. What the vendor may have begun stays put aside."""
    if charge is not None and kind in UNBILLED:
        charge.delete()


# --- keys and addresses -----------------------------------------------------------------------


def access_for(project: Project, name: str) -> Access:
    """How this project reaches the vendor. Raises UserError when it may not, or when nobody has given a key."""
    row = VendorAccess.objects.filter(team=project.team_id, backend=name).first()
    refuse_forbidden(project, name, row)
    return opened(name, row)


def refuse_forbidden(project: Project, name: str, row: VendorAccess | None) -> None:
    """Raises UserError when the project does not let its sources go there."""
    found = vendor(name)
    if project.vendors_allowed and name not in project.vendors_allowed:
        raise UserError(f"This project does not allow {found.TITLE}.", "A lead can allow it: Settings, team.")
    where = (row.base_url if row else "") or found.ADDRESS
    if project.local_only and not address.is_local(where):
        raise UserError(
            f"This project stays on the private network, and {where or found.TITLE} is not on it.",
            "Choose a model server of your own, or let a lead change it: Settings, team.",
        )


def opened(name: str, row: VendorAccess | None) -> Access:
    """Address and key. Raises UserError when one that is needed is missing."""
    found = vendor(name)
    if found.NEEDS_KEY and not (row and row.has_key):
        raise UserError(f"The team has no key for {found.TITLE}.", "A lead can put one in: Settings, team.")
    if not found.ADDRESS and not (row and row.base_url):
        raise UserError("The team has no address of a model server.", "A lead can give one: Settings, team.")
    key = unseal(bytes(row.sealed_key), settings.SECRET_KEY) if row and row.has_key else ""
    return Access(row.base_url if row else "", key)


def save_access(team: Team, name: str, base_url: str, key: str, by: User) -> VendorAccess:
    """Keep the address, and the key when there is a new one; then test both. Raises UserError for a bad address."""
    values: dict[str, Any] = {"base_url": address.checked(base_url) if base_url else "", "changed_by": by}
    known = VendorAccess.objects.filter(team=team, backend=name).first()
    if key:
        values["sealed_key"] = seal(key, settings.SECRET_KEY)
    elif known and known.has_key and known.base_url != values["base_url"]:
        raise UserError("Another address needs the key again.", "So that no key goes where it was not meant to go.")
    row, _ = VendorAccess.objects.update_or_create(team=team, backend=name, defaults=values)
    audit.info("%s changed the access of team %s to %s%s", by, team.pk, name, ", with a new key" if key else "")
    return test_access(row)


def forget_access(row: VendorAccess, by: User) -> None:
    audit.info("%s took the access of team %s to %s away", by, row.team_id, row.backend)
    row.delete()


def test_access(row: VendorAccess) -> VendorAccess:
    """Ask the vendor for its models, which costs nothing, and keep what came of it."""
    patience = Patience(connect_s=5, silence_s=10, whole_s=15, look_s=0.1)
    try:
        options = BackendOptions(access=opened(row.backend, row), patience=patience)
        row.listed, row.problem = list(vendor(row.backend).models(options))[:MOST_LISTED], ""
    except UserError as error:
        row.listed, row.problem = [], str(error)
    row.tested = timezone.now()
    row.save(update_fields=["listed", "problem", "tested"])
    return row
