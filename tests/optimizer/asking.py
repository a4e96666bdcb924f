"""Short ways to ask a vendor's backend that talks to a local server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from optimizer import backends
from optimizer.backends.trouble import Trouble
from optimizer.types import Access, BackendOptions, Completion, Patience, Prompt
from tests.optimizer.vendors import DIALECTS, Dialect, Reply, serving

PROMPT = Prompt("Make ponds.cu faster, please. " * 250, 2500, ("k",), ("stalls",), ("S1",), ())
ANSWER = json.dumps({"summary": "One loop less. \u00e9", "edits": [], "not_applied": []})
KEY = "sk-local-0123456789"
QUICK = Patience(connect_s=2, silence_s=5, whole_s=10, look_s=0.02)
VENDORS = pytest.mark.parametrize("said", DIALECTS.values(), ids=list(DIALECTS))


def ask(said: Dialect, address: str, patience: Patience = QUICK, **more: Any) -> Completion:
    base = f"{address}/v1" if said.backend.startswith("openai") else address
    options = BackendOptions(model=said.model, access=Access(base, KEY), patience=patience, **more)
    return backends.complete(said.backend, PROMPT, options)


def answered(said: Dialect, *replies: Reply, patience: Patience = QUICK, **more: Any) -> Completion:
    with serving(*replies) as vendor:
        return ask(said, vendor.address, patience, **more)


def troubled(said: Dialect, *replies: Reply, patience: Patience = QUICK) -> Trouble:
    with pytest.raises(Trouble) as caught:
        answered(said, *replies, patience=patience)
    assert caught.value.message.endswith((".", "!"))
    assert KEY not in str(caught.value)
    return caught.value


def error(status: int, body: Any = None, **headers: str) -> Reply:
    told = json.dumps(body if body is not None else {"error": {"message": f"no {status}"}}).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"content-type": "application/json"} | names, told)
