"""Bring an answer: copy the prompt, paste what came back, and see what was understood before it counts."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.views.decorators.http import require_http_methods, require_POST

from evaluation.changes import changes
from evaluation.forms import AnswerForm
from evaluation.services import paste_answer
from evaluation.views import can_edit, editors_only, load_run
from optimas_web.errors import UserError
from optimizer.backends import backend
from optimizer.models import Attempt, Run, RunStatus
from optimizer.rows import as_text
from optimizer.services import build_prompt, understood
from optimizer.types import BackendOptions, Checked
from projects.models import storable


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def paste(request: HttpRequest, pk: int) -> HttpResponse:
    run = load_run(request, pk)
    form = AnswerForm(request.POST or None)
    if request.method != "POST":
        return page(request, run, form)
    editors_only(request, run.snapshot.project.team)
    if not form.is_valid():
        return page(request, run, form)
    try:
        paste_answer(run, form.cleaned_data["answer"])
    except UserError as error:
        messages.error(request, error.message)
        return redirect("evaluation:paste", run.pk)
    return redirect("evaluation:run", run.pk)


@login_required
@require_POST
def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """What would be understood of the text: nothing is stored. A part for htmx, else the page."""
    run = load_run(request, pk)
    editors_only(request, run.snapshot.project.team)
    form = AnswerForm(request.POST)
    read = reading(run, form) if form.is_valid() else {}
    if request.htmx:  # type: ignore[attr-defined]  # django_htmx's middleware
        return shown(request, "evaluation/understood.html", {"run": run, "form": form, **read})
    return page(request, run, form, read)


def page(request: HttpRequest, run: Run, form: AnswerForm, read: dict[str, Any] | None = None) -> HttpResponse:
    attempt = run.attempts.select_related("prompt", "parent").order_by("-number").first()
    prompt = getattr(attempt, "prompt", None)
    context = {
        "run": run,
        "attempt": attempt,
        "prompt": prompt,
        "prompt_text": as_text(prompt.text) if prompt else "",
        "offered": offered(run, prompt.labels) if prompt else (),
        "failed": attempt.parent.gates.filter(status="failed").first() if attempt and attempt.parent else None,
        "waits": run.status == RunStatus.WAITING_FOR_ANSWER,
        "editor": can_edit(request, run.snapshot.project.team),
        "form": form,
        **(read or {}),
    }
    return shown(request, "evaluation/paste.html", context)


def shown(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """Sources may hold bytes that no page can: each becomes a symbol."""
    return HttpResponse(storable(render_to_string(template, context, request)))


def offered(run: Run, labels: list[str]) -> Any:
    return run.profile.evidence.filter(label__in=labels) if run.profile else ()


def reading(run: Run, form: AnswerForm) -> dict[str, Any]:
    """The text of a valid form, read as the run itself would read it."""
    attempt = run.attempts.select_related("parent").order_by("-number").first()
    if attempt is None or run.status != RunStatus.WAITING_FOR_ANSWER:
        return {"late": True}
    attempt.run = run
    try:
        checked = check_pasted(attempt, form.cleaned_data["answer"])
    except UserError as error:
        return {"problem": error}
    found = checked.answer.edits
    return {
        "checked": checked,
        "edits": [(edit, [(label, label in checked.offered) for label in edit.evidence]) for edit in found],
        "changes": changes(checked.before, checked.after, found),
    }


def check_pasted(attempt: Attempt, text: str) -> Checked:
    asked = build_prompt(attempt)
    completion = backend(attempt.run.backend).complete(asked, BackendOptions(text=text))
    return understood(attempt, asked, completion)
