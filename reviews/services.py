"""Receipts: what an attempt rests on, in one signed document."""

from __future__ import annotations

import os
import secrets
from hashlib import sha256
from pathlib import Path

from django.conf import settings

from evaluation.documents import refused_document
from evaluation.receipt import Provenance, canonical, receipt_document
from optimizer import edits
from optimizer import types as t
from optimizer.models import Attempt
from optimizer.rows import as_bytes, as_text, completion_of, edits_of, gate_of, prompt_of
from projects.services import files_of, manifest_of
from reviews.models import Receipt


def make_receipt(attempt: Attempt) -> Receipt:
    """Sign the attempt's evaluation document with everything that it rests on. The same content is the same receipt."""
    document = receipt_document(evaluated(attempt), provenance(attempt), signing_key())
    digest = sha256(canonical(document)).hexdigest()
    return Receipt.objects.get_or_create(attempt=attempt, sha256=digest, defaults={"document": document})[0]


def evaluated(attempt: Attempt) -> dict[str, object]:
    """What came out of the attempt; one that gates 1-3 refused was never built, and its document says so."""
    if hasattr(attempt, "verdict"):
        stored: dict[str, object] = attempt.verdict.document
        return stored
    gates = tuple(gate_of(row) for row in attempt.gates.all())
    return refused_document(manifest_of(attempt.run.snapshot).workloads[0].name, gates)


def provenance(attempt: Attempt) -> Provenance:
    builds = {build.patch_sha256: build.binary_sha256 for build in attempt.builds.all()}
    files = files_of(attempt.run.snapshot)
    return Provenance(
        source_sha256=attempt.run.snapshot.sha256,
        patch=attempt.patch,
        builds={"original": builds.get(""), "candidate": builds.get(attempt.patch_sha256)},
        inputs={path: sha256(content).hexdigest() for path, content in sorted(files.items())},
        prompt=prompt_value(attempt),
        completion=completion_of(attempt.completion) if hasattr(attempt, "completion") else None,
    )


def prompt_value(attempt: Attempt) -> t.Prompt | None:
    if not hasattr(attempt, "prompt"):
        return None
    kernels = tuple(kernel.mangled for kernel in attempt.run.kernels.all())
    return prompt_of(attempt.prompt, kernels, tuple(attempt.run.sources))


def exact_patch(attempt: Attempt) -> bytes:
    """The patch byte for byte. Its row is text, which cannot hold a source that is no UTF-8, so it is made again from
    the edits; without edits it is what the row says."""
    made = edits_of(attempt)
    files = attempt.run.snapshot.files.filter(path__in={edit.file for edit in made})
    before = {file.path: as_text(file.content) for file in files}
    return as_bytes(edits.diff(before, edits.apply(made, before)) if made else attempt.patch)


def signing_key() -> bytes:
    """This site's Ed25519 private key: 32 raw bytes, made once, readable by its owner only."""
    path = Path(settings.STATE_DIR) / "receipt.key"
    if not path.exists():
        fresh = path.with_suffix(f".{secrets.token_hex(4)}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
        try:
            os.link(fresh, path)  # whoever is first wins; the others read his
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_bytes()
