"""Uploads resume where they stopped, stay within the limit that was told, and appear whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from optimas_web.errors import UserError
from projects import uploads

LIMIT = 1000


def stored_files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def test_a_file_is_stored_under_its_hash(tmp_path: Path):
    stored = uploads.store(tmp_path, "k1", [b"abc", b"", b"def"], LIMIT)
    digest = hashlib.sha256(b"abcdef").hexdigest()
    assert stored == uploads.Stored(f"files/{digest[:2]}/{digest}", 6, digest)
    assert (tmp_path / stored.path).read_bytes() == b"abcdef"
    assert stored_files(tmp_path) == [stored.path]


def test_pieces_are_appended_and_finished(tmp_path: Path):
    assert uploads.offset(tmp_path, "k1") == 0
    assert uploads.append(tmp_path, "k1", 0, [b"abc"], LIMIT) == 3
    assert uploads.offset(tmp_path, "k1") == 3
    assert uploads.append(tmp_path, "k1", 3, [b"d", b"ef"], LIMIT) == 6
    digest = hashlib.sha256(b"abcdef").hexdigest()
    assert uploads.finish(tmp_path, "k1", 6, digest.upper()).sha256 == digest
    assert uploads.offset(tmp_path, "k1") == 0


@pytest.mark.parametrize("start", [0, 2, 4])
def test_a_piece_at_another_offset_is_refused_and_told_the_right_one(tmp_path: Path, start: int):
    uploads.append(tmp_path, "k1", 0, [b"abc"], LIMIT)
    with pytest.raises(UserError, match="but 3 bytes have arrived. Send it from byte 3 on."):
        uploads.append(tmp_path, "k1", start, [b"x"], LIMIT)
    assert (tmp_path / "partial" / "k1").read_bytes() == b"abc"


def test_what_arrived_before_the_line_broke_stays(tmp_path: Path):
    def broken() -> Iterator[bytes]:
        yield b"abc"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        uploads.append(tmp_path, "k1", 0, broken(), LIMIT)
    assert uploads.offset(tmp_path, "k1") == 3
    uploads.append(tmp_path, "k1", 3, [b"def"], LIMIT)
    assert (tmp_path / uploads.finish(tmp_path, "k1", 6).path).read_bytes() == b"abcdef"


def test_a_missing_rest_is_told_and_nothing_is_stored(tmp_path: Path):
    uploads.append(tmp_path, "k1", 0, [b"abc"], LIMIT)
    with pytest.raises(UserError, match="3 of 6 bytes have arrived. Send the rest from byte 3 on."):
        uploads.finish(tmp_path, "k1", 6)
    assert stored_files(tmp_path) == ["partial/k1"]


def test_a_file_that_changed_on_its_way_is_dropped(tmp_path: Path):
    uploads.append(tmp_path, "k1", 0, [b"abc"], LIMIT)
    with pytest.raises(UserError, match="The file changed on its way"):
        uploads.finish(tmp_path, "k1", 3, hashlib.sha256(b"abd").hexdigest())
    assert stored_files(tmp_path) == []


def test_finishing_what_never_began_is_told(tmp_path: Path):
    with pytest.raises(UserError, match="Nothing of this upload has arrived"):
        uploads.finish(tmp_path, "k1", 3)
    assert stored_files(tmp_path) == []


def test_the_limit_is_told_before_and_after(tmp_path: Path):
    assert uploads.limit_told(2 * 1024**3) == "A file may have up to 2 GiB (2,147,483,648 bytes)."
    uploads.refuse_size(LIMIT, LIMIT, tmp_path)
    with pytest.raises(UserError, match=r"The file has 1001 bytes. A file may have up to 1000 bytes"):
        uploads.refuse_size(LIMIT + 1, LIMIT, tmp_path)
    with pytest.raises(UserError, match=r"and the server has .* left"):
        uploads.refuse_size(10**18, 10**19, tmp_path)


def test_just_under_the_limit_is_stored_and_just_over_is_not(tmp_path: Path):
    assert uploads.store(tmp_path, "under", [bytes(LIMIT - 1), b"x"], LIMIT).size == LIMIT
    with pytest.raises(UserError, match=r"The file is larger. A file may have up to 1000 bytes \(1,000 bytes\)."):
        uploads.store(tmp_path, "over", [bytes(LIMIT), b"x"], LIMIT)
    assert len(stored_files(tmp_path)) == 1


def test_an_endless_stream_is_stopped_at_the_limit(tmp_path: Path):
    taken = []

    def endless() -> Iterator[bytes]:
        while True:
            taken.append(1)
            yield bytes(300)

    with pytest.raises(UserError, match="The file is larger"):
        uploads.append(tmp_path, "k1", 0, endless(), LIMIT)
    assert len(taken) == 4


def test_two_requests_cannot_write_one_upload(tmp_path: Path):
    writing, go_on = threading.Event(), threading.Event()

    def slow() -> Iterator[bytes]:
        yield b"abc"
        writing.set()
        assert go_on.wait(10)
        yield b"def"

    first = threading.Thread(target=uploads.append, args=(tmp_path, "k1", 0, slow(), LIMIT))
    first.start()
    assert writing.wait(10)
    try:
        with pytest.raises(UserError, match="Another request is writing this upload"):
            uploads.append(tmp_path, "k1", 0, [b"x"], LIMIT)
    finally:
        go_on.set()
        first.join()
    assert (tmp_path / "partial" / "k1").read_bytes() == b"abcdef"


def test_a_stored_file_never_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A request that opened the partial file before it was finished, and got the lock after."""
    uploads.append(tmp_path, "k1", 0, [b"abc"], LIMIT)
    real = fcntl.flock

    def finish_meanwhile(file, how):
        monkeypatch.setattr(fcntl, "flock", real)
        uploads.finish(tmp_path, "k1", 3)
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", finish_meanwhile)
    with pytest.raises(UserError, match="finished or removed just now"):
        uploads.append(tmp_path, "k1", 3, [b"x"], LIMIT)
    (stored,) = stored_files(tmp_path)
    assert (tmp_path / stored).read_bytes() == b"abc"


