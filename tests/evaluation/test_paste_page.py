"""The paste page: the prompt, what is understood of a text before it counts, and that a late answer is told."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from optimizer.models import Run
from projects.services import add_snapshot
from projects.snapshot import from_files
from tests import runs
from tests.cast import Cast, make_cast
from tests.programs import work_off
from tests.repository import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey", "no_heartbeat")]

EDIT = {
    "file": "heat2d.cpp",
    "start_line": 39,
    "end_line": 39,
    "original_text": "",
    "new_text": "",
    "evidence": ["S1"],
    "rationale": "walk <along> rows",
    "expect": [{"evidence": "S1", "direction": "down", "by_percent": 40}],
}


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def run(cast: Cast) -> Run:
    return runs.asked(runs.profiled(runs.sample(cast, "heat2d")))


@pytest.fixture
def ada(cast: Cast) -> Client:
    client = Client()
    client.force_login(cast.ada)
    return client


def answer(**changes: Any) -> str:
    """Line 39 with a comment behind it, which the rules let pass with something real beside it."""
    lines = (ROOT / "samples" / "heat2d" / "heat2d.cpp").read_text().split("\n")
    edit = EDIT | {"original_text": lines[38], "new_text": f"{lines[38]} (void)row;"} | changes
    return json.dumps({"summary": "One <b>change</b>.", "edits": [edit], "not_applied": []})


def seen(client: Client, run: Run, text: str, **headers: str) -> str:
    url = reverse("evaluation:paste_preview", args=[run.pk])
    return client.post(url, {"answer": text}, headers={"HX-Request": "true", **headers}).content.decode()


def test_the_prompt_is_there_to_be_copied_byte_for_byte(ada: Client, run: Run) -> None:
    page = ada.get(reverse("evaluation:paste", args=[run.pk])).content.decode()
    found = re.search(r'<pre id="prompt-text">(.*?)</pre>', page, re.DOTALL)
    assert found
    assert html.unescape(found[1]).encode() == bytes(run.attempts.get().prompt.text)
    assert 'id="S1"' in page


def test_what_was_understood_is_shown_and_nothing_is_kept(ada: Client, run: Run) -> None:
    part = seen(ada, run, f"Sure! Here it is:\n```json\n{answer()}\n```")
    assert "<html" not in part
    assert "heat2d.cpp:39" in part
    assert "walk &lt;along&gt; rows" in part
    assert "Expects S1 to go down by 40.0 %" in part
    assert 'href="#S1"' in part
    assert '<div class="diff"' in part
    attempt = run.attempts.get()
    assert (attempt.outcome, attempt.answer_text) == ("", None)


def test_a_citation_that_was_never_offered_is_told(ada: Client, run: Run) -> None:
    part = seen(ada, run, answer(evidence=["S1", "H9"], expect=[]))
    assert 'chip-counters unknown" title="cited, but not offered">H9' in part
    assert "cites H9, which was not offered" in part


def test_broken_rules_are_listed_with_their_place(ada: Client, run: Run) -> None:
    lines = (ROOT / "samples" / "heat2d" / "heat2d.cpp").read_text().split("\n")
    number = next(n for n, line in enumerate(lines, 1) if "int main" in line) + 1
    part = seen(ada, run, answer(start_line=number, end_line=number, original_text=lines[number - 1], new_text=""))
    assert "Broken rules" in part
    assert f"heat2d.cpp:{number}" in part


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I cannot help with that.", "Declined"),
        ("what?", "Unreadable"),
        ("", "This field is required."),
        ("a\x00b", "Null characters are not allowed."),
    ],
)
def test_a_text_that_is_no_answer_is_told_so(text: str, words: str, ada: Client, run: Run) -> None:
    assert words in seen(ada, run, text)


def test_without_a_script_the_whole_page_shows_it(ada: Client, run: Run) -> None:
    url = reverse("evaluation:paste_preview", args=[run.pk])
    page = ada.post(url, {"answer": answer()}).content.decode()
    assert "<html" in page
    assert "heat2d.cpp:39" in page
    assert "One &lt;b&gt;change&lt;/b&gt;." in page


def test_an_answer_goes_to_the_gates_as_it_was_pasted(ada: Client, run: Run) -> None:
    text = f"{answer()}\r\nThat is all.\r\n"
    response = ada.post(reverse("evaluation:paste", args=[run.pk]), {"answer": text})
    assert response.url == reverse("evaluation:run", args=[run.pk])
    attempt = run.attempts.get()
    assert bytes(attempt.answer_text) == text.replace("\r\n", "\n").encode()
    work_off(run, leave="evaluation.evaluate")
    attempt.refresh_from_db()
    assert attempt.outcome == "edits"
    assert [edit.start_line for edit in attempt.edits.all()] == [39]


def test_the_preview_says_what_the_run_will_say(ada: Client, run: Run) -> None:
    part = seen(ada, run, answer())
    ada.post(reverse("evaluation:paste", args=[run.pk]), {"answer": answer()})
    work_off(run, leave="evaluation.evaluate")
    for gate in run.attempts.order_by("number")[0].gates.filter(name__in=("parse", "citations", "guardrails")):
        assert html.escape(gate.reason) in part


def test_a_late_answer_is_told_and_changes_nothing(ada: Client, run: Run) -> None:
    url = reverse("evaluation:paste", args=[run.pk])
    ada.post(url, {"answer": answer()})
    late = ada.post(url, {"answer": "another"}, follow=True).content.decode()
    assert f"Run {run.pk} waits for no answer: it is proposing." in late
    assert "This run waits for no answer: it is proposing." in late
    assert "Judge this answer" not in late
    assert "The run waits for no answer any more." in seen(ada, run, answer())


def test_who_may_only_look_reads_the_prompt_and_pastes_nothing(cast: Cast, run: Run) -> None:
    client = Client()
    client.force_login(cast.vic)
    page = client.get(reverse("evaluation:paste", args=[run.pk])).content.decode()
    assert 'id="prompt-text"' in page
    assert "Judge this answer" not in page
    for name in ("paste", "paste_preview"):
        assert client.post(reverse(f"evaluation:{name}", args=[run.pk]), {"answer": "x"}).status_code == 403
    assert run.attempts.get().answer_text is None


def test_bytes_that_are_no_text_do_not_break_the_page(cast: Cast, ada: Client) -> None:
    """The sources hold a byte of another encoding; what changes around it is shown all the same."""
    source = (ROOT / "samples" / "heat2d" / "heat2d.cpp").read_bytes()
    lines = source.split(b"\n")
    lines[38] += b"  // caf\xe9"
    project = cast.team.projects.create(name="heat2d")
    files = {"heat2d.cpp": b"\n".join(lines), "optimas.toml": (ROOT / "samples/heat2d/optimas.toml").read_bytes()}
    run = runs.asked(runs.profiled(add_snapshot(project, from_files(files), cast.ada)))
    part = seen(ada, run, answer(original_text="", new_text=lines[38].split(b"//")[0].decode() + " (void)row;"))
    assert "caf\ufffd" in part


def test_the_number_of_queries_does_not_grow_with_attempts(cast: Cast, ada: Client) -> None:
    run = runs.asked(runs.profiled(runs.sample(cast, "heat2d")), repairs=5)

    def repair() -> int:
        ada.post(reverse("evaluation:paste", args=[run.pk]), {"answer": "no"})
        work_off(run)
        with CaptureQueriesContext(connection) as asked:
            ada.get(reverse("evaluation:paste", args=[run.pk]))
        return len(asked)

    repair()
    assert repair() == repair()
