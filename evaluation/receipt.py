"""A receipt: one evaluation with everything needed to believe it, signed (schema ``optimas.receipt/1``).

The signature (Ed25519, RFC 8032) covers the canonical bytes of everything but itself: JSON with sorted keys, no
spaces, ASCII only. `verify` needs nothing but the receipt and the public key: it makes every timing verdict again
from the raw pairs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from evaluation.documents import METHOD, WHOLE_SCOPES, jsonable
from evaluation.timing import LOOKS, first_side, overall, physics, verdict_of
from evaluation.types import Ceilings, Pair, Side, Timing
from optimizer.types import Completion, Prompt

SCHEMA = "optimas.receipt/1"
REPLAYED = ("speedup", "time_saved", "low", "high", "smallest_effect")


@dataclass(frozen=True, slots=True)
class Provenance:
    """What was judged. All hashes are SHA-256 in hex; ``builds``: the binary of each side; ``inputs``: by path."""

    source_sha256: str
    patch: str
    builds: Mapping[Side, str | None] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    prompt: Prompt | None = None
    completion: Completion | None = None


def receipt_document(evaluation: Mapping[str, object], provenance: Provenance, key: bytes) -> dict[str, object]:
    """The signed receipt of an evaluation document; the decision is still open.

    ``key`` is the 32 raw bytes of an Ed25519 private key.
    """
    document = {
        **evaluation,
        "schema": SCHEMA,
        "hashes": _hashes(provenance),
        "patch": provenance.patch,
        "prompt": _prompt_row(provenance.prompt),
        "answer": _answer_row(provenance.completion),
        "cost": _cost_row(provenance.completion),
        "decision": None,
    }
    return sign(document, key)


def sign(document: Mapping[str, object], key: bytes) -> dict[str, object]:
    """``document`` with a new signature, for a receipt that gets its decision later too."""
    private = Ed25519PrivateKey.from_private_bytes(key)
    body = {name: jsonable(value) for name, value in document.items() if name != "signature"}
    value = private.sign(canonical(body))
    return {**body, "signature": _signature(private.public_key().public_bytes_raw(), value)}


def _signature(public_key: bytes, value: bytes) -> dict[str, str]:
    return {"algorithm": "Ed25519", "public_key": public_key.hex(), "value": value.hex()}


def canonical(body: Mapping[str, object]) -> bytes:
    """The bytes that are signed."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def verify(receipt: Mapping[str, Any], public_key: bytes) -> tuple[str, ...]:
    """What is wrong with ``receipt``, one sentence each; empty when it holds.

    ``public_key`` is 32 raw bytes that the reader trusts; the one printed in the receipt proves nothing. Checks the
    signature, the hashes of prompt, answer and patch, that gates and verdict agree, and every timing verdict.
    """
    if problem := _signature_problem(receipt, public_key):
        return (problem,)
    try:
        return (*_hash_problems(receipt), *_timing_problems(receipt), *_verdict_problems(receipt))
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        return (f"The receipt is signed but not of the form {SCHEMA}: {type(error).__name__} {error}.",)


def _signature_problem(receipt: Mapping[str, Any], public_key: bytes) -> str:
    body = {name: value for name, value in receipt.items() if name != "signature"}
    try:
        value = bytes.fromhex(receipt["signature"]["value"])
        Ed25519PublicKey.from_public_bytes(public_key).verify(value, canonical(body))
    except (KeyError, TypeError, ValueError):
        return "The receipt has no readable signature."
    except InvalidSignature:
        return "The signature does not fit: the receipt was changed, or signed with another key."
    if receipt["signature"] != _signature(public_key, value):
        return "What is said about the signature was changed: its algorithm, its key or its spelling."
    return ""


def _hash_problems(receipt: Mapping[str, Any]) -> Iterator[str]:
    texts = {"patch": receipt["patch"], "prompt": receipt["prompt"], "answer": receipt["answer"]}
    for name, text in texts.items():
        if isinstance(text, Mapping):
            text = text["text"]
        if receipt["hashes"][name] != (None if text is None else _sha256(text)):
            yield f"The hash of the {name} is not that of the {name} in the receipt."


