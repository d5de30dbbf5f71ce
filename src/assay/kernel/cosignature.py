"""Cosignatures (C2SP tlog-cosignature, cosignature/v1): a witness saw this checkpoint follow from what it saw before.

note text + time -> cosignature_message -> (the witness signs) -> cosignature_line;   verify_cosignatures counts them
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from assay.kernel.checkpoint import SignedCheckpoint
from assay.kernel.errors import CheckpointError, SignatureError
from assay.kernel.instant import Instant
from assay.kernel.note import (
    BadNoteSignatureError,
    NoteSignature,
    SignatureType,
    VerifierKey,
    find_signature,
    note_signature,
)
from assay.kernel.signature import SIGNATURE_SIZE, verify_ed25519

_TIME_SIZE = 8
_EPOCH = Instant(datetime(1970, 1, 1, tzinfo=UTC))


class CosignatureTimeError(CheckpointError):
    """A cosignature's time is not whole seconds from 1970 on that a calendar can show."""

    code = "checkpoint.cosignature_time"


class MissingCosignaturesError(CheckpointError):
    """Fewer witnesses cosigned than were asked for."""

    code = "checkpoint.cosignatures"


class Cosignature(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A verified cosignature: which witness, and the time it gave."""

    name: str
    cosigned_at: Instant


def witness_key(name: str, public_key: bytes) -> VerifierKey:
    return VerifierKey(name=name, public_key=public_key, type=SignatureType.COSIGNATURE)


def cosignature_message(body: bytes, cosigned_at: Instant) -> bytes:
    """What a witness signs: a header, the time in seconds, and the whole text of the note."""
    return b"cosignature/v1\ntime %d\n%b" % (_seconds(cosigned_at), body)


def cosignature_line(name: str, public_key: bytes, cosigned_at: Instant, signature: bytes) -> NoteSignature:
    """The witness's line for the note; `signature` is over `cosignature_message` with the same time."""
    stamped = _seconds(cosigned_at).to_bytes(_TIME_SIZE) + signature
    return note_signature(witness_key(name, public_key), stamped)


def parse_cosignature_time(line: NoteSignature) -> Instant:
    """The time a cosignature line gives, verified or not."""
    if len(line.signature) != _TIME_SIZE + SIGNATURE_SIZE:
        raise BadNoteSignatureError(
            f"expected a time and a signature of `{line.name}`, got {len(line.signature)} bytes"
        )
    seconds = int.from_bytes(line.signature[:_TIME_SIZE])
    try:
        return Instant(_EPOCH + timedelta(seconds=seconds))
    except OverflowError as error:
        raise CosignatureTimeError(f"expected a time before the year 10000, got {seconds} seconds") from error


def verify_cosignatures(
    signed: SignedCheckpoint, witnesses: Mapping[str, bytes], threshold: int
) -> tuple[Cosignature, ...]:
    """Raise unless at least `threshold` of these witnesses (name to public key) cosigned; a bad one refuses the note.

    A key counts once, under however many names it is listed: the message does not name the witness.
    """
    found: dict[bytes, Cosignature] = {}
    for name, public_key in witnesses.items():
        key = witness_key(name, public_key)
        line = find_signature(signed.note, key)
        if line is not None:
            found.setdefault(public_key, _verify(line, key, signed.note.body))
    if len(found) < threshold:
        raise MissingCosignaturesError(f"expected cosignatures of {threshold} witnesses, got {len(found)}")
    return tuple(found.values())


def _verify(line: NoteSignature, key: VerifierKey, body: bytes) -> Cosignature:
    cosigned_at = parse_cosignature_time(line)
    try:
        verify_ed25519(key.public_key, cosignature_message(body, cosigned_at), line.signature[_TIME_SIZE:])
    except SignatureError as error:
        raise BadNoteSignatureError(f"`{key.name}` did not make its cosignature: {error}") from error
    return Cosignature(name=key.name, cosigned_at=cosigned_at)


def _seconds(moment: Instant) -> int:
    since = moment - _EPOCH
    if since < timedelta(0) or since.microseconds:
        raise CosignatureTimeError(f"expected whole seconds from 1970 on, got {moment.isoformat()}")
    return since.days * 86_400 + since.seconds
