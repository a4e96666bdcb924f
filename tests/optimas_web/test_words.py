from __future__ import annotations

from typing import get_args

import pytest
from django.apps import apps

from analysis.types import SOURCE_KINDS, DoctorNote
from evaluation.types import TimingVerdict
from optimas_web.words import KINDS, LOOKS
from optimizer.types import AnswerOutcome, GateStatus, Severity

ROOMS = ("optimas_web", "projects", "analysis", "optimizer", "evaluation", "reviews", "studies")
STATUS_FIELDS = {"status", "state", "outcome", "verdict"}


@pytest.mark.parametrize("words", [TimingVerdict, AnswerOutcome, GateStatus, Severity])
def test_every_status_of_the_types_has_a_look(words):
    assert set(get_args(words)) <= set(LOOKS)


def test_every_status_of_the_rows_has_a_look():
    fields = [f for room in ROOMS for model in apps.get_app_config(room).get_models() for f in model._meta.fields]
    words = {value for f in fields if f.name in STATUS_FIELDS for value, _ in f.choices or ()}
    assert "waiting_for_answer" in words
    assert words <= set(LOOKS)


def test_severities_of_the_doctor_have_a_look():
    severities = DoctorNote.__annotations__["severity"]
    assert all(word in LOOKS for word in ("info", "warning", "error") if word in severities)


def test_no_two_looks_of_a_kind_differ_in_colour_alone():
    assert all(look.icon and look.words for look in LOOKS.values())
    assert sorted(KINDS.values()) == sorted(SOURCE_KINDS)
