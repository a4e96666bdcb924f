"""The attempt page: what it says in each state, who sees it, and that nothing on it becomes markup."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from time import process_time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evaluation.receipt import verify
from optimas_web import listing
from optimizer.models import Attempt, RunStatus
from projects.models import Membership
from reviews.services import signing_key
from tests import attempts

pytestmark = pytest.mark.django_db
HEAT2D = attempts.sample("heat2d")["heat2d.cpp"].decode()
SPREAD = (36, 42)


@pytest.fixture
def ada(django_user_model):
    return django_user_model.objects.create_user("ada")


@pytest.fixture
def mine(client, ada):
    client.force_login(ada)
    return client


def shown(client, attempt: Attempt) -> str:
    response = client.get(reverse("reviews:attempt", args=[attempt.pk]))
    assert response.status_code == 200
    return response.content.decode()


def said(page: str) -> str:
    """The page as a person reads it."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


# --- what it says -----------------------------------------------------------------------------


def test_a_judged_attempt_tells_speedup_time_saved_pairs_and_outputs_on_one_line(mine, ada):
    text = said(shown(mine, attempts.judged(ada)))
    assert "Faster: 2.40× speedup of the whole program, 58.4 % of the time saved" in text
    assert "Between 2.39× and 2.42× by 10 pairs of runs (95 % interval)." in text
    assert "Outputs identical on 3 workloads (12.0 MB)." in text
    assert "Proved: enough for an approval" in text
    assert "Imagined CPU host bench-4" in text


def test_a_recorded_evaluation_and_a_recorded_answer_say_so(mine, ada):
    text = said(shown(mine, attempts.recorded(ada)))
    assert "Faster: 4.70× speedup of the selected kernels" in text
    assert "Recorded on NVIDIA H200 on 2026-12-01, not measured by this site." in text
    assert "Recorded answer" in text
    assert "Whole program 1.02×" in text
    assert "1.02× cannot tell" in re.sub(r"1\.02× .*? cannot tell", "1.02× cannot tell", text)


def test_evidence_has_value_direction_weight_lines_and_what_came_of_it(mine, ada):
    attempt = attempts.judged(ada)
    page = shown(mine, attempt)
    text = said(page)
    item = attempt.run.profile.evidence.get(label="S1")
    assert f"{item.file}:{item.lines[0]}" in text
    assert item.statement in text
    assert 'data-item="S1"' in page
    assert f'href="#f0-L{item.lines[0]}"' in page
    assert f'id="f0-L{item.lines[0]}"' in page
    assert 'id="change-1"' in page
    assert "should fall" in text
    assert "of the weight" in text
    assert "Measured again: −90 %" in text


def test_evidence_that_was_not_in_the_prompt_is_not_offered(mine, ada):
    attempt = attempts.judged(ada)
    other = attempt.run.profile.evidence.exclude(label__in=attempt.prompt.labels).first()
    assert f'data-item="{other.label}"' not in shown(mine, attempt)


def test_weights_of_what_was_offered_add_up_to_all(mine, ada):
    weights = re.findall(r"<span>([\d.]+)\u00a0% of the weight</span>", shown(mine, attempts.judged(ada)))
    assert sum(map(float, weights)) == pytest.approx(100, abs=0.2)


def test_promises_stand_beside_what_was_measured(mine, ada):
    text = said(shown(mine, attempts.judged(ada)))
    assert "promised −80 %, measured −90 % Kept" in text
    assert "promised −40 %, measured +50 % Reversed" in text


def test_all_nine_gates_are_listed_with_words_seconds_and_logs(mine, ada):
    text = said(shown(mine, attempts.judged(ada, failed="outputs")))
    assert "Failed at gate 6 of 9: Same outputs" in text
    assert "Not proved" in text
    assert text.count("Not run") >= 3
    assert "log of outputs" in text
    assert "out/plate.bin differs at byte 4,096" in text
    assert "9. Measured again" in text


