from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.messages import add_message, constants
from django.contrib.messages.storage.fallback import FallbackStorage
from django.template import engines
from django.utils import timezone


def render(source: str, request=None, **values) -> str:
    return engines["django"].from_string("{% load optimas %}" + source).render(values, request)


def test_a_status_is_an_icon_and_a_word():
    shown = render('{% status "needs_review" %}')
    assert "icons.svg#eye" in shown
    assert "Needs review" in shown


def test_an_unknown_status_is_an_error_and_no_guess():
    with pytest.raises(KeyError):
        render('{% status "sideways" %}')


def test_labels_and_words_of_others_are_escaped():
    shown = render("{% chip label %}{% status 'done' words=label %}{% why label metric=label %}", label="<b>S1</b>")
    assert "<b>" not in shown


def test_a_chip_leads_to_its_evidence_and_says_its_kind():
    assert re.search(r'<a href="#S1".*chip-stalls.*>S1</a>', render('{% chip "S1" href="#S1" %}'))
    assert "cited, but not offered" in render('{% chip "S9" known=False %}')


def test_a_number_tells_where_it_came_from():
    shown = render('{% why "812 µs" metric="gpu__time_duration.sum" report=None %}')
    assert re.search(r'popovertarget="(why-\w+)".*id="\1"', shown)
    assert "gpu__time_duration.sum" in shown
    assert "Report" not in shown


@pytest.mark.parametrize(
    ("query", "direction", "next_query"),
    [
        ("", "none", "?sort=speedup"),
        ("?sort=speedup&page=3", "ascending", "?sort=-speedup"),
        ("?q=a&sort=-speedup", "descending", "?q=a&amp;sort=speedup"),
    ],
)
def test_a_table_head_sorts_and_turns_round(rf, query, direction, next_query):
    shown = render('{% sort_header "Speedup" "speedup" %}', rf.get(f"/{query}"))
    assert f'aria-sort="{direction}"' in shown
    assert f'href="{next_query}"' in shown


def test_a_moment_is_told_in_words_with_the_exact_time():
    shown = render("{% when then %}", then=timezone.now() - timedelta(minutes=5))
    assert "5 min ago" in shown
    assert 'title="20' in shown


def request_with(rf, *texts: str, kept: list | None = None):
    request = rf.get("/")
    request.session = {"messages": kept} if kept else {}
    request._messages = FallbackStorage(request)
    for text in texts:
        add_message(request, constants.ERROR, text)
    return request


def test_messages_are_shown_once_and_kept_to_be_read_again(rf):
    first = request_with(rf, "It <i>broke</i>.")
    page = render('{% include "parts/messages_panel.html" %}|{% include "parts/toasts.html" %}', first)
    assert ["It &lt;i&gt;broke&lt;/i&gt;." in part for part in page.split("|")] == [True, True]
    later = request_with(rf, kept=first.session["messages"])
    page = render('{% include "parts/messages_panel.html" %}|{% include "parts/toasts.html" %}', later)
    assert ["broke" in part for part in page.split("|")] == [True, False]


def test_only_the_last_messages_are_kept(rf):
    kept = [{"text": str(n), "level": "info", "time": timezone.now().isoformat()} for n in range(20)]
    request = request_with(rf, "new", kept=kept)
    render("{% take_messages as fresh %}", request)
    assert [note["text"] for note in request.session["messages"]] == ["new", *map(str, range(19))]


def test_seconds_and_words():
    assert render("{{ 0.0023|seconds }}").replace("\u00a0", " ") == "2.30 ms"
    assert render('{% for w in "a b"|words %}{{ w }};{% endfor %}') == "a;b;"
