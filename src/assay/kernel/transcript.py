"""Transcripts: what a language model was asked and what it answered, signed and found by content (SKI 7.4).

request + response -> draft_to_sign -> (a signer) -> seal_transcript -> verify_transcript

`transcript_id` is the digest of every other field but the signature, so a changed transcript has another id; the
signature covers the id and every field. The two hashes are of exactly the recorded texts, which are never re-encoded.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct

from assay.kernel.canonical import canonical_digest, canonicalize
from assay.kernel.digest import ZERO_DIGEST, Digest, digest_of
from assay.kernel.errors import SignatureError, TypeFormError
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import CANONICAL_LIMITS, JsonValue, parse_json
from assay.kernel.key import key_id_of
from assay.kernel.signature import SignedKind, parse_signature_hex, signing_message, verify_ed25519


class TranscriptFormError(TypeFormError):
    """A transcript contradicts itself before any signature is looked at."""

    code = "form.transcript"


class TranscriptHashError(SignatureError):
    """A recorded text does not have the recorded hash."""

    code = "signature.transcript_hash"


class TranscriptIdError(SignatureError):
    """A transcript's id is not the digest of its content."""

    code = "signature.transcript_id"


class TranscriptKeyError(SignatureError):
    """A transcript names another key than the one it is checked with."""

    code = "signature.transcript_key"


class TranscriptDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A transcript that nobody signed yet."""

    transcript_id: Digest
    request_canonical: str
    request_hash: Digest
    response_canonical: str
    response_hash: Digest
    signing_key_id: KeyId
    backend_name: str
    backend_metadata: Raw
    started_at: Instant
    completed_at: Instant


class Transcript(TranscriptDraft, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signed transcript; `verify_transcript` says whether it holds."""

    signature_hex: str


def draft_to_sign(
    request: object,
    response: object,
    *,
    signing_key_id: KeyId,
    backend_name: str,
    backend_metadata: Mapping[str, object],
    started_at: Instant,
    completed_at: Instant,
) -> tuple[TranscriptDraft, bytes]:
    """Both sides as canonical text (`ski-3.0`) with their hashes, an id by content; and the `transcript_message`.

    The message comes along, since whoever drafts signs at once: nothing is read back or written twice.
    """
    if completed_at < started_at:
        raise TranscriptFormError(
            f"expected `completed_at` at or after {render_instant(started_at)}, got {render_instant(completed_at)}"
        )
    asked, answered = canonicalize(request), canonicalize(response)
    unnamed = TranscriptDraft(
        transcript_id=ZERO_DIGEST,
        request_canonical=asked.decode(),
        request_hash=digest_of(asked),
        response_canonical=answered.decode(),
        response_hash=digest_of(answered),
        signing_key_id=signing_key_id,
        backend_name=backend_name,
        backend_metadata=Raw(canonicalize(backend_metadata)),
        started_at=started_at,
        completed_at=completed_at,
    )
    # What was just written need not be read again: canonical bytes are the same for a value and for what they say.
    content = canonicalize(_content(unnamed, backend_metadata))
    draft = msgspec.structs.replace(unnamed, transcript_id=digest_of(content))
    # INVARIANT: of all keys the id's is the last, so that it goes before the closing brace.
    signed = b'%b,"transcript_id":"%b"}' % (content[:-1], draft.transcript_id.encode())
    return draft, signing_message(SignedKind.TRANSCRIPT, signed)


def transcript_id_of(transcript: TranscriptDraft) -> Digest:
    return canonical_digest(_content(transcript, _metadata(transcript.backend_metadata)))


def transcript_message(transcript: TranscriptDraft) -> bytes:
    """The bytes to sign: every field but the signature, the id included."""
    content = _content(transcript, _metadata(transcript.backend_metadata))
    signed = {**content, "transcript_id": transcript.transcript_id}
    return signing_message(SignedKind.TRANSCRIPT, canonicalize(signed))


def seal_transcript(draft: TranscriptDraft, signature: bytes) -> Transcript:
    return Transcript(**msgspec.structs.asdict(draft), signature_hex=signature.hex())


def verify_transcript(transcript: Transcript, public_key: bytes) -> None:
    """Raise unless id, both hashes and the signature hold; whether that key is trusted is for a key ring to say."""
    if transcript.signing_key_id != key_id_of(public_key):
        raise TranscriptKeyError(
            f"expected a transcript by `{key_id_of(public_key)}`, got `{transcript.signing_key_id}`"
        )
    if transcript.transcript_id != transcript_id_of(transcript):
        raise TranscriptIdError(f"expected id `{transcript_id_of(transcript)}`, got `{transcript.transcript_id}`")
    _verify_hash("request", transcript.request_canonical, transcript.request_hash)
    _verify_hash("response", transcript.response_canonical, transcript.response_hash)
    verify_ed25519(public_key, transcript_message(transcript), parse_signature_hex(transcript.signature_hex))


def _verify_hash(side: str, text: str, recorded: Digest) -> None:
    actual = digest_of(text.encode())
    if actual != recorded:
        raise TranscriptHashError(f"expected {side} hash `{actual}`, got `{recorded}`")


def _content(transcript: TranscriptDraft, metadata: Mapping[str, object]) -> dict[str, object]:
    # Instants as the texts that they become anyway: what is plain is written by the native encoder as it stands.
    return {
        "backend_metadata": metadata,
        "backend_name": transcript.backend_name,
        "completed_at": render_instant(transcript.completed_at),
        "request_canonical": transcript.request_canonical,
        "request_hash": transcript.request_hash,
        "response_canonical": transcript.response_canonical,
        "response_hash": transcript.response_hash,
        "signing_key_id": transcript.signing_key_id,
        "started_at": render_instant(transcript.started_at),
    }


def _metadata(raw: Raw) -> dict[str, JsonValue]:
    metadata = parse_json(bytes(raw), limits=CANONICAL_LIMITS)
    if not isinstance(metadata, dict):
        raise TranscriptFormError("expected `backend_metadata` to be an object, got another kind of value")
    return metadata
