"""A contract is the law of a claim type: read whole, hashed whole, never changed once released."""

import json
from decimal import Decimal
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.truth.contract import (
    EvidencePolicy,
    Route,
    StageName,
    Standing,
    VoteType,
    contract_hash,
)
from assay.truth.errors import TruthError
from assay.truth.lock import ContractLock, parse_lock, release, render_lock, verify_lock
from assay.truth.parse_contract import check_contract, parse_contract
from tests.raising import raises
from tests.truth.records import CONTRACTS, NAMES, changed, contract, contract_text, document, schema_bytes


def independent_hash(name: str) -> str:
    """Another YAML reader and another JSON writer; the texts are plain enough that nothing else is needed."""
    value = document(name)
    content = schema_bytes(name)
    if content is not None:
        value["output_schema_sha256"] = sha256(content).hexdigest()
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode()).hexdigest()


# From the shipped files by the independent method above; a change of a released contract shows here and in the lock.
PINNED = {
    "coral_bleaching_v1": "b8c49722c68e9f0f24c2cd8a2245ede445d28f5ae0104e06c2b95a812f4d4442",
    "coral_bleaching_v2": "9365c21d3a5dc5ed204a165ccd6bb5e2b067b2ecb6f3f7dddb93b3e4aae2eed4",
    "flood_v1": "8c015a208f903d3528fe457f19f80603a6b067667537409c102fe176ef3e7f49",
    "flood_v2": "e16d2140d4eea9e9f3bc5a492446c4aa922e1085a0bf4ba7857902fbe6f3b73f",
    "orbital_debris_v1": "515b9a1791bc4154616551590319cffdb6987ff08136f189e438b543a3533cc3",
    "orbital_debris_v2": "4753b3d0349db18a1f95f59b26ac13bf2884521d3bfdb2b7563317b36ee57abb",
    "research_artifact_v1": "1933c38ec8ea5f34f46b227224240fd4c87a7a928c0b9712668066c5b6b95ce6",
    "research_artifact_v2": "524d0fe3624031f7929e1b3df54ee20a077603bf81ef3ebbf3c4a54a7857f0ee",
}


@pytest.mark.clause("kaori", "3.4")
@pytest.mark.clause("kaori", "6.1")
@pytest.mark.clause("kaori", "6.3")
@pytest.mark.parametrize("name", NAMES)
def test_every_shipped_contract_is_sound_and_has_the_hash_an_independent_method_gives(name: str) -> None:
    """Reading with another YAML reader and writing with another JSON writer gives the same 64 digits."""
    read = contract(name)
    assert read.claim_type_hash == independent_hash(name) == PINNED[name]
    assert contract_hash(read.canonical()) == read.claim_type_hash


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_contract_raises_no_warning(name: str) -> None:
    assert check_contract(contract_text(name), schema_bytes=schema_bytes(name)).warnings == ()


@pytest.mark.clause("kaori", "6.3")
@pytest.mark.clause("kaori", "law 7")
@pytest.mark.parametrize("name", NAMES)
def test_the_canonical_document_is_itself_the_contract(name: str) -> None:
    """What a ledger keeps is enough to read the same contract again, years later."""
    read = contract(name)
    assert parse_contract(read.canonical(), schema_bytes=schema_bytes(name)) == read


@pytest.mark.clause("kaori", "6.3")
def test_layout_and_comments_change_no_hash_and_every_leaf_does() -> None:
    """The hash covers the whole contract: change any one number or word and it is another contract."""
    original = contract()
    assert parse_contract("# a comment\n" + contract_text(), schema_bytes=schema_bytes()) == original
    hashes = {original.claim_type_hash}
    spoiled = [
        changed(document(), path, to)
        for path, to in (
            ("ui_schema.title", "Another"),
            ("credits.vote", 3),
            ("evidence.max_count", 11),
            ("temporal_decay.half_life", "PT7H"),
            ("consensus_model.weighted_roles.bronze", 1.5),
            ("claim_derivation.water_level_meters.places", 3),
            ("policy_version", "1.0.1"),
        )
    ]
    for value in spoiled:
        hashes.add(parse_contract(json.dumps(value), schema_bytes=schema_bytes()).claim_type_hash)
    assert len(hashes) == 8


@pytest.mark.clause("kaori", "6.3")
def test_the_hash_covers_the_bytes_of_a_referenced_schema() -> None:
    """One more blank in the schema file is another contract: what was reviewed is what is bound."""
    content = schema_bytes()
    assert content is not None
    other = parse_contract(contract_text(), schema_bytes=content + b"\n")
    assert other.claim_type_hash != contract().claim_type_hash
    assert other.schema == contract().schema


