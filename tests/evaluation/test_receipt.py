"""Documents and receipts: valid by their schemas, signed, and checkable from the raw pairs alone."""

import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from evaluation.documents import evaluation_document
from evaluation.receipt import Provenance, receipt_document, sign, verify
from evaluation.timing import first_side, physics, unmeasured, verdict_of
from evaluation.types import (
    Baseline,
    Ceilings,
    Comparison,
    Evaluation,
    Mask,
    OutputFile,
    Outputs,
    Pair,
    Ran,
    Score,
)
from optimizer.types import GATES, Completion, Gate, Prompt

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"
KEY = bytes(range(32))
PUBLIC = Ed25519PrivateKey.from_private_bytes(KEY).public_key().public_bytes_raw()
SEED = 77
OTHER_SIDE = "candidate" if first_side(SEED, 0) == "original" else "original"


def validator(name):
    schemas = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("*.schema.json")}
    registry = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in schemas.values() if "$id" in schema
    )
    Draft202012Validator.check_schema(schemas[name])
    return Draft202012Validator(schemas[name], registry=registry)


def pairs(speedup, amount=10):
    return tuple(Pair(i, first_side(SEED, i), 1e9 * speedup * (1 + i / 1000), 1e9) for i in range(amount))


def outputs(text):
    ran = Ran("exited", 0, "", text, b"", 0, 10)
    return Outputs(ran, (OutputFile("out/a.bin", 8, "0" * 64),))


def evaluated(speedup=1.5, failed=None, **changes):
    ran = pairs(speedup)
    found = Evaluation(
        workload="default",
        gates=tuple(Gate(name, "failed" if name == failed else "passed", "because", 0.25) for name in GATES),
        comparisons=(Comparison("default", True, 100), Comparison("odd", True, 50)),
        pairs={"program": ran},
        timings={"program": verdict_of("program", ran, SEED)},
        scores=tuple(
            Score(name, 0.5, 1.0, 2.0, float("nan"), {"lift": float("inf")}, "half")
            for name in ("coverage", "location", "direction")
        ),
        environment={"cpu": "some", "cores": 2},
        baselines=(
            Baseline("default", True, 100, (Mask("stdout", r"\d+ ms", "seen", "12 ms"),), outputs(b"a"), printed="a"),
            Baseline("odd", True, 50, (), outputs(b"b"), printed="b"),
        ),
        seed=SEED,
    )
    return replace(found, **changes)


PROVENANCE = Provenance(
    source_sha256="a" * 64,
    patch="--- a\n+++ b\n",
    builds={"original": "b" * 64, "candidate": "c" * 64},
    inputs={"data/in.txt": "d" * 64},
    prompt=Prompt("make it \udcff fast", 5, ("k",), ("a.cpp",), ("S1",), ()),
    completion=Completion('{"edits": []}', "end", "some-model", 10, 20, 0.01, 1.5),
)


@pytest.mark.parametrize(
    "evaluation",
    [
        evaluated(),
        evaluated(failed="build", comparisons=(), baselines=(), pairs={}, timings={}, scores=()),
        evaluated(same_code=True, pairs={}, timings={"program": unmeasured("program", "same_machine_code", "-", SEED)}),
    ],
)
def test_documents_and_receipts_fit_their_schemas_and_are_plain_json(evaluation):
    document = json.loads(json.dumps(evaluation_document(evaluation), allow_nan=False))
    validator("evaluation.schema.json").validate(document)
    receipt = json.loads(
        json.dumps(receipt_document(evaluation_document(evaluation), PROVENANCE, KEY), allow_nan=False)
    )
    validator("receipt.schema.json").validate(receipt)
    assert verify(receipt, PUBLIC) == ()


@pytest.mark.parametrize(
    "broken", [{"gates": []}, {"verdict": "great"}, {"samples": {}}, {"schema": "optimas.evaluation/2"}]
)
def test_the_schema_refuses_what_is_not_such_a_document(broken):
    assert not validator("evaluation.schema.json").is_valid({**evaluation_document(evaluated()), **broken})


def test_numbers_that_are_not_finite_become_null():
    ear = evaluation_document(evaluated())["ear"]
    assert ear["coverage"]["chance"] is None
    assert ear["location"]["parts"]["lift"] is None


@pytest.mark.parametrize(
    ("evaluation", "verdict", "proved"),
    [
        (evaluated(1.5), "faster", True),
        (evaluated(0.7), "slower", True),
        (evaluated(1.5, failed="sanitizer"), "failed", False),
        (evaluated(timings={}), "cannot_tell", True),
        (evaluated(gates=(Gate("outputs", "not_run", "needs an NVIDIA GPU", 0.0),), timings={}), "cannot_tell", False),
    ],
)
def test_the_verdict_is_failed_or_that_of_the_timing(evaluation, verdict, proved):
    document = evaluation_document(evaluation)
    assert (document["verdict"], document["proof"]["proved"]) == (verdict, proved)


