"""Jobs that ask a vendor: waits that cost no attempt, caps that hold, projects that keep to themselves."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from evaluation.services import cancel_run, live_jobs, start_run
from optimas_web.errors import UserError
from optimas_web.jobs import Job, JobStatus, run_job, sweep
from optimizer import services
from optimizer.models import Attempt, Charge, Run, RunStatus, VendorAccess
from optimizer.sealed import seal, unseal
from optimizer.services import access_for, reserve, save_access, settle
from optimizer.types import Access, BackendOptions, Prompt
from tests import runs
from tests.cast import Cast, make_cast
from tests.optimizer.vendors import DIALECTS, SSE, Reply, Vendor, openai_answer, serving, sse

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey")]
NOTHING = json.dumps({"summary": "Nothing to gain.", "edits": [], "not_applied": []})
SLOW_DOWN = Reply(429, {"retry-after": "7"}, b'{"error": {"message": "Too many requests."}}')
EMPTY = Reply(429, {}, b'{"error": {"code": "insufficient_quota", "message": "No quota."}}')
KEY = "sk-local-0123456789"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def access(cast: Cast, vendor: Vendor, name: str = "openai") -> VendorAccess:
    sealed = seal(KEY, services.settings.SECRET_KEY)
    base = f"{vendor.address}/v1" if name.startswith("openai") else vendor.address
    return VendorAccess.objects.create(team=cast.team, backend=name, base_url=base, sealed_key=sealed)


def asking_run(cast: Cast, name: str = "openai", **values: Any) -> Run:
    """A run of a profiled sample whose next job asks the vendor."""
    profile = runs.profiled(runs.sample(cast, "heat2d"))
    options = {"model": DIALECTS[name].model}
    return start_run(
        Run(snapshot=profile.snapshot, profile=profile, backend=name, options=options, sources=["stalls"], **values)
    )


def step(run: Run) -> Job:
    """Do the run's job once, as if its wait were over."""
    job = live_jobs(run).get()
    Job.objects.filter(pk=job.pk).update(not_before=None)
    run_job(job.pk)
    job.refresh_from_db()
    run.refresh_from_db()
    return job


# --- waiting ----------------------------------------------------------------------------------


def test_a_rate_limit_is_waited_for_in_the_queue_and_costs_no_attempt(cast: Cast):
    with serving(SLOW_DOWN, SLOW_DOWN, openai_answer(NOTHING)) as vendor:
        access(cast, vendor)
        run = asking_run(cast, repairs=0)
        job = step(run)
        assert (job.status, job.waits, job.try_no) == (JobStatus.QUEUED, 1, 0)
        assert 5 < (job.not_before - timezone.now()).total_seconds() <= 7
        assert "waits until" in job.stage and "Too many requests." in job.stage
        run_job(job.pk)  # too early: nobody takes it
        job.refresh_from_db()
        assert (job.status, len(vendor.asked)) == (JobStatus.QUEUED, 1)
        step(run)
        assert step(run).status == JobStatus.DONE
    assert len(vendor.asked) == 3
    assert run.attempts.count() == 1
    assert run.attempts.get().outcome == "no_change"


def test_who_waits_is_not_reminded_before_it_is_due(cast: Cast):
    with serving(SLOW_DOWN) as vendor:
        access(cast, vendor)
        run = asking_run(cast)
        job = step(run)
    long_ago = timezone.now() - timedelta(hours=1)
    Job.objects.filter(pk=job.pk).update(created=long_ago, sent=long_ago)
    assert sweep() == 0
    Job.objects.filter(pk=job.pk).update(not_before=long_ago)
    assert sweep() == 1


def test_a_run_that_waits_can_be_cancelled(cast: Cast):
    with serving(SLOW_DOWN) as vendor:
        access(cast, vendor)
        run = asking_run(cast)
        job = step(run)
        cancel_run(run)
    job.refresh_from_db()
    run.refresh_from_db()
    assert (job.status, run.status) == (JobStatus.CANCELLED, RunStatus.CANCELLED)


def test_cancel_ends_a_request_under_way(cast: Cast):
    with serving(Reply(then="mute")) as vendor:
        access(cast, vendor)
        run = asking_run(cast)
        job = live_jobs(run).get()

        def cancel() -> None:
            while not vendor.asked:
                time.sleep(0.02)
            cancel_run(run)
            connection.close()

        thread = threading.Thread(target=cancel)
        thread.start()
        run_job(job.pk)
        thread.join()
    job.refresh_from_db()
    assert job.status == JobStatus.CANCELLED
    assert Charge.objects.get().cost_usd is None  # it may have been billed: what was put aside counts


