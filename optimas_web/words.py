"""How a status looks: its words, its tone, its icon. Every status of every room is in this table; a test sees to it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Tone = Literal["ok", "bad", "warn", "busy", "idle"]


class Look(NamedTuple):
    words: str
    tone: Tone
    icon: str


LOOKS: dict[str, Look] = {
    # jobs and runs
    "queued": Look("Queued", "idle", "clock"),
    "running": Look("Running", "busy", "spinner"),
    "profiling": Look("Profiling", "busy", "spinner"),
    "proposing": Look("Proposing", "busy", "spinner"),
    "waiting_for_answer": Look("Waiting for an answer", "warn", "inbox"),
    "evaluating": Look("Evaluating", "busy", "spinner"),
    "needs_review": Look("Needs review", "warn", "eye"),
    "done": Look("Done", "ok", "check"),
    "failed": Look("Failed", "bad", "cross"),
    "errored": Look("Errored", "bad", "bug"),
    "cancelled": Look("Cancelled", "idle", "slash"),
    # gates
    "passed": Look("Passed", "ok", "check"),
    "not_run": Look("Not run", "idle", "dash"),
    "not_applicable": Look("Not applicable", "idle", "slash"),
    # timing verdicts
    "faster": Look("Faster", "ok", "faster"),
    "slower": Look("Slower", "bad", "slower"),
    "no_difference": Look("No difference", "idle", "equal"),
    "same_machine_code": Look("Same machine code", "idle", "equal"),
    "cannot_tell": Look("Cannot tell", "warn", "question"),
    "impossible": Look("Impossible", "bad", "alert"),
    # outputs, and promises about evidence
    "identical": Look("Identical", "ok", "check"),
    "different": Look("Different", "bad", "cross"),
    "kept": Look("Kept", "ok", "check"),
    "missed": Look("Missed", "warn", "dash"),
    "reversed": Look("Reversed", "bad", "cross"),
    "not_measured": Look("Not measured", "idle", "question"),
    # what an answer turned out to be
    "edits": Look("Edits", "ok", "check"),
    "no_change": Look("No change proposed", "idle", "equal"),
    "declined": Look("Declined", "warn", "slash"),
    "cut_off": Look("Cut off", "bad", "alert"),
    "filtered": Look("Filtered", "warn", "slash"),
    "empty": Look("Empty", "bad", "dash"),
    "unreadable": Look("Unreadable", "bad", "question"),
    # rules and notes
    "block": Look("Blocks", "bad", "cross"),
    "warn": Look("Warns", "warn", "alert"),
    "off": Look("Off", "idle", "dash"),
    "info": Look("Note", "busy", "info"),
    "warning": Look("Warning", "warn", "alert"),
    "error": Look("Error", "bad", "alert"),
    "success": Look("Done", "ok", "check"),
    "debug": Look("Debug", "idle", "bug"),
    # decisions
    "approved": Look("Approved", "ok", "check"),
    "changes_requested": Look("Changes requested", "warn", "eye"),
    "rejected": Look("Rejected", "bad", "cross"),
    # uploads, profiles and hosts
    "receiving": Look("Receiving", "busy", "spinner"),
    "pending": Look("Pending", "idle", "clock"),
    "ready": Look("Ready", "ok", "check"),
    "complete": Look("Complete", "ok", "check"),
    "online": Look("Online", "ok", "check"),
    "offline": Look("Offline", "idle", "dash"),
}

TITLES = {
    # gates
    "parse": "Answer read",
    "citations": "Evidence cited",
    "guardrails": "Rules kept",
    "build": "Built",
    "symbols": "Same functions",
    "outputs": "Same outputs",
    "sanitizer": "No new errors",
    "timing": "Timed in pairs",
    "re_profile": "Measured again",
    # scores
    "coverage": "Evidence coverage",
    "location": "Location agreement",
    "direction": "Directional consistency",
}
"""Gates and scores as titles."""

KINDS = {"R": "roofline", "S": "stalls", "H": "counters", "N": "findings"}
"""First letter of an evidence label -> what it was read from."""
