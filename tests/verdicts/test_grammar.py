"""The grammar: only what is true of the slice can be written, and what types fix cannot be written otherwise."""

import json

import jsonschema_rs
import pytest
from hypothesis import given
from msgspec.json import encode
from msgspec.structs import replace

from assay.kernel.canonical import canonical_digest
from assay.verdicts.docket import open_docket
from assay.verdicts.envelope import Verdict
from assay.verdicts.errors import GrammarSizeError
from assay.verdicts.grammar import verdict_choices
from assay.verdicts.graph.obligation import Obligation
from assay.verdicts.window import window_facts
from tests.verdicts.judging import docket_of, honest, obligation, part_of, record, saying
from tests.verdicts.test_verify import READINGS, SLICES

LIMIT = obligation("ob-1", "must_not_exceed", "a", 5)
FRESH = obligation("ob-2", "must_be_recorded_within", "a", 60)
ADVICE = obligation("ob-3", "should", "a", value=True)
JUDGMENT = obligation("ob-4", "discretionary")
UNKNOWN = obligation("ob-5", "must_levitate")
INFORMAL = obligation("ob-6", "must_not_exceed", "a", "five")


@pytest.mark.clause("ski", "2.1.3")
@given(SLICES, READINGS)
def test_an_honest_answer_can_be_written(slice_: list[Obligation], measurement: dict[str, object]) -> None:
    """The schema says the same to another implementation of JSON Schema as we mean."""
    docket, telemetry = docket_of(*slice_), record(measurement)
    answer = honest(docket, telemetry, window_facts(docket.plans, telemetry, []))
    validator = jsonschema_rs.validator_for(dict(docket.grammar.schema))
    found = [error.message for error in validator.iter_errors(json.loads(encode(answer)))]
    assert all("is not of type" in message for message in found)  # a record may hold another kind than is demanded


@pytest.mark.parametrize(
    "spoilt",
    [
        {"verdict": "NULL_UNMAPPED"},
        {"verdict": "NULL_STALE"},
        {"kg_citations": [{"node_id": "ob-9", "version": "sha256:" + "0" * 64, "role": "obligation"}]},
        {"formalizable_assertions": []},
        {"confidence": 1},
    ],
)
def test_what_is_not_of_the_slice_cannot_be_written(spoilt: dict[str, object]) -> None:
    docket, telemetry = docket_of(LIMIT), record({"a": 4})
    validator = jsonschema_rs.validator_for(dict(docket.grammar.schema))
    document = json.loads(encode(honest(docket, telemetry)))
    assert validator.is_valid(document)
    assert not validator.is_valid({**document, **spoilt})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("predicate", "must_be_at_least"),
        ("metric", "b"),
        ("value", 6),
        ("obligation_id", "ob-9"),
        ("observed", "4"),
        ("satisfied", None),
        ("window_seconds", 60),
    ],
)
def test_what_the_graph_fixes_cannot_be_written_otherwise(field: str, value: object) -> None:
    docket, telemetry = docket_of(LIMIT), record({"a": 4})
    document = json.loads(encode(honest(docket, telemetry)))
    document["formalizable_assertions"][0][field] = value
    assert not jsonschema_rs.validator_for(dict(docket.grammar.schema)).is_valid(document)


@pytest.mark.clause("ski", "3.3")
@pytest.mark.parametrize(
    ("obligations", "choices"),
    [
        ((LIMIT,), "CLEAR FLAG DISCRETIONARY"),
        ((LIMIT, FRESH), "CLEAR FLAG NULL_STALE DISCRETIONARY"),
        ((ADVICE,), "CLEAR DISCRETIONARY"),
        ((LIMIT, JUDGMENT), "DISCRETIONARY"),
        ((LIMIT, UNKNOWN), "DISCRETIONARY"),
        ((LIMIT, INFORMAL), "FLAG DISCRETIONARY"),
        ((INFORMAL,), "DISCRETIONARY"),
        ((), "CLEAR"),
    ],
)
def test_types_leave_only_some_verdicts_open(obligations: tuple[Obligation, ...], choices: str) -> None:
    """A recommendation never gives FLAG; what needs a person gives nothing but DISCRETIONARY."""
    docket = docket_of(*obligations)
    assert docket.choices == tuple(Verdict(name) for name in choices.split())
    assert verdict_choices((), is_mapped=False) == (Verdict.NULL_UNMAPPED,)


@given(SLICES, READINGS)
def test_the_true_verdict_is_always_open(slice_: list[Obligation], measurement: dict[str, object]) -> None:
    docket, telemetry = docket_of(*slice_), record(measurement)
    answer = honest(docket, telemetry, window_facts(docket.plans, telemetry, []))
    assert answer.verdict in docket.choices
    assert saying(answer, Verdict.NULL_UNMAPPED).verdict not in docket.choices


@pytest.mark.clause("ski", "4.6")
def test_the_hash_is_of_the_canonical_schema() -> None:
    docket = docket_of(LIMIT)
    assert docket.grammar.hash == canonical_digest(docket.grammar.schema)
    assert docket.grammar == docket_of(LIMIT).grammar
    assert docket.grammar.hash != docket_of(replace(LIMIT, value=None)).grammar.hash
    assert list(docket.grammar.schema["properties"]) == [  # type: ignore[call-overload]  # an object
        "reasoning",
        "formalizable_assertions",
        "kg_citations",
        "verdict",
    ]


def test_a_slice_too_large_for_a_grammar_is_refused() -> None:
    many = [obligation(f"ob-{n:04d}", "must_not_exceed", "a" * 200, 5) for n in range(400)]
    with pytest.raises(GrammarSizeError):
        open_docket(part_of(*many), is_mapped=True)
