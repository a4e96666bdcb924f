"""Answers that were recorded once, for programs that are known byte for byte.

A recorded answer is one JSON file (``optimas.recorded/1``, docs/schemas/recorded.schema.json). It is found by the hash
of the snapshot, the kernels and the evidence kinds of the prompt. Evidence is stored by kind, file and line, because
labels are numbered anew by every analysis; it is given the labels of the prompt at hand.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from analysis.types import Evidence
from optimas_web.errors import UserError
from optimizer.answer import read
from optimizer.types import BackendOptions, Completion, Expectation, Prompt

TITLE = "Replay a recorded answer"
LEAVES = "Nothing leaves this server: the answer was recorded earlier and is read from a file."
ORIGIN: Literal["recorded"] = "recorded"
REPAIRS = False
SCHEMA = "optimas.recorded/1"


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded answer. ``evidence`` says for each id in ``answer`` what it pointed to when it was recorded."""

    path: str
    snapshot: str
    kernels: tuple[str, ...]
    sources: tuple[str, ...]
    prompt_sha256: str
    prompt_version: str
    model: str
    answered_by: str
    recorded: str
    evidence: Mapping[str, Mapping[str, Any]]
    answer: Mapping[str, Any]


def outlook(prompt: Prompt, options: BackendOptions) -> str:
    """Which recording it will be."""
    return _provenance(_found(prompt, options), prompt)


def complete(prompt: Prompt, options: BackendOptions) -> Completion:
    """The recording made for this snapshot, these kernels and kinds. Raises UserError, naming what there is."""
    found = _found(prompt, options)
    text = json.dumps(relabelled(found, options.evidence, prompt.labels), indent=1, ensure_ascii=False)
    return Completion(text, "end", found.model, recorded=_provenance(found, prompt))


def _found(prompt: Prompt, options: BackendOptions) -> Recording:
    return find(load(options.recordings), options.snapshot, prompt.kernels, prompt.sources)


def find(recordings: Sequence[Recording], snapshot: str, kernels: Collection[str], kinds: Collection[str]) -> Recording:
    """The one whose keys agree; the order of kernels and kinds does not matter. Raises UserError."""
    for each in recordings:
        if each.snapshot == snapshot and set(each.kernels) == set(kernels) and set(each.sources) == set(kinds):
            return each
    asked = _keys(snapshot, kernels, kinds)
    listed = "; ".join(_keys(each.snapshot, each.kernels, each.sources) for each in recordings) or "none at all"
    raise UserError(f"No answer is recorded for {asked}.", f"Choose what was recorded: {listed}.")


