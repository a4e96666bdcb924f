"""One run for each vendor's wire format, through the whole loop: prompt, answer, gates 1 to 9, verdict."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal

import pytest
from django.conf import settings

from evaluation.services import start_run
from optimizer.backends import vendor as vendor_of
from optimizer.models import Run, RunStatus, VendorAccess
from optimizer.rows import as_text
from optimizer.sealed import seal
from tests.optimizer.vendors import DIALECTS, Reply, serving
from tests.programs import snapshot, swap_loops, work_off

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("valkey"),
    pytest.mark.skipif(not all(map(shutil.which, ("g++", "valgrind", "objdump"))), reason="needs the CPU toolchain"),
]


@pytest.mark.parametrize("name", DIALECTS)
def test_a_run_goes_through_the_whole_loop(name: str) -> None:
    said, program = DIALECTS[name], snapshot()
    with serving(said.answer(swap_loops())) as vendor:
        base = f"{vendor.address}/v1" if name.startswith("openai") else vendor.address
        VendorAccess.objects.create(team=program.project.team, backend=name, base_url=base, sealed_key=a_key(name))
        run = Run(snapshot=program, backend=name, options={"model": said.model}, sources=[], repairs=0)
        work_off(start_run(run))
    assert run.status == RunStatus.DONE, (run.problem, run.hint)
    (attempt,) = run.attempts.all()
    ((_, _, sent),) = vendor.asked
    assert json.dumps(as_text(attempt.prompt.text)) in json.dumps(sent, ensure_ascii=True)
    assert [gate.status for gate in attempt.gates.all()][2:8] == ["passed"] * 6
    assert attempt.verdict.verdict != "failed"
    assert (attempt.origin, attempt.completion.prompt_tokens) == ("model", 3000)
    assert (attempt.completion.cost_usd is None) == (name in ("ollama", "openai_compatible"))
    assert attempt.completion.cost_usd is None or attempt.completion.cost_usd > Decimal(0)


def a_key(name: str) -> bytes:
    return seal("any", settings.SECRET_KEY) if vendor_of(name).NEEDS_KEY else b""


def test_a_broken_answer_is_repaired_by_the_same_vendor() -> None:
    said, program = DIALECTS["ollama"], snapshot()
    replies: tuple[Reply, ...] = (said.answer("Sure! Here it comes."), said.answer(swap_loops()))
    with serving(*replies) as vendor:
        VendorAccess.objects.create(team=program.project.team, backend="ollama", base_url=vendor.address)
        run = Run(snapshot=program, backend="ollama", options={"model": said.model}, sources=[], repairs=1)
        work_off(start_run(run))
    assert run.status == RunStatus.DONE, (run.problem, run.hint)
    assert [attempt.outcome for attempt in run.attempts.all()] == ["unreadable", "edits"]
    assert "Sure! Here it comes." in json.dumps(vendor.asked[1][2])
