"""New run: what is told before the button, and what the button does."""

from __future__ import annotations

import html
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.models import Profile
from analysis.types import SOURCE_KINDS
from evaluation.services import worker_is_here
from optimizer.models import Run
from optimizer.prompt import tokens
from projects.models import Project
from projects.services import add_snapshot
from projects.snapshot import from_files
from tests import programs, runs
from tests.cast import Cast, make_cast
from tests.programs import work_off

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey", "no_heartbeat")]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def profile(cast: Cast) -> Profile:
    return runs.profiled(runs.sample(cast, "heat2d"))


def address(profile: Profile, name: str = "new_run") -> str:
    return reverse(f"evaluation:{name}", args=[profile.snapshot.project_id])


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def filled(client: Client, profile: Profile, **changes: Any) -> dict[str, Any]:
    """What a browser would send of the form as it is first shown."""
    page = client.get(address(profile)).content.decode()
    key = re.search(r'name="key" value="([^"]+)"', page)
    kernels = re.findall(r'name="kernels" value="(\d+)" checked', page)
    assert key
    values = {
        "snapshot": profile.snapshot_id,
        "profile": profile.pk,
        "shown": profile.pk,
        "key": key[1],
        "kernels": kernels,
        "sources": list(SOURCE_KINDS),
        "backend": "paste",
        "repairs": 2,
        "guidance": "",
    }
    return values | changes


def prompt_shown(page: str) -> str | None:
    found = re.search(r'<pre id="prompt-text">(.*?)</pre>', page, re.DOTALL)
    return html.unescape(found[1]) if found else None


def test_the_prompt_on_the_page_is_the_one_that_the_run_stores(cast: Cast, profile: Profile) -> None:
    client = signed_in(cast.ada)
    values = filled(client, profile, guidance="Keep <b>loops</b> & names.", sources=["stalls"])
    shown = prompt_shown(client.post(address(profile, "new_run_preview"), values).content.decode())
    response = client.post(address(profile), values)
    run = work_off(Run.objects.get())
    assert response.url == reverse("evaluation:run", args=[run.pk])
    assert run.status == "waiting_for_answer"
    assert shown is not None
    assert shown.encode() == bytes(run.attempts.get().prompt.text)
    assert (run.created_by, run.sources, run.repairs, run.backend) == (cast.ada, ["stalls"], 2, "paste")


def test_before_the_button_all_that_will_happen_is_told(cast: Cast, profile: Profile) -> None:
    page = signed_in(cast.ada).get(address(profile)).content.decode()
    assert re.search(r'value="\d+" checked><span class="mono">spread</span>', page)
    assert re.search(r'value="\d+"><span class="mono">warmth</span>', page)
    assert "Nothing leaves this server by itself" in page
    assert "Unknown: no run of this project has come to an end yet." in page
    assert f"About {tokens(prompt_shown(page) or ''):,} tokens" in page
    assert "None: no vendor is asked." in page
    assert "./heat2d 1200 1200 12" in page
    assert page.index("prompt-text") < page.index("Start the run")


def test_choices_change_the_prompt_at_once(cast: Cast, profile: Profile) -> None:
    client = signed_in(cast.ada)
    values = filled(client, profile)
    whole = client.post(address(profile, "new_run_preview"), values).content.decode()
    assert 'chip-stalls" title="stalls">S1' in whole
    bare = client.post(address(profile, "new_run_preview"), values | {"sources": []}).content.decode()
    assert "chip-stalls" not in bare
    assert prompt_shown(bare) != prompt_shown(whole)
    none = client.post(address(profile, "new_run_preview"), values | {"kernels": []}).content.decode()
    assert prompt_shown(none) is None
    assert "Choose at least one kernel to see it." in none
    assert not Run.objects.exists()


def test_a_recorded_answer_is_named_before_and_without_one_nothing_starts(cast: Cast) -> None:
    profile = runs.profiled(runs.sample(cast, "rowrank"))
    client = signed_in(cast.ada)
    first = client.get(address(profile)).content.decode()
    assert "Recorded on 2026-12-01" in first
    assert 'value="replay" checked' in first
    values = filled(client, profile, backend="replay", sources=["stalls"])
    without = client.post(address(profile), values)
    assert without.status_code == 200
    assert "No answer is recorded for" in without.content.decode()
    assert not Run.objects.exists()


