"""Copied evidence is told by content or by the distance of fingerprints, and the earlier reporter keeps it."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.truth.contract import EvidenceSimilarity, HashSimilarity, SimilarityMethod
from assay.truth.evidence import Fingerprint, Resemblance
from assay.truth.flag import Flag
from assay.truth.gather import gather_observations
from assay.truth.observation import HashedObservation
from assay.truth.similar import _Seen, drop_copies
from assay.truth.weigh import Speakers
from tests.truth.compiling import compiled, flood, observed, trusted
from tests.truth.records import HASH_A, HASH_B, HASH_C

TRUST = trusted(amira="silver", ben="expert")


def _with(reporter: str, sha256: str, reported: str, received: str | None = None) -> HashedObservation:
    refs: list[dict[str, Any]] = [{"uri": "gs://a/b.jpg", "sha256": sha256, "mime_type": "image/jpeg"}]
    return observed(reporter, reported=reported, received=received, evidence_refs=refs)


def _print(sha256: str, bits: int, method: str = "phash") -> Fingerprint:
    return Fingerprint(sha256=sha256, method=SimilarityMethod(method), bits=f"{bits:016x}")


FIRST, SECOND = _with("user:amira", HASH_A, "12:05"), _with("user:ben", HASH_B, "12:06")


@pytest.mark.parametrize(
    ("prints", "is_copy"),
    [
        ([], False),
        ([_print(HASH_A, 0), _print(HASH_B, 0b111111)], True),
        ([_print(HASH_A, 0), _print(HASH_B, 0b1111111)], False),
        ([_print(HASH_A, 0), _print(HASH_B, 0, "dhash")], False),
        ([_print(HASH_A, 0), _print(HASH_A, 2**64 - 1), _print(HASH_B, 2**64 - 2)], True),
    ],
)
def test_evidence_within_the_contract_s_distance_is_a_copy(prints: list[Fingerprint], *, is_copy: bool) -> None:
    """The flood contract: phash, 6 bits, reject at once. The weightier but later reporter goes."""
    state = compiled(flood(), [SECOND, FIRST], TRUST, fingerprints=prints)
    assert (Flag.DUPLICATE_EVIDENCE in state.transparency_flags) is is_copy
    assert state.evidence_refs == ((HASH_A,) if is_copy else (HASH_A, HASH_B))
    assert len(state.compile_inputs.fingerprint_hashes) == len(prints)


def test_one_content_from_two_reporters_is_a_copy_without_fingerprints() -> None:
    again = _with("user:ben", HASH_A, "12:06")
    assert len(compiled(flood(), [again, FIRST], TRUST).observation_ids) == 1


@pytest.mark.clause("kaori", "4.3")
def test_evidence_belongs_to_whoever_handed_it_in_first_whatever_time_a_report_claims() -> None:
    thief = _with("user:ben", HASH_A, "12:00", received="12:30")
    state = compiled(flood(), [thief, FIRST], TRUST)
    assert state.observation_ids == (FIRST.observation.observation_id,)
    assert state.compile_inputs.observation_receipts == tuple(
        one.received_at for one in sorted([thief, FIRST], key=lambda one: one.observation_hash)
    )


def test_a_report_whose_arrival_nobody_knows_came_last() -> None:
    unknown = replace(_with("user:ben", HASH_A, "12:00"), received_at=None)
    assert compiled(flood(), [unknown, FIRST], TRUST).observation_ids == (FIRST.observation.observation_id,)


def test_a_contract_that_only_flags_hears_both() -> None:
    mild = flood({"evidence_similarity.hash.immediate_reject_if_duplicate": False})
    state = compiled(mild, [_with("user:ben", HASH_A, "12:06"), FIRST], TRUST)
    assert len(state.observation_ids) == 2
    assert Flag.DUPLICATE_EVIDENCE in state.transparency_flags


@pytest.mark.parametrize("gone", ["evidence_similarity", "evidence_similarity.hash"])
def test_a_contract_without_the_rule_does_not_compare(gone: str) -> None:
    state = compiled(flood({gone: ...}), [_with("user:ben", HASH_A, "12:06"), FIRST], TRUST)
    assert len(state.observation_ids) == 2


MARKS = st.integers(0, 2**64 - 1)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 64), MARKS, MARKS | st.none(), st.sets(st.integers(0, 63), max_size=12))
def test_no_copy_is_missed_by_comparing_parts(threshold: int, mark: int, other: int | None, flips: set[int]) -> None:
    near = mark ^ sum(1 << bit for bit in flips) if other is None else other
    seen = _Seen(threshold)
    seen.add((), {mark})
    assert seen.holds((), {near}) is ((mark ^ near).bit_count() <= threshold)


def test_nobody_has_no_copies() -> None:
    rule = HashSimilarity(method=SimilarityMethod.PHASH, duplicate_threshold=3, immediate_reject_if_duplicate=True)
    nobody = Speakers(gather_observations(flood(), []), ())
    assert drop_copies(EvidenceSimilarity(hash=rule), nobody, []) == (nobody, set())


def test_a_threshold_of_every_bit_calls_everything_a_copy() -> None:
    seen = _Seen(64)
    seen.add((), {0})
    assert seen.holds((), {2**64 - 1})


def _alike(similarity: str, *, model: str = "clip-vit-b32", pair: tuple[str, str] = (HASH_A, HASH_B)) -> Resemblance:
    return Resemblance(sha256=pair[0], other=pair[1], model=model, similarity=Decimal(similarity))


@pytest.mark.parametrize(
    ("pairs", "is_similar"),
    [
        ([_alike("0.97")], True),
        ([_alike("0.969999")], False),
        ([_alike("1", model="another")], False),
        ([_alike("1", pair=(HASH_A, HASH_C))], False),
    ],
)
def test_what_the_contract_s_model_finds_alike_is_flagged_or_rejected(
    pairs: list[Resemblance], *, is_similar: bool
) -> None:
    """From the contract's threshold on, 0.97; where it rejects, whose report reached us first keeps the evidence."""
    state = compiled(flood(), [SECOND, FIRST], TRUST, fingerprints=pairs)
    assert (Flag.SIMILAR_EVIDENCE in state.transparency_flags) is is_similar
    assert Flag.DUPLICATE_EVIDENCE not in state.transparency_flags
    assert state.evidence_refs == (HASH_A, HASH_B)
    strict = flood({"evidence_similarity.embedding.action": "reject"})
    rejected = compiled(strict, [SECOND, FIRST], TRUST, fingerprints=pairs)
    assert rejected.evidence_refs == ((HASH_A,) if is_similar else (HASH_A, HASH_B))
    assert len(rejected.compile_inputs.fingerprint_hashes) == 1


