"""The attempt page of a small program that really was profiled, changed, built, compared and timed."""

from __future__ import annotations

import re
import shutil
from html import unescape

import pytest
from django.urls import reverse

from optimas_web.figures import percent, speedup
from optimas_web.words import LOOKS
from tests.programs import answered_run, work_off

needed = [name for name in ("g++", "valgrind") if shutil.which(name) is None]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.skipif(bool(needed), reason=f"needs {', '.join(needed)}"),
]


def test_the_page_says_what_the_judgement_found(client):
    attempt = answered_run()
    client.force_login(attempt.run.snapshot.created_by)
    url = reverse("reviews:attempt", args=[attempt.pk])
    assert "3 of 9 gates so far." in client.get(url).content.decode()
    work_off(attempt.run)
    attempt.refresh_from_db()
    document = attempt.verdict.document
    page = client.get(url).content.decode()
    text = " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())
    timing = document["timing"]["program"]
    assert LOOKS[document["verdict"]].words in text
    assert f"{speedup(timing['speedup'])} speedup of the whole program" in text
    assert f"{percent(timing['time_saved'])} of the time saved".replace("\u00a0", " ") in text
    assert "Outputs identical on 2 workloads" in text
    assert document["environment"]["processor"] in text
    for gate in document["gates"]:
        assert gate["reason"] in text
    for score in document["ear"].values():
        assert score["sentence"] in text
    label = attempt.edits.get().citations.get().label
    assert f'data-evidence="{label}" data-change="1"' in page
    assert len(re.findall(r'<th scope="row">\d+</th>', page)) == len(document["samples"]["pairs"]["program"])