def _timing_problems(receipt: Mapping[str, Any]) -> Iterator[str]:
    samples = receipt["samples"]
    if samples["method"] != METHOD:
        yield f"The timings were judged by {samples['method']}, which this version cannot repeat."
        return
    for scope, row in _timings(receipt).items():
        if row["verdict"] == "same_machine_code":
            continue
        pairs = [Pair(**pair) for pair in samples["pairs"].get(scope, ())]
        yield from _order_problems(scope, pairs, samples["seed"])
        yield from _replay_problems(row, replay(scope, pairs, samples))


def _timings(receipt: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    timing = receipt["timing"]
    rows = (*timing["kernels"], *(timing[scope] for scope in WHOLE_SCOPES))
    return {row["scope"]: row for row in rows if row}


def replay(scope: str, pairs: list[Pair], samples: Mapping[str, Any]) -> Timing:
    """The timing verdict made again from the raw pairs of a document's ``samples``."""
    ceilings = Ceilings(**samples["ceilings"]) if samples["ceilings"] else None
    declared = samples["declared"]
    return verdict_of(scope, pairs, samples["seed"], ceiling=physics(declared["bytes"], declared["flops"], ceilings))


def _order_problems(scope: str, pairs: list[Pair], seed: int) -> Iterator[str]:
    if any(pair.index != place or pair.first != first_side(seed, place) for place, pair in enumerate(pairs)):
        yield f"The pairs of {scope} are not in the order that seed {seed} draws."
    if len(pairs) not in (0, *LOOKS):
        yield f"The pairs of {scope} number {len(pairs)}, but looks are made at {LOOKS} only."


def _replay_problems(row: Mapping[str, Any], again: Timing) -> Iterator[str]:
    if row["verdict"] != again.verdict or row["pairs"] != again.pairs:
        yield (
            f"The receipt says {row['verdict']} from {row['pairs']} pairs for {row['scope']}, "
            f"its raw pairs say {again.verdict} from {again.pairs}."
        )
    for name in REPLAYED:
        if not _close(row[name], getattr(again, name)):
            yield f"The receipt's {name} of {row['scope']} is {row[name]}, its raw pairs give {getattr(again, name)}."


def _verdict_problems(receipt: Mapping[str, Any]) -> Iterator[str]:
    failed = any(gate["status"] == "failed" for gate in receipt["gates"])
    verdicts = {scope: row["verdict"] for scope, row in _timings(receipt).items()}
    expected = "failed" if failed else overall(verdicts)
    if receipt["verdict"] != expected:
        yield f"The verdict is {receipt['verdict']}, but gates and timing say {expected}."


def _close(told: float | None, again: float | None) -> bool:
    """Equal but for the last digits, which another processor's log and exp may round differently."""
    if told is None or again is None:
        return told is again
    return abs(told - again) <= 1e-9 * max(1.0, abs(again))


def _hashes(provenance: Provenance) -> dict[str, object]:
    prompt, completion = provenance.prompt, provenance.completion
    return {
        "source": provenance.source_sha256,
        "patch": _sha256(provenance.patch),
        "builds": {side: provenance.builds.get(side) for side in ("original", "candidate")},
        "inputs": dict(provenance.inputs),
        "prompt": _sha256(prompt.text) if prompt else None,
        "answer": _sha256(completion.text) if completion else None,
    }


def _prompt_row(prompt: Prompt | None) -> dict[str, object]:
    return {
        "text": prompt.text if prompt else None,
        "version": prompt.version if prompt else None,
        "tokens_estimated": prompt.tokens_estimated if prompt else None,
        "labels": list(prompt.labels) if prompt else [],
    }


def _answer_row(completion: Completion | None) -> dict[str, object]:
    return {
        "text": completion.text if completion else None,
        "model": completion.model if completion else None,
        "recorded": completion.recorded if completion else "",
    }


def _cost_row(completion: Completion | None) -> dict[str, object]:
    return {
        "usd": completion.cost_usd if completion else None,
        "prompt_tokens": completion.prompt_tokens if completion else None,
        "completion_tokens": completion.completion_tokens if completion else None,
        "seconds": completion.seconds if completion else None,
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