def test_numbers_that_decide_are_the_decimals_of_the_text() -> None:
    """No binary float stands between the YAML and a threshold."""
    flood = contract()
    assert flood.autovalidation.ai_verified_true_threshold == Decimal("0.82")
    assert flood.consensus_model.weighted_roles[Standing.EXPERT] == Decimal(7)
    assert flood.consensus_model.vote_types[VoteType.CHALLENGE] == Decimal("-0.5")
    assert isinstance(flood.confidence_model.thresholds.verify, Decimal)


def test_the_ladder_is_found_by_the_names_of_its_rungs() -> None:
    """A rung that a contract leaves out is not there."""
    reef = contract("coral_bleaching_v1").ai_validation_routing
    assert reef.find(StageName.GENERALIST) is None
    assert reef.bouncer.routes.targets() == (Route.SPECIALIST, Route.REJECT, Route.HUMAN)


@pytest.mark.parametrize(
    ("mime_type", "admitted"),
    [("image/png", True), ("application/json", True), ("application/pdf", False), (None, False)],
)
def test_evidence_is_admitted_by_main_type_or_whole_type(mime_type: str | None, *, admitted: bool) -> None:
    """An untyped piece of evidence is never of a type that was asked for."""
    policy = EvidencePolicy(required=True, types=("image", "application/json"), min_count=1, max_count=2)
    assert policy.admits(mime_type) is admitted


@pytest.mark.clause("kaori", "6.4")
def test_the_shipped_lock_holds_exactly_the_shipped_contracts() -> None:
    """Every contract in the folder is released, with the body it has."""
    lock = parse_lock((CONTRACTS / "contracts.lock").read_text())
    contracts = [contract(name) for name in NAMES]
    verify_lock(lock, contracts)
    assert {entry.id for entry in lock.released} == {item.id for item in contracts}
    assert render_lock(lock) == (CONTRACTS / "contracts.lock").read_text()


@pytest.mark.clause("kaori", "6.4")
def test_a_changed_body_under_a_released_id_is_refused_and_a_new_version_is_not() -> None:
    """A released contract is immutable; the change goes into v2."""
    lock = release(ContractLock(), contract())
    value = changed(document(), "credits.vote", 3)
    edited = parse_contract(json.dumps(value), schema_bytes=schema_bytes())
    with raises(TruthError.contract_changed) as refused:
        release(lock, edited)
    assert refused.value.code == "truth.contract_changed"
    with raises(TruthError.contract_changed):
        verify_lock(lock, [edited])
    second = changed(changed(value, "id", "earth.flood.v2"), "version", 2)
    grown = release(lock, parse_contract(json.dumps(second), schema_bytes=schema_bytes()))
    assert [entry.id for entry in grown.released] == ["earth.flood.v1", "earth.flood.v2"]
    assert release(grown, contract()) == grown
    assert grown.find("earth.flood.v3") is None


def test_a_lock_survives_being_written_and_read() -> None:
    lock = release(release(ContractLock(), contract()), contract("orbital_debris_v1"))
    assert parse_lock("\n" + render_lock(lock)) == lock
    assert parse_lock("") == ContractLock()


@pytest.mark.parametrize(
    "text",
    [
        "earth.flood.v1",
        "earth.flood.v1  " + "a" * 64,
        "earth.flood " + "a" * 64,
        "earth.flood.v1 " + "A" * 64,
        f"earth.flood.v1 {'a' * 64}\nearth.flood.v1 {'a' * 64}",
        f"ocean.x.v1 {'a' * 64}\nearth.flood.v1 {'a' * 64}",
    ],
)
def test_a_text_that_is_no_lock_is_refused(text: str) -> None:
    """One spelling only: sorted, each id once, hashes in lower case."""
    with raises(TruthError.lock_form):
        parse_lock(text)


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


def _paths(value: object, start: str = "") -> list[str]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[str] = []
    for name, part in members:
        path = f"{start}{name}"
        found += [path, *_paths(part, f"{path}.")]
    return found


_FLOOD = document()
_ANYWHERE = st.sampled_from([path for path in _paths(_FLOOD) if not path.startswith("ui_schema")])


@given(path=_ANYWHERE, junk=_JUNK)
def test_whatever_stands_in_a_contract_it_is_read_or_refused_with_problems(path: str, junk: object) -> None:
    """No value anywhere crashes the reader; every refusal says where, and the place lies on the way to the junk."""
    text = json.dumps(changed(_FLOOD, path, junk), ensure_ascii=False)
    finding = check_contract(text, schema_bytes=schema_bytes())
    assert (finding.contract is None) is bool(finding.errors)
    assert all(problem.line is not None and problem.message for problem in finding.errors)
    if finding.contract is not None:
        again = parse_contract(finding.contract.canonical(), schema_bytes=schema_bytes())
        assert again.claim_type_hash == finding.contract.claim_type_hash
