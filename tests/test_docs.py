"""What is documented is there, and what is there is documented."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import load_command_class
from jsonschema import Draft202012Validator

from optimas_web.jobs import KINDS
from projects import manifest
from projects.types import SnapshotLimits
from tests.repository import ROOMS, ROOT, TEXTS, WIRING, read, tracked

DOCS = sorted(path for path in tracked("*.md") if path.startswith("docs/"))
# Standard options of every management command of Django.
DJANGO_OPTIONS = {
    "--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color",
    "--skip-checks",
}  # fmt: skip


def registries() -> Iterator[tuple[str, Mapping[str, object]]]:
    """Every literal mapping of names to dotted paths in the front of a package: its place, and the mapping."""
    for path in tracked("*/__init__.py"):
        if path.split("/")[0] not in ROOMS or "/migrations/" in path or "/management/" in path:
            continue
        package = path.removesuffix("/__init__.py").replace("/", ".")
        module = import_module(package)
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, Mapping) and _names_modules(value, package):
                yield f"{package}.{name}", value


def _names_modules(value: Mapping[object, object], package: str) -> bool:
    paths = [str(getattr(entry, "module", entry)) for entry in value.values()]
    return bool(paths) and all(path.startswith(package + ".") for path in paths)


REGISTRIES = dict(registries())
COMMANDS = sorted(
    (path.split("/")[0], Path(path).stem)
    for path in tracked("*/management/commands/*.py")
    if path.split("/")[0] in (*ROOMS, WIRING) and Path(path).stem != "__init__"
)
SCHEMAS = tracked("docs/schemas/*.json")


def dangling_names(path: str, text: str, known: set[str]) -> list[str]:
    """Documents named in a text that are neither in the repository by that path nor beside the text."""
    found = []
    for match in re.finditer(r"(?<![\w/.:*{}-])(?:\.\./)*\w[\w./-]*\.md\b", text):
        if match[0] not in known and not (ROOT / path).parent.joinpath(match[0]).exists():
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{path}:{line}: names {match[0]}, which is not here")
    return found


def test_the_registries_that_we_know_of_are_discovered():
    assert {"analysis.formats.FORMATS", "optimizer.guards.GUARDS", "evaluation.toolchains.TOOLCHAINS"} <= set(
        REGISTRIES
    )
    assert "evaluation.ear.SCORES" in REGISTRIES


@pytest.mark.parametrize("registry", sorted(REGISTRIES))
def test_every_entry_of_a_registry_is_documented(registry: str):
    text = read("docs/extending.md")
    folder = registry.rpartition(".")[0].replace(".", "/") + "/"
    heading, _, rest = text.partition(f"`{folder}`")
    assert rest, f"docs/extending.md has no heading for {folder}"
    section = rest.partition("\n## ")[0]
    documented = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert documented == set(map(str, REGISTRIES[registry]))


@pytest.mark.parametrize(("room", "name"), COMMANDS)
def test_every_command_and_each_of_its_options_is_documented(room: str, name: str):
    text = read("docs/commands.md")
    parser = load_command_class(room, name).create_parser("manage.py", name)
    options = {option for action in parser._actions for option in action.option_strings if option.startswith("--")}
    assert re.search(rf"^## {name}$|^- `{name}\b", text, re.MULTILINE), f"{name} is not in docs/commands.md"
    section = re.split(rf"^## {name}$|^- `{name}\b", text, maxsplit=1, flags=re.MULTILINE)[1]
    missing = [
        option
        for option in sorted(options - DJANGO_OPTIONS)
        if option not in re.split(r"^## |^- `", section, flags=re.MULTILINE)[0]
    ]
    assert missing == []


@pytest.mark.parametrize("path", SCHEMAS)
def test_every_schema_is_valid_and_documented(path: str):
    schema = json.loads(read(path))
    Draft202012Validator.check_schema(schema)
    named = f"`{schema['properties']['schema']['const']}` ([schema](schemas/{Path(path).name}))"
    assert any(named in read(doc) for doc in DOCS)


def test_every_kind_of_row_has_a_sentence_in_the_glossary():
    rows = {model.__name__ for model in apps.get_models() if model._meta.app_label in (*ROOMS, WIRING)}
    assert {"Project", "Job", "Receipt"} <= rows
    glossary = read("docs/glossary.md")
    assert sorted(row for row in rows if f"- **{row}**: " not in glossary) == []


def test_every_word_of_the_glossary_is_told_once_and_in_a_sentence():
    entries = re.findall(r"^- \*\*(.+?)\*\*: ((?:.|\n  )+)", read("docs/glossary.md"), re.MULTILINE)
    words = [word for word, _ in entries]
    assert len(words) == len(set(words)) > 40
    assert [word for word, sentence in entries if not sentence.strip().endswith(".")] == []


def test_every_kind_of_job_is_documented_with_its_queue():
    rows = dict(re.findall(r"^\| `([\w.]+)` \| .* \| (.*) \|$", read("docs/architecture.md"), re.MULTILINE))
    assert {kind for kind in rows if "." in kind} == set(KINDS)
    assert [kind for kind, (_, queue) in KINDS.items() if f"`{queue}`" not in rows[kind]] == []


def test_every_key_and_limit_of_the_manifest_is_documented():
    text = read("docs/manifest.md")
    assert [key for keys in manifest.KEYS.values() for key in keys if f"| `{key}` |" not in text] == []
    limits = SnapshotLimits()
    for told in (
        f"{limits.files:,}",
        f"{limits.entries:,}",
        f"{limits.ratio} times",
        "64 MiB",
        "256 MiB",
        "1 GiB",
        "16 MiB",
    ):
        assert told in text
    assert (limits.file_bytes, limits.total_bytes) == (64 * 1024**2, 256 * 1024**2)
    assert (limits.unpacked_bytes, limits.ratio_from_bytes) == (1024**3, 16 * 1024**2)


def test_the_example_of_the_manifest_is_one():
    (example,) = re.findall(r"```toml\n(.*?)```", read("docs/manifest.md"), re.DOTALL)
    loaded = manifest.load({"optimas.toml": example.encode()})
    assert (loaded.name, loaded.detected, len(loaded.workloads)) == ("ponds", (), 2)


def test_every_document_is_in_the_index():
    index = read("docs/README.md")
    assert [path for path in DOCS if path != "docs/README.md" and f"({path.removeprefix('docs/')})" not in index] == []


@pytest.mark.parametrize("path", [path for path in TEXTS if path.endswith(".md")])
def test_links_inside_the_repository_lead_somewhere(path: str):
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", read(path))
    inner = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in inner if not (ROOT / path).parent.joinpath(target).exists()] == []


def test_every_document_that_is_named_is_here():
    known = set(tracked("*.md"))
    texts = [path for path in TEXTS if not path.startswith("tests/")]
    assert [line for path in texts for line in dangling_names(path, read(path), known)] == []


def test_a_document_that_is_not_here_is_caught():
    absent, present = "docs/no_such_page" + ".md", "docs/manifest" + ".md"
    assert dangling_names("analysis/x.py", f"# see\n# {absent}", {present}) == [
        f"analysis/x.py:2: names {absent}, which is not here"
    ]
    assert dangling_names("analysis/x.py", f"see {present}", {present}) == []
