"""Every vendor's own client against a local server: what is asked, and what comes back. Trouble: the next file."""

from __future__ import annotations

import json

import pytest

from optimas_web.errors import UserError
from optimizer import backends
from optimizer.answer import read_completion
from optimizer.backends.trouble import Trouble
from optimizer.types import Access, BackendOptions, Patience
from tests.optimizer.asking import ANSWER, KEY, PROMPT, QUICK, VENDORS, answered, ask, error, troubled
from tests.optimizer.vendors import (
    DIALECTS,
    SSE,
    Dialect,
    Reply,
    dribble,
    gemini_chunk,
    ollama_answer,
    openai_answer,
    openai_chunks,
    serving,
    sse,
)

# --- answers ----------------------------------------------------------------------------------


@VENDORS
def test_a_good_answer_comes_back_as_it_was_with_what_it_used(said: Dialect):
    found = answered(said, said.answer(ANSWER))
    assert (found.text, found.stop) == (ANSWER, "end")
    assert (found.prompt_tokens, found.completion_tokens) == (3000, 500)
    assert found.model
    assert found.seconds > 0


@VENDORS
def test_the_request_holds_the_prompt_the_key_the_schema_and_a_limit(said: Dialect):
    with serving(said.answer(ANSWER)) as vendor:
        ask(said, vendor.address, output_tokens=4000)
    ((path, headers, sent),) = vendor.asked
    assert path.endswith(said.path)
    whole = json.dumps(sent)
    assert PROMPT.text in whole
    assert '"original_text"' in whole
    assert "4000" in whole
    assert KEY in " ".join(headers.values())
    assert KEY not in whole
    assert headers["accept-encoding"] == "identity"


def test_the_parameters_are_those_that_the_models_take():
    sent = {}
    for name, said in DIALECTS.items():
        with serving(said.answer(ANSWER)) as vendor:
            ask(said, vendor.address)
        sent[name] = vendor.asked[0][2]
    assert sent["openai"]["max_completion_tokens"] == 32768
    assert sent["openai"]["reasoning_effort"] == "medium"
    assert not {"max_tokens", "temperature"} & set(sent["openai"])
    assert sent["openai_compatible"]["max_tokens"] == 8192
    assert not {"max_completion_tokens", "reasoning_effort"} & set(sent["openai_compatible"])
    assert sent["gemini"]["generationConfig"]["maxOutputTokens"] == 32768
    assert sent["anthropic"]["max_tokens"] == 16384
    assert sent["ollama"]["options"]["num_ctx"] == 11264  # 2,500 of prompt and 8,192 of answer, in whole kilotokens
    assert sent["ollama"]["options"]["num_predict"] == 8192


def test_cost_comes_from_usage_and_is_unknown_where_the_price_is():
    costs = {name: answered(said, said.answer(ANSWER)).cost_usd for name, said in DIALECTS.items()}
    assert costs["openai"] == costs["gemini"] == pytest.approx((3000 * 1.25 + 500 * 10) / 1e6)
    assert costs["anthropic"] == pytest.approx((3000 * 3 + 500 * 15) / 1e6)
    assert costs["ollama"] is None
    assert costs["openai_compatible"] is None


@VENDORS
def test_an_answer_that_was_cut_at_the_limit_says_so(said: Dialect):
    found = answered(said, said.answer(ANSWER[:30], said.cut_stop))
    assert found.stop == "length"
    assert read_completion(found).outcome == "cut_off"


@VENDORS
def test_an_empty_answer_says_so(said: Dialect):
    assert answered(said, said.answer("")).stop == "empty"


@VENDORS
def test_progress_is_told_while_the_answer_comes(said: Dialect):
    told: list[int] = []
    slowly = Reply(headers=said.headers, body=dribble(said.answer(ANSWER * 20).body, 0.01))
    found = answered(said, slowly, patience=Patience(silence_s=5, look_s=0.01, progress=told.append))
    assert found.text == ANSWER * 20
    assert max(told) > 0
    assert told == sorted(told)


@VENDORS
def test_the_models_that_a_key_may_ask_are_listed(said: Dialect):
    with serving(said.models) as vendor:
        base = f"{vendor.address}/v1" if said.backend.startswith("openai") else vendor.address
        found = backends.vendor(said.backend).models(BackendOptions(access=Access(base, KEY), patience=QUICK))
    assert found == ("m-1",)


@VENDORS
def test_a_wrong_key_is_told_by_the_test_of_it(said: Dialect):
    with serving(error(401)) as vendor, pytest.raises(Trouble) as caught:
        backends.vendor(said.backend).models(BackendOptions(access=Access(vendor.address, KEY), patience=QUICK))
    assert caught.value.kind == "auth"


