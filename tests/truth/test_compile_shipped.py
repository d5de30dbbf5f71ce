"""What the shipped contracts compile is a state that anyone can verify, replay and find the same."""

from typing import Any

import pytest

from assay.kernel.key import SigningMethod
from assay.truth.address import address_observation
from assay.truth.compile import compile_truth_state
from assay.truth.contract import Contract
from assay.truth.key import render_truth_key
from assay.truth.observation import HashedObservation, hash_observation, parse_observation, render_observation
from assay.truth.seal import seal_truth_state, signing_bytes, verify_truth_state
from assay.truth.snapshot import parse_snapshot, render_snapshot
from assay.truth.state import TruthState, render_truth_state
from assay.truth.vote import parse_vote, render_vote
from assay.truth.window import parse_window_event, render_window_event
from tests.kernel._signing import LOG
from tests.truth.compiling import at, flood, trusted, voted, window
from tests.truth.records import HASH_A, HASH_B, HASH_C, OBSERVATION, contract

PAYLOADS: dict[str, dict[str, object]] = {
    "flood_v1": {"severity": "high", "water_level_meters": 1.25},
    "coral_bleaching_v1": {"bleaching_level": "severe", "bleached_percent": 70, "water": {"temperature_c": 31.25}},
    "orbital_debris_v1": {"object_class": "fragment", "orbit": {"altitude_km": 512.5}, "conjunction_expected": True},
}
TRUST = trusted(amira="expert", dan="expert", eva="expert", fay="authority")


def _observed(law: Contract, payload: dict[str, object]) -> HashedObservation:
    """Two pieces of evidence of the first type that the contract takes."""
    first = law.evidence.types[0]
    piece = {"mime_type": first if "/" in first else f"{first}/jpeg"}
    value: dict[str, Any] = {
        **OBSERVATION,
        "claim_type": law.id,
        "payload": payload,
        "evidence_refs": [{**piece, "uri": f"s3://evidence/{name}", "sha256": name} for name in (HASH_A, HASH_B)],
        **({"geo": None, "artifact": {"content_hash": HASH_C}} if law.truthkey.spatial_system == "meta" else {}),
    }
    return hash_observation(parse_observation(value))


def _compiled(law: Contract, observations: list[HashedObservation], key: str, **given: Any) -> TruthState:  # noqa: ANN401 - whatever the compiler takes
    return compile_truth_state(
        law,
        key,
        observations,
        TRUST,
        policy_version=law.policy_version,
        compiler_version="assay-test",
        compile_time=at("13:30"),
        **given,
    )


def _verified(state: TruthState, law: Contract) -> None:
    sealed = seal_truth_state(
        state, signature=LOG.sign(signing_bytes(state)), method=SigningMethod.ED25519, key_id=LOG.key_id
    )
    verify_truth_state(sealed, {LOG.key_id: LOG.public}, contract=law, snapshot=TRUST)


@pytest.mark.clause("kaori", "6.5")
@pytest.mark.parametrize("name", PAYLOADS)
def test_a_state_of_each_shipped_contract_verifies_with_and_without_observations(name: str) -> None:
    law = contract(name)
    one = _observed(law, PAYLOADS[name])
    key = render_truth_key(address_observation(law, one.observation))
    state = _compiled(law, [one], key)
    assert state.claim
    _verified(state, law)
    nothing = _compiled(law, [], key)
    assert (nothing.status, nothing.claim) == ("UNVERIFIED", {})
    _verified(nothing, law)


@pytest.mark.clause("kaori", "5.5")
def test_an_artefact_is_named_by_its_content_where_the_contract_names_no_strategy() -> None:
    """The default of the text: the first 32 characters of the hash, for the key and for what is heard at it."""
    law = flood({"truthkey.id_strategy": ...}, name="research_artifact_v1")
    one = _observed(law, {"reproduced": True})
    key = render_truth_key(address_observation(law, one.observation))
    assert key == f"meta:research_artifact:meta:{HASH_C[:32]}:knowledge:2026-01-07T00:00Z"
    assert _compiled(law, [one], key).observation_ids == (one.observation.observation_id,)


@pytest.mark.clause("kaori", "15.2")
def test_orbital_debris_waits_for_people_and_is_decided_by_them() -> None:
    """Three answers of experts and an authority: 8 + 8 + 15 is more than 20."""
    law = contract("orbital_debris_v1")
    one = _observed(law, PAYLOADS["orbital_debris_v1"])
    key = render_truth_key(address_observation(law, one.observation))
    opened = window(truthkey=key, occurred="12:30", closes="14:30")
    assert _compiled(law, [one], key, window_events=[opened]).status == "PENDING_HUMAN_REVIEW"
    votes = [voted(f"user:{name}", "REJECT", truthkey=key) for name in ("dan", "eva", "fay")]
    state = _compiled(law, [one], key, window_events=[opened], votes=votes)
    assert (state.status, state.verification_basis) == ("VERIFIED_FALSE", "HUMAN_CONSENSUS")
    _verified(state, law)


@pytest.mark.clause("kaori", "law 7")
def test_a_state_compiles_again_from_what_was_stored_byte_for_byte() -> None:
    """Every input goes to bytes and back, as an archive would hold it."""
    law = contract()
    one = _observed(law, PAYLOADS["flood_v1"])
    key = render_truth_key(address_observation(law, one.observation))
    events, votes = [window(truthkey=key)], [voted("user:dan", truthkey=key)]
    first = _compiled(law, [one], key, votes=votes, window_events=events)
    again = compile_truth_state(
        contract(),
        key,
        [hash_observation(parse_observation(render_observation(one.observation)))],
        parse_snapshot(render_snapshot(TRUST)),
        votes=[parse_vote(render_vote(vote)) for vote in votes],
        window_events=[parse_window_event(render_window_event(event)) for event in events],
        policy_version=law.policy_version,
        compiler_version="assay-test",
        compile_time=first.compile_inputs.compile_time,
    )
    assert render_truth_state(again) == render_truth_state(first)