def test_the_same_content_twice_is_one_file(tmp_path: Path):
    assert uploads.store(tmp_path, "a", [b"x"], LIMIT) == uploads.store(tmp_path, "b", [b"x"], LIMIT)
    assert len(stored_files(tmp_path)) == 1


def test_storing_again_starts_from_nothing(tmp_path: Path):
    uploads.append(tmp_path, "k1", 0, [b"old"], LIMIT)
    assert uploads.store(tmp_path, "k1", [b"new"], LIMIT).size == 3


@pytest.mark.parametrize("key", ["", "../up", "a/b", "a.b", "x" * 65, "a\0"])
def test_a_key_is_never_a_path(tmp_path: Path, key: str):
    with pytest.raises(ValueError, match="no key of an upload"):
        uploads.append(tmp_path, key, 0, [b"x"], LIMIT)
    assert stored_files(tmp_path) == []


def test_forgotten_pieces_are_removed_by_age(tmp_path: Path):
    uploads.append(tmp_path, "k1", 0, [b"abc"], LIMIT)
    written = (tmp_path / "partial" / "k1").stat().st_mtime
    assert uploads.discard_older(tmp_path, written - 1) == 0
    assert uploads.discard_older(tmp_path, written + 1) == 1
    assert uploads.discard_older(tmp_path / "missing", written) == 0


def test_memory_does_not_grow_with_the_file(tmp_path: Path):
    chunk = 1024**2
    tracemalloc.start()
    try:
        stored = uploads.store(tmp_path, "k1", (bytes(chunk) for _ in range(24)), 32 * chunk)
        uploads.append(tmp_path, "k2", 0, (bytes(chunk) for _ in range(24)), 32 * chunk)
        assert uploads.finish(tmp_path, "k2", stored.size) == stored
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert stored.size == 24 * chunk
    assert peak < 4 * chunk