def test_raw_pairs_are_there_and_tainted_ones_are_marked(mine, ada):
    attempt = attempts.judged(ada)
    verdict = attempt.verdict
    verdict.document["samples"]["pairs"]["program"][3]["tainted"] = "another process used the machine"
    verdict.save()
    page = shown(mine, attempt)
    assert "Pair 4 is left out: another process used the machine" in said(page)
    assert page.count('<tr class="tainted">') == 2


def test_masks_are_told_with_what_was_seen_there(mine, ada):
    text = said(shown(mine, attempts.judged(ada)))
    assert "1 place not compared" in text
    assert "time: ([0-9.]+)" in text


def test_scores_stand_with_their_sums_and_with_chance(mine, ada):
    text = said(shown(mine, attempts.recorded(ada)))
    assert "Evidence coverage 63.5 %" in text
    assert "Chance alone: 43.5 %. So this is 1.46× chance." in text
    assert "Chance alone: 59.1 %. So this is no better than chance." in text
    assert "8 of 17 changed lines of rowrank.cu lie within 3 lines of R1, S1, S2, S3, S5" in text


def test_all_of_the_weight_is_told_as_all_though_the_sum_is_a_little_less(mine, ada):
    attempt = attempts.judged(ada)
    attempt.verdict.document["ear"]["coverage"] |= {"value": 1 - 1e-15, "numerator": 1 - 1e-15}
    attempt.verdict.save()
    assert "Evidence coverage 100 %" in said(shown(mine, attempt))


def test_prompt_and_answer_stand_there_word_for_word(mine, ada):
    attempt = attempts.judged(ada)
    page = shown(mine, attempt)
    for name, row in (("prompt", attempt.prompt), ("answer", attempt.completion)):
        found = re.search(rf'<pre id="{name}">\n(.*?)</pre>', page, re.DOTALL)
        assert unescape(found[1]) == bytes(row.text).decode()


def test_what_was_turned_down_is_listed_with_its_reason(mine, ada):
    text = said(shown(mine, attempts.judged(ada)))
    assert "Suggested but not applied" in text
    assert "Tiling the columns into strips" in text


# --- other states -----------------------------------------------------------------------------


def test_an_attempt_that_waits_for_its_answer_shows_what_was_offered(mine, ada):
    page = shown(mine, attempts.asked("heat2d", ada))
    assert "There is no answer yet." in said(page)
    assert "0 of 9 gates so far" in said(page)
    assert 'data-item="S1"' in page
    assert "data-poll" in page


def test_an_attempt_that_is_being_judged_polls_until_there_is_more_to_see(mine, ada):
    attempt = attempts.answered("heat2d", ada)
    assert "Evaluating" in said(shown(mine, attempt))
    url = reverse("reviews:progress", args=[attempt.pk])
    assert mine.get(url, {"gates": "3"}).status_code == 204
    more = mine.get(url, {"gates": "2"})
    assert (more.status_code, more.headers["HX-Refresh"]) == (286, "true")
    attempt.run.status = RunStatus.CANCELLED
    attempt.run.save()
    assert mine.get(url, {"gates": "3"}).status_code == 286
    assert "data-poll" not in shown(mine, attempt)


def test_an_answer_without_edits_is_a_result_of_its_own(mine, ada):
    text = said(shown(mine, attempts.answered("heat2d", ada, answer=attempts.answer(summary="Nothing fits."))))
    assert "No change proposed" in text
    assert "The answer changes no line." in text


def test_an_answer_that_nobody_can_read_says_so(mine, ada):
    text = said(shown(mine, attempts.answered("heat2d", ada, answer="Sure! I would unroll it.")))
    assert "Unreadable" in text
    assert "Sure! I would unroll it." in text


def test_a_broken_rule_is_named_with_file_and_line(mine, ada):
    change = attempts.edit(HEAT2D, 59, 59, "    int rows = 3;", ["S1"])
    attempt = attempts.answered("heat2d", ada, answer=attempts.answer(change))
    text = said(shown(mine, attempt))
    found = attempt.violations.first()
    assert "Failed at gate 3 of 9: Rules kept" in text
    assert f"{found.rule} {found.file}:{found.line}" in text
    assert found.message in text