def test_the_selected_kernels_speak_before_the_program():
    timings = {
        "program": verdict_of("program", pairs(1.0), SEED),
        "selected": verdict_of("selected", pairs(2.0), SEED),
        "spread": verdict_of("spread", pairs(2.0), SEED),
    }
    document = evaluation_document(evaluated(timings=timings))
    assert document["verdict"] == "faster"
    assert document["timing"]["program"]["verdict"] == "no_difference"
    assert [row["scope"] for row in document["timing"]["kernels"]] == ["spread"]
    assert document["timing"]["gpu"] is None


def test_two_workloads_that_wrote_the_same_are_one_proof():
    one = Baseline("default", True, 100, (), outputs(b"a"))
    twins = (one, replace(one, workload="odd"))
    assert evaluation_document(evaluated())["proof"]["enough_for_approval"]
    proof = evaluation_document(evaluated(baselines=twins))["proof"]
    assert proof == {"proved": True, "workloads_agreeing": 2, "different_data": 1, "enough_for_approval": False}


def receipt_with(change, resigned=True):
    receipt = copy.deepcopy(receipt_document(evaluation_document(evaluated()), PROVENANCE, KEY))
    change(receipt)
    return sign(receipt, KEY) if resigned else receipt


def test_any_change_breaks_the_signature():
    changed = receipt_with(lambda receipt: receipt["environment"].update(cores=4), resigned=False)
    assert "signature does not fit" in verify(changed, PUBLIC)[0]
    assert (
        "signature does not fit"
        in verify(receipt_document(evaluation_document(evaluated()), PROVENANCE, bytes(32)), PUBLIC)[0]
    )
    assert verify({"schema": "optimas.receipt/1"}, PUBLIC) == ("The receipt has no readable signature.",)


@pytest.mark.parametrize(
    "change",
    [
        lambda signature: signature.update(algorithm="RSA"),
        lambda signature: signature.update(public_key="00" * 32),
        lambda signature: signature.update(value=signature["value"].upper()),
        lambda signature: signature.update(note="trust me"),
        lambda signature: signature.pop("public_key"),
    ],
)
def test_what_stands_beside_the_signature_cannot_be_changed_either(change):
    changed = receipt_with(lambda receipt: change(receipt["signature"]), resigned=False)
    assert "said about the signature was changed" in verify(changed, PUBLIC)[0]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda r: r["timing"]["program"].update(verdict="slower"), "its raw pairs say faster"),
        (lambda r: r["timing"]["program"].update(speedup=9.0), "speedup of program is 9.0"),
        (lambda r: r["samples"]["pairs"]["program"][0].update(first=OTHER_SIDE), "not in the order"),
        (lambda r: r["samples"]["pairs"].update(program=r["samples"]["pairs"]["program"][:9]), "number 9"),
        (lambda r: r["gates"][3].update(status="failed"), "say failed"),
        (lambda r: r.update(verdict="slower"), "The verdict is slower"),
        (lambda r: r["answer"].update(text="another"), "hash of the answer"),
        (lambda r: r["samples"].update(method="guess/1"), "cannot repeat"),
        (lambda r: r["samples"]["pairs"]["program"][0].update(candidate_ns=0), "not of the form"),
        (lambda r: r.pop("gates"), "not of the form"),
    ],
)  # fmt: skip
def test_a_lie_is_found_even_when_it_is_signed(change, problem):
    problems = verify(receipt_with(change), PUBLIC)
    assert any(problem in each for each in problems), problems


def test_an_impossible_time_can_be_checked_too():
    ceilings = Ceilings(bytes_per_s=1e9)
    timing = verdict_of("program", pairs(1.5), SEED, ceiling=physics(2_000_000_000, None, ceilings))
    found = evaluated(timings={"program": timing}, declared_bytes=2_000_000_000, ceilings=ceilings)
    receipt = receipt_document(evaluation_document(found), PROVENANCE, KEY)
    assert receipt["verdict"] == "impossible"
    assert verify(receipt, PUBLIC) == ()
    honest = receipt_with(lambda r: r.update(samples=receipt["samples"]))
    assert any("say impossible" in problem for problem in verify(honest, PUBLIC))


def test_a_decision_is_added_by_signing_again():
    receipt = receipt_document(evaluation_document(evaluated()), PROVENANCE, KEY)
    decided = sign({**receipt, "decision": {"verdict": "approved", "reason": "sound"}}, KEY)
    assert verify(decided, PUBLIC) == ()
    validator("receipt.schema.json").validate(decided)
