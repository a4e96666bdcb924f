"""New run: everything that will happen is told before the button is pressed, the exact prompt first of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from analysis.models import Kernel, Profile
from analysis.services import stored_analysis
from analysis.types import SOURCE_KINDS, Analysis
from evaluation.forms import NewRunForm, usable_profiles
from evaluation.models import Host
from evaluation.run_page import Estimate, estimate
from evaluation.services import QUEUES, start_run
from evaluation.views import can_edit, editors_only, signed_in
from evaluation.views.recipients import Recipient, foreseen, recipients
from optimas_web.errors import UserError
from optimizer.models import Run, RunStatus
from optimizer.privacy import Finding, scan
from optimizer.regions import defined
from optimizer.services import options_for, prompt_for
from optimizer.types import Prompt
from projects.models import Project, Snapshot

SHOWN_KERNELS = 8
REMEMBERED_RUNS = 20


@dataclass(frozen=True, slots=True)
class KernelBar:
    """One kernel for parts/bars.html."""

    key: str
    name: str
    share: float
    note: str
    chosen: bool
    value: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """The snapshot and, once there is a profile, what it says. ``own``: kernels that the sources define, by rank."""

    snapshot: Snapshot
    profile: Profile | None
    analysis: Analysis | None = None
    own: tuple[Kernel, ...] = ()
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run would do, told before it starts. Without a prompt there is a ``problem``, or no profile yet."""

    program: Program
    form: NewRunForm
    prompt: Prompt | None
    problem: UserError | None
    recipients: tuple[Recipient, ...]
    chosen: Recipient
    findings: tuple[Finding, ...] = ()

    @property
    def hindrance(self) -> UserError | None:
        """Why it is no use to start."""
        return self.problem or self.chosen.hindrance or self.unseen

    @property
    def unseen(self) -> UserError | None:
        """The prompt would leave with something in it that nobody has said may leave."""
        if not self.findings or not self.prompt or not self.chosen.asks_a_vendor or self.may_leave:
            return None
        return UserError(
            "The prompt holds what looks like secrets or personal data.", "Take it out, or tick that it may be sent."
        )

    @property
    def may_leave(self) -> bool:
        """Whether somebody has ticked it for exactly this prompt."""
        return self.prompt is not None and self.form.cleaned_data.get("send_anyway") == self.prompt.sha256


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_run(request: HttpRequest, project_id: int) -> HttpResponse:
    project = load_project(request, project_id)
    plan = plan_of(project, request.POST or request.GET)
    if plan is None:
        return render(request, "evaluation/no_sources.html", {"project": project})
    if request.method != "POST":
        return page(request, project, plan)
    editors_only(request, project.team)
    if fits(plan.program, request.POST) and plan.form.is_valid() and not plan.hindrance:
        return redirect("evaluation:run", start(request, plan).pk)
    return page(request, project, plan, tried=True)


@login_required
@require_POST
def preview(request: HttpRequest, project_id: int) -> HttpResponse:
    """The same page with the choices as they are now. htmx takes the part that has changed."""
    project = load_project(request, project_id)
    plan = plan_of(project, request.POST)
    if plan is None:
        raise Http404
    return page(request, project, plan)


# --- what is chosen ---------------------------------------------------------------------------


def load_project(request: HttpRequest, pk: int) -> Project:
    rows = Project.objects.visible_to(request.user).select_related("team")
    found: Project = get_object_or_404(rows, pk=pk)
    return found


def load_program(project: Project, data: QueryDict) -> Program | None:
    """The snapshot and profile that were asked for, or the newest; None when the project has no sources yet."""
    snapshots = project.snapshots.select_related("project")
    asked = data.get("snapshot", "")
    snapshot = get_object_or_404(snapshots, pk=number(asked)) if asked else snapshots.first()
    if snapshot is None:
        return None
    profile = chosen_profile(snapshot, data)
    if profile is None or profile.state != "ready":
        return Program(snapshot, profile)
    profile.snapshot = snapshot
    return read_program(snapshot, profile)


def chosen_profile(snapshot: Snapshot, data: QueryDict) -> Profile | None:
    """The one that was asked for, if it is of this snapshot, else the newest. A submitted form may ask for none."""
    profiles = list(usable_profiles(snapshot))
    if "key" in data and not data.get("profile"):
        return None
    asked = [profile for profile in profiles if str(profile.pk) == data.get("profile")]
    ready = [profile for profile in profiles if profile.state == "ready"]
    return next(iter([*asked, *ready]), None)


def read_program(snapshot: Snapshot, profile: Profile) -> Program:
    analysis = stored_analysis(profile)
    known = defined(analysis.sources, {each.kernel.short_name for each in analysis.kernels})
    rows = list(profile.kernels.defer("roofline", "stalls"))
    own = tuple(row for row in rows if row.short_name in known)
    elsewhere = tuple(row.short_name for row in rows if row.hot and row.short_name not in known)
    return Program(snapshot, profile, analysis, own, elsewhere)


def number(text: str) -> int:
    """An id in an address; anything else was never linked to."""
    if not (text.isascii() and text.isdecimal()):
        raise Http404
    return int(text)


