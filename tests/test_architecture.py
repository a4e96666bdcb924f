"""The house keeps its rules: what may import what, who may touch the world, and how long a piece may be.

The rules are told in docs/architecture.md. Each check is a function from source text to sentences, and is itself
tested against planted violations below.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.repository import ROOMS, ROOT, TEXTS, WIRING, read, tracked

FROM_BELOW = ("optimas_web.errors", "optimas_web.jobs")

# ``rows`` writes values into rows and reads them back, for services.
DJANGO_NAMES = {"models", "rows", "views", "urls", "forms", "services", "tasks", "admin", "apps", "checks", "api"}
DJANGO_FOLDERS = {"management", "migrations", "templatetags", "views"}
DJANGO_PACKAGES = {"django", "celery", "kombu", "psycopg", "redis", "environ", "django_htmx", "whitenoise"}

# Modules that touch the world besides Django's: files written, processes, network, devices, how long a step took.
EDGES = (
    "projects/snapshot.py",
    "projects/uploads.py",
    "optimizer/backends/",
    "optimizer/check.py",
    "evaluation/toolchains/",
    "evaluation/sandbox/",
    "evaluation/workspace.py",
    "evaluation/original.py",
    "evaluation/locks.py",
    "evaluation/machine.py",
    "evaluation/attempt.py",
    "evaluation/judge.py",
    "evaluation/steps/",
)
WORLD = {
    "subprocess", "multiprocessing", "signal", "pty", "socket", "socketserver", "ssl", "select", "asyncio", "selectors",
    "http", "urllib", "requests", "httpx", "urllib3", "ftplib", "smtplib", "time", "sched", "threading", "tempfile",
    "shutil", "fcntl", "ctypes", "getpass", "platform", "resource", "secrets",
}  # fmt: skip
WORLD_CALLS = {
    "os.environ", "os.getenv", "os.system", "os.popen", "os.fork", "os.kill", "os.urandom", "os.getpid",
    "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "datetime.datetime.now", "uuid.uuid4",
}  # fmt: skip

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
LONGER_FILES: tuple[str, ...] = ()
LONGER_FUNCTIONS: tuple[str, ...] = ()


# --- the checks -------------------------------------------------------------------------------


def kind(path: str) -> str:
    """``django``, ``edge`` or ``pure``: what a file of the product may do, by its name alone."""
    parts = path.removesuffix(".py").split("/")
    if parts[0] == WIRING:
        return "pure" if path == "optimas_web/errors.py" else "django"
    if parts[-1] in DJANGO_NAMES or DJANGO_FOLDERS & set(parts[:-1]):
        return "django"
    return "edge" if path.startswith(EDGES) else "pure"


def imports(path: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything imported, anywhere in the file, also by name in a string."""
    package = path.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and _dotted(node.func).split(".")[-1] in ("import_module", "__import__"):
            yield from (
                (node.lineno, arg.value)
                for arg in node.args[:1]
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            )


def wrong_imports(path: str, source: str) -> list[str]:
    """Imports against the flow, Django outside its files, the world inside pure ones."""
    found = []
    for line, name in imports(path, ast.parse(source)):
        why = _against_the_flow(path, name) or _not_for_this_kind(path, name)
        if why:
            found.append(f"{path}:{line}: imports {name}: {why}")
    return found


def _against_the_flow(path: str, name: str) -> str:
    room, other = path.split("/")[0], name.split(".")[0]
    if room in ROOMS and other == WIRING and not _is_below(name, FROM_BELOW):
        return f"of {WIRING} only errors and jobs may be imported"
    if room in ROOMS and other in ROOMS and ROOMS.index(other) > ROOMS.index(room):
        return f"{room} comes before {other}"
    return "the errors import nothing" if path == "optimas_web/errors.py" and other != "__future__" else ""


def _not_for_this_kind(path: str, name: str) -> str:
    here = kind(path)
    if here == "django":
        return ""
    package = name.split(".")[0]
    if package in DJANGO_PACKAGES or _is_below(name, ("optimas_web.jobs",)):
        return f"{here} files do not know Django"
    if "django" in _kinds_of(name):
        return f"{here} files do not know Django's files"
    if here == "pure" and package in WORLD:
        return "pure files do not touch the world"
    if here == "pure" and "edge" in _kinds_of(name):
        return "pure files do not use edges"
    return ""


def world_calls(path: str, source: str) -> list[str]:
    """Clock, environment and process calls in a pure file."""
    if kind(path) != "pure":
        return []
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    return [f"{path}:{node.lineno}: uses {_dotted(node)}" for node in nodes if _dotted(node) in WORLD_CALLS]


def too_long(path: str, source: str) -> list[str]:
    found = []
    lines = source.count("\n")
    if lines > MAX_FILE_LINES and path not in LONGER_FILES:
        found.append(f"{path}: {lines} lines")
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        length = (node.end_lineno or 0) - node.lineno + 1
        if length > MAX_FUNCTION_LINES and f"{path}:{node.name}" not in LONGER_FUNCTIONS:
            found.append(f"{path}:{node.lineno}: {node.name} has {length} lines")
    return found


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _is_below(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(module + ".") for module in modules)


def _kinds_of(name: str) -> set[str]:
    """The kinds of the room's files that a dotted name may lead through; empty when it is not of a room."""
    parts = name.split(".")
    if parts[0] not in ROOMS:
        return set()
    paths = ["/".join(parts[:end]) for end in range(2, len(parts) + 1)]
    return {kind(path + ending) for path in paths for ending in (".py", "/__init__.py")}