def test_an_empty_account_ends_the_run_at_once_and_says_so(cast: Cast):
    with serving(EMPTY) as vendor:
        access(cast, vendor)
        run = asking_run(cast)
        assert step(run).status == JobStatus.FAILED
    assert len(vendor.asked) == 1
    assert run.status == RunStatus.FAILED
    assert "has no quota left" in run.problem
    assert not Charge.objects.exists()


def test_trouble_that_does_not_pass_ends_the_run_after_a_while(cast: Cast):
    with serving(Reply(500, {}, b"{}")) as vendor:
        access(cast, vendor)
        run = asking_run(cast)
        pauses = []
        while (job := step(run)).status == JobStatus.QUEUED:
            pauses.append(round((job.not_before - timezone.now()).total_seconds()))
    assert pauses == [2, 4, 8, 16, 32, 64]
    assert run.status == RunStatus.FAILED
    assert "could not answer (HTTP 500)" in run.problem


# --- what an answer leads to ------------------------------------------------------------------


def test_tokens_and_cost_are_kept_and_the_charge_is_settled(cast: Cast):
    with serving(openai_answer(NOTHING)) as vendor:
        access(cast, vendor)
        step(run := asking_run(cast, repairs=0))
    completion = run.attempts.get().completion
    assert (completion.prompt_tokens, completion.completion_tokens) == (3000, 500)
    assert completion.cost_usd == Charge.objects.get().cost_usd == Decimal("0.0088")
    assert KEY not in json.dumps(list(Job.objects.values("log", "stage", "error", "hint")))


def test_an_answer_that_was_cut_is_asked_for_again_with_twice_the_room(cast: Cast):
    with serving(openai_answer(NOTHING[:20], "length")) as vendor:
        access(cast, vendor)
        run = asking_run(cast, repairs=3)
        while live_jobs(run).exists():
            step(run)
    assert [sent["max_completion_tokens"] for _, _, sent in vendor.asked] == [32768, 65536, 128000, 128000]
    assert run.status == RunStatus.NEEDS_REVIEW


@pytest.mark.parametrize(
    ("reply", "times"),
    [
        (openai_answer("", refusal="I can't help with that."), 1),
        (openai_answer("", "content_filter"), 1),
        (openai_answer(""), 2),
    ],
)
def test_what_would_only_come_again_is_not_asked_again(cast: Cast, reply: Reply, times: int):
    with serving(reply) as vendor:
        access(cast, vendor)
        run = asking_run(cast, repairs=3)
        while live_jobs(run).exists():
            step(run)
    assert len(vendor.asked) == times
    assert run.status == RunStatus.NEEDS_REVIEW


def test_why_a_vendor_blocked_stands_at_the_attempt(cast: Cast):
    with serving(Reply(headers=SSE, body=sse([{"promptFeedback": {"blockReason": "OTHER"}}]))) as vendor:
        access(cast, vendor, "gemini")
        step(run := asking_run(cast, "gemini"))
    assert run.attempts.get().message.endswith("The prompt was blocked: OTHER.")


# --- who may be asked -------------------------------------------------------------------------


def test_without_a_key_nobody_is_asked(cast: Cast):
    run = asking_run(cast)
    assert step(run).status == JobStatus.FAILED
    assert run.problem == "The team has no key for OpenAI."


def test_what_a_project_does_not_allow_is_refused_where_the_request_is_made(cast: Cast):
    with serving(openai_answer(NOTHING)) as vendor:
        access(cast, vendor)
        run = asking_run(cast)
        cast.team.projects.update(vendors_allowed=["ollama"])  # after the run has started
        step(run)
    assert run.problem == "This project does not allow OpenAI."
    assert vendor.asked == []


def test_a_project_that_stays_local_asks_a_local_server_only(cast: Cast):
    with serving(openai_answer(NOTHING)) as vendor:
        row = access(cast, vendor)
        run = asking_run(cast)
        project = run.snapshot.project
        project.local_only = True
        assert access_for(project, "openai").base_url.startswith(vendor.address)
        VendorAccess.objects.filter(pk=row.pk).update(base_url="https://8.8.8.8/v1")
        with pytest.raises(UserError, match="stays on the private network, and https://8.8.8.8/v1 is not on it"):
            access_for(project, "openai")
        VendorAccess.objects.filter(pk=row.pk).update(base_url="https://nowhere.invalid/v1")
        with pytest.raises(UserError, match="stays on the private network"):
            access_for(project, "openai")
        assert access_for(project, "ollama") == Access("", "")


# --- keys -------------------------------------------------------------------------------------


