"""What ``./optimas up`` shows where the samples cannot run live."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import call_command

from evaluation.receipt import verify
from evaluation.types import Tool
from optimas_web.management.commands import run_samples

RECORDED = Path(__file__).parents[2] / "samples" / "recorded"


def test_the_stored_receipt_holds() -> None:
    receipt = json.loads((RECORDED / "heat2d.receipt.json").read_text())
    assert verify(receipt, bytes.fromhex(receipt["signature"]["public_key"])) == ()
    assert receipt["verdict"] == "faster"


@pytest.mark.django_db
def test_without_its_tools_a_sample_says_what_is_missing_and_shows_the_stored_receipt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = Tool("valgrind", None, "Install it: apt install valgrind.")
    monkeypatch.setattr(run_samples, "SAMPLES", ("heat2d",))
    monkeypatch.setattr(run_samples, "missing_tools", lambda snapshot: [missing])
    call_command("run_samples")
    told = capsys.readouterr()
    assert "heat2d cannot run live: valgrind is missing. Install it: apt install valgrind." in told.err
    assert "STORED RECEIPT, not measured on this machine" in told.out
    assert "verdict: faster" in told.out