def test_a_label_that_was_never_offered_is_struck_out_and_leads_nowhere(mine, ada):
    change = attempts.edit(HEAT2D, 36, 36, "    for (int col = 1; col + 1 < now.cols; ++col) {", ["S99"])
    page = shown(mine, attempts.answered("heat2d", ada, answer=attempts.answer(change)))
    assert re.search(r'<span class="chip chip-stalls unknown" title="cited, but not offered">S99</span>', page)
    assert 'href="#S99"' not in page


def test_edits_that_do_not_fit_the_files_stand_there_as_written(mine, ada):
    change = attempts.edit(HEAT2D, 36, 36, "new text", ["S1"], original_text="nowhere in this file")
    text = said(shown(mine, attempts.answered("heat2d", ada, answer=attempts.answer(change))))
    assert "These edits do not fit the files" in text
    assert "nowhere in this file" in text
    assert "new text" in text


# --- who sees it, and what is safe ------------------------------------------------------------


@pytest.mark.parametrize("name", ["attempt", "progress", "patch", "receipt"])
def test_strangers_and_visitors_see_nothing(name, client, ada, django_user_model):
    url = reverse(f"reviews:{name}", args=[attempts.judged(ada).pk])
    assert client.get(url).status_code == 302
    stranger = django_user_model.objects.create_user("stranger")
    client.force_login(stranger)
    assert client.get(url).status_code == 404
    assert client.get(reverse(f"reviews:{name}", args=[10**9])).status_code == 404


def test_a_member_of_the_team_sees_it(client, ada, django_user_model):
    attempt = attempts.judged(ada)
    lead = django_user_model.objects.create_user("lead")
    Membership.objects.create(team=attempt.run.snapshot.project.team, user=lead, role="lead")
    client.force_login(lead)
    shown(client, attempt)


HOSTILE = '<script>alert("x")</script>'


def test_text_of_models_files_and_kernels_never_becomes_markup(mine, ada):
    new = f"    for (int col = 1; col + 1 < now.cols; ++col) {{ // {HOSTILE} \u202e gone \u200b"
    change = attempts.edit(HEAT2D, 36, 36, new, ["S1", HOSTILE], rationale=HOSTILE)
    not_applied = [{"evidence": ["S1"], "reason": HOSTILE}]
    answer = attempts.answer(change, summary=HOSTILE, not_applied=not_applied)
    attempt = attempts.judged(ada, answer=answer)
    run, profile = attempt.run, attempt.run.profile
    profile.kernels.update(short_name=HOSTILE)
    profile.evidence.update(statement=HOSTILE, metric=HOSTILE, unit=HOSTILE, file=f"{HOSTILE}.cpp")
    run.snapshot.files.filter(path="heat2d.cpp").update(path=f"{HOSTILE}.cpp")
    attempt.edits.update(file=f"{HOSTILE}.cpp")
    attempt.gates.update(reason=HOSTILE, log=HOSTILE)
    attempt.violations.create(rule=HOSTILE, severity="warn", file=HOSTILE, line=1, message=HOSTILE)
    run.snapshot.project.name = HOSTILE
    run.snapshot.project.save()
    verdict = attempt.verdict
    verdict.recorded, verdict.environment = HOSTILE, {HOSTILE: HOSTILE}
    verdict.document["outputs"][0] |= {"workload": HOSTILE, "differences": [HOSTILE]}
    verdict.document["timing"]["program"]["reason"] = HOSTILE
    verdict.save()
    page = shown(mine, attempt)
    assert "alert(" in page
    assert "<script>" not in page
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert "\u202e" not in page.split('<pre id="prompt"')[0]
    assert "⟨U+202E⟩" in page
    assert "⟨U+200B⟩" in page


# --- what people take away --------------------------------------------------------------------


def git_apply(folder: Path, patch: bytes) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=folder, input=patch, check=True)


