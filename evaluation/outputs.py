"""Same outputs, bit for bit: what of a program's output can be compared, and whether two runs agree. Pure.

Only what was *seen to vary* between runs of the original is masked (and what optimas.toml declares), never something
because it looks like a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Literal

from evaluation.file_differences import how_different
from evaluation.types import Baseline, Comparison, Mask, OutputFile, Outputs, Ran
from optimas_web.errors import UserError
from projects.types import WorkloadSpec

Stream = Literal["stdout", "stderr"]
STREAMS: tuple[Stream, Stream] = ("stdout", "stderr")

_MASKED = "\0"  # stands for masked text; a program that prints this byte itself is still compared byte for byte
_TOKEN = re.compile(r"0x[0-9a-fA-F]+|[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\w+|\s+|.")
_KINDS = (r"0x[0-9a-fA-F]+", r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", r"\w+", r"\S+")
_FAIL = re.compile(r"\bFAIL(?:ED)?\b")
# A line that only says how well the program thinks of itself: PASS, "Result: OK", "all tests passed".
_OWN_VERDICT = re.compile(
    r"\W*(?:(?:all|self|tests?|checks?|results?|verification|validation|status|is|are|was)\W+)*"
    r"(?:pass(?:ed)?|ok|success(?:ful)?|correct|verified|done)\W*",
    re.IGNORECASE,
)
_SHOWN = 160


def baseline(workload: WorkloadSpec, runs: Sequence[Outputs], declared: Sequence[str] = ()) -> Baseline:
    """What three runs of the original say: masks, how much can be compared, and why it may be no proof.

    ``declared``: the manifest's ``[output] mask`` patterns; UserError when one is no pattern. Raises ValueError for
    fewer than two runs.
    """
    if len(runs) < 2:
        raise ValueError("one run cannot show what varies")
    names = [f"run {number} of the original" for number in range(1, len(runs) + 1)]
    return _judged(workload, dict(zip(names, runs, strict=True)), tuple(_declared(declared)))


def again(known: Baseline, workload: WorkloadSpec, late: Outputs) -> Baseline:
    """``known`` with what one more run of the original shows to vary."""
    return _judged(workload, {"the original's first run": known.outputs, "a later run of it": late}, known.masks)


def compare(original: Baseline, candidate: Outputs) -> Comparison:
    """The candidate's run against the original's. Every difference is one sentence that names the place."""
    before = original.outputs
    differences = [*_end_differences(before.ran, candidate.ran)]
    if candidate.ran.ended == before.ran.ended:  # else what it wrote until then says nothing more
        for stream in STREAMS:
            differences += _text_differences(stream, before, candidate, original.masks)
        differences += _file_differences(before.files, candidate.files)
    return Comparison(
        workload=original.workload,
        same=not differences and original.comparable_bytes > 0,
        compared_bytes=original.comparable_bytes,
        differences=tuple(differences),
    )


# --- masks ------------------------------------------------------------------------------------


def _declared(patterns: Sequence[str]) -> Iterator[Mask]:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise UserError(
                f"The mask {pattern!r} is not a regular expression: {error}.", "Mend [output] mask."
            ) from None
        for stream in STREAMS:
            yield Mask(stream, pattern, "declared")


def _seen(stream: Stream, runs: Sequence[Outputs], already: Sequence[Mask]) -> tuple[Mask, ...]:
    """One mask for every shape of line that varies; none when the runs do not even have the same number of lines."""
    texts = [_lines(_masked(_text(run, stream), stream, already)) for run in runs]
    if len({len(lines) for lines in texts}) > 1:
        return ()
    numbers: dict[str, list[int]] = {}
    examples: dict[str, str] = {}
    for number, variants in enumerate(zip(*texts, strict=True), start=1):
        if len(set(variants)) > 1:
            pattern = _line_pattern(variants)
            numbers.setdefault(pattern, []).append(number)
            examples.setdefault(pattern, variants[0])
    return tuple(Mask(stream, pattern, "seen", examples[pattern], tuple(at)) for pattern, at in numbers.items())


def _line_pattern(variants: Sequence[str]) -> str:
    """A pattern with a group for every token that varies, as narrow as what was seen in its place."""
    tokens = [_TOKEN.findall(line) for line in variants]
    if len({len(line) for line in tokens}) > 1:
        return "(.*)"
    return "".join(_token_pattern(column) for column in zip(*tokens, strict=True))


def _token_pattern(column: Sequence[str]) -> str:
    if len(set(column)) == 1:
        return re.escape(column[0])
    kind = next((kind for kind in _KINDS if all(re.fullmatch(kind, token) for token in column)), ".*?")
    return f"({kind})"


def _masked(text: str, stream: Stream, masks: Sequence[Mask]) -> str:
    for mask in masks:
        if mask.stream == stream and not mask.lines:
            text = re.sub(mask.pattern, _blank, text)
    lines = _lines(text)
    for mask in masks:
        if mask.stream == stream:
            for number in mask.lines:
                _mask_line(lines, number - 1, mask.pattern)
    return "\n".join(lines)


def _mask_line(lines: list[str], index: int, pattern: str) -> None:
    if index < len(lines) and (match := re.fullmatch(pattern, lines[index])):
        lines[index] = _blank(match)


def _blank(match: re.Match[str]) -> str:
    """The match with its groups masked, or all of it when it has none."""
    if not match.re.groups:
        return _MASKED
    text, done = "", match.start()
    for group in range(1, match.re.groups + 1):
        start, end = match.span(group)
        if start >= done:
            text, done = text + match.string[done:start] + _MASKED, end
    return text + match.string[done : match.end()]


# --- what the original is worth ---------------------------------------------------------------


def _judged(workload: WorkloadSpec, named: Mapping[str, Outputs], masks: tuple[Mask, ...]) -> Baseline:
    """``named``: what to call each run. ``masks``: those that are known already."""
    runs = tuple(named.values())
    masks = (*masks, *(mask for stream in STREAMS for mask in _seen(stream, runs, masks)))
    unstable = _instability(runs, masks)
    problem = _broken(workload, named) or unstable or _nothing_to_compare(runs[0], masks)
    printed = _masked(_text(runs[0], "stdout"), "stdout", masks)
    return Baseline(workload.name, not unstable, _comparable(runs[0], masks), masks, runs[0], problem, printed)


def _broken(workload: WorkloadSpec, named: Mapping[str, Outputs]) -> str:
    """Why runs of the original are no proof, whatever they have in common."""
    for which, run in named.items():
        if run.ran.ended != "exited":
            return f"{which}: {run.ran.reason or run.ran.ended}"
        if run.ran.status != 0:
            return f"{which} ended with status {run.ran.status}{_last_words(run)}"
        if run.ran.dropped_bytes:
            return f"{which} printed more than is kept: {run.ran.dropped_bytes} bytes were dropped"
        for stream in STREAMS:
            if line := _first_line_with(_FAIL, _text(run, stream)):
                return f"{which} says that it failed: {line}"
    if workload.outputs and not next(iter(named.values())).files:
        return f"the original wrote none of the declared output files ({', '.join(workload.outputs)})"
    return ""


def _last_words(run: Outputs) -> str:
    said = _text(run, "stderr").strip().splitlines()
    return f": {_shown(said[-1])}" if said else ""


def _first_line_with(pattern: re.Pattern[str], text: str) -> str:
    return next((f"line {n}, {_shown(line)}" for n, line in enumerate(_lines(text), 1) if pattern.search(line)), "")


def _instability(runs: Sequence[Outputs], masks: Sequence[Mask]) -> str:
    """How the runs of the original differ beyond the masks; empty when they agree."""
    for other in runs[1:]:
        found = [*_file_differences(runs[0].files, other.files)]
        for stream in STREAMS:
            found += _text_differences(stream, runs[0], other, masks)
        if found:
            return f"two runs of the original differ: {'; '.join(found[:3])}"
    return ""


def _comparable(run: Outputs, masks: Sequence[Mask]) -> int:
    """Bytes that a comparison really looks at: what is not masked, not white space and no verdict on itself, and all
    files."""
    lines = [line for stream in STREAMS for line in _lines(_masked(_text(run, stream), stream, masks))]
    words = "".join(line for line in lines if not _OWN_VERDICT.fullmatch(line))
    printed = len(re.sub(rf"[\s{_MASKED}]", "", words).encode("utf-8", "surrogateescape"))
    return printed + sum(file.size for file in run.files)


def _nothing_to_compare(run: Outputs, masks: Sequence[Mask]) -> str:
    if _comparable(run, masks):
        return ""
    own = next((line for line in _lines(_text(run, "stdout")) if _OWN_VERDICT.fullmatch(line)), "")
    but = f" but its verdict on itself, {_shown(own.strip())}" if own else ""
    return f"the original wrote nothing that can be compared{but}: zero compared bytes prove nothing"


# --- differences ------------------------------------------------------------------------------


def _end_differences(before: Ran, after: Ran) -> Iterator[str]:
    if after.ended != before.ended:
        yield f"the run did not end like the original's: {after.reason or 'it ended by itself'}"
    elif after.status != before.status:
        yield f"the exit status was {before.status} and is {after.status}"
    if after.dropped_bytes and after.ended == before.ended:
        yield f"it printed more than is kept: {after.dropped_bytes} bytes were not compared"


def _text_differences(stream: Stream, before: Outputs, after: Outputs, masks: Sequence[Mask]) -> Iterator[str]:
    old, new = _text(before, stream), _text(after, stream)
    old_lines, new_lines = (_lines(_masked(text, stream, masks)) for text in (old, new))
    if len(old_lines) != len(new_lines):
        yield f"{stream} has {_count(len(new_lines) - 1, 'line end')}, before {len(old_lines) - 1}"
    different = [n for n, (a, b) in enumerate(zip_longest(old_lines, new_lines)) if a != b]
    if different:
        yield _line_difference(stream, different, _lines(old), _lines(new))


def _line_difference(stream: Stream, different: Sequence[int], old: Sequence[str], new: Sequence[str]) -> str:
    first = different[0]
    more = f" (and {_count(len(different) - 1, 'more line')})" if len(different) > 1 else ""
    shown = [_shown(lines[first]) if first < len(lines) else "nothing" for lines in (old, new)]
    return f"{stream} line {first + 1} was {shown[0]} and is {shown[1]}{more}"


def _file_differences(before: Sequence[OutputFile], after: Sequence[OutputFile]) -> Iterator[str]:
    old, new = ({file.path: file for file in files} for files in (before, after))
    for path in sorted(old.keys() | new.keys()):
        if path not in new:
            yield f"{path} was not written"
        elif path not in old:
            yield f"{path} was written, which the original does not write"
        elif old[path].sha256 != new[path].sha256:
            yield how_different(old[path], new[path])


def _text(run: Outputs, stream: Stream) -> str:
    raw = run.ran.stdout if stream == "stdout" else run.ran.stderr
    return raw.decode("utf-8", "surrogateescape")


def _lines(text: str) -> list[str]:
    return text.split("\n")


def _shown(line: str) -> str:
    text = line.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
