"""The whole loop in a shell without workers: progress while it works, a receipt that holds, Ctrl-C."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from io import StringIO
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from evaluation.receipt import verify
from evaluation.services import paste_answer, start_run
from optimas_web.models import Job, JobStatus
from optimizer.models import Run, RunStatus
from reviews.management.follow import follow, result
from reviews.models import Receipt
from reviews.services import make_receipt, signing_key
from tests.programs import MANIFEST, files, snapshot, swap_loops, work_off

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = {
    name: json.loads((ROOT / f"docs/schemas/{name}.schema.json").read_text()) for name in ("receipt", "evaluation")
}
REGISTRY = Registry().with_resources((each["$id"], Resource.from_contents(each)) for each in SCHEMAS.values())
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not all(map(shutil.which, ("g++", "valgrind", "objdump"))), reason="needs the CPU toolchain"),
]


def holds(document: dict) -> bool:
    Draft202012Validator(SCHEMAS["receipt"], registry=REGISTRY).validate(document)
    key = Ed25519PrivateKey.from_private_bytes(signing_key()).public_key().public_bytes_raw()
    return verify(document, key) == ()


@pytest.mark.slow
def test_the_work_is_done_here_and_told_while_it_is_done(valkey: object) -> None:
    run = work_off(start_run(Run(snapshot=snapshot(), backend="paste", sources=[], repairs=0)))
    paste_answer(run, swap_loops())
    told: list[tuple[str, int]] = []
    attempt = follow(run, lambda line: told.append((line, run.attempts.get().gates.count())), work_here=True)
    lines = [line for line, _ in told]
    assert any("building the candidate" in line for line in lines)
    assert any("timing, pair" in line for line in lines)
    assert told[0][1] < 9
    receipt = make_receipt(attempt)
    assert holds(receipt.document)
    assert holds(Receipt.objects.get().document)
    for name in receipt.document:
        assert not holds_with(receipt.document, name)


def holds_with(document: dict, name: str) -> bool:
    """Whether the receipt still holds when one of its parts is another."""
    changed = {**document, name: {**document[name], "x": 1} if isinstance(document[name], dict) else "other"}
    key = Ed25519PrivateKey.from_private_bytes(signing_key()).public_key().public_bytes_raw()
    return verify(changed, key) == ()


def test_an_answer_that_is_refused_has_a_receipt_too(valkey: object) -> None:
    run = work_off(start_run(Run(snapshot=snapshot(), backend="paste", sources=[], repairs=0)))
    paste_answer(run, swap_loops(file="other.cpp"))
    work_off(run)
    assert run.status == RunStatus.NEEDS_REVIEW
    document = make_receipt(result(run)).document
    assert (document["verdict"], len(document["gates"])) == ("failed", 9)
    assert document["gates"][8]["reason"] == "The gate parse failed before it."
    assert holds(document)


@pytest.mark.parametrize("repairs", ["-1", "99999", "x"])
def test_numbers_of_repairs_that_make_no_sense_are_refused(repairs: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="repairs"):
        call_command("optimize", str(tmp_path), "--backend", "replay", "--repairs", repairs, stdout=StringIO())


def heed_ctrl_c() -> None:
    """What runs in the background of a shell ignores it, and so do all its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_ctrl_c_cancels_the_run_and_leaves_nothing_running(site_environment: dict[str, str], tmp_path: Path) -> None:
    long = MANIFEST.replace("./columns 200 200", "./columns 4000 4000")
    for name, content in files(optimas_toml=long).items():
        (tmp_path / name).write_bytes(content)
    command = [sys.executable, "manage.py", "optimize", str(tmp_path), "--backend", "replay"]
    with subprocess.Popen(
        command, cwd=ROOT, env=site_environment, stderr=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c
    ) as process:
        assert process.stderr is not None
        killer = threading.Timer(150, process.kill)
        killer.start()
        assert any("profiling" in line for line in process.stderr)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        process.communicate()
        killer.cancel()
    run = Run.objects.get()
    assert run.status == RunStatus.CANCELLED, run.problem
    assert Job.objects.get().status == JobStatus.CANCELLED


def test_an_interrupt_in_the_middle_of_a_statement_cancels_the_run_too(valkey: object) -> None:
    run = start_run(Run(snapshot=snapshot(), backend="paste", sources=[]))

    def interrupt(run: Run, *_: object) -> None:
        connection.connection.pgconn.send_query(b"select pg_sleep(0.2)")
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reviews.management.follow._wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            follow(run, print, work_here=True)
    run.refresh_from_db()
    assert run.status == RunStatus.CANCELLED
