"""Uploads a piece at a time: what the server answers, and who may send."""

from __future__ import annotations

import hashlib

import pytest
from django.urls import reverse

from projects.models import Membership, Role, Upload
from projects.services import delete_upload, path_of, store_upload
from tests.cast import make_cast

pytestmark = pytest.mark.django_db
CONTENT = bytes(range(256)) * 40
SHA256 = hashlib.sha256(CONTENT).hexdigest()
BEGIN = "/projects/uploads/"


@pytest.fixture
def cast():
    return make_cast()


@pytest.fixture
def ada(cast, client):
    client.force_login(cast.ada)
    return client


def begin(client, cast, **fields: object):
    return client.post(BEGIN, {"team": cast.team.pk, "name": "report.ncu-rep", "size": len(CONTENT), **fields})


def send(client, state, start: int, piece: bytes):
    headers = {"Upload-Offset": str(start)}
    return client.patch(state["url"], piece, content_type="application/octet-stream", headers=headers)


def finish(client, state, sha256: str = SHA256):
    return client.post(f"{state['url']}finish/", {"sha256": sha256})


def test_pieces_are_put_together_and_checked_against_their_hash(ada, cast):
    state = begin(ada, cast).json()
    assert (state["offset"], state["state"], state["piece_bytes"]) == (0, "receiving", 16 * 1024**2)
    assert send(ada, state, 0, CONTENT[:5000]).json()["offset"] == 5000
    assert ada.get(state["url"]).json()["offset"] == 5000
    send(ada, state, 5000, CONTENT[5000:])
    done = finish(ada, state).json()
    assert (done["state"], done["sha256"], done["offset"]) == ("complete", SHA256, len(CONTENT))
    assert path_of(Upload.objects.get()).read_bytes() == CONTENT


def test_a_piece_at_the_wrong_place_changes_nothing_and_says_where_to_go_on(ada, cast):
    state = begin(ada, cast).json()
    send(ada, state, 0, CONTENT[:100])
    for start in (0, 50, 200):
        answer = send(ada, state, start, CONTENT[:100])
        assert answer.status_code == 409
        assert "100 bytes have arrived" in answer.json()["message"]
    assert ada.get(state["url"]).json()["offset"] == 100


def test_more_bytes_than_announced_are_refused(ada, cast):
    state = begin(ada, cast, size=10).json()
    assert send(ada, state, 0, CONTENT[:11]).status_code == 409


def test_a_piece_may_not_be_larger_than_told(ada, cast, settings):
    settings.UPLOAD_PIECE_BYTES = 100
    state = begin(ada, cast).json()
    assert state["piece_bytes"] == 100
    assert "up to 100 bytes" in send(ada, state, 0, CONTENT[:101]).json()["message"]


def test_a_file_that_changed_on_its_way_is_dropped(ada, cast):
    state = begin(ada, cast).json()
    send(ada, state, 0, CONTENT[::-1])
    assert "changed on its way" in finish(ada, state).json()["message"]
    assert ada.get(state["url"]).json()["offset"] == 0


def test_finishing_too_early_says_what_is_missing(ada, cast):
    state = begin(ada, cast).json()
    send(ada, state, 0, CONTENT[:100])
    assert "100 of 10,240 bytes have arrived" in finish(ada, state).json()["message"]


def test_finishing_twice_is_finishing_once_and_nothing_can_be_added(ada, cast):
    state = begin(ada, cast).json()
    send(ada, state, 0, CONTENT)
    assert finish(ada, state).json() == finish(ada, state).json()
    assert send(ada, state, len(CONTENT), b"more").status_code == 409
    assert path_of(Upload.objects.get()).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"size": "many"}, "announced with team, name and size"),
        ({"size": 0}, "is empty"),
        ({"size": 9 * 1024**3}, "A file may have up to 8 GiB"),
    ],
)
def test_what_cannot_be_taken_is_refused_before_the_first_byte(ada, cast, fields, sentence):
    answer = begin(ada, cast, **fields)
    assert answer.status_code == 409
    assert sentence in answer.json()["message"]
    assert not Upload.objects.exists()


def test_a_name_has_no_folders_and_no_bytes_that_cannot_be_stored(ada, cast):
    begin(ada, cast, name="C:\\reports\\a\x00b.ncu-rep")
    assert Upload.objects.get().name == "a␀b.ncu-rep"


def test_only_the_owner_reaches_an_upload_and_only_while_allowed_to_change_things(client, ada, cast):
    state = begin(ada, cast).json()
    for person in (cast.lea, cast.vic, cast.zoe):
        client.force_login(person)
        answers = [client.get(state["url"]), send(client, state, 0, b"x"), finish(client, state)]
        assert [answer.status_code for answer in answers] == [404, 404, 404]
    Membership.objects.filter(user=cast.ada).update(role=Role.VIEWER)
    client.force_login(cast.ada)
    assert client.get(state["url"]).status_code == 404


def test_viewers_cannot_begin_and_strangers_do_not_learn_that_the_team_is_there(client, cast):
    for person, status in ((cast.vic, 403), (cast.zoe, 404)):
        client.force_login(person)
        assert begin(client, cast).status_code == status


def test_an_unfinished_upload_can_be_given_up_and_a_finished_one_cannot(ada, cast):
    state = begin(ada, cast).json()
    send(ada, state, 0, CONTENT[:100])
    partial = path_of(Upload.objects.get())
    assert partial.exists()
    done = store_upload(cast.team, cast.ada, "a", 3, [b"abc"])
    assert ada.delete(reverse("projects:upload", args=[done.pk])).status_code == 409


@pytest.mark.django_db(transaction=True)
def test_a_file_goes_when_the_last_upload_of_its_content_goes(cast):
    first, second = (store_upload(cast.team, cast.ada, name, 9, [b"deletable"]) for name in "ab")
    path = path_of(first)
    delete_upload(first)
    assert path.exists()
    delete_upload(second)
    assert not path.exists()