def text_of(content: str, prompt: Prompt, evidence: Collection[Evidence]) -> str:
    """An answer as it stands in a file: a recorded one gets today's labels, any other stays as it is."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return content
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        return content
    return json.dumps(relabelled(_recording("The answer", value), evidence, prompt.labels), indent=1)


def load(paths: Iterable[Path]) -> tuple[Recording, ...]:
    """Recordings from files, and every ``*.answer.json`` of a folder. Raises UserError for a broken one."""
    files = [file for path in paths for file in (sorted(path.glob("*.answer.json")) if path.is_dir() else [path])]
    return tuple(_load(file) for file in files)


def relabelled(recording: Recording, evidence: Collection[Evidence], labels: Collection[str]) -> Mapping[str, object]:
    """The answer with today's labels. What no longer has a match among ``labels`` keeps its old id between question
    marks, which the citations gate refuses: a citation is never quietly changed. Raises UserError for a broken one.
    """
    try:
        return _relabelled(recording, evidence, labels)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _broken(recording.path, error) from error


def _relabelled(recording: Recording, evidence: Collection[Evidence], labels: Collection[str]) -> Mapping[str, object]:
    offered = [item for item in evidence if item.label in labels]
    names = {old: _label(place, offered) or f"?{old}?" for old, place in recording.evidence.items()}

    def renamed(value: object) -> list[str]:
        return [names.get(str(each), str(each)) for each in value] if isinstance(value, list) else []

    def edit(value: Mapping[str, Any]) -> dict[str, object]:
        expect = [
            {**each, "evidence": names.get(each["evidence"], each["evidence"])} for each in value.get("expect", [])
        ]
        return {**value, "evidence": renamed(value.get("evidence")), "expect": expect}

    aside = [{**each, "evidence": renamed(each.get("evidence"))} for each in recording.answer.get("not_applied", [])]
    return {**recording.answer, "edits": [edit(each) for each in recording.answer["edits"]], "not_applied": aside}


def record(
    text: str,
    prompt: Prompt,
    evidence: Collection[Evidence],
    *,
    snapshot: str,
    model: str,
    answered_by: str,
    recorded: str,
) -> Mapping[str, object]:
    """The document that replays ``text`` later on. ``recorded`` is the date; ``answered_by`` says who asked whom.

    Raises UserError when the text is not an answer that makes edits, or cites what was not offered.
    """
    answer = read(text)
    if answer.outcome != "edits":
        raise UserError(f"This answer cannot be recorded: {answer.message}")
    offered = {item.label: item for item in evidence if item.label in prompt.labels}
    cited = [label for edit in answer.edits for label in (*edit.evidence, *_expected(edit.expect))]
    cited += [label for each in answer.not_applied for label in each.evidence]
    if unknown := [label for label in cited if label not in offered]:
        raise UserError(f"This answer cannot be recorded: it cites {unknown[0]}, which the prompt did not offer.")
    return {
        "schema": SCHEMA,
        "key": {"snapshot": snapshot, "kernels": sorted(prompt.kernels), "sources": sorted(prompt.sources)},
        "prompt": {"sha256": prompt.sha256, "version": prompt.version},
        "model": model,
        "answered_by": answered_by,
        "recorded": recorded,
        "evidence": {label: _place(offered[label]) for label in dict.fromkeys(cited)},
        "answer": {
            "summary": answer.summary,
            "edits": [_edit(edit) for edit in answer.edits],
            "not_applied": [{"evidence": list(each.evidence), "reason": each.reason} for each in answer.not_applied],
        },
    }


def _edit(edit: Any) -> dict[str, object]:
    return {
        "file": edit.file,
        "start_line": edit.start_line,
        "end_line": edit.end_line,
        "original_text": edit.original_text,
        "new_text": edit.new_text,
        "evidence": list(edit.evidence),
        "rationale": edit.rationale,
        "expect": [
            {"evidence": each.evidence, "direction": each.direction, "by_percent": each.by_percent}
            for each in edit.expect
        ],
    }


def _expected(expect: Iterable[Expectation]) -> Iterator[str]:
    return (each.evidence for each in expect)


def _place(item: Evidence) -> dict[str, object]:
    """What an id points to, in words that outlive its number. Without lines the kernel and the metric have to do."""
    return {
        "kind": item.kind,
        "kernel": item.kernel,
        "metric": item.metric,
        "file": item.file,
        "line": item.lines and item.lines[0],
    }


def _label(place: Mapping[str, Any], offered: Sequence[Evidence]) -> str:
    """The label of the offered item of that kind at that place; empty when there is none, or when it is not clear."""
    same = [item for item in offered if item.kind == place["kind"]]
    if place.get("line") is not None:
        here = [item for item in same if item.file == place["file"] and _covers(item, place["line"])]
    else:
        here = [item for item in same if item.lines is None and item.metric == place.get("metric")]
    exact = [item for item in here if item.kernel == place.get("kernel")] or here
    return exact[0].label if len(exact) == 1 else ""


def _covers(item: Evidence, line: int) -> bool:
    return item.lines is not None and item.lines[0] <= line <= item.lines[1]


def _provenance(found: Recording, prompt: Prompt) -> str:
    said = f"Recorded on {found.recorded}: {found.answered_by} ({Path(found.path).name})."
    return said if found.prompt_sha256 == prompt.sha256 else f"{said} It was recorded for another prompt."


def _keys(snapshot: str, kernels: Collection[str], kinds: Collection[str]) -> str:
    return (
        f"snapshot {snapshot[:12]}, kernels {', '.join(sorted(kernels))}, evidence {', '.join(sorted(kinds)) or 'none'}"
    )


def _load(path: Path) -> Recording:
    try:
        return _recording(str(path), json.loads(path.read_bytes()))
    except OSError as error:
        raise UserError(f"The recorded answer {path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise _broken(str(path), error) from error


def _recording(name: str, value: Any) -> Recording:
    try:
        if value["schema"] != SCHEMA:
            raise ValueError(f"its schema is {value['schema']!r}")
        key, asked = value["key"], value["prompt"]
        return Recording(
            path=name,
            snapshot=key["snapshot"],
            kernels=tuple(key["kernels"]),
            sources=tuple(key["sources"]),
            prompt_sha256=asked["sha256"],
            prompt_version=asked["version"],
            model=value["model"],
            answered_by=value["answered_by"],
            recorded=value["recorded"],
            evidence=dict(value["evidence"]),
            answer=dict(value["answer"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise _broken(name, error) from error


def _broken(name: str, error: Exception) -> UserError:
    why = f"{error!s} is missing" if isinstance(error, KeyError) else str(error)
    return UserError(f"{name} is not a recorded answer: {why}.", f"Its form is {SCHEMA}: docs/answers.md.")
