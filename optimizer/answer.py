"""What a model (or a person) said, read into edits. Nothing is guessed: what cannot be read is named."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from optimizer import blocks, jsons
from optimizer.blocks import Unreadable
from optimizer.types import Answer, AnswerOutcome, Completion, Edit, Expectation, NotApplied

Stop = Literal["end", "length", "refusal", "filter", "empty"]

_THINKING = re.compile(r"<(think|thinking|reasoning)>", re.IGNORECASE)
_REFUSAL = re.compile(
    r"^\W*(?:i['’]?m (?:sorry|afraid|unable|not able)|i am (?:sorry|unable|not able)|sorry\b|as an ai\b"
    r"|i (?:can(?:no|['’])t|won['’]t|must decline|will not)\b|unfortunately,? i can)",
    re.IGNORECASE,
)
_VENDOR_ERROR = re.compile(
    r"^\s*(?:\{\s*\"error\"|<!doctype html|<html|error code: \d|traceback \(most recent)", re.IGNORECASE
)
MOST_LINES = 9_999_999
MOST_PERCENT = 1_000_000

_KEYS = frozenset({"edits", "not_applied", "summary"})
_EDIT_KEYS = frozenset(
    {"file", "start_line", "end_line", "original_text", "new_text", "evidence", "rationale", "expect"}
)
_NEW_TEXT = frozenset({"new_text", "replace"})
# What other tools call the two texts of an edit.
_ALIASES = {"search": "original_text", "replace": "new_text"}

_STOPPED: Mapping[str, tuple[AnswerOutcome, str]] = {
    "refusal": ("declined", "The model declined to answer."),
    "filter": ("filtered", "The provider's content filter held the answer back."),
    "length": (
        "cut_off",
        "The answer was cut off at the output limit; nothing of it is used. Raise the limit or ask for less.",
    ),
    "empty": ("empty", "The model returned nothing."),
}


def read(text: str, stop: Stop = "end") -> Answer:
    """Reads an answer in any of the forms of docs/answers.md.

    ``stop`` is why the model ended; anything but ``end`` decides the outcome without a look at the text. A broken edit
    makes the whole answer unreadable: all edits or none.
    """
    if stop != "end":
        outcome, message = _STOPPED[stop]
        said = f" It said: {_start(text)!r}." if text.strip() and stop == "refusal" else ""
        return Answer(outcome, message + said)
    if not text.strip():
        return Answer("empty", _STOPPED["empty"][1])
    if len(text) > jsons.LARGEST:
        return Answer("unreadable", f"The answer has {len(text):,} characters; at most {jsons.LARGEST:,} are read.")
    spoken = _without_thinking(text)
    if spoken is None:
        return Answer("cut_off", "The answer ends inside its thinking; there is nothing after it.")
    if not spoken.strip():
        return Answer("empty", "The model thought and then returned nothing.")
    try:
        return _read(spoken.lstrip("\ufeff"))
    except Unreadable as why:
        return Answer("unreadable", str(why))


def read_completion(completion: Completion) -> Answer:
    """Reads what a backend returned."""
    return read(completion.text, completion.stop)


def _read(text: str) -> Answer:
    readers: Sequence[Callable[[str], Answer | None]] = (_json, blocks.read)
    for reader in readers:
        if answer := reader(text):
            return answer
    return _nothing(text)


def _without_thinking(text: str) -> str | None:
    """The text after the thinking blocks at its front; None when one never closes. Code may say <think>: it stays."""
    kept = ""
    while (found := _THINKING.search(text)) and not re.search(r"[{]|^```|^<{5,}", text[: found.start()], re.MULTILINE):
        closing = re.compile(f"</{found.group(1)}>", re.IGNORECASE).search(text, found.end())
        if closing is None:
            return None
        kept, text = kept + text[: found.start()], text[closing.end() :]
    if not text.lstrip().startswith("{") and (orphan := re.match(r"(?:(?!```).)*?</think(?:ing)?>", text, re.DOTALL)):
        text = text[orphan.end() :]  # some chat templates swallow the opening tag
    return kept + text


# --- JSON --------------------------------------------------------------------------------------


def _json(text: str) -> Answer | None:
    found = [each for each in jsons.objects(text) if _KEYS & each.value.keys() and "edits" in each.value]
    notes: tuple[str, ...] = ()
    if not found and '"edits"' in text:
        mended, notes = jsons.repaired(text)
        found = [each for each in jsons.objects(mended) if "edits" in each.value]
    if not found and (loose := _unwrapped(text)):
        return loose
    if len(found) > 1 and any(each.value != found[0].value for each in found):
        raise Unreadable(f"The answer holds {len(found)} different JSON objects with edits; it must hold one.")
    if found:
        around = ("Text around the JSON object was left out.",) if not _outside_fence(text).startswith("{") else ()
        return _answer(found[0].value, (*notes, *found[0].notes, *around))
    if re.search(r"['\"]edits['\"]\s*:", text) and not blocks.present(text):
        if jsons.unfinished(text):
            return Answer("cut_off", "The answer ends in the middle of its JSON object; nothing of it is used.")
        raise Unreadable(f"The answer is not valid JSON: {jsons.complaint(text)}.")
    return None


def _outside_fence(text: str) -> str:
    return text.strip().removeprefix("```json").strip("`\n ")


def _unwrapped(text: str) -> Answer | None:
    """Edits without the object around them, alone or as a list; or that object inside another one. No prose before."""
    if not _outside_fence(text).startswith(("[", "{")):
        return None
    found = [each.value for each in jsons.objects(text)]
    if found and all({"file"} < set(each) and _NEW_TEXT & set(each) for each in found):
        return _answer({"edits": found}, ("The edits stood alone, without the object that holds them.",))
    inner = [(name, each) for outer in found for name, each in outer.items() if isinstance(each, dict)]
    held = [(name, each) for name, each in inner if "edits" in each]
    if len(held) == 1:
        return _answer(held[0][1], (f"The answer was taken out of `{held[0][0][:40]}`.",))
    return None


def _answer(value: Mapping[str, object], notes: tuple[str, ...]) -> Answer:
    listed = _list(value.get("edits"), "edits")
    unknown = sorted(set(value) - _KEYS)
    if unknown:
        notes = (*notes, f"Unknown keys were left out: {', '.join(unknown)}.")
    edits = tuple(_edit(item, number) for number, item in enumerate(listed, 1))
    rejected = tuple(
        _not_applied(item, number)
        for number, item in enumerate(_list(value.get("not_applied") or [], "not_applied"), 1)
    )
    summary = _prose(value.get("summary"), "summary")
    if edits:
        many = "1 edit" if len(edits) == 1 else f"{len(edits)} edits"
        return Answer("edits", f"The answer has {many}.", summary, edits, rejected, "json", notes)
    said = f" It says: {_start(summary)!r}." if summary else ""
    return Answer("no_change", f"The answer makes no edit.{said}", summary, (), rejected, "json", notes)


def _edit(item: object, number: int) -> Edit:
    where = f"edit {number}"
    if not isinstance(item, dict):
        raise Unreadable(f"{where.capitalize()} is {_kind(item)}, not an object.")
    value = {_ALIASES.get(key, key): field for key, field in item.items()}
    missing = [key for key in ("file", "new_text") if key not in value]
    if missing:
        raise Unreadable(f"{where.capitalize()} has no {' and no '.join(missing)}.")
    start = _whole(value.get("start_line", 0), f"{where}: start_line")
    return Edit(
        file=_text(value["file"], f"{where}: file"),
        start_line=start,
        end_line=_whole(value.get("end_line", start), f"{where}: end_line"),
        original_text=_text(value.get("original_text") or "", f"{where}: original_text"),
        new_text=_text(value["new_text"], f"{where}: new_text"),
        evidence=_labels(value.get("evidence"), where),
        rationale=_prose(value.get("rationale"), f"{where}: rationale"),
        expect=tuple(_expectation(each, where) for each in _list(value.get("expect") or [], f"{where}: expect")),
    )


def _expectation(item: object, where: str) -> Expectation:
    if not isinstance(item, dict) or item.get("direction") not in ("down", "up"):
        raise Unreadable(f"{where.capitalize()}: each expect is an object with evidence and a direction, down or up.")
    size = item.get("by_percent")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int | float)):
        raise Unreadable(f"{where.capitalize()}: by_percent is {_kind(size)}, not a number.")
    if size is not None and not abs(size) <= MOST_PERCENT:
        raise Unreadable(f"{where.capitalize()}: by_percent is larger than {MOST_PERCENT:,}.")
    direction: Literal["down", "up"] = "up" if item["direction"] == "up" else "down"
    labels = _labels(item.get("evidence"), where)
    if len(labels) != 1:
        raise Unreadable(f"{where.capitalize()}: each expect names one evidence id.")
    return Expectation(labels[0], direction, None if size is None else float(size))


def _not_applied(item: object, number: int) -> NotApplied:
    if not isinstance(item, dict):
        raise Unreadable(f"Entry {number} of not_applied is {_kind(item)}, not an object.")
    where = f"not_applied {number}"
    return NotApplied(_labels(item.get("evidence"), where), _prose(item.get("reason"), f"{where}: reason"))


def _labels(value: object, where: str) -> tuple[str, ...]:
    """``["S1", "R1"]``, and the near misses ``"S1, R1"`` and ``["[S1]"]``."""
    if value is None:
        return ()
    listed = [value] if isinstance(value, str) else _list(value, f"{where}: evidence")
    named = [label for each in listed for label in blocks.labels(_prose(each, f"{where}: evidence"))]
    return tuple(dict.fromkeys(named))


def _whole(value: object, where: str) -> int:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:12])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unreadable(f"{where.capitalize()} is {_kind(value)}, not a line number.")
    if not 0 <= value <= MOST_LINES:
        raise Unreadable(f"{where.capitalize()} is {value}, and no file has such a line.")
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise Unreadable(f"{where.capitalize()} is {_kind(value)}, not a text.")
    return value


def _prose(value: object, where: str) -> str:
    """A text for people, without what no database stores: NUL and halves of characters."""
    return re.sub("[\x00\ud800-\udfff]", "\ufffd", _text(value or "", where))


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise Unreadable(f"{where.capitalize()} is {_kind(value)}, not a list.")
    return value


def _kind(value: object) -> str:
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "null")


# --- nothing usable ----------------------------------------------------------------------------


def _nothing(text: str) -> Answer:
    if _VENDOR_ERROR.match(text):
        return Answer("unreadable", f"This is an error message, not an answer: {_start(text)!r}.")
    if _REFUSAL.match(text):
        return Answer("declined", f"The model declined: {_start(text)!r}.")
    if text.count("```") % 2:
        return Answer("cut_off", "The answer ends inside a code block; nothing of it is used.")
    return Answer("unreadable", f"The answer holds no edits: {len(text):,} characters that begin {_start(text)!r}.")


def _start(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 160 else f"{flat[:160]}..."
