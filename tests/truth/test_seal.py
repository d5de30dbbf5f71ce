"""A signed truth state is checked by anyone: its two hashes, its signature, its times, its inputs."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from assay.kernel.errors import Code, Error
from assay.kernel.ids import KeyId
from assay.kernel.key import SigningMethod, UnknownKeyError, hmac_key_id_of
from assay.kernel.signature import InvalidSignatureError, sign_hmac
from assay.truth.contract import Contract
from assay.truth.errors import RecordError, SigningTimeError, StateError
from assay.truth.seal import seal_truth_state, signing_bytes, verify_truth_state
from assay.truth.snapshot import parse_snapshot, snapshot_hash
from assay.truth.state import TruthState, parse_truth_state, render_truth_state, state_hash
from assay.truth.validation import SchemaValidationError
from tests.kernel._signing import LOG, OTHER
from tests.raising import raises
from tests.truth.records import HASH_B, HASH_C, KEY, STATE, changed, contract

SECRET = b"s" * 32
KEYS = {LOG.key_id: LOG.public}


def sealed(value: dict[str, Any] = STATE) -> TruthState:
    state = parse_truth_state(value)
    signature = LOG.sign(signing_bytes(state))
    return seal_truth_state(state, signature=signature, method=SigningMethod.ED25519, key_id=LOG.key_id)


def under(flood: Contract, value: dict[str, Any] = STATE) -> TruthState:
    """The state, compiled under a real contract."""
    bound = changed(value, "claim_type_hash", flood.claim_type_hash)
    return sealed(changed(bound, "compile_inputs.claim_type_hash", flood.claim_type_hash))


@pytest.mark.clause("kaori", "3.1")
@pytest.mark.clause("kaori", "12.1")
@pytest.mark.clause("kaori", "law 6")
def test_the_signature_is_over_the_state_hash_and_anyone_can_check_it() -> None:
    """64 ASCII characters, no prefix of ours; the state survives being sent."""
    state = sealed()
    assert state.security is not None
    assert signing_bytes(state) == state_hash(state).encode() == state.security.state_hash.encode()
    verify_truth_state(state, KEYS)
    verify_truth_state(parse_truth_state(render_truth_state(state)), KEYS)


@pytest.mark.clause("kaori", "11.4")
@pytest.mark.clause("kaori", "12.1")
def test_a_local_hmac_is_checked_by_those_who_hold_the_secret() -> None:
    state = parse_truth_state(STATE)
    key_id = hmac_key_id_of(SECRET)
    signature = sign_hmac(SECRET, signing_bytes(state))
    signed = seal_truth_state(state, signature=signature, method=SigningMethod.LOCAL_HMAC, key_id=key_id)
    verify_truth_state(signed, {}, secrets={key_id: SECRET})
    with pytest.raises(InvalidSignatureError):
        verify_truth_state(signed, {}, secrets={key_id: b"t" * 32})
    with pytest.raises(UnknownKeyError):
        verify_truth_state(signed, {key_id: SECRET})


@pytest.mark.clause("kaori", "12.2")
@pytest.mark.parametrize(
    ("path", "to", "error"),
    [
        ("claim.severity", "low", StateError.semantic_hash),
        ("confidence", 1, StateError.semantic_hash),
        ("status", "VERIFIED_FALSE", StateError.semantic_hash),
        ("security.semantic_hash", HASH_C, StateError.semantic_hash),
        ("compile_inputs.compile_time", "2026-01-07T13:00:01Z", StateError.state_hash),
        ("compile_inputs.compiler_version", "assay-9", StateError.state_hash),
        ("security.state_hash", HASH_C, StateError.state_hash),
        ("security.signature", "00" * 64, InvalidSignatureError),
        ("security.key_id", OTHER.key_id, UnknownKeyError),
        ("security.signed_at", "2026-01-07T13:00:01Z", SigningTimeError),
        ("compile_inputs.claim_type_id", "earth.flood.v2", StateError.inputs_mismatch),
        ("compile_inputs.claim_type_hash", HASH_C, StateError.inputs_mismatch),
        ("compile_inputs.observation_ids", ["obs-1"], StateError.inputs_mismatch),
    ],
)
def test_a_forged_field_is_found_by_the_check_that_covers_it(path: str, to: object, error: Code | type[Error]) -> None:
    """Semantic hash, then state hash, then time and inputs, then the signature itself."""
    whole = plain(sealed())
    with raises(error):
        verify_truth_state(parse_truth_state(changed(whole, path, to)), KEYS)


def plain(state: TruthState) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(render_truth_state(state))
    return value


@pytest.mark.clause("kaori", "12.2")
def test_a_signature_by_another_key_under_a_trusted_name_is_refused() -> None:
    state = parse_truth_state(STATE)
    forged = seal_truth_state(
        state, signature=OTHER.sign(signing_bytes(state)), method=SigningMethod.ED25519, key_id=LOG.key_id
    )
    with pytest.raises(InvalidSignatureError):
        verify_truth_state(forged, KEYS)
    with pytest.raises(UnknownKeyError):
        verify_truth_state(sealed(), {})


@pytest.mark.clause("kaori", "12.1")
def test_an_unsigned_state_is_no_record() -> None:
    with raises(StateError.state_unsigned):
        verify_truth_state(parse_truth_state(STATE), KEYS)


@pytest.mark.clause("kaori", "11.4")
def test_a_state_is_signed_when_it_was_compiled_unless_the_inputs_say_otherwise() -> None:
    """An override stands in the inputs, with its reason; then only that time is right."""
    state = sealed()
    assert state.security is not None
    assert state.security.signed_at == state.compile_inputs.compile_time
    value = changed(STATE, "compile_inputs.signed_at", "2026-01-08T09:00:00Z")
    later = sealed(changed(value, "compile_inputs.signed_at_reason", "signed by a service the next day"))
    assert later.security is not None
    assert later.security.signed_at == later.compile_inputs.signed_at
    verify_truth_state(later, KEYS)
    at_once = replace(later, security=replace(later.security, signed_at=later.compile_inputs.compile_time))
    with pytest.raises(SigningTimeError):
        verify_truth_state(at_once, KEYS)


def test_a_state_is_sealed_once_and_only_when_well_formed() -> None:
    """Schema and form come before the signature."""
    state = sealed()
    with pytest.raises(StateError):
        seal_truth_state(state, signature=b"x" * 64, method=SigningMethod.ED25519, key_id=LOG.key_id)
    unsorted = replace(parse_truth_state(STATE), transparency_flags=("b", "a"))
    with pytest.raises(RecordError):
        seal_truth_state(unsorted, signature=b"x" * 64, method=SigningMethod.ED25519, key_id=KeyId(LOG.key_id))


@pytest.mark.clause("kaori", "6.3")
@pytest.mark.clause("kaori", "6.5")
@pytest.mark.clause("kaori", "10.2")
def test_with_the_contract_its_hash_its_policy_and_the_claim_s_schema_are_checked_too() -> None:
    flood = contract()
    verify_truth_state(under(flood), KEYS, contract=flood)
    with raises(StateError.inputs_mismatch):
        verify_truth_state(sealed(), KEYS, contract=flood)
    with raises(StateError.inputs_mismatch):
        verify_truth_state(under(flood, changed(STATE, "compile_inputs.policy_version", "9")), KEYS, contract=flood)
    with pytest.raises(SchemaValidationError):
        verify_truth_state(under(flood, changed(STATE, "claim.severity", "biblical")), KEYS, contract=flood)


@pytest.mark.clause("kaori", "law 3")
def test_a_state_stands_at_a_key_of_its_own_claim_type() -> None:
    """Domain and topic are the claim type's, system and layer the contract's."""
    with raises(StateError.inputs_mismatch):
        verify_truth_state(sealed(changed(STATE, "truthkey", KEY.replace("flood", "fire"))), KEYS)
    flood = contract()
    with raises(StateError.inputs_mismatch):
        verify_truth_state(
            under(flood, changed(STATE, "truthkey", KEY.replace("surface", "seabed"))), KEYS, contract=flood
        )


@pytest.mark.clause("kaori", "law 4")
def test_without_observations_a_state_is_unverified_and_claims_nothing() -> None:
    """Such a state skips the schema; a claim without observations, or a status, is refused."""
    flood = contract()
    empty = changed(changed(STATE, "observation_ids", []), "compile_inputs.observation_ids", [])
    with raises(StateError.inputs_mismatch):
        verify_truth_state(sealed(empty), KEYS)
    with raises(StateError.inputs_mismatch):
        verify_truth_state(sealed(changed(STATE, "status", "UNVERIFIED")), KEYS)
    unverified = changed(empty, "status", "UNVERIFIED")
    verify_truth_state(under(flood, changed(unverified, "claim", {})), KEYS, contract=flood)
    with raises(StateError.inputs_mismatch):
        verify_truth_state(under(flood, unverified), KEYS, contract=flood)
    expired = changed(changed(STATE, "status", "EXPIRED"), "claim", {})
    verify_truth_state(under(flood, expired), KEYS, contract=flood)


def test_with_the_snapshot_it_must_be_the_one_that_was_used() -> None:
    snapshot = parse_snapshot(
        {
            "snapshot_id": "s",
            "snapshot_time": "2026-01-07T12:30:00Z",
            "agent_trusts": {},
            "snapshot_hash": snapshot_hash({}),
        }
    )
    used = sealed(changed(STATE, "compile_inputs.trust_snapshot_hash", snapshot.snapshot_hash))
    verify_truth_state(used, KEYS, snapshot=snapshot)
    with raises(StateError.inputs_mismatch):
        verify_truth_state(
            sealed(changed(STATE, "compile_inputs.trust_snapshot_hash", HASH_B)), KEYS, snapshot=snapshot
        )
