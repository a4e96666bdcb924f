"""The exact text that a model reads, made from an analysis and the program's sources. Same input, same text."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from analysis import evidence as weighing
from analysis import hotspots
from analysis.doctor import MAIN, OUT_OF_MAIN
from analysis.source import functions, split_lines
from analysis.types import SOURCE_KINDS, Analysis, Evidence, KernelAnalysis, SourceKind
from optimas_web.errors import UserError
from optimizer import excerpt, facts, guards, prompts
from optimizer.excerpt import Part
from optimizer.launches import launches
from optimizer.regions import defined, regions
from optimizer.types import Gate, Prompt, Region, Severity
from projects.types import ToolchainName

BUDGET_TOKENS = 24_000
"""Default size of a prompt. A real model counted 17,729 tokens for 42 KB of such text: 2.4 bytes a token."""

LOG_CHARACTERS = 8_000
"""Of a failed gate's log, at most so much goes back to the model."""

_LIGHT = 0.01  # evidence below this weight goes before the program's declarations do

_WORDS = {
    "cuda": {
        "these": "these CUDA kernels",
        "Kernels": "Kernels",
        "compared": ", the printed text and every copy from device to host",
        "targets": "the selected kernels and the device functions they call",
    },
    "cpu": {
        "these": "these functions",
        "Kernels": "Functions",
        "compared": " and the printed text",
        "targets": "the selected functions",
    },
}


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the text holds at the moment, and what was left out of it so far."""

    parts: tuple[Part, ...]
    evidence: tuple[Evidence, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Frame:
    """Everything that does not change while parts are dropped."""

    analysis: Analysis
    kernels: tuple[KernelAnalysis, ...]
    sources: Mapping[str, str]
    toolchain: ToolchainName
    regions: tuple[Region, ...]
    severities: Mapping[str, Severity]
    guidance: str


def build(
    analysis: Analysis,
    *,
    sources: Mapping[str, str],
    toolchain: ToolchainName,
    kernels: Sequence[str] | None = None,
    kinds: Collection[SourceKind] = SOURCE_KINDS,
    guidance: str = "",
    budget_tokens: int = BUDGET_TOKENS,
    severities: Mapping[str, Severity] | None = None,
) -> Prompt:
    """The prompt for ``kernels`` (mangled, whole or short names; None: the hot ones that ``sources`` define).

    ``sources`` are the program's own files; ``kinds`` the evidence to offer, none for code alone. What does not fit
    ``budget_tokens`` (bytes / 3) is left out, least relevant code and lightest evidence first, and named in
    ``dropped``. Raises UserError when a kernel is unknown, not in the sources or not surely parsed, or when even the
    code that may change does not fit.
    """
    chosen, missing = select(analysis, kernels, sources)
    names = tuple(dict.fromkeys(each.kernel.short_name for each in chosen))
    allowed = _surely_parsed(regions(sources, names), sources)
    frame = _Frame(analysis, chosen, sources, toolchain, allowed, severities or {}, guidance.strip())
    items = weighing.offered(analysis.evidence, {each.kernel.mangled for each in chosen}, kinds)
    shown = _fitted(frame, _Shown(excerpt.parts(sources, allowed, names), items, missing), budget_tokens)
    text = _text(frame, shown)
    return Prompt(
        text=text,
        tokens_estimated=tokens(text),
        kernels=names,
        sources=tuple(kind for kind in SOURCE_KINDS if kind in kinds),
        labels=tuple(item.label for item in shown.evidence),
        regions=allowed,
        dropped=shown.dropped,
        version=prompts.VERSION,
    )


def repair(prompt: Prompt, answer: str, gate: Gate) -> Prompt:
    """The prompt with the answer that failed and why it did. Regions and labels stay."""
    log, reply = excerpt.plain(log_excerpt(gate.log)), excerpt.plain(answer.strip())
    more = prompts.render(
        "repair",
        prompt.version,
        gate=gate.name,
        reason=excerpt.plain(gate.reason),
        log=log,
        answer=reply,
        fence=excerpt.fence(log, reply),
    )
    text = prompt.text + more
    return replace(prompt, text=text, tokens_estimated=tokens(text))


def tokens(text: str) -> int:
    """An upper estimate of the tokens in a text: its bytes divided by three."""
    return -(-len(text.encode()) // 3)


def log_excerpt(log: str, most: int = LOG_CHARACTERS) -> str:
    """The part of a log that explains a failure: from a little before its first error on, and always its end."""
    if len(log) <= most:
        return log.strip()
    lines = log.split("\n")
    first = next((n for n, line in enumerate(lines) if "error" in line.lower() or "undefined" in line.lower()), 0)
    body = "\n".join(lines[max(0, first - 3) :])
    if len(body) <= most:
        return body.strip()
    half = most // 2 - 20
    return f"{body[:half]}\n[...]\n{body[-half:]}".strip()


def select(
    analysis: Analysis, names: Sequence[str] | None, sources: Mapping[str, str]
) -> tuple[tuple[KernelAnalysis, ...], tuple[str, ...]]:
    """The kernels meant by ``names``, by rank; with None the hot ones, and what was passed over because it is not in
    the sources. Raises UserError for a name that the profile does not have.
    """
    if names is not None:
        meant = {each.kernel.mangled for name in names for each in _meant(analysis, name)}
        return tuple(each for each in analysis.kernels if each.kernel.mangled in meant), ()
    hot = hotspots.hot(analysis.kernels)
    known = defined(sources, {each.kernel.short_name for each in hot})
    own = [each for each in hot if each.kernel.short_name in known]
    if not own:
        names = [each.kernel.short_name for each in hot]
        if MAIN in names:
            raise UserError("All that is hot in the sources is main, which is never changed.", OUT_OF_MAIN)
        listed = ", ".join(names) or "none"
        raise UserError(
            f"The sources define none of the hot kernels ({listed}).", "Give the program's folder, or --kernel."
        )
    return tuple(own), tuple(_passed_over(each.kernel.short_name) for each in hot if each not in own)


def _passed_over(name: str) -> str:
    return f"{name}: hot, but {'never changed' if name == MAIN else 'not in the sources'}"


def _meant(analysis: Analysis, name: str) -> list[KernelAnalysis]:
    found = [
        each
        for each in analysis.kernels
        if name in (each.kernel.mangled, each.kernel.name, each.kernel.short_name)
        or each.kernel.short_name.endswith(f"::{name}")
    ]
    if not found:
        listed = ", ".join(dict.fromkeys(each.kernel.short_name for each in analysis.kernels)) or "none"
        raise UserError(f"The profile has no kernel {name}.", f"It has: {listed}.")
    return found


def _surely_parsed(found: tuple[Region, ...], sources: Mapping[str, str]) -> tuple[Region, ...]:
    unsure = {(file, each.first_line) for file, text in sources.items() for each in functions(text) if each.uncertain}
    sure = tuple(region for region in found if (region.file, region.first) not in unsure)
    if not any(region.why == "selected" for region in sure):
        first = next(region for region in found if region.why == "selected")
        raise UserError(
            f"{first.file}:{first.first}: the parser is not sure where {first.function} begins and ends.",
            "Macros or #if lines split it: spell the function out, or select another one.",
        )
    return sure


# --- fitting -----------------------------------------------------------------------------------


def _fitted(frame: _Frame, shown: _Shown, budget: int) -> _Shown:
    for smaller in (shown, *_smaller(shown)):
        if (size := tokens(_text(frame, smaller))) <= budget:
            return smaller
    names = ", ".join(each.kernel.short_name for each in frame.kernels)
    raise UserError(
        f"The prompt for {names} needs about {size:,} tokens, more than the budget of {budget:,}.",
        "Select fewer kernels or raise the budget.",
    )


def _smaller(shown: _Shown) -> Iterator[_Shown]:
    """One part or item less each time: callers, light evidence, declarations, called functions, the other evidence."""
    items = sorted(shown.evidence, key=lambda item: (item.weight, item.label))
    light = [item for item in items if item.weight < _LIGHT]
    rest = [item for item in items if item not in light][:-1]

    def code(rank: int) -> list[Part]:
        return [part for part in shown.parts if part.rank == rank][::-1]

    order: list[Part | Evidence] = [
        *code(excerpt.CALLER),
        *light,
        *code(excerpt.DECLARED),
        *code(excerpt.CALLED),
        *rest,
    ]
    for drop in order:
        what = f"evidence {drop.label}" if isinstance(drop, Evidence) else f"code: {drop.what}"
        labels = {
            item.label for item in shown.evidence if item is not drop and getattr(drop, "label", "") != item.label
        }
        shown = _Shown(
            tuple(part for part in shown.parts if part is not drop),
            weighing.offered(shown.evidence, labels=labels),
            (*shown.dropped, what),
        )
        yield shown


# --- text --------------------------------------------------------------------------------------


def _text(frame: _Frame, shown: _Shown) -> str:
    words = _WORDS[frame.toolchain]
    with_stalls = any(item.kind == "stalls" for item in shown.evidence)
    marks = facts.stall_marks(frame.kernels, shown.evidence) if with_stalls else {}
    code = excerpt.numbered(frame.sources, shown.parts, {place: excerpt.plain(text) for place, text in marks.items()})
    text = prompts.render(
        "prompt",
        words=words,
        machine=facts.machine(frame.analysis.profile),
        names=[each.kernel.short_name for each in frame.kernels],
        guidance=frame.guidance,
        facts=facts.device_facts(frame.analysis.profile, frame.kernels),
        kernels=[facts.kernel_line(each, frame.analysis) for each in frame.kernels],
        marks=bool(marks),
        fence=excerpt.fence(*code),
        code=code,
        evidence=[facts.evidence_line(item) for item in shown.evidence],
        regions=[*map(_region_line, frame.regions), *_launch_lines(frame)],
        rules=guards.words(frame.severities, words["targets"]),
        contract=json.dumps(prompts.contract(), separators=(",", ":")),
        example=json.dumps(example(frame.sources, frame.regions, shown.evidence), indent=1, ensure_ascii=False),
    )
    return excerpt.plain(text)


def _region_line(region: Region) -> str:
    why = "" if region.why == "selected" else ", a device function that they call"
    return f"{region.file}, lines {region.first} to {region.last}: {region.function}{why}"


def _launch_lines(frame: _Frame) -> Iterator[str]:
    """Launch configurations, where the project has opened them."""
    if guards.severity("launches", frame.severities) != "off":
        return
    names = {each.kernel.short_name.split("::")[-1] for each in frame.kernels}
    for file, text in sorted(frame.sources.items()):
        for each in launches(text):
            if each.name in names:
                yield f"{file}, line {each.line}: what stands between <<< and >>> of {each.name}"


def example(sources: Mapping[str, str], allowed: Sequence[Region], offered: Sequence[Evidence]) -> Mapping[str, object]:
    """An answer of the right form with real places and ids, which changes nothing but a comment."""
    pointed = [
        (item.file, item.lines[0]) for item in offered if item.lines and _inside(allowed, item.file, item.lines[0])
    ]
    file, line = pointed[0] if pointed else (allowed[0].file, (allowed[0].first + allowed[0].last) // 2)
    text = excerpt.plain(split_lines(sources[str(file)])[line - 1]).rstrip("\r\n")
    ids = [item.label for item in offered if (item.file, item.lines and item.lines[0]) == (file, line)] or [
        item.label for item in offered[:1]
    ]
    edit = {
        "file": file,
        "start_line": line,
        "end_line": line,
        "original_text": text,
        "new_text": f"{text}  // your change instead of this line",
        "evidence": ids[:1],
        "rationale": "why this change answers that evidence",
        "expect": [{"evidence": ids[0], "direction": "down", "by_percent": 20}] if ids else [],
    }
    aside = [{"evidence": [item.label], "reason": "why not"} for item in offered[-1:] if item.label not in ids]
    return {"summary": "what was changed, in a sentence or two", "edits": [edit], "not_applied": aside}


def _inside(allowed: Sequence[Region], file: str | None, line: int) -> bool:
    return any(region.file == file and region.first <= line <= region.last for region in allowed)
