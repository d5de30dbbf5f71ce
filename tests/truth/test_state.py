"""A truth state says what was compiled and from what; two hashes cover exactly the fields the specification lists."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.kernel.canonical import Profile, canonical_json
from assay.truth.errors import RecordError
from assay.truth.state import (
    parse_truth_state,
    render_truth_state,
    semantic_content,
    semantic_hash,
    state_content,
    state_hash,
)
from assay.truth.status import FINAL_STATUSES, INTERMEDIATE_STATUSES, TruthStatus
from tests.truth.records import HASH_B, HASH_C, KEY, STATE, changed

CASES = json.loads((Path(__file__).parents[1] / "vectors" / "truth" / "records.json").read_text())["cases"]
VECTORS = {case["name"]: case for case in CASES}
SECURITY: dict[str, Any] = {
    "semantic_hash": HASH_B,
    "state_hash": HASH_C,
    "signature": "00" * 64,
    "signing_method": "ed25519",
    "key_id": "sha256:" + "0" * 64,
    "signed_at": "2026-01-07T13:00:00Z",
}


@pytest.mark.clause("kaori", "11.2")
@pytest.mark.clause("kaori", "11.3")
def test_the_two_hashes_are_those_of_the_texts_written_out_by_hand() -> None:
    """The fields of 11.2, and of 11.3 besides, under their own names, flat, with the breakdown."""
    state = parse_truth_state(STATE)
    assert canonical_json(semantic_content(state), Profile.KAORI) == VECTORS["semantic"]["canonical"]
    assert canonical_json(state_content(state), Profile.KAORI) == VECTORS["state"]["canonical"]
    assert semantic_hash(state) == VECTORS["semantic"]["sha256"]
    assert state_hash(state) == VECTORS["state"]["sha256"]


@pytest.mark.clause("kaori", "10.2")
@pytest.mark.clause("kaori", "11.2")
@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("truthkey", KEY.replace("12:00", "13:00")),
        ("claim_type", "earth.flood.v2"),
        ("claim_type_hash", HASH_C),
        ("claim.severity", "low"),
        ("claim.water_level_meters", 1.250001),
        ("status", "VERIFIED_FALSE"),
        ("verification_basis", "AI_AUTOVALIDATION"),
        ("ai_confidence", 0.8),
        ("confidence", 0.812346),
        ("confidence_breakdown.components.machines.value", 0.8),
        ("confidence_breakdown.modifiers.alone", 0),
        ("confidence_breakdown.decay", 0.5),
        ("transparency_flags", []),
        ("observation_ids", ["obs-1"]),
        ("compile_inputs.trust_snapshot_hash", HASH_C),
        ("compile_inputs.policy_version", "2"),
    ],
)
def test_each_semantic_field_changes_both_hashes(path: str, to: object) -> None:
    """The claim above all: that binds the output to the signature."""
    state, other = parse_truth_state(STATE), parse_truth_state(changed(STATE, path, to))
    assert semantic_hash(other) != semantic_hash(state)
    assert state_hash(other) != state_hash(state)


@pytest.mark.clause("kaori", "11.1")
@pytest.mark.clause("kaori", "11.3")
@pytest.mark.parametrize(("field", "to"), [("compile_time", "2031-01-01T00:00:00Z"), ("compiler_version", "other-9")])
def test_time_and_version_of_the_compiler_change_the_state_hash_alone(field: str, to: object) -> None:
    """So two compilations that mean the same can be told to mean the same."""
    state, other = parse_truth_state(STATE), parse_truth_state(changed(STATE, f"compile_inputs.{field}", to))
    assert semantic_hash(other) == semantic_hash(state)
    assert state_hash(other) != state_hash(state)


@pytest.mark.clause("kaori", "11.2")
@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("evidence_refs", []),
        ("compile_inputs.observation_hashes", []),
        ("compile_inputs.vote_hashes", [HASH_B]),
        ("compile_inputs.claim_type_hash", HASH_C),
        ("security", SECURITY),
    ],
)
def test_nothing_else_changes_either_hash(path: str, to: object) -> None:
    """What the hashes leave out is bound by the ledger entry over the whole state."""
    state, other = parse_truth_state(STATE), parse_truth_state(changed(STATE, path, to))
    assert (semantic_hash(other), state_hash(other)) == (semantic_hash(state), state_hash(state))
    assert render_truth_state(other) != render_truth_state(state)


@pytest.mark.clause("kaori", "10.2")
@pytest.mark.clause("kaori", "10.3")
@pytest.mark.clause("kaori", "11.4")
def test_a_state_survives_being_written_and_read() -> None:
    """Every field of the specification is there, the security block with all six of its own."""
    state = parse_truth_state(changed(STATE, "security", SECURITY))
    text = render_truth_state(state)
    assert parse_truth_state(text) == state
    assert parse_truth_state(text.decode()) == state
    written = json.loads(text)
    assert set(written) == {*STATE, "security"}
    assert set(written["security"]) == set(SECURITY)
    assert {*STATE["compile_inputs"]} <= set(written["compile_inputs"])


@pytest.mark.clause("kaori", "10.2")
@pytest.mark.clause("kaori", "10.3")
@pytest.mark.parametrize(
    "path",
    [*STATE] + [f"compile_inputs.{name}" for name in STATE["compile_inputs"] if "hashes" not in name],
)
def test_each_field_of_a_state_must_be_there(path: str) -> None:
    with pytest.raises(RecordError) as refused:
        parse_truth_state(changed(STATE, path, ...))
    assert [(problem.path, problem.code) for problem in refused.value.problems] == [(path, "required")]


@pytest.mark.parametrize(
    ("path", "to", "where"),
    [
        ("status", "TRUE", "status"),
        ("verification_basis", "FAITH", "verification_basis"),
        ("confidence", 1.000001, "confidence"),
        ("confidence", -0.000001, "confidence"),
        ("ai_confidence", None, "ai_confidence"),
        ("truthkey", "earth:flood", "truthkey"),
        ("transparency_flags", ["b", "a"], "transparency_flags"),
        ("transparency_flags", ["a", "a"], "transparency_flags"),
        ("evidence_refs", [HASH_B, HASH_B], "evidence_refs"),
        ("observation_ids", ["obs-2", "obs-1"], "observation_ids"),
        ("compile_inputs.observation_hashes", [HASH_C, HASH_B], "compile_inputs.observation_hashes"),
        ("compile_inputs.observation_receipts", ["2026-01-07T12:30:00Z"], "compile_inputs.observation_receipts"),
        ("compile_inputs.signed_at", "2026-01-08T00:00:00Z", "compile_inputs.signed_at_reason"),
        ("compile_inputs.signed_at_reason", "later", "compile_inputs.signed_at_reason"),
        ("security", {**SECURITY, "signing_method": "trust_me"}, "security.signing_method"),
        ("security", {**SECURITY, "signature": "xyz"}, "security.signature"),
        ("security", {**SECURITY, "key_id": "mine"}, "security.key_id"),
        ("score", 1, "score"),
    ],
)
def test_a_state_out_of_form_is_refused_with_its_place(path: str, to: object, where: str) -> None:
    with pytest.raises(RecordError) as refused:
        parse_truth_state(changed(STATE, path, to))
    assert [problem.path for problem in refused.value.problems] == [where]


@pytest.mark.clause("kaori", "10.1")
@pytest.mark.clause("kaori", "law 4")
def test_the_statuses_are_the_nine_of_the_specification_and_unverified() -> None:
    assert {status.value for status in INTERMEDIATE_STATUSES} == {
        "PENDING",
        "LEANING_TRUE",
        "LEANING_FALSE",
        "UNDECIDED",
        "PENDING_HUMAN_REVIEW",
    }
    assert {status.value for status in FINAL_STATUSES} == {"VERIFIED_TRUE", "VERIFIED_FALSE", "INCONCLUSIVE", "EXPIRED"}
    assert set(TruthStatus) == {*INTERMEDIATE_STATUSES, *FINAL_STATUSES, TruthStatus.UNVERIFIED}