# --- refusals and filters ---------------------------------------------------------------------


def test_a_refusal_in_a_field_of_its_own_is_a_refusal():
    found = answered(DIALECTS["openai"], openai_answer("", refusal="I can't help with that."))
    assert found.stop == "refusal"
    assert "I can't help with that." in read_completion(found).message


@pytest.mark.parametrize(
    ("name", "stop", "expected"),
    [("openai", "content_filter", "filter"), ("openai_compatible", "content_filter", "filter"),
     ("anthropic", "refusal", "refusal"), ("gemini", "SAFETY", "filter"), ("gemini", "RECITATION", "filter")],
)  # fmt: skip
def test_a_filter_and_a_refusal_by_their_reason_alone(name: str, stop: str, expected: str):
    found = answered(DIALECTS[name], DIALECTS[name].answer("", stop))
    assert found.stop == expected
    assert read_completion(found).outcome == {"filter": "filtered", "refusal": "declined"}[expected]


GEMINI_USED = {"promptTokenCount": 3100, "thoughtsTokenCount": 1020, "totalTokenCount": 4120}
GEMINI_BODIES = {
    "thinking used the limit up": (
        {"candidates": [{"finishReason": "MAX_TOKENS", "content": {"role": "model"}}], "usageMetadata": GEMINI_USED},
        ("length", "Hidden reasoning counts towards the limit."),
    ),
    "safety, no content": (
        {"candidates": [{"finishReason": "SAFETY", "index": 0}]}, ("filter", "The answer was blocked: SAFETY."),
    ),
    "blocked prompt": (
        {"promptFeedback": {"blockReason": "OTHER"}, "usageMetadata": {"promptTokenCount": 3100}},
        ("filter", "The prompt was blocked: OTHER."),
    ),
    "stopped without parts": (
        {"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": []}}]}, ("empty", ""),
    ),
    "a thought first": (gemini_chunk(ANSWER, "STOP"), ("end", "")),
}  # fmt: skip


@pytest.mark.parametrize("name", GEMINI_BODIES)
def test_five_ways_in_which_gemini_ends_are_told_apart(name: str):
    body, expected = GEMINI_BODIES[name]
    found = answered(DIALECTS["gemini"], Reply(headers=SSE, body=sse([body])))
    assert (found.stop, found.note) == expected
    assert "think" not in found.text


def test_hidden_reasoning_counts_as_output():
    body = GEMINI_BODIES["thinking used the limit up"][0]
    found = answered(DIALECTS["gemini"], Reply(headers=SSE, body=sse([body])))
    assert (found.prompt_tokens, found.completion_tokens) == (3100, 1020)


# --- a prompt that was cut --------------------------------------------------------------------


def test_a_prompt_that_ollama_cut_is_noticed_and_its_answer_not_used():
    found = troubled(DIALECTS["ollama"], ollama_answer(ANSWER, prompt_eval_count=700))
    assert found.kind == "prompt_cut"
    assert "read 700 of about 2,500 prompt tokens; the answer is not used" in found.message


@pytest.mark.parametrize("count", [None, 1900, 2500, 3000])
def test_a_count_that_is_missing_or_near_is_no_alarm(count: int | None):
    found = answered(DIALECTS["ollama"], ollama_answer(ANSWER, prompt_eval_count=count))
    assert (found.text, found.prompt_tokens) == (ANSWER, count)


# --- what is told beforehand ------------------------------------------------------------------


def test_a_model_server_without_an_address_says_so():
    with pytest.raises(UserError, match="No address"):
        backends.complete("openai_compatible", PROMPT, BackendOptions(model="m"))


def test_a_model_that_knows_no_key_gets_none_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "of the site")
    monkeypatch.setenv("OLLAMA_API_KEY", "of the site")
    for name in ("ollama", "openai_compatible"):
        with serving(DIALECTS[name].answer(ANSWER)) as vendor:
            options = BackendOptions(model="m", access=Access(vendor.address), patience=QUICK)
            backends.complete(name, PROMPT, options)
        assert "authorization" not in vendor.asked[0][1]


def test_every_vendor_has_a_dialect_here():
    asked = [name for name in backends.BACKENDS if backends.backend(name).ORIGIN == "model"]
    assert sorted(asked) == sorted(DIALECTS)


def test_a_stream_in_which_nothing_ends_is_not_finished_by_usage():
    chunks = [*openai_chunks(ANSWER, None), {**openai_chunks("", "stop")[-1]}]
    assert troubled(DIALECTS["openai"], Reply(headers=SSE, body=sse(chunks))).kind == "cut"
