"""The embedded stores are shared while they are used, and survive what happens to machines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
import redis

from optimas_web import embedded
from optimas_web.state import run_folder

pytestmark = pytest.mark.skipif(
    not (embedded.has_postgres() and embedded.has_valkey()), reason="DATABASE_URL and REDIS_URL name other stores"
)

COUNT = """
import sys
from pathlib import Path
from optimas_web import embedded
with embedded.stores(Path(sys.argv[1])):
    print("up", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("embedded") / "state"


def connect(state: Path) -> psycopg.Connection:
    return psycopg.connect(
        host=str(embedded.postgres_sockets(state)), user=embedded.USER, dbname=embedded.DATABASE, autocommit=True
    )


def valkey_client(state: Path) -> redis.Redis:
    return redis.Redis.from_url(embedded.redis_url(state))


def another_user(state: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", COUNT, str(state)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_rows_and_messages_are_there_after_a_restart(state):
    with embedded.stores(state), connect(state) as database, valkey_client(state) as valkey:
        database.execute("CREATE TABLE kept (word text)")
        database.execute("INSERT INTO kept VALUES ('row')")
        valkey.lpush("queue", "message")
    assert not embedded.answering(state)
    assert not run_folder(state).exists()
    with embedded.stores(state), connect(state) as database, valkey_client(state) as valkey:
        assert database.execute("SELECT word FROM kept").fetchall() == [("row",)]
        assert valkey.lrange("queue", 0, -1) == [b"message"]


def test_nothing_listens_on_the_network(state):
    with embedded.stores(state), connect(state) as database, valkey_client(state) as valkey:
        assert database.execute("SHOW listen_addresses").fetchone() == ("",)
        assert valkey.config_get("port") == {"port": "0"}


def test_who_started_the_stores_keeps_them_until_the_last_user_has_gone(state):
    with another_user(state) as owner:
        assert owner.stdin and owner.stdout and owner.stdout.readline() == "up\n"
        with embedded.stores(state):
            owner.stdin.write("done\n")
            owner.stdin.flush()
            with pytest.raises(subprocess.TimeoutExpired):
                owner.wait(0.3)
            assert embedded.answering(state)
        assert owner.wait(20) == 0
    assert not embedded.answering(state)


def test_stores_start_again_after_their_owner_was_killed(state):
    with another_user(state) as owner:
        assert owner.stdout and owner.stdout.readline() == "up\n"
        owner.kill()
    with embedded.stores(state):
        assert embedded.answering(state)


def test_a_pid_file_that_names_some_other_living_process_does_not_hinder(state):
    """After a reboot the number may belong to anybody; Postgres alone would take that process for itself."""
    with embedded.stores(state):
        old = (state / "postgres" / "postmaster.pid").read_text()
    (state / "postgres" / "postmaster.pid").write_text(old.replace(old.split("\n")[0], str(os.getppid()), 1))
    with embedded.stores(state):
        assert embedded.answering(state)


def test_an_interrupted_first_start_leaves_no_half_made_database(tmp_path):
    (tmp_path / "state" / "postgres.new" / "base").mkdir(parents=True)
    (tmp_path / "state").chmod(0o700)
    with embedded.stores(tmp_path / "state", throwaway=True):
        assert embedded.answering(tmp_path / "state")
