"""A bundle is read whole or refused with everything wrong with it; its hash covers what the agent said."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.claims.bundle import (
    AuditTrail,
    ClaimType,
    Decision,
    Recommendation,
    UncertaintyMethod,
    bundle_hash,
    render_bundle,
)
from assay.claims.errors import BundleError
from assay.claims.parse_bundle import Reading, check_bundle, parse_bundle
from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonical_digest
from assay.kernel.instant import parse_instant
from tests.claims.making import HASH, bundle, claim, document, example, pointer

_UNIT = st.floats(min_value=0, max_value=1)
_TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(lambda text: text.strip())
_INSTANTS = st.datetimes(timezones=st.just(parse_instant("2026-01-01T00:00:00Z").tzinfo)).map(lambda it: it.isoformat())


def _problems(value: bytes | str | dict[str, Any], reading: Reading = Reading.LEGACY) -> set[tuple[str, str]]:
    return {(problem.pointer, str(problem.code)) for problem in check_bundle(value, reading=reading).problems}


@pytest.mark.clause("claimbundle", "structure")
def test_a_bundle_has_the_fields_of_the_specification() -> None:
    """Every field of the structure is read to its own type."""
    trail = {
        "gates_passed": ["evidence_gate"],
        "gates_failed": ["Human Approval Gate"],
        "human_approvals": [
            {"approver": "user:amira", "timestamp": "2026-01-10T11:30:00Z", "decision": "REJECTED", "reason": "no"}
        ],
    }
    read = bundle(
        example("fact"),
        example("decision"),
        decision="ESCALATE",
        reason="waits",
        required_approvals=["security_team"],
        audit_trail=trail,
    )
    assert read.decision is Decision.ESCALATE
    assert [one.claim_type for one in read.claims] == [ClaimType.FACT, ClaimType.DECISION]
    assert read.claims[0].uncertainty.method is UncertaintyMethod.SEMANTIC_ENTROPY
    assert read.claims[1].uncertainty.gate_recommendation is Recommendation.DEFER
    assert read.claims[1].risk_tier is RiskTier.PRIVILEGE
    assert read.audit_trail.gates_failed == ("human_approval_gate",)
    assert read.audit_trail.human_approvals[0].approver == "user:amira"


@pytest.mark.clause("claimbundle", "serialization")
def test_what_is_left_out_has_the_specifications_defaults() -> None:
    """Decision DEFER, no approvals, an empty audit trail."""
    read = bundle()
    assert (read.decision, read.reason, read.required_approvals) == (Decision.DEFER, "", ())
    assert read.audit_trail == AuditTrail()


@pytest.mark.clause("claimbundle", "serialization")
@pytest.mark.parametrize("reading", list(Reading))
def test_null_is_read_as_the_specification_s_own_classes_read_it(reading: Reading) -> None:
    """`list = None`, `dict = None`: evidence, approvals and trail are empty then; no other member may be null."""
    id_ = "6f1c1f0e-5d0a-4b0e-9a55-2f1f4f3b9a10"
    told = document(claim(evidence_pointers=None), id=id_, required_approvals=None, audit_trail=None)
    empty = document(claim(evidence_pointers=[]), id=id_, required_approvals=[], audit_trail={})
    assert parse_bundle(told, reading=reading) == parse_bundle(empty, reading=reading)
    for name in ("claims", "decision", "origin_agent", "reason", "timestamp"):
        assert [one.pointer for one in check_bundle(told | {name: None}).problems] == [f"/{name}"]


@pytest.mark.clause("claimbundle", "serialization")
@given(
    value=_UNIT,
    confidence=_UNIT,
    statement=_TEXT,
    moment=_INSTANTS,
    tier=st.sampled_from(list(RiskTier)),
    method=st.sampled_from(list(UncertaintyMethod)),
)
def test_json_and_back_loses_nothing(
    value: float, confidence: float, statement: str, moment: str, tier: RiskTier, method: UncertaintyMethod
) -> None:
    """What is written reads back as the same bundle, with the same hash."""
    first = bundle(
        claim(
            statement=statement,
            risk_tier=str(tier),
            uncertainty={"method": str(method), "value": value},
            evidence_pointers=[pointer(source_confidence=confidence, retrieved_at=moment)],
        ),
        timestamp=moment,
    )
    again = parse_bundle(render_bundle(first))
    # A text is compared in NFC, in which it is hashed and written.
    assert bundle_hash(again) == bundle_hash(first)
    assert render_bundle(again) == render_bundle(first)
    assert again.claims[0].uncertainty == first.claims[0].uncertainty
    assert again.timestamp == first.timestamp


def test_times_to_the_nanosecond_are_cut_to_what_is_written() -> None:
    told, kept = "2026-01-09T12:00:00.123456789Z", "2026-01-09T12:00:00.123456Z"
    finer = parse_bundle(document(claim(evidence_pointers=[pointer(retrieved_at=told)]), timestamp=told))
    plain = parse_bundle(document(claim(evidence_pointers=[pointer(retrieved_at=kept)]), timestamp=kept))
    assert bundle_hash(finer) == bundle_hash(plain)


def test_missing_hash_and_time_survive_the_round_trip() -> None:
    """They are what the evidence gate complains of, so they must not be made up on the way."""
    first = bundle(claim(evidence_pointers=[{"source": "a report", "source_confidence": 1}]))
    assert parse_bundle(render_bundle(first)) == first
    assert first.claims[0].evidence_pointers[0].evidence_hash is None


def test_evidence_and_cost_may_be_left_out() -> None:
    """A decision needs neither."""
    short = claim(claim_type="DECISION")
    del short["evidence_pointers"], short["if_wrong_cost"]
    [read] = bundle(short).claims
    assert (read.evidence_pointers, read.if_wrong_cost) == ((), "")


def test_the_hash_covers_what_the_agent_said_and_nothing_that_was_added() -> None:
    """Anybody can compute it: canonical JSON of the bundle without the four fields of the gates."""
    plain = bundle()
    decided = bundle(decision="PUBLISH", reason="fine", required_approvals=["ops_team"], audit_trail={})
    assert bundle_hash(plain) == bundle_hash(decided)
    written = json.loads(render_bundle(decided))
    for name in ("decision", "reason", "required_approvals", "audit_trail"):
        del written[name]
    assert canonical_digest(written) == bundle_hash(plain)


@pytest.mark.parametrize(
    "changed",
    [
        document(id="00000000-0000-4000-8000-000000000000"),
        document(timestamp="2026-01-10T11:00:01Z"),
        document(origin_agent="ai:other"),
        document(claim(statement="The river is 31 m deep.")),
        document(claim(risk_tier="DELETE")),
        document(claim(uncertainty={"method": "semantic_entropy", "value": 0.1000001})),
        document(claim(evidence_pointers=[])),
        document(claim(), claim(id="c-2")),
    ],
)
def test_any_change_of_what_was_said_changes_the_hash(changed: dict[str, Any]) -> None:
    """So an approval of the one is void for the other."""
    assert bundle_hash(parse_bundle(changed)) != bundle_hash(bundle())


def test_all_problems_are_told_at_once_with_pointers_and_codes() -> None:
    """Unknown fields are named, wherever they are."""
    wrong = document(
        claim(
            id="",
            claim_type="GUESS",
            surprise=1,
            uncertainty={"method": "hunch", "value": True, "extra": 1, "gate_recommendation": "GO"},
            evidence_pointers=[pointer(source_confidence=1.5, evidence_hash="XY", retrieved_at="yesterday"), 7],
        ),
        timestamp="2026-01-10T11:00:00",
        colour="red",
        decision="MAYBE",
        audit_trail={"gates_passed": [3], "human_approvals": [{"approver": "x"}], "more": 1},
    )
    del wrong["origin_agent"]
    assert _problems(wrong) == {
        ("/claims/0/id", "size"),
        ("/claims/0/claim_type", "choice"),
        ("/claims/0/surprise", "unknown_field"),
        ("/claims/0/uncertainty/method", "choice"),
        ("/claims/0/uncertainty/value", "type"),
        ("/claims/0/uncertainty/extra", "unknown_field"),
        ("/claims/0/uncertainty/gate_recommendation", "choice"),
        ("/claims/0/evidence_pointers/0/source_confidence", "range"),
        ("/claims/0/evidence_pointers/0/evidence_hash", "form"),
        ("/claims/0/evidence_pointers/0/retrieved_at", "instant"),
        ("/claims/0/evidence_pointers/1", "type"),
        ("/timestamp", "instant"),
        ("/colour", "unknown_field"),
        ("/origin_agent", "required"),
        ("/decision", "choice"),
        ("/audit_trail/gates_passed/0", "type"),
        ("/audit_trail/human_approvals/0/timestamp", "required"),
        ("/audit_trail/human_approvals/0/decision", "required"),
        ("/audit_trail/more", "unknown_field"),
    }
    with pytest.raises(BundleError, match="colour") as refused:
        parse_bundle(wrong)
    assert len(refused.value.problems) == 19


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (-0.01, "range"),
        (1.01, "range"),
        (float("nan"), "range"),
        (float("inf"), "range"),
        (10**400, "range"),
        ("0.5", "type"),
        (None, "type"),
    ],
)
def test_a_number_outside_of_its_range_or_no_number_is_refused(value: object, code: str) -> None:
    """NaN and infinities too, when a bundle comes as a value and not as text."""
    wrong = document(claim(uncertainty={"method": "semantic_entropy", "value": value}))
    assert _problems(wrong) == {("/claims/0/uncertainty/value", code)}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "stops being it"),
        (b"[]", "object"),
        (b'{"id": NaN}', "finite"),
        (b'{"id": "x", "id": "y"}', "twice"),
        (b'{"id": "\xff"}', "UTF-8"),
    ],
)
def test_a_text_that_is_no_bundle_is_one_problem(text: bytes, told: str) -> None:
    """The words say what was met."""
    [problem] = check_bundle(text).problems
    assert problem.pointer == ""
    assert told in problem.message


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (document(claims=[]), {("/claims", "empty")}),
        (document(claims={}), {("/claims", "type")}),
        (document(claims=[claim(), claim()]), {("/claims", "duplicate")}),
        (document(claims=[claim(id=f"c-{n}") for n in range(257)]), {("/claims", "size")}),
        (document(claims=[None]), {("/claims/0", "type")}),
        (document(claim(statement="x" * 20_000)), {("/claims/0/statement", "size")}),
        (document(claim(uncertainty=None)), {("/claims/0/uncertainty", "type")}),
        (
            document(claim(evidence_pointers=[pointer(evidence_hash=7)])),
            {("/claims/0/evidence_pointers/0/evidence_hash", "type")},
        ),
        (
            document(claim(evidence_pointers=[pointer(retrieved_at=7)])),
            {("/claims/0/evidence_pointers/0/retrieved_at", "type")},
        ),
        (document(audit_trail=7), {("/audit_trail", "type")}),
        (document(audit_trail={"human_approvals": [7]}), {("/audit_trail/human_approvals/0", "type")}),
        (document(claim(statement="half \ud83d")), {("", "form")}),
    ],
)
def test_what_is_no_bundle_is_refused(wrong: dict[str, Any], expected: set[tuple[str, str]]) -> None:
    """Among them the bundle without claims: nothing asked is nothing allowed."""
    assert _problems(wrong) == expected


def test_a_claim_without_uncertainty_is_told_once() -> None:
    """A field that is missing is one problem, not two."""
    wrong = claim()
    del wrong["uncertainty"]
    assert _problems(document(wrong)) == {("/claims/0/uncertainty", "required")}


def test_legacy_reading_takes_short_hashes_old_ids_and_foreign_gates() -> None:
    """Strict reading refuses each of them; both know two spellings of a gate's name."""
    old = document(
        claim(evidence_pointers=[pointer(evidence_hash="bd24c2aaef2ef37ae95f0f9e5f7d9e7c")]),
        id="bundle-17",
        audit_trail={"gates_passed": ["Evidence Gate", "evidence_gate", "toxicity"]},
    )
    assert parse_bundle(old).audit_trail.gates_passed == ("evidence_gate", "evidence_gate", "toxicity")
    assert _problems(old, Reading.STRICT) == {
        ("/id", "form"),
        ("/claims/0/evidence_pointers/0/evidence_hash", "form"),
        ("/audit_trail/gates_passed/2", "choice"),
    }
    assert check_bundle(document(), reading=Reading.STRICT).bundle is not None


@pytest.mark.parametrize("text", ["ab" * 7, "ab" * 33, HASH.upper(), "sha256:" + HASH, HASH[:-1], "zz" * 32, ""])
def test_a_hash_that_was_never_one_is_refused_in_both_readings(text: str) -> None:
    """Lower-case hex digits in pairs, 16 to 64 of them."""
    wrong = document(claim(evidence_pointers=[pointer(evidence_hash=text)]))
    assert check_bundle(wrong).bundle is None
    assert check_bundle(wrong, reading=Reading.STRICT).bundle is None


def test_many_problems_stay_one_short_line() -> None:
    """A document that is something else altogether does not fill the screen."""
    with pytest.raises(BundleError, match=r"; and 6 more$") as refused:
        parse_bundle({f"field{number}": 1 for number in range(23)} | {"id": "x"})
    assert "\n" not in str(refused.value)
