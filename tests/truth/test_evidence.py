"""Evidence is what its hash says; where it lies is only where somebody found it."""

from hashlib import sha256

import pytest

from assay.truth._read import read_record
from assay.truth.contract import SimilarityMethod
from assay.truth.errors import RecordError, TruthError
from assay.truth.evidence import (
    EvidenceRef,
    Fingerprint,
    evidence_identities,
    fingerprint_hash,
    parse_fingerprint,
    verify_evidence,
)
from tests.raising import raises
from tests.truth.records import HASH_A, HASH_B, hash_of_text

PHOTO = b"the bytes of a photograph"
REF = EvidenceRef(uri="https://EXAMPLE.org:443/p.jpg", sha256=sha256(PHOTO).hexdigest(), mime_type="image/jpeg")


@pytest.mark.clause("kaori", "8.2")
def test_content_is_checked_against_the_hash_wherever_it_came_from() -> None:
    """One changed byte is other evidence."""
    verify_evidence(REF, PHOTO)
    with raises(TruthError.evidence_mismatch) as refused:
        verify_evidence(REF, PHOTO + b" ")
    assert refused.value.code == "truth.evidence_mismatch"


@pytest.mark.clause("kaori", "8.2")
def test_two_addresses_of_one_content_are_one_piece_of_evidence() -> None:
    """Identity, de-duplication and the state's list go by SHA-256 alone."""
    refs = [
        EvidenceRef(uri=uri, sha256=digest)
        for uri, digest in (("gs://b/2", HASH_B), ("s3://a/1", HASH_A), ("gs://b/3", HASH_B))
    ]
    assert evidence_identities(refs) == (HASH_A, HASH_B)


@pytest.mark.clause("kaori", "3.4")
def test_the_canonical_form_is_the_hash_and_the_normalised_address() -> None:
    assert REF.canonical() == {"sha256": REF.sha256, "uri": "https://example.org/p.jpg"}


@pytest.mark.clause("kaori", "8.1")
def test_a_reference_has_a_content_binding_and_may_say_type_and_time() -> None:
    """The specification's own example, with a whole hash, is read."""
    value = {
        "uri": "gs://bucket/path/file.jpg",
        "sha256": HASH_A,
        "mime_type": "image/jpeg",
        "capture_time": "2026-01-07T11:30:00Z",
    }
    ref = read_record(value, EvidenceRef)
    assert (ref.sha256, ref.mime_type) == (HASH_A, "image/jpeg")
    assert ref.capture_time is not None


@pytest.mark.clause("kaori", "8.1")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sha256", "A" * 64),
        ("sha256", "a" * 63),
        ("sha256", None),
        ("uri", "photo.jpg"),
        ("mime_type", "JPEG"),
        ("capture_time", "2026-01-07T11:30:00"),
        ("capture_time", 5),
        ("size", 3),
    ],
)
def test_a_reference_out_of_form_is_refused(field: str, value: object) -> None:
    """Lower-case hex of 64 digits, an absolute address, an instant with an offset, nothing else."""
    with pytest.raises(RecordError) as refused:
        read_record({"uri": "gs://b/x", "sha256": HASH_A, field: value}, EvidenceRef)
    assert [problem.path for problem in refused.value.problems] == [field]
    with pytest.raises(RecordError):
        read_record({"uri": "gs://b/x"}, EvidenceRef)


def test_fingerprints_are_compared_by_the_bits_that_differ() -> None:
    """64 bits, given as data: the room never looks at pictures."""
    one = Fingerprint(sha256=HASH_A, method=SimilarityMethod.PHASH, bits="00000000000000ff")
    other = Fingerprint(sha256=HASH_B, method=SimilarityMethod.PHASH, bits="000000000000000f")
    assert one.distance(other) == other.distance(one) == 4
    assert one.distance(one) == 0
    assert one.canonical() == {"sha256": HASH_A, "method": "phash", "bits": "00000000000000ff"}


def test_a_fingerprint_from_outside_is_hashed_as_written_out_by_hand() -> None:
    text = f'{{"bits":"00000000000000ff","method":"phash","sha256":"{HASH_A}"}}'
    assert fingerprint_hash(parse_fingerprint(text)) == hash_of_text(text)
    with pytest.raises(RecordError):
        parse_fingerprint(text.replace("ff", "FF"))


def test_a_resemblance_is_hashed_as_written_out_by_hand_and_has_one_order() -> None:
    """Two pieces, the lower hash first; a similarity is a share."""
    text = f'{{"method":"embedding","model":"clip-vit-b32","other":"{HASH_B}","sha256":"{HASH_A}","similarity":0.975}}'
    assert fingerprint_hash(parse_fingerprint(text)) == hash_of_text(text)
    turned = text.replace(HASH_B, "x").replace(HASH_A, HASH_B).replace("x", HASH_A)
    for wrong in (turned, text.replace(HASH_B, HASH_A), text.replace("0.975", "1.1"), text.replace("other", "others")):
        with pytest.raises(RecordError):
            parse_fingerprint(wrong)
