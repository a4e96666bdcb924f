"""Settings are read strictly, and every one is documented."""

from __future__ import annotations

import re
import subprocess

import pytest
from django.core.exceptions import ImproperlyConfigured

from optimas_web import settings as site
from tests.repository import ROOT, read, tracked

DOCUMENTED = set(re.findall(r"^\| `(\w+)` \|", read("docs/settings.md"), re.MULTILINE))
NOT_OURS = {"HOME"}


@pytest.mark.parametrize(
    ("word", "meaning"), [("1", True), ("Yes", True), (" on ", True), ("false", False), ("0", False)]
)
def test_yes_and_no_have_several_spellings(word, meaning, monkeypatch):
    monkeypatch.setenv("OPTIMAS_DEBUG", word)
    assert site.read("OPTIMAS_DEBUG") is meaning


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPTIMAS_DEBUG", "ture"),
        ("OPTIMAS_DEBUG", ""),
        ("OPTIMAS_VISIBILITY_TIMEOUT_S", "an hour"),
        ("OPTIMAS_LOG_LEVEL", "loud"),
    ],
)
def test_a_value_that_cannot_be_read_is_named(name, value, monkeypatch):
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=f"{name}='{value}' is not a value that this setting takes"):
        site.read(name)


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        ({"DATABASE_URL": "sqlite:///db"}, "DATABASE_URL has to name a Postgres server"),
        ({"REDIS_URL": "http://localhost"}, "REDIS_URL has to start with redis://"),
        ({"OPTIMAS_STATE": "/proc/optimas"}, "/proc/optimas cannot be"),
    ],
)
def test_a_start_with_a_wrong_setting_ends_with_a_sentence(variables, complaint):
    ended = subprocess.run(
        [".venv/bin/python", "-m", "optimas_web.supervisor", "manage", "check"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"} | variables,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"optimas: {complaint}")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("url", "broker"),
    [
        ("unix:///run/v.sock?db=3", "redis+socket:///run/v.sock?virtual_host=3"),
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("rediss://host:6379/1", "rediss://host:6379/1"),
    ],
)
def test_celery_gets_the_same_server_in_its_own_spelling(url, broker):
    assert site.broker_url(url) == broker


def test_every_setting_is_documented_and_every_documented_one_is_read():
    sources = "".join(read(path) for path in ["optimas", *tracked("optimas_web/*.py")])
    read_elsewhere = set(re.findall(r"\bOPTIMAS_[A-Z_]+\b", sources))
    read_elsewhere |= set(re.findall(r"\$\{([A-Z_]+):-", read("optimas"))) - NOT_OURS
    assert set(site.ENVIRONMENT.scheme) | read_elsewhere == DOCUMENTED
