"""Only observations of the key, with the evidence that the contract asks for, are admitted; the others are neutral."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.truth.address import address_observation
from assay.truth.admit import admit_observations, bucket_bounds, require_key
from assay.truth.contract import Contract
from assay.truth.errors import StateError, TruthError
from assay.truth.flag import Flag
from assay.truth.gather import gather_observations
from assay.truth.key import parse_truth_key, render_truth_key
from assay.truth.observation import HashedObservation, hash_observation, parse_observation
from assay.truth.status import TruthStatus
from tests.raising import raises
from tests.truth.compiling import KEY, at, compiled, flood, observed, trusted, window
from tests.truth.records import HASH_A, HASH_B, HASH_C, OBSERVATION, contract

CONTRACT = flood()
PLACE = parse_truth_key(KEY)
PICTURE: dict[str, Any] = {"uri": "gs://kaori-evidence/a.jpg", "sha256": HASH_A, "mime_type": "image/jpeg"}
ARTIFACT = contract("research_artifact_v1")


def _admitted(*observations: HashedObservation, now: str = "13:30") -> tuple[int, set[Flag]]:
    return _admitted_to(CONTRACT, KEY, observations, now)


def _admitted_to(
    law: Contract, key: str, observations: Sequence[HashedObservation], now: str = "13:30"
) -> tuple[int, set[Flag]]:
    admitted, flags = admit_observations(law, key, gather_observations(law, observations), at(now))
    return len(admitted.rows), flags


def test_an_observation_of_the_key_with_its_evidence_is_admitted() -> None:
    assert _admitted(observed("user:amira")) == (1, set())


@pytest.mark.parametrize(
    ("members", "flag"),
    [
        ({"claim_type": "earth.erosion.v1"}, Flag.FOREIGN_CLAIM_TYPE),
        ({"geo": {"lat": 4.3, "lon": 73.509}}, Flag.WRONG_KEY),
        ({"geo": None}, Flag.WRONG_KEY),
        ({"reported_at": "2026-01-07T11:59:59.999999Z"}, Flag.WRONG_KEY),
        ({"reported_at": "2026-01-07T13:00:00Z"}, Flag.WRONG_KEY),
        ({"evidence_refs": []}, Flag.EVIDENCE_REFUSED),
        ({"evidence_refs": [{**PICTURE, "mime_type": "text/plain"}]}, Flag.EVIDENCE_REFUSED),
        ({"evidence_refs": [{**PICTURE, "mime_type": None}]}, Flag.EVIDENCE_REFUSED),
        ({"evidence_refs": [{**PICTURE, "uri": "ftp://a/b.jpg"}]}, Flag.EVIDENCE_REFUSED),
        ({"evidence_refs": [{**PICTURE, "sha256": f"{n:064x}"} for n in range(11)]}, Flag.EVIDENCE_REFUSED),
    ],
)
def test_what_does_not_belong_changes_nothing_but_a_flag(members: dict[str, Any], flag: Flag) -> None:
    """Another claim type, cell or bucket; no evidence, of another type, from another place, or too much of it."""
    assert _admitted(observed("user:amira", **members)) == (0, {flag})


def test_the_bucket_holds_its_start_and_not_its_end() -> None:
    assert _admitted(observed("user:amira", reported_at="2026-01-07T12:00:00Z"))[0] == 1
    assert _admitted(observed("user:amira", reported_at="2026-01-07T12:59:59.999999Z"))[0] == 1


def test_what_is_reported_after_compile_time_is_not_known_yet() -> None:
    assert _admitted(observed("user:amira", reported="12:31"), now="12:30") == (0, {Flag.FUTURE_OBSERVATION})
    assert _admitted(observed("user:amira", reported="12:30"), now="12:30") == (1, set())


@pytest.mark.clause("kaori", "8.2")
def test_two_addresses_of_one_content_are_one_piece_and_other_pieces_do_not_count() -> None:
    """Only what the contract admits is named by the state."""
    refs = [PICTURE, {**PICTURE, "uri": "gs://elsewhere/a.jpg"}, {**PICTURE, "sha256": HASH_B, "mime_type": "text/csv"}]
    state = compiled(CONTRACT, [observed("user:amira", evidence_refs=refs)], trusted(amira="silver"))
    assert state.evidence_refs == (HASH_A,)


def test_a_contract_without_a_storage_rule_takes_evidence_from_anywhere() -> None:
    free = flood({"evidence.storage": ...})
    far = observed("user:amira", evidence_refs=[{**PICTURE, "uri": "ftp://a/b.jpg"}])
    assert _admitted_to(free, KEY, [far]) == (1, set())


def test_media_types_outside_the_hash_do_not_make_order_matter() -> None:
    """Two observations with one hash, of which one has no evidence that counts: the same one stands either way."""
    one = observed("user:amira", evidence_refs=[PICTURE])
    other = observed("user:amira", evidence_refs=[{**PICTURE, "mime_type": "text/plain"}])
    assert one.observation_hash == other.observation_hash
    distinct = [_distinct(*order) for order in ([one, other], [other, one], [one, other, one], [other, one, other])]
    assert distinct == [distinct[0]] * 4
    assert len(distinct[0]) == 1
    assert _distinct(one, one) == (one,)


def _distinct(*observations: HashedObservation) -> tuple[HashedObservation, ...]:
    return tuple(row.hashed for row in gather_observations(CONTRACT, observations).rows)


@pytest.mark.parametrize(
    "key",
    [
        KEY.replace("earth", "ocean"),
        KEY.replace("flood", "fire"),
        KEY.replace("earth", "mars").replace("h3", "healpix"),
        KEY.replace("surface", "underwater"),
        KEY.replace("12:00Z", "12:30Z"),
    ],
)
def test_a_key_that_the_contract_could_not_have_built_is_refused(key: str) -> None:
    with raises(StateError.inputs_mismatch) as raised:
        require_key(CONTRACT, parse_truth_key(key))
    assert raised.value.code == "truth.inputs_mismatch"


def test_the_last_bucket_of_time_has_an_end() -> None:
    key = parse_truth_key(KEY.replace("2026-01-07T12:00Z", "9999-12-31T23:00Z"))
    assert bucket_bounds(CONTRACT, key)[1].year == 9999


@settings(max_examples=40, deadline=None)
@given(st.floats(4.15, 4.2), st.floats(73.48, 73.53), st.integers(-5000, 5000))
def test_admission_is_by_the_address_and_by_nothing_quicker(lat: float, lon: float, seconds: int) -> None:
    """The test of place and time agrees with `address_observation` for every observation."""
    moment = at("12:30").timestamp() + seconds
    reported = at("12:30").fromtimestamp(moment, tz=at("12:30").tzinfo).isoformat()
    one = observed("user:amira", reported_at=reported, geo={"lat": lat, "lon": lon})
    expected = address_observation(CONTRACT, one.observation) == PLACE
    assert bool(_admitted(one, now="15:00")[0]) is expected


@pytest.mark.parametrize(
    ("artifact", "is_admitted"), [({"content_hash": HASH_C}, True), ({"content_hash": HASH_B}, False), (None, False)]
)
def test_an_artefact_belongs_by_its_name(artifact: dict[str, object] | None, *, is_admitted: bool) -> None:
    value = {
        **OBSERVATION,
        "claim_type": ARTIFACT.id,
        "geo": None,
        "artifact": artifact,
        "evidence_refs": [{**PICTURE, "mime_type": "application/pdf", "uri": "https://a.example/b"}],
    }
    hashed = hash_observation(
        parse_observation({name: part for name, part in value.items() if part is not None or name == "geo"})
    )
    named = parse_observation({**value, "artifact": {"content_hash": HASH_C}})
    key = render_truth_key(address_observation(ARTIFACT, named))
    assert bool(_admitted_to(ARTIFACT, key, [hashed], "2026-03-01T00:00:00Z")[0]) is is_admitted


def test_a_sky_position_belongs_by_its_pixel() -> None:
    debris = contract("orbital_debris_v1")
    value = {
        **OBSERVATION,
        "claim_type": debris.id,
        "evidence_refs": [{**PICTURE, "mime_type": "image/fits", "uri": "s3://a/b"}],
    }
    hashed = hash_observation(parse_observation(value))
    key = render_truth_key(address_observation(debris, hashed.observation))
    assert _admitted_to(debris, key, [hashed]) == (1, set())


def test_a_refusal_is_one_of_truth() -> None:
    with pytest.raises(TruthError):
        compiled(CONTRACT, [], trusted(), truth_key="earth:flood")


LATE = {"user:ben": "18:30", "user:cem": "14:00"}


@pytest.mark.parametrize(
    ("now", "sealed", "heard"),
    [
        ("14:30", (), 3),
        ("18:30", (), 2),
        ("14:30", ("13:30",), 1),
        ("18:31", ("13:30", "15:00"), 1),
        ("14:30", ("12:00",), 3),
    ],
)
def test_what_comes_after_a_round_is_sealed_is_not_heard(now: str, sealed: tuple[str, ...], heard: int) -> None:
    """By its end, or by the first final answer of people in it; a seal before the round seals another one."""
    given = [observed("user:amira"), *(observed(name, received=when) for name, when in LATE.items())]
    trust = trusted(amira="silver", ben="silver", cem="silver")
    seals = [at(one) for one in sealed]
    state = compiled(flood(), given, trust, now=now, window_events=[window()], sealed_at=seals)
    assert len(state.observation_ids) == heard
    assert (Flag.LATE_OBSERVATION in state.transparency_flags) is (heard < len(given))
    assert state.compile_inputs.sealed_at == tuple(seals)


def test_without_a_window_nothing_is_late_and_an_aborted_one_seals_nothing() -> None:
    late = observed("user:amira", received="18:30")
    trust = trusted(amira="silver")
    aborted = [window(), window("WINDOW_ABORTED", occurred="13:00", closes=None)]
    for events in ([], aborted):
        assert compiled(flood(), [late], trust, now="18:31", window_events=events).observation_ids


def test_an_arrival_that_nobody_knows_is_after_every_seal() -> None:
    unknown = replace(observed("user:amira"), received_at=None)
    state = compiled(flood(), [unknown], trusted(amira="silver"), now="18:31", window_events=[window()])
    assert (state.status, state.transparency_flags) == (TruthStatus.UNVERIFIED, (Flag.LATE_OBSERVATION,))