def test_two_clicks_start_one_run_and_other_choices_another(cast: Cast, profile: Profile) -> None:
    client = signed_in(cast.ada)
    values = filled(client, profile)
    first, second = client.post(address(profile), values), client.post(address(profile), values)
    assert first.url == second.url
    assert Run.objects.count() == 1
    third = client.post(address(profile), values | {"guidance": "Now with words."})
    assert third.url != first.url
    assert Run.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_clicks_at_the_same_moment_start_one_run(cast: Cast, profile: Profile) -> None:
    clients = [signed_in(cast.ada) for _ in range(4)]
    values = filled(clients[0], profile)

    def click(client: Client) -> str:
        try:
            return client.post(address(profile), values).url
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        urls = list(pool.map(click, clients))
    assert len(set(urls)) == 1
    assert Run.objects.count() == 1


def test_who_may_only_look_sees_everything_but_starts_nothing(cast: Cast, profile: Profile) -> None:
    client = signed_in(cast.vic)
    page = client.get(address(profile)).content.decode()
    assert "Start the run" not in page
    assert "may look, but not start runs" in page
    assert client.post(address(profile), filled(client, profile)).status_code == 403
    assert not Run.objects.exists()


def test_a_change_of_the_profile_chooses_kernels_anew_and_does_not_start(cast: Cast, profile: Profile) -> None:
    client = signed_in(cast.ada)
    values = filled(client, profile)
    other = runs.profiled(profile.snapshot)
    changed = client.post(address(profile), values | {"profile": other.pk})
    assert changed.status_code == 200
    page = changed.content.decode()
    hot = other.kernels.get(short_name="spread")
    assert f'name="kernels" value="{hot.pk}" checked' in page
    assert f'name="shown" value="{other.pk}"' in page
    assert not Run.objects.exists()


def test_a_host_can_take_the_profile_first(cast: Cast) -> None:
    snapshot = runs.sample(cast, "heat2d")
    client = signed_in(cast.ada)
    url = reverse("evaluation:new_run", args=[snapshot.project_id])
    page = client.get(url).content.decode()
    assert "No host that is online has everything to profile CPU programs." in page
    assert prompt_shown(page) is None
    worker_is_here("cpu@bench", ["cpu"])
    assert "A host builds and profiles it first:" in client.get(url).content.decode()
    key = re.search(r'name="key" value="([^"]+)"', page)
    assert key
    sent = {"snapshot": snapshot.pk, "key": key[1], "backend": "paste", "repairs": 0, "sources": ["stalls"]}
    client.post(url, sent)
    run = Run.objects.get()
    assert (run.status, run.profile.origin) == ("profiling", "host")


def test_the_time_comes_from_what_earlier_runs_of_the_project_took(cast: Cast, profile: Profile) -> None:
    for seconds in ({"build": 30.0, "profile": 500.0}, {"build": 50.0}):
        Run.objects.create(snapshot=profile.snapshot, backend="paste", status="done", seconds=seconds)
    page = signed_in(cast.ada).get(address(profile)).content.decode()
    assert "2 earlier runs of this project took 30.0\u00a0s to 50.0\u00a0s" in page


def test_a_project_without_sources_says_what_is_missing(cast: Cast) -> None:
    empty = Project.objects.create(team=cast.team, name="empty")
    page = signed_in(cast.ada).get(reverse("evaluation:new_run", args=[empty.pk])).content.decode()
    assert "No sources yet" in page


@pytest.mark.parametrize("query", ["?snapshot=0", "?snapshot=x", "?snapshot=²"])
def test_a_snapshot_that_is_not_the_projects_is_not_found(query: str, cast: Cast, profile: Profile) -> None:
    assert signed_in(cast.ada).get(address(profile) + query).status_code == 404


def test_text_from_files_is_text(cast: Cast) -> None:
    hostile = programs.MANIFEST.replace("./columns 31 77", "./columns 31 77 # <script>alert(1)</script>")
    files = programs.files(optimas_toml=hostile)
    files["columns.cpp"] = files["columns.cpp"].replace(b"#include <cstdio>", b"// <script>alert(2)</script> \xff")
    project = cast.team.projects.create(name="<i>columns</i>")
    add_snapshot(project, from_files(files), cast.ada)
    page = signed_in(cast.ada).get(reverse("evaluation:new_run", args=[project.pk]) + "?guidance=<script>").content
    assert b"<script>" not in page.replace(b"<script src", b"")
    assert b"<i>columns" not in page


def test_the_number_of_queries_does_not_grow(cast: Cast, profile: Profile) -> None:
    client = signed_in(cast.ada)

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            client.get(f"{address(profile)}?profile={profile.pk}")
        return len(asked)

    queries()  # the first one opens the session
    before = queries()
    for _ in range(3):
        runs.profiled(profile.snapshot)
        Run.objects.create(snapshot=profile.snapshot, backend="paste", status="done", seconds={"build": 1.0})
    assert queries() == before