@pytest.mark.parametrize("is_lower_first", [True, False])
def test_a_resemblance_says_the_same_of_both_its_pieces(*, is_lower_first: bool) -> None:
    """The lower hash is written first; whose report reached us first keeps the evidence, of either hash."""
    first, second = (HASH_A, HASH_B) if is_lower_first else (HASH_B, HASH_A)
    said = [_with("user:amira", first, "12:05"), _with("user:ben", second, "12:06")]
    strict = flood({"evidence_similarity.embedding.action": "reject"})
    assert compiled(strict, said, TRUST, fingerprints=[_alike("0.99")]).evidence_refs == (first,)


def test_evidence_like_a_rejected_one_was_not_seen_before() -> None:
    """The first stays, the second is like it and goes, the third is only like the second."""
    third = _with("user:cleo", HASH_C, "12:07")
    strict = flood({"evidence_similarity.embedding.action": "reject"})
    trust = trusted(amira="silver", ben="expert", cleo="silver")
    pairs = [_alike("0.99"), _alike("0.99", pair=(HASH_B, HASH_C))]
    state = compiled(strict, [third, SECOND, FIRST], trust, fingerprints=pairs)
    assert state.evidence_refs == (HASH_A, HASH_C)


def test_without_the_block_no_model_says_anything() -> None:
    state = compiled(flood({"evidence_similarity.embedding": ...}), [SECOND, FIRST], TRUST, fingerprints=[_alike("1")])
    assert Flag.SIMILAR_EVIDENCE not in state.transparency_flags
    assert len(state.observation_ids) == 2
