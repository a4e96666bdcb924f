"""The profile page, on a real GPU report and a real Callgrind profile."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse
from profile_rows import heat2d, large, rowrank, sample, snapshot_of

from analysis.models import Kernel, Profile
from analysis.remedies import counted, remedies
from analysis.types import DoctorNote
from optimas_web.jobs import Job

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(django_user_model):
    return django_user_model.objects.create_user("ada")


@pytest.fixture
def as_ada(client, ada):
    client.force_login(ada)
    return client


def profile_url(profile: Profile, query: str = "") -> str:
    return reverse("analysis:profile", args=[profile.pk]) + query


def shown(client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)).replace("&lt;", "<")


def test_a_gpu_profile_says_what_is_slow_and_why(as_ada, ada):
    page = text_of(shown(as_ada, profile_url(rowrank(ada))))
    assert "rank_rows and fill_scores hold 99.3 % of the time of the profiled launches." in page
    assert "rowrank.cu:57 alone has 37.7 % of the stalled samples of rank_rows." in page
    assert "No floating-point work: it moves bytes at 33.8 % of the DRAM peak." in page
    assert "Its main stall is long_scoreboard (waiting here for a load issued earlier" in page
    assert "Among profiled launches, which need not be the whole run." in page
    assert "NVIDIA H200, compute capability 9.0" in page
    assert "not locked: ceilings are at the clock of the moment" in page


def test_every_value_of_the_evidence_tells_its_metric_report_and_launches(as_ada, ada):
    page = shown(as_ada, profile_url(rowrank(ada)))
    (item,) = re.findall(r'<li id="S1">.*?</li>', page, re.DOTALL)
    said = text_of(item)
    assert "Metric stalled_cycles" in said
    assert "Report rowrank.ncu-rep" in said
    assert "Launches 3 of rank_rows" in said
    assert "should fall" in said
    assert "/source/?kernel=1&amp;file=rowrank.cu#L57" in item


def test_the_drawing_is_data_and_the_same_numbers_stand_in_a_table(as_ada, ada):
    page = shown(as_ada, profile_url(rowrank(ada)))
    (data,) = re.findall(r'<script id="roofline-drawing" type="application/json">(.*?)</script>', page)
    drawing = json.loads(data)
    assert drawing["schema"] == "optimas.chart/1"
    assert drawing["series"][-1]["name"] == "fill_scores(float*, int*, int, int, unsigned int)"
    assert "415\u00a0Gflop/s" in page
    assert "No floating-point work. It moves 1.63 TB/s of 4.81 TB/s at DRAM (33.8 %)." in text_of(page)


def test_a_processor_profile_has_cycles_and_says_why_it_has_no_roofline(as_ada, ada):
    page = shown(as_ada, profile_url(heat2d(ada)))
    said = text_of(page)
    assert "No roofline, because" in said
    assert said.count("Callgrind counts neither floating-point operations nor memory traffic.") == 2  # and the doctor
    assert "plotly" not in page
    assert "spread and light hold" in said
    assert "Of its estimated cycles 41.6 % are instructions and" in said


def test_names_of_kernels_are_text_and_never_markup(as_ada, ada):
    profile = rowrank(ada)
    name = "void applyAll<Halve<float>, float>(T2 *, int)</script><script>alert(1)</script>"
    Kernel.objects.filter(profile=profile, rank=2).update(name=name, short_name="applyAll")
    page = shown(as_ada, profile_url(profile))
    assert "<script>alert(1)" not in page
    assert "void applyAll&lt;Halve&lt;float&gt;, float&gt;(T2 *, int)" in page


def test_any_kernel_can_be_asked_for(as_ada, ada):
    profile = rowrank(ada)
    assert 'id="kernel-3"' not in shown(as_ada, profile_url(profile))
    assert 'id="kernel-3"' in shown(as_ada, profile_url(profile, "?kernel=3"))
    assert as_ada.get(profile_url(profile, "?kernel=three")).status_code == 404


def test_an_evidence_id_leads_to_its_place(as_ada, ada):
    profile = rowrank(ada)
    answer = as_ada.get(reverse("analysis:evidence", args=[profile.pk, "S7"]))
    assert answer.headers["Location"] == profile_url(profile, "?kernel=2#S7")
    assert as_ada.get(reverse("analysis:evidence", args=[profile.pk, "S99"])).status_code == 404


@pytest.mark.parametrize("name", ["profile", "state", "source"])
def test_strangers_find_nothing_and_visitors_are_led_to_sign_in(name, client, ada, django_user_model):
    url = reverse(f"analysis:{name}", args=[rowrank(ada).pk])
    assert client.get(url).headers["Location"].startswith(reverse("login"))
    client.force_login(django_user_model.objects.create_user("mallory"))
    assert client.get(url).status_code == 404


def test_a_stranger_finds_no_evidence(client, ada, django_user_model):
    profile = rowrank(ada)
    client.force_login(django_user_model.objects.create_user("mallory"))
    assert client.get(reverse("analysis:evidence", args=[profile.pk, "S1"])).status_code == 404


def test_the_number_of_queries_does_not_grow(as_ada, ada, django_assert_num_queries):
    for profile in (rowrank(ada), large(ada, kernels=40)):
        shown(as_ada, profile_url(profile))
        with django_assert_num_queries(7):
            shown(as_ada, profile_url(profile))


def waiting(ada, **fields) -> Profile:
    return Profile.objects.create(snapshot=snapshot_of(sample("rowrank"), ada, "rowrank"), origin="uploaded", **fields)


def test_a_profile_that_is_being_read_says_how_far_it_is_and_asks_again(as_ada, ada):
    profile = waiting(ada)
    assert "Waiting for a worker" in shown(as_ada, profile_url(profile))
    team = profile.snapshot.project.team
    Job.objects.create(
        kind="analysis.ingest", target_id=profile.pk, team=team, queue="default", status="running", stage="reading"
    )
    page = shown(as_ada, reverse("analysis:state", args=[profile.pk]))
    assert "Running" in page
    assert f'hx-get="{reverse("analysis:state", args=[profile.pk])}"' in page


def test_a_page_that_waited_is_loaded_anew_when_there_is_more_to_see(as_ada, ada):
    answer = as_ada.get(reverse("analysis:state", args=[rowrank(ada).pk]))
    assert (answer.status_code, answer.headers["HX-Refresh"]) == (286, "true")


def test_a_report_that_could_not_be_read_says_why(as_ada, ada):
    page = text_of(shown(as_ada, profile_url(waiting(ada, state="failed", problem="rowrank.ncu-rep is cut off."))))
    assert "This report could not be read" in page
    assert "rowrank.ncu-rep is cut off." in page


def test_a_profile_without_launches_says_so(as_ada, ada):
    page = text_of(shown(as_ada, profile_url(waiting(ada, state="ready", cost_unit="ns"))))
    assert "Nothing was measured in this profile" in page


@pytest.mark.parametrize(
    ("remedy", "words", "command"),
    [
        ("ncu --set full -o report ./program", "", "ncu --set full -o report ./program"),
        ("A larger input, or: ncu -o r ./p", "A larger input, or:", "ncu -o r ./p"),
        (
            "Compile with -lineinfo (nvcc ...), then: ncu -o r ./p",
            "Compile with -lineinfo (nvcc ...), then:",
            "ncu -o r ./p",
        ),
        ("For all of it: nsys profile ./p, then nsys stats", "For all of it:", "nsys profile ./p\nnsys stats"),
        ("Give --source DIR.", "Give --source DIR.", ""),
    ],
)
def test_what_to_run_stands_apart_from_what_to_read(remedy, words, command):
    (found,) = remedies([DoctorNote("info", "", "Something is missing.", remedy)])
    assert (found.words, found.command) == (words, command)


def test_notes_are_counted_by_their_weight():
    notes = [DoctorNote(kind, "", "", "") for kind in ("warning", "info", "info")]
    assert counted(notes) == "1 warning, 2 notes"
    assert counted([]) == ""
