"""A transcript is found by its content and signed over all of it."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from assay.kernel.digest import ZERO_DIGEST
from assay.kernel.errors import Error
from assay.kernel.instant import Instant
from assay.kernel.transcript import (
    Transcript,
    TranscriptDraft,
    TranscriptFormError,
    draft_to_sign,
    seal_transcript,
    transcript_id_of,
    transcript_message,
    verify_transcript,
)
from tests.kernel._seed_signer import SeedSigner

_SIGNER = SeedSigner(1)
_START = Instant(datetime(2026, 1, 1, tzinfo=UTC))
_END = Instant(_START + timedelta(seconds=1.5))


def _draft(**changes: object) -> TranscriptDraft:
    fields: dict[str, object] = {
        "signing_key_id": _SIGNER.key_id,
        "backend_name": "scripted",
        "backend_metadata": {"version": "1", "threads": 2},
        "started_at": _START,
        "completed_at": _END,
    }
    draft, _ = draft_to_sign({"prompt": "is it hot?"}, {"text": "no"}, **(fields | changes))  # type: ignore[arg-type]  # one place for all changes
    return draft


def _sealed() -> Transcript:
    draft = _draft()
    return seal_transcript(draft, _SIGNER.sign(transcript_message(draft)))


def _code(transcript: Transcript, public_key: bytes = _SIGNER.public_key) -> str:
    with pytest.raises(Error) as caught:
        verify_transcript(transcript, public_key)
    return caught.value.code


@pytest.mark.clause("ski", "7.4")
@given(
    name=st.text(st.characters(exclude_categories=["Cs"])),
    metadata=st.dictionaries(st.sampled_from(["a", "transcript_id", "z", "é"]), st.text('a"}\\é') | st.integers(0, 9)),
    seconds=st.floats(0, 9, width=16),
)
def test_what_is_to_be_signed_at_once_is_what_is_signed_later(
    name: str, metadata: dict[str, object], seconds: float
) -> None:
    """The same bytes, whether they are made with the draft or from it."""
    draft, message = draft_to_sign(
        {"prompt": name},
        {"text": name},
        signing_key_id=_SIGNER.key_id,
        backend_name=name,
        backend_metadata=metadata,
        started_at=_START,
        completed_at=Instant(_START + timedelta(seconds=seconds)),
    )
    assert message == transcript_message(draft)
    assert draft.transcript_id == transcript_id_of(draft)


@pytest.mark.clause("ski", "7.4")
def test_a_transcript_has_the_fields_of_the_wire_and_verifies() -> None:
    """The names are those other implementations send."""
    transcript = _sealed()
    verify_transcript(transcript, _SIGNER.public_key)
    assert set(transcript.__struct_fields__) == {
        "transcript_id",
        "request_canonical",
        "request_hash",
        "response_canonical",
        "response_hash",
        "signature_hex",
        "signing_key_id",
        "backend_name",
        "backend_metadata",
        "started_at",
        "completed_at",
    }


def test_the_hashes_are_of_exactly_the_recorded_texts() -> None:
    draft = _draft()
    assert draft.request_canonical == '{"prompt":"is it hot?"}'
    assert draft.request_hash == "sha256:" + sha256(draft.request_canonical.encode()).hexdigest()
    assert draft.response_hash == "sha256:" + sha256(b'{"text":"no"}').hexdigest()


def test_a_transcript_survives_the_wire() -> None:
    """Also when the metadata comes back with other white space."""
    text = msgspec.json.format(msgspec.json.encode(_sealed()), indent=2)
    verify_transcript(msgspec.json.decode(text, type=Transcript), _SIGNER.public_key)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("request_canonical", "{}"),
        ("request_hash", ZERO_DIGEST),
        ("response_canonical", '{"text":"yes"}'),
        ("response_hash", ZERO_DIGEST),
        ("backend_name", "other"),
        ("backend_metadata", Raw(b"{}")),
        ("started_at", _END),
        ("completed_at", _START),
        ("transcript_id", ZERO_DIGEST),
    ],
)
@pytest.mark.clause("ski", "7.4")
def test_a_change_of_any_field_is_refused_and_has_another_id(field: str, value: object) -> None:
    """A changed field gives another id; with the id put right, a hash or the signature still fails."""
    changed = msgspec.structs.replace(_sealed(), **{field: value})
    assert _code(changed) == "signature.transcript_id"
    renamed = msgspec.structs.replace(changed, transcript_id=transcript_id_of(changed))
    if field == "transcript_id":
        verify_transcript(renamed, _SIGNER.public_key)
        return
    assert renamed.transcript_id != _sealed().transcript_id
    hashed = field.startswith(("request", "response"))
    assert _code(renamed) == ("signature.transcript_hash" if hashed else "signature.invalid")


@pytest.mark.clause("ski", "7.4")
def test_a_signature_by_another_key_is_refused() -> None:
    other = SeedSigner(2)
    assert _code(_sealed(), other.public_key) == "signature.transcript_key"
    forged = msgspec.structs.replace(_sealed(), signature_hex=other.sign(transcript_message(_draft())).hex())
    assert _code(forged) == "signature.invalid"
    assert _code(msgspec.structs.replace(_sealed(), signature_hex="zz")) == "signature.malformed"
    assert _code(msgspec.structs.replace(_sealed(), signature_hex="00")) == "signature.length"


def test_a_transcript_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(TranscriptFormError) as caught:
        _draft(started_at=_END, completed_at=_START)
    assert caught.value.code == "form.transcript"


def test_metadata_that_is_no_object_is_refused() -> None:
    assert _code(msgspec.structs.replace(_sealed(), backend_metadata=Raw(b"[]"))) == "form.transcript"


def test_a_text_with_a_lone_surrogate_is_a_coded_refusal() -> None:
    assert _code(msgspec.structs.replace(_sealed(), request_canonical="\ud800")).startswith("canonical.")


def test_unknown_fields_are_refused() -> None:
    text = msgspec.json.encode(_sealed()).replace(b'"backend_name"', b'"note":1,"backend_name"', 1)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Transcript)


def test_metadata_may_hold_a_large_number() -> None:
    """Its canonical text has no fraction, and must still be read back as what it was."""
    draft = _draft(backend_metadata={"parameters": 1e20})
    transcript = seal_transcript(draft, _SIGNER.sign(transcript_message(draft)))
    verify_transcript(transcript, _SIGNER.public_key)


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)


@given(
    st.dictionaries(st.text("abé", max_size=3), _VALUES, max_size=3),
    st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - they get one
)
def test_the_id_follows_from_what_is_written_down(metadata: dict[str, object], start: datetime) -> None:
    """Whoever reads a transcript finds the id that its maker gave it, whatever a backend says of itself."""
    draft = _draft(backend_metadata=metadata, started_at=Instant(start), completed_at=Instant(start))
    assert draft.transcript_id == transcript_id_of(draft)
    verify_transcript(seal_transcript(draft, _SIGNER.sign(transcript_message(draft))), _SIGNER.public_key)