@pytest.mark.parametrize("change", ["none", "latin-1", "crlf"])
def test_git_applies_the_patch_whatever_the_bytes_of_the_source(change, mine, ada, tmp_path):
    files = attempts.sample("heat2d")
    if change == "latin-1":
        files["heat2d.cpp"] = files["heat2d.cpp"].replace(b"void spread(", b"/* W\xe4rme */ void spread(")
    if change == "crlf":
        files["heat2d.cpp"] = files["heat2d.cpp"].replace(b"\n", b"\r\n")
    new = "    for (int row = 1; row < now.rows - 1; ++row) {\n        for (int col = 1; col < now.cols - 1; ++col) {"
    swap = attempts.answer(attempts.edit(HEAT2D, 36, 37, new, ["S1"]))
    attempt = attempts.answered("heat2d", ada, answer=swap, files=files)
    response = mine.get(reverse("reviews:patch", args=[attempt.pk]))
    assert response.headers["Content-Disposition"] == f'attachment; filename="heat2d-attempt-{attempt.pk}.patch"'
    (tmp_path / "heat2d.cpp").write_bytes(files["heat2d.cpp"])
    git_apply(tmp_path, response.content)
    end = b"\r\n" if change == "crlf" else b"\n"
    lines = files["heat2d.cpp"].split(end)
    lines[35:37] = new.encode().split(b"\n")
    assert (tmp_path / "heat2d.cpp").read_bytes() == end.join(lines)


def test_an_attempt_without_edits_has_no_patch_and_one_without_verdict_no_receipt(mine, ada):
    attempt = attempts.answered("heat2d", ada, answer=attempts.answer())
    assert mine.get(reverse("reviews:patch", args=[attempt.pk])).status_code == 404
    assert mine.get(reverse("reviews:receipt", args=[attempt.pk])).status_code == 404
    page = shown(mine, attempt)
    assert reverse("reviews:patch", args=[attempt.pk]) not in page
    assert reverse("reviews:receipt", args=[attempt.pk]) not in page


def test_the_receipt_verifies_also_the_second_time(mine, ada):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    public = Ed25519PrivateKey.from_private_bytes(signing_key()).public_key().public_bytes_raw()
    url = reverse("reviews:receipt", args=[attempts.judged(ada).pk])
    first, second = (mine.get(url) for _ in range(2))
    assert first.content == second.content
    assert verify(json.loads(first.content), public) == ()


# --- how much it costs ------------------------------------------------------------------------


def test_the_number_of_queries_does_not_grow_with_the_attempt(mine, ada):
    small = attempts.answered("heat2d", ada, answer=attempts.answer())
    large = attempts.recorded(ada)
    counts = []
    for attempt in (small, large):
        with CaptureQueriesContext(
            connection,
        ) as found:
            shown(mine, attempt)
        counts.append(len(found))
    assert counts[1] <= 18, [query["sql"] for query in found]
    assert counts[1] - counts[0] <= 4  # citations, predictions, files, stalls: once each when there are any


def processor_seconds(client, attempt: Attempt) -> float:
    """The least of several pages whose colours are not kept from an earlier one."""
    spent = []
    for _ in range(8):
        listing.coloured.cache_clear()
        listing.comments_over_lines.cache_clear()
        start = process_time()
        shown(client, attempt)
        spent.append(process_time() - start)
    return min(spent)


def test_a_file_of_5000_lines_costs_little_more_than_a_short_one(mine, ada):
    attempt = attempts.judged(ada)
    short = processor_seconds(mine, attempt)
    file = attempt.run.snapshot.files.get(path="heat2d.cpp")
    filler = "".join(
        f"static int filler_{n}(int x) {{\n    return x * {n}; /* more\n    text */\n}}\n" for n in range(1240)
    )
    file.content = bytes(file.content) + filler.encode()
    file.save()
    assert bytes(file.content).count(b"\n") > 5000
    assert processor_seconds(mine, attempt) < 1.5 * short + 0.02
