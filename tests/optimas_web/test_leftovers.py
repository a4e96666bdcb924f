"""Uploads that nobody came back for are deleted, and no others."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from optimas_web.leftovers import KEPT_FOR, forget_leftovers
from optimas_web.project_actions import read_upload
from projects.models import Upload
from projects.services import begin_upload, path_of, receive, store_upload
from tests.programs import snapshot


@pytest.mark.django_db(transaction=True)
def test_old_uploads_without_a_use_are_forgotten_with_their_files(valkey):
    program = snapshot()
    team, user = program.project.team, program.project.created_by
    unfinished = begin_upload(team, user, "unfinished", 10)
    receive(unfinished, 0, b"abc")
    unused = store_upload(team, user, "unused", 6, [b"unused"])
    used = store_upload(team, user, "used", 4, [b"used"])
    read_upload(program, used, user)
    Upload.objects.update(created=timezone.now() - KEPT_FOR - timedelta(hours=1))
    fresh = store_upload(team, user, "fresh", 5, [b"fresh"])
    assert forget_leftovers() == 2
    assert set(Upload.objects.all()) == {used, fresh}
    assert [path_of(upload).exists() for upload in (unfinished, unused, used, fresh)] == [False, False, True, True]