# --- the house --------------------------------------------------------------------------------


PRODUCT = [path for path in tracked("*.py") if path.split("/")[0] in (*ROOMS, WIRING)]
WRITTEN = [path for path in PRODUCT if "/migrations/" not in path]
PYTHON = [path for path in tracked("*.py") if "/migrations/" not in path]


def test_the_list_of_files_is_the_real_one():
    assert {"projects/manifest.py", "optimas_web/errors.py", "evaluation/types.py"} <= set(WRITTEN)
    assert "tests/test_architecture.py" in TEXTS


def test_every_edge_exists():
    assert [path for path in EDGES if not (ROOT / path).exists()] == []


def test_imports_follow_the_flow_and_stay_in_their_kind():
    assert [line for path in PRODUCT for line in wrong_imports(path, read(path))] == []


def test_pure_files_ask_no_clock_environment_or_process():
    assert [line for path in WRITTEN for line in world_calls(path, read(path))] == []


def test_files_and_functions_stay_short():
    assert [line for path in PYTHON for line in too_long(path, read(path))] == []


def test_no_text_holds_a_path_of_the_machine_it_was_written_on():
    """Invented homes in tests are fine."""
    home = re.compile(r"/(home|Users)/[a-z]\w*")
    assert [path for path in TEXTS if str(ROOT) in read(path)] == []
    assert [path for path in TEXTS if not path.startswith("tests/") and home.search(read(path))] == []


# --- the checks catch what they are for -------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("analysis/roofline.py", "pure"),
        ("analysis/models.py", "django"),
        ("analysis/management/commands/analyze.py", "django"),
        ("studies/migrations/0001_initial.py", "django"),
        ("optimas_web/errors.py", "pure"),
        ("optimas_web/state.py", "django"),
        ("optimizer/backends/ollama.py", "edge"),
        ("evaluation/sandbox/bwrap.py", "edge"),
        ("evaluation/ear/models_of_chance.py", "pure"),
    ],
)
def test_kinds(path: str, expected: str):
    assert kind(path) == expected


@pytest.mark.parametrize(
    ("path", "source", "why"),
    [
        ("projects/x.py", "import analysis.types", "projects comes before analysis"),
        ("analysis/views.py", "from reviews.models import Thread", "analysis comes before reviews"),
        ("analysis/x.py", "def f():\n    from optimizer import types", "analysis comes before optimizer"),
        ("projects/services.py", "import importlib\nimportlib.import_module('studies.corpus')", "before studies"),
        ("analysis/services.py", "from optimas_web import settings", "only errors and jobs"),
        ("analysis/services.py", "from optimas_web.errors_of_mine import x", "only errors and jobs"),
        ("analysis/x.py", "from django.conf import settings", "pure files do not know Django"),
        ("evaluation/sandbox/x.py", "import django.db", "edge files do not know Django"),
        ("analysis/x.py", "from optimas_web.jobs import enqueue", "pure files do not know Django"),
        ("analysis/x.py", "from . import models", "pure files do not know Django's files"),
        ("analysis/formats/x.py", "from ..models import Profile", "pure files do not know Django's files"),
        ("optimizer/backends/x.py", "from projects.services import files_of", "edge files do not know Django's files"),
        ("analysis/x.py", "import subprocess", "pure files do not touch the world"),
        ("analysis/x.py", "from urllib.request import urlopen", "pure files do not touch the world"),
        ("analysis/x.py", "import time as clock", "pure files do not touch the world"),
        ("evaluation/x.py", "from evaluation.sandbox import run", "pure files do not use edges"),
        ("evaluation/x.py", "from evaluation import toolchains", "pure files do not use edges"),
        ("optimas_web/errors.py", "import logging", "the errors import nothing"),
    ],
)
def test_a_wrong_import_is_caught(path: str, source: str, why: str):
    (found,) = wrong_imports(path, source)
    assert why in found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("analysis/x.py", "import numpy\nfrom analysis.types import Kernel\nfrom projects.types import Tree"),
        ("analysis/x.py", "from optimas_web.errors import UserError"),
        ("analysis/services.py", "from optimas_web.jobs import enqueue\nfrom django.db import models"),
        ("evaluation/sandbox/x.py", "import subprocess, time"),
        ("optimas_web/views.py", "from studies.models import Study"),
        ("reviews/views.py", "from evaluation.models import Gate"),
        ("analysis/x.py", "text = 'import subprocess'"),
    ],
)
def test_a_right_import_is_left_alone(path: str, source: str):
    assert wrong_imports(path, source) == []


@pytest.mark.parametrize("call", ["os.environ['HOME']", "os.getenv('HOME')", "datetime.now()", "os.getpid()"])
def test_a_look_at_the_world_is_caught_in_pure_files_only(call: str):
    assert len(world_calls("analysis/x.py", f"x = {call}")) == 1
    assert world_calls("evaluation/sandbox/x.py", f"x = {call}") == []


def test_what_is_too_long_is_caught():
    body = "    x = 1\n"
    assert too_long("a.py", "def f():\n" + body * 59) == []
    assert too_long("a.py", "def f():\n" + body * 60) == ["a.py:1: f has 61 lines"]
    assert too_long("a.py", "class A:\n    async def f(self):\n" + "    " + body * 1 + ("    " + body) * 60) == [
        "a.py:2: f has 62 lines"
    ]
    assert too_long("a.py", "x = 1\n" * 400) == []
    assert too_long("a.py", "x = 1\n" * 401) == ["a.py: 401 lines"]
