"""The source page: what each line costs, of files with and without text."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from profile_rows import heat2d, large, rowrank

from analysis import reasons
from analysis.models import Kernel
from analysis.source_page import first_file, page
from analysis.types import Evidence, KernelAnalysis, Roofline, StallLine, Stalls
from analysis.types import Kernel as KernelValue
from optimas_web.heat import heat_rows

NOWHERE = StallLine(None, None, "", 10.0, 0.1, {"wait": 1.0})


def kernel(*lines: StallLine, evidence: tuple[Evidence, ...] = ()) -> KernelAnalysis:
    shown = KernelValue("_Z1k", "k(int)", "k", 1, 1.0, 1.0, 1.0, 1, True, ())
    return KernelAnalysis(shown, Roofline("latency", "", None), Stalls("stalled samples", 100.0, lines), evidence)


def line(file: str, number: int, share: float, text: str = "x", **why: float) -> StallLine:
    return StallLine(file, number, text, 100 * share, share, why or {"wait": 1.0})


def said(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).replace("&lt;", "<").replace("&gt;", ">")


TEXT = "one\ntwo\n<three> & more\nfour\nfive\n"
FOUND = kernel(
    line("a.cu", 3, 0.5, long_scoreboard=0.75, wait=0.25),
    line("b.cuh", 9, 0.25, "from a header"),
    line("a.cu", 4, 0.1),
    NOWHERE,
    line("a.cu", 1, 0.05),
)


def test_lines_that_cost_something_have_share_and_reasons():
    shown = page(FOUND, "a.cu", TEXT, ["a.cu"])
    assert [(each.number, each.hot, each.gap) for each in shown.lines] == [
        (1, True, True),
        (3, True, True),
        (4, True, False),
    ]
    assert [part.reason for part in shown.lines[1].parts] == ["long_scoreboard", "wait"]
    assert [(part.start, part.width) for part in shown.lines[1].parts] == [(0.0, 75.0), (75.0, 25.0)]
    assert shown.lines[2].parts[0].width == pytest.approx(20.0)


def test_what_has_no_line_is_told_and_hot_lines_of_other_files_are_named():
    shown = page(FOUND, "a.cu", TEXT, ["a.cu"])
    assert shown.unplaced == pytest.approx(0.1)
    assert [(each.file, each.line) for each in shown.elsewhere] == [("b.cuh", 9)]
    assert [(tab.file, tab.has_text, tab.here) for tab in shown.tabs] == [("a.cu", True, True), ("b.cuh", False, False)]


def test_a_header_with_samples_but_no_text_shows_what_the_profile_knows():
    shown = page(FOUND, "b.cuh", None, ["a.cu", "other.cu"])
    assert shown.others == ("a.cu", "other.cu")[1:]
    assert "from a header" in heat_rows(shown)
    assert [each.number for each in shown.lines] == [9]


def test_the_costliest_file_with_text_opens_first():
    only_header = kernel(line("b.cuh", 9, 0.9), line("a.cu", 1, 0.1))
    assert first_file(only_header, ["a.cu"]) == "a.cu"
    assert first_file(only_header, []) == "b.cuh"
    assert first_file(kernel(), ["z.cu"]) == "z.cu"
    assert first_file(kernel(), []) == ""


def test_the_listing_escapes_text_and_has_every_line_once():
    rows = heat_rows(page(FOUND, "a.cu", TEXT, ["a.cu"]))
    assert re.findall(r'<li id="L(\d+)"', rows) == ["1", "2", "3", "4", "5"]
    assert "<three>" not in rows
    assert "<three> & more" in said(rows).replace("&amp;", "&").replace("< three >", "<three>").replace("  ", " ")
    assert (
        'aria-label="3: 50\u00a0% of the stalled samples; of these long_scoreboard 75\u00a0%, wait 25\u00a0%"' in rows
    )


def test_a_line_past_the_end_of_the_text_is_left_out():
    rows = heat_rows(page(kernel(line("a.cu", 99, 1.0)), "a.cu", TEXT, ["a.cu"]))
    assert 'id="L99"' not in rows


def test_evidence_stands_with_its_line_even_where_nothing_was_sampled():
    item = Evidence("N1", "findings", "_Z1k", "Said.", "m", 1.0, "", 0.1, "down", 1.0, "a.cu", (2, 2), "two")
    notes = page(kernel(line("a.cu", 3, 1.0), evidence=(item,)), "a.cu", TEXT, ["a.cu"]).notes
    assert [(note.number, [each.label for each in note.evidence]) for note in notes] == [(3, []), (2, ["N1"])]


def test_every_reason_has_a_group_and_unknown_ones_are_other():
    assert reasons.group("long_scoreboard").key == "memory"
    assert reasons.group("LL read misses").key == "ll_misses"
    assert reasons.group("something_new").key == reasons.OTHER
    assert reasons.meaning("D1 read misses") == "reads that miss the first-level data cache"
    assert [group.key for group in reasons.legend(["wait", "long_scoreboard"])] == ["memory", "arithmetic"]


def test_reasons_of_a_kernel_are_weighed_by_their_lines():
    blame = reasons.blame(FOUND.stalls)
    assert blame["long_scoreboard"] == pytest.approx(0.375)
    assert sum(blame.values()) == pytest.approx(1.0)


# --- the page ---------------------------------------------------------------------------------


@pytest.fixture
def ada(django_user_model):
    return django_user_model.objects.create_user("ada")


@pytest.fixture
def as_ada(client, ada):
    client.force_login(ada)
    return client


def source_url(profile, query: str = "") -> str:
    return reverse("analysis:source", args=[profile.pk]) + query


@pytest.mark.django_db
def test_a_real_report_by_line(as_ada, ada):
    html = as_ada.get(source_url(rowrank(ada))).content.decode()
    assert "rank_rows" in html
    assert re.search(r'<li id="L57" class="heat-\d hot.*?37.7', html)
    (note,) = re.findall(r'<section class="line-note" id="line-57".*?</section>', html, re.DOTALL)
    assert "long_scoreboard 69.4" in said(note)
    assert re.search(r'href="/profiles/\d+/\?kernel=1#S1"', note)


@pytest.mark.django_db
def test_another_kernel_and_file_can_be_chosen(as_ada, ada):
    profile = rowrank(ada)
    html = as_ada.get(source_url(profile, "?kernel=2&file=rowrank.cu")).content.decode()
    assert "fill_scores</code>" in html
    assert as_ada.get(source_url(profile, "?kernel=9")).status_code == 404
    assert as_ada.get(source_url(profile, "?kernel=x")).status_code == 404


@pytest.mark.django_db
def test_a_name_that_is_no_file_shows_no_text(as_ada, ada):
    answer = as_ada.get(source_url(rowrank(ada), "?file=../../etc/passwd"))
    assert answer.status_code == 200
    assert "not among the sources of this project" in answer.content.decode()


@pytest.mark.django_db
def test_a_processor_profile_opens_on_the_first_function_of_the_sources(as_ada, ada):
    html = as_ada.get(source_url(heat2d(ada))).content.decode()
    assert "heat2d.cpp" in html
    assert "spread</code> spends its cycles" in html


@pytest.mark.django_db
def test_a_kernel_without_samples_says_so(as_ada, ada):
    profile = rowrank(ada)
    Kernel.objects.filter(profile=profile, rank=3).update(stalls=None)
    assert "no samples of this kernel" in as_ada.get(source_url(profile, "?kernel=3")).content.decode()


@pytest.mark.django_db
def test_the_number_of_queries_does_not_grow(as_ada, ada, django_assert_num_queries):
    for profile in (rowrank(ada), large(ada, kernels=40)):
        with django_assert_num_queries(9):
            as_ada.get(source_url(profile))
