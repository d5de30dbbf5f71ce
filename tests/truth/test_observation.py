"""An observation is recorded as it was said, hashed in one way, and weighs nothing by its own word."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.errors import CanonicalError, Error, JsonError
from assay.truth.address import address_observation
from assay.truth.errors import LocationError, RecordError, TruthError
from assay.truth.key import render_truth_key
from assay.truth.observation import (
    HashedObservation,
    hash_observation,
    observation_hash,
    parse_observation,
    read_stored_observation,
    render_observation,
)
from tests.raising import raises
from tests.truth.records import HASH_A, HASH_C, OBSERVATION, changed, contract, hash_of_text

VECTORS = {
    case["name"]: case
    for case in json.loads((Path(__file__).parents[1] / "vectors" / "truth" / "records.json").read_text())["cases"]
}
EVIDENCE: dict[str, Any] = {"uri": "https://a.example/1.jpg", "sha256": HASH_C, "mime_type": "image/jpeg"}
ARTEFACT: dict[str, Any] = {
    "observation_id": "obs-2",
    "claim_type": "meta.research_artifact.v1",
    "reported_at": "2026-01-07T13:00:00.500+01:00",
    "reporter_id": "agent-001",
    "reporter_context": {"standing": "expert", "trust_score": 1.0, "source_type": "human"},
    "geo": None,
    "artifact": {"content_hash": HASH_C, "provided_id": None},
    "payload": {"title": "  Cafe\u0301   Nord ", "effect_size": 0.33333333},
    "evidence_refs": [],
}


@pytest.mark.clause("kaori", "4.2")
def test_what_is_reported_to_the_nanosecond_is_truncated_to_what_is_kept() -> None:
    """Both are the same instant in canonical bytes, and so one observation."""
    finer = parse_observation(ARTEFACT | {"reported_at": "2026-01-07T13:00:00.500000999+01:00"})
    assert observation_hash(finer) == observation_hash(parse_observation(ARTEFACT))


@pytest.mark.clause("kaori", "3.4")
@pytest.mark.clause("kaori", "7.2")
@pytest.mark.parametrize(("name", "value"), [("observation", OBSERVATION), ("artefact_observation", ARTEFACT)])
def test_the_canonical_text_and_hash_are_those_written_out_by_hand(name: str, value: dict[str, Any]) -> None:
    """Sorted evidence by hash and normalised address, UTC, six places, NFC, collapsed white space."""
    observation = parse_observation(value)
    assert canonical_json(observation.canonical(), Profile.KAORI) == VECTORS[name]["canonical"]
    assert observation_hash(observation) == VECTORS[name]["sha256"]


@pytest.mark.clause("kaori", "7.1")
@pytest.mark.parametrize("field", list(OBSERVATION))
def test_each_field_of_the_specification_must_be_there(field: str) -> None:
    """Also `geo`, which is null for what has no place."""
    with pytest.raises(RecordError) as refused:
        parse_observation(changed(OBSERVATION, field, ...))
    assert [(problem.path, problem.code) for problem in refused.value.problems] == [(field, "required")]


@pytest.mark.clause("kaori", "7.1")
@pytest.mark.parametrize(
    ("path", "to", "where"),
    [
        ("observation_id", "Ümlaut", "observation_id"),
        ("claim_type", "flood", "claim_type"),
        ("reported_at", "2026-01-07T12:00:00", "reported_at"),
        ("reporter_id", "a:b:c", "reporter_id"),
        ("reporter_context.standing", "platinum", "reporter_context.standing"),
        ("reporter_context.trust_score", 1.5, "reporter_context.trust_score"),
        ("reporter_context.trust_score", "0.5", "reporter_context.trust_score"),
        ("geo.lat", 91, "geo"),
        ("geo.lat", True, "geo.lat"),
        ("geo.alt", 3, "geo.alt"),
        ("payload", [], "payload"),
        ("evidence_refs", {}, "evidence_refs"),
        ("evidence_refs.0.sha256", "xyz", "evidence_refs[0].sha256"),
        ("weight", 100, "weight"),
    ],
)
def test_an_observation_out_of_form_is_refused_with_its_place(path: str, to: object, where: str) -> None:
    """Unknown members too: nobody can hand in a weight."""
    with pytest.raises(RecordError) as refused:
        parse_observation(changed(OBSERVATION, path, to))
    assert [problem.path for problem in refused.value.problems] == [where]
    assert refused.value.code == "truth.record"


def test_all_mistakes_of_a_record_are_told_at_once() -> None:
    spoiled = changed(changed(OBSERVATION, "claim_type", 7), "geo", "here")
    with pytest.raises(RecordError) as refused:
        parse_observation(changed(spoiled, "reporter_id", ...))
    assert [problem.path for problem in refused.value.problems] == ["claim_type", "geo", "reporter_id"]


@pytest.mark.parametrize("text", [b"{", b'{"a":NaN}', b'{"a":1,"a":1}'])
def test_a_text_that_is_no_strict_json_is_refused(text: bytes) -> None:
    with pytest.raises(JsonError):
        parse_observation(text)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 2**60])
def test_a_payload_without_canonical_bytes_is_refused(number: float) -> None:
    with pytest.raises(CanonicalError):
        parse_observation(changed(OBSERVATION, "payload.water_level_meters", number))


def test_a_value_that_is_no_json_is_refused_when_it_is_written_too() -> None:
    """A library user who puts a set into a payload is told so, with a code."""
    observation = replace(parse_observation(OBSERVATION), payload={"seen": {1, 2}})
    with pytest.raises(CanonicalError):
        render_observation(observation)
    with pytest.raises(CanonicalError):
        observation_hash(observation)


@pytest.mark.parametrize("text", [b"[]", b"3", "null"])
def test_json_that_is_no_object_is_refused(text: bytes | str) -> None:
    with pytest.raises(RecordError):
        parse_observation(text)


@pytest.mark.clause("kaori", "7.2")
def test_the_order_of_evidence_changes_no_hash_and_its_content_does() -> None:
    """The hash includes hash and address of each piece; media type and capture time are not part of it."""
    original = parse_observation(OBSERVATION)
    reversed_refs = replace(original, evidence_refs=original.evidence_refs[::-1])
    assert observation_hash(reversed_refs) == observation_hash(original)
    untyped = changed(OBSERVATION, "evidence_refs.0.mime_type", ...)
    assert observation_hash(parse_observation(untyped)) == observation_hash(original)
    for path, to in (
        ("evidence_refs.0.sha256", HASH_C),
        ("evidence_refs.0.uri", "gs://other/x"),
        ("payload.severity", "low"),
    ):
        assert observation_hash(parse_observation(changed(OBSERVATION, path, to))) != observation_hash(original)


@given(
    st.dictionaries(st.text(max_size=6), st.floats(-1e6, 1e6) | st.text(max_size=8) | st.integers(-9, 9), max_size=4)
)
def test_what_is_kept_is_what_is_hashed(payload: dict[str, Any]) -> None:
    """An observation read again from its own bytes is equal, payload and hash, to the last digit."""
    try:
        observation = parse_observation({**OBSERVATION, "payload": payload})
    except CanonicalError:
        return
    again = parse_observation(render_observation(observation))
    assert again == observation
    assert observation_hash(again) == observation_hash(observation)


def test_an_observation_with_its_hash_cannot_be_made_with_another_one() -> None:
    """So whoever is given one need not hash again."""
    observation = parse_observation(OBSERVATION)
    assert hash_observation(observation).observation_hash == VECTORS["observation"]["sha256"]
    with raises(TruthError.observation_hash):
        HashedObservation(observation=observation, observation_hash=HASH_A)


@pytest.mark.clause("kaori", "4.3")
@pytest.mark.clause("kaori", "5.5")
def test_an_observation_belongs_to_the_key_that_its_contract_builds() -> None:
    """By its own time, at the contract's resolution, in the contract's layer; an artefact by its content."""
    flood = parse_observation(changed(OBSERVATION, "reported_at", "2026-01-07T12:59:59Z"))
    assert render_truth_key(address_observation(contract(), flood)) == (
        "earth:flood:h3:886142a8e7fffff:surface:2026-01-07T12:00Z"
    )
    artefact = parse_observation(ARTEFACT)
    assert render_truth_key(address_observation(contract("research_artifact_v1"), artefact)) == (
        f"meta:research_artifact:meta:{HASH_C[:32]}:knowledge:2026-01-07T00:00Z"
    )


def test_an_observation_of_another_claim_type_or_without_a_place_has_no_key() -> None:
    flood = parse_observation(OBSERVATION)
    with raises(TruthError.claim_type_mismatch):
        address_observation(contract("coral_bleaching_v1"), flood)
    with pytest.raises(LocationError):
        address_observation(contract(), replace(flood, geo=None))


def test_a_stored_text_reads_back_by_its_hash() -> None:
    """The same value as from outside, media types and artefact included."""
    for value in (OBSERVATION, {**OBSERVATION, "geo": None, "artifact": {"content_hash": HASH_A}}):
        hashed = hash_observation(parse_observation(value))
        text = render_observation(hashed.observation)
        assert read_stored_observation(text, hashed.observation_hash) == hashed
        assert read_stored_observation(text.decode(), hashed.observation_hash) == hashed


@pytest.mark.parametrize("spoil", [lambda text: text.replace(b"1.25", b"1.5"), lambda text: text[:-2], lambda _: b"{}"])
def test_a_stored_text_that_was_changed_is_refused(spoil: Callable[[bytes], bytes]) -> None:
    hashed = hash_observation(parse_observation(OBSERVATION))
    with raises(TruthError.observation_hash) as refused:
        read_stored_observation(spoil(render_observation(hashed.observation)), hashed.observation_hash)
    assert refused.value.code == "truth.observation_hash"


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"evidence_refs": []},
        {"evidence_refs": [EVIDENCE, {**EVIDENCE, "sha256": HASH_A}, {**EVIDENCE, "uri": "https://b.example/x"}]},
        {"evidence_refs": [{**EVIDENCE, "uri": "https://b.example/?q=%22%5D,%22geo%22:"}]},
        {"payload": {"note": '],"geo":null', "text": 'a "quoted" \\ word'}},
        {"geo": None, "artifact": {"content_hash": HASH_A}},
    ],
)
def test_a_stored_text_is_found_by_its_own_bytes_or_by_what_it_says(members: dict[str, object]) -> None:
    """Whatever is in it; and any other text under that hash is refused."""
    hashed = hash_observation(parse_observation({**OBSERVATION, **members}))
    text = render_observation(hashed.observation).decode()
    again = read_stored_observation(text, hashed.observation_hash)
    assert again == hashed
    assert not again != hashed  # noqa: SIM202 - it is an operator of its own
    assert hash(again) == hash(hashed)
    assert again != hashed.observation
    assert read_stored_observation(f" {text}", hashed.observation_hash).observation == hashed.observation
    forged = text.replace(hashed.observation.reporter_id, "user:mallory")
    with raises(TruthError.observation_hash):
        read_stored_observation(forged, hashed.observation_hash)


@given(text=st.text(), number=st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_what_was_stored_reads_back_to_the_same_row(text: str, number: float) -> None:
    """By the quick way or by the slow one, no byte of a state can tell."""
    try:
        hashed = hash_observation(parse_observation({**OBSERVATION, "payload": {"note": text, "level": number}}))
    except Error:
        return
    stored = render_observation(hashed.observation)
    assert read_stored_observation(stored, hashed.observation_hash) == hashed


def test_a_probe_is_in_the_bytes_only_where_there_is_one() -> None:
    """So that every observation without one keeps the hash that it always had."""
    plain = parse_observation(OBSERVATION)
    probed = parse_observation({**OBSERVATION, "probe_id": "probe-1"})
    assert b"probe_id" not in render_observation(plain)
    assert plain == parse_observation({**OBSERVATION, "probe_id": None})
    assert observation_hash(plain) != observation_hash(probed)
    by_hand = json.loads(canonical_json(plain.canonical(), Profile.KAORI)) | {"probe_id": "probe-1"}
    text = json.dumps(by_hand, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert observation_hash(probed) == hash_of_text(text)
    assert read_stored_observation(render_observation(probed), observation_hash(probed)).observation == probed
