"""Reading what the sanitizers print. Pure: text in, findings out; each finding once, in order of appearance."""

from __future__ import annotations

import re

from evaluation.types import SanitizerFinding

_ADDRESS = re.compile(r"ERROR: AddressSanitizer: ([\w-]+(?: [a-z]+)*?)(?: on | in |:|\.|$| \()", re.MULTILINE)
_UNDEFINED = re.compile(r"^\S+:\d+(?::\d+)?: runtime error: (.+)$", re.MULTILINE)
_THREAD = re.compile(r"WARNING: ThreadSanitizer: ([\w -]+?)(?: \(|$)", re.MULTILINE)
_FRAME = re.compile(r"^ +#\d+ (?:0x[0-9a-f]+ in )?(.+?) (\S+?:\d+|\(.*\)|<null>.*)(?: \(.*\))?$", re.MULTILINE)
_STARTS = (("asan", _ADDRESS), ("ubsan", _UNDEFINED), ("tsan", _THREAD))
_VALUES = re.compile(r"0x[0-9a-f]+|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def sanitizer_findings(log: str) -> tuple[SanitizerFinding, ...]:
    """Findings of ASan, UBSan and TSan in what a program printed to standard error.

    The function is the first one of the stack whose source lies in the job folder (``/job``), so that a bad memcpy
    is booked on its caller. Line numbers play no part: an edit moves them.
    """
    starts = sorted((match.start(), tool, match) for tool, pattern in _STARTS for match in pattern.finditer(log))
    ends = [*(start for start, _, _ in starts), len(log)][1:]
    found = (
        SanitizerFinding(tool, _kind(match[1]), _function(log[match.end() : end]))
        for (_, tool, match), end in zip(starts, ends, strict=True)
    )
    return tuple(dict.fromkeys(found))


def _kind(message: str) -> str:
    """The message without the values of this run: ``signed integer overflow``, ``index N out of bounds for ...``."""
    return _VALUES.sub("N", message.split(":")[0]).strip()


def _function(stack: str) -> str:
    frames = [(match[1], match[2]) for match in _FRAME.finditer(stack)]
    own = [name for name, place in frames if place.startswith("/job/") or not place.startswith(("/", "(", "<", ".."))]
    return (own or [name for name, _ in frames] or ["?"])[0]


_DEVICE_ENTRY = re.compile(r"^========= (\S.*)$")
_DEVICE_PLACE = re.compile(r"\bat (?:0x[0-9a-f]+ in )?(\S.*?)\+0x[0-9a-f]+")
_NO_FINDING = ("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "LEAK SUMMARY", "Target application")


def device_findings(tool: str, log: str) -> tuple[SanitizerFinding, ...]:
    """Findings of one compute-sanitizer tool: an entry starts right behind ``=========``, its details are indented."""
    lines = log.splitlines()
    starts = [n for n, line in enumerate(lines) if _DEVICE_ENTRY.match(line)]
    entries = ("\n".join(lines[a:b]) for a, b in zip(starts, [*starts, len(lines)][1:], strict=True))
    return tuple(dict.fromkeys(found for entry in entries if (found := _device_finding(tool, entry))))


def _device_finding(tool: str, entry: str) -> SanitizerFinding | None:
    first = entry.splitlines()[0].removeprefix("========= ")
    message = first.removeprefix("Error: ").removeprefix("Warning: ")
    if message.startswith(_NO_FINDING):
        return None
    place = _DEVICE_PLACE.search(entry)
    return SanitizerFinding(tool, _VALUES.sub("N", message.split(" at ")[0]).strip(), place[1] if place else "?")