def form_of(project: Project, program: Program, offered: tuple[Recipient, ...], data: QueryDict) -> NewRunForm:
    """The form with what was sent, or with what is best to begin with; links may ask for some of it."""
    values = data.copy()
    if "key" not in data:
        values["key"] = str(uuid4())
        values.setlistdefault("repairs", ["3"])
        if "sources" not in data:
            values.setlist("sources", list(SOURCE_KINDS))
    values["snapshot"] = str(program.snapshot.pk)
    values["profile"] = values["shown"] = str(program.profile.pk) if program.profile else ""
    if not fits(program, data):
        values.setlist("kernels", [str(kernel.pk) for kernel in program.own if kernel.hot])
    names = {each.name: each.title for each in offered if not each.closed}
    return NewRunForm(project, program.snapshot, program.profile, program.own, names, values)


def fits(program: Program, data: QueryDict) -> bool:
    """Whether the kernels that were sent are those of the profile that was sent."""
    return "key" in data and data.get("shown", "") == (str(program.profile.pk) if program.profile else "")


def start(request: HttpRequest, plan: Plan) -> Run:
    chosen, user = plan.form.cleaned_data, signed_in(request)
    run = Run(
        snapshot=plan.program.snapshot,
        profile=plan.program.profile,
        sources=[kind for kind in SOURCE_KINDS if kind in chosen["sources"]],
        backend=plan.chosen.backend,
        options={"model": plan.chosen.model} if plan.chosen.model else {},
        budget_usd=chosen["budget_usd"],
        repairs=chosen["repairs"],
        guidance=chosen["guidance"],
        idempotency_key=plan.form.idempotency_key(user.pk),
        created_by=user,
    )
    return start_run(run, chosen["kernels"])


# --- what is told before ----------------------------------------------------------------------


def plan_of(project: Project, data: QueryDict) -> Plan | None:
    """None when the project has no sources yet."""
    program = load_program(project, data)
    if program is None:
        return None
    offered = recipients(project)
    form = form_of(project, program, offered, data)
    form.is_valid()
    prompt, problem = prompt_or_problem(program, form)
    chosen = chosen_recipient(project, program, form, prompt, offered)
    return Plan(program, form, prompt, problem, offered, chosen, scan(prompt.text) if prompt else ())


def chosen_recipient(
    project: Project, program: Program, form: NewRunForm, prompt: Prompt | None, offered: tuple[Recipient, ...]
) -> Recipient:
    """The one that was chosen, or the first that can answer without asking a vendor."""

    def told(each: Recipient) -> Recipient:
        if prompt is None or program.analysis is None or each.closed:
            return each
        options = options_for(program.snapshot, program.analysis)
        return foreseen(each, project, prompt, options, form.cleaned_data.get("budget_usd"))

    asked = [each for each in offered if each.name == form.sent.get("backend")]
    if asked:
        return told(asked[0])
    here = [told(each) for each in offered if not each.asks_a_vendor]
    able = [each for each in here if not each.problem]
    return [*able, *here, *offered][0]


def page(request: HttpRequest, project: Project, plan: Plan, tried: bool = False) -> HttpResponse:
    """``tried``: the button was pressed, so what is wrong with the choices is told."""
    program, toolchain = plan.program, plan.program.snapshot.manifest["toolchain"]
    context: dict[str, Any] = {
        "project": project,
        "plan": plan,
        "tried": tried,
        "prompt_bytes": len(plan.prompt.text.encode()) if plan.prompt else None,
        "kernels": kernel_bars(program, plan.form),
        "kinds": [(name, words, name in plan.form.sent.getlist("sources")) for name, words in sources_of(plan.form)],
        "estimate": estimate_of(project, program),
        "workloads": list(program.snapshot.workloads.all()),
        "toolchain": toolchain,
        "can_start": can_edit(request, project.team),
    }
    if program.profile is None:
        context["hosts"] = able_hosts(toolchain)
    return render(request, "evaluation/new_run.html", context)


def sources_of(form: NewRunForm) -> list[tuple[str, str]]:
    return list(form.fields["sources"].choices)  # type: ignore[attr-defined]


def prompt_or_problem(program: Program, form: NewRunForm) -> tuple[Prompt | None, UserError | None]:
    """The very text that a run with these choices would send first, or why there is none."""
    kernels = list(form.cleaned_data.get("kernels") or ())
    if program.analysis is None or (program.own and not kernels):
        return None, None
    kinds = form.cleaned_data.get("sources", SOURCE_KINDS)
    guidance = form.cleaned_data.get("guidance", "")
    try:
        return prompt_for(program.snapshot, program.analysis, kernels, kinds, guidance), None
    except UserError as error:
        return None, error


def kernel_bars(program: Program, form: NewRunForm) -> list[KernelBar]:
    """The kernels that may be chosen: the hot ones, those that are chosen, and the largest of the others."""
    chosen = set(form.sent.getlist("kernels"))
    rows = [row for n, row in enumerate(program.own) if n < SHOWN_KERNELS or row.hot or str(row.pk) in chosen]
    return [
        KernelBar(
            str(row.pk), row.short_name, row.share or 0.0, f"rank {row.rank}{', hot' * row.hot}", str(row.pk) in chosen
        )
        for row in rows
    ]


def estimate_of(project: Project, program: Program) -> Estimate | None:
    """How long this project's runs worked until now."""
    ended = Run.objects.filter(snapshot__project=project, status__in=(RunStatus.DONE, RunStatus.NEEDS_REVIEW))
    earlier = list(ended.values_list("seconds", flat=True)[:REMEMBERED_RUNS])
    return estimate(earlier, has_profile=program.profile is not None)


def able_hosts(toolchain: str) -> list[Host]:
    """Hosts that are online, work for this kind of program, and miss none of its tools."""
    hosts = Host.objects.prefetch_related("workers")
    return [host for host in hosts if QUEUES[toolchain] in host.queues and not host.missing(toolchain)]