def test_a_key_is_unreadable_without_the_secret_of_the_site():
    sealed = seal(KEY, "secret")
    assert KEY.encode() not in sealed
    assert unseal(sealed, "secret") == KEY
    for wrong in ("other", ""):
        with pytest.raises(UserError, match="secret of this site has changed"):
            unseal(sealed, wrong)


def test_saving_a_key_tests_it_and_keeps_it_encrypted(cast: Cast):
    with serving(DIALECTS["openai"].models) as vendor:
        row = save_access(cast.team, "openai", f"{vendor.address}/v1/", KEY, cast.lea)
    assert (row.listed, row.problem) == (["m-1"], "")
    assert KEY.encode() not in bytes(row.sealed_key)
    assert KEY in " ".join(vendor.asked[0][1].values())
    kept = save_access(cast.team, "openai", f"{vendor.address}/v1", "", cast.lea)
    assert kept.has_key
    assert "cannot be reached" in kept.problem


def test_a_key_does_not_follow_to_another_address(cast: Cast):
    with serving(DIALECTS["openai"].models) as vendor:
        save_access(cast.team, "openai", f"{vendor.address}/v1", KEY, cast.lea)
        with pytest.raises(UserError, match="needs the key again"):
            save_access(cast.team, "openai", "http://127.0.0.1:9/v1", "", cast.lea)


@pytest.mark.parametrize(
    "wrong",
    ["ftp://x", "x", "http://", "http://a:b@127.0.0.1", "http://169.254.169.254/latest", "http://127.0.0.1:99999"],
)
def test_a_bad_address_is_not_kept(wrong: str, cast: Cast):
    with pytest.raises(UserError):
        save_access(cast.team, "ollama", wrong, "", cast.lea)
    assert not VendorAccess.objects.exists()


# --- caps -------------------------------------------------------------------------------------

PROMPT = Prompt("x" * 3000, 1000, ("k",), (), (), ())
OPTIONS = BackendOptions(model="gpt-5", output_tokens=10_000, access=Access("https://8.8.8.8/v1", KEY))


def plain_attempt(cast: Cast, **values: Any) -> Attempt:
    snapshot = runs.sample(cast, "heat2d")
    run = Run.objects.create(snapshot=snapshot, backend="openai", options={"model": "gpt-5"}, **values)
    return Attempt.objects.create(run=run, number=1, origin="model")


@transaction.atomic
def put_aside(attempt: Attempt) -> Charge | None:
    return reserve(Attempt.objects.get(pk=attempt.pk), PROMPT, OPTIONS)


@pytest.mark.parametrize("whose", ["run", "project", "team for this month"])
def test_no_request_goes_over_a_cap(cast: Cast, whose: str):
    attempt = plain_attempt(cast)
    capped = {"run": attempt.run, "project": attempt.run.snapshot.project, "team for this month": cast.team}[whose]
    capped.budget_usd = Decimal("0.25")
    capped.save()
    first, second = put_aside(attempt), put_aside(attempt)
    with pytest.raises(UserError, match=f"of the {whose} 0.05 USD are left") as caught:
        put_aside(attempt)
    assert "may cost 0.10 USD" in caught.value.message
    settle(first, 0.01)
    settle(second, None)  # the vendor did not say: what was put aside counts
    assert put_aside(attempt) is not None


def test_caps_hold_when_requests_come_at_the_same_moment(cast: Cast):
    attempt = plain_attempt(cast)
    cast.team.budget_usd = Decimal("0.35")
    cast.team.save()

    def one(_: int) -> bool:
        try:
            return put_aside(attempt) is not None
        except UserError:
            return False
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(8))) == 3
    assert Charge.objects.count() == 3


def test_another_month_is_another_budget(cast: Cast):
    attempt = plain_attempt(cast)
    cast.team.budget_usd = Decimal("0.15")
    cast.team.save()
    put_aside(attempt)
    Charge.objects.update(created=timezone.now() - timedelta(days=32))
    assert put_aside(attempt) is not None


def test_a_model_without_a_price_cannot_be_held_to_a_cap(cast: Cast):
    attempt = plain_attempt(cast, budget_usd=Decimal(100))
    with pytest.raises(UserError, match="No price is known for gpt-new"), transaction.atomic():
        reserve(attempt, PROMPT, BackendOptions(model="gpt-new", access=Access("https://8.8.8.8/v1")))
    local = BackendOptions(model="gpt-new", access=Access("http://127.0.0.1:1/v1"))
    with transaction.atomic():
        assert reserve(attempt, PROMPT, local) is None


def test_what_was_spent_stays_known_when_the_run_is_gone(cast: Cast):
    attempt = plain_attempt(cast)
    put_aside(attempt)
    attempt.run.snapshot.project.delete()
    assert Charge.objects.get().most_usd == Decimal("0.1013")
