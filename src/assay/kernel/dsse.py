"""DSSE (Dead Simple Signing Envelope 1.0.2): bytes, what they are, and who signed both.

payload type + payload -> pae -> (someone signs) -> seal_envelope -> DsseEnvelope -> render_envelope
bytes -> parse_envelope -> verify_envelope with keys one trusts -> who of them signed; payload_of -> the bytes

The type is inside what is signed, so a signature for one kind never passes for another. The key id in an envelope is
a hint that nobody vouches for: it is written for others, and never consulted here.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable

import msgspec
from msgspec import Struct

from assay.kernel.errors import SignatureError
from assay.kernel.ids import KeyId
from assay.kernel.json_text import Limits, parse_json
from assay.kernel.key import key_id_of
from assay.kernel.signature import SIGNATURE_SIZE, verify_ed25519

_LIMITS = Limits(max_bytes=32 * 1024 * 1024, max_depth=8)
_URL_SAFE = str.maketrans("-_", "+/")


class MalformedEnvelopeError(SignatureError):
    """A text is not a DSSE envelope."""

    code = "dsse.malformed"


class UnsignedEnvelopeError(SignatureError):
    """An envelope carries no signature at all."""

    code = "dsse.unsigned"


class UntrustedEnvelopeError(SignatureError):
    """None of an envelope's signatures is by a key that was given."""

    code = "dsse.untrusted"


class DsseSignature(Struct, frozen=True, kw_only=True):
    """`sig` is base64. As DSSE demands of readers, fields that we do not know are passed over."""

    sig: str
    keyid: str = ""


class DsseEnvelope(Struct, frozen=True, kw_only=True, rename="camel"):
    """`payload` is base64. Unknown fields are passed over: nothing outside payload and type is believed anyway."""

    payload: str
    payload_type: str
    signatures: tuple[DsseSignature, ...]


def pae(payload_type: str, payload: bytes) -> bytes:
    """The bytes that are signed: lengths come first, so that no two pairs share an encoding."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def seal_envelope(
    payload_type: str, payload: bytes, signers: Iterable[tuple[KeyId, Callable[[bytes], bytes]]] = ()
) -> DsseEnvelope:
    """An envelope signed by each; by nobody, it is one that `verify_envelope` refuses as unsigned."""
    message = pae(payload_type, payload)
    return DsseEnvelope(
        payload=b64encode(payload).decode(),
        payload_type=payload_type,
        signatures=tuple(
            DsseSignature(keyid=key_id, sig=b64encode(sign(message)).decode()) for key_id, sign in signers
        ),
    )


def render_envelope(envelope: DsseEnvelope) -> bytes:
    """JSON with sorted members and every text as it is: a type that were normalised would not be what was signed."""
    return msgspec.json.encode(envelope, order="sorted")


def parse_envelope(text: bytes | str) -> DsseEnvelope:
    """Strict JSON of DSSE's shape, its payload and signatures readable; nothing is verified yet."""
    value = parse_json(text, limits=_LIMITS)
    try:
        envelope = msgspec.convert(value, DsseEnvelope)
    except msgspec.ValidationError as error:
        raise MalformedEnvelopeError(f"expected a DSSE envelope: {error}") from error
    for encoded in (envelope.payload, *(one.sig for one in envelope.signatures)):
        _decoded(encoded)
    return envelope


def payload_of(envelope: DsseEnvelope, *, payload_type: str) -> bytes:
    """The bytes, if they are of the kind that was asked for; who vouches for them is for `verify_envelope`."""
    if envelope.payload_type != payload_type:
        got = ascii(envelope.payload_type)[1:-1][:80]
        raise MalformedEnvelopeError(f"expected a payload of type `{payload_type}`, got `{got}`")
    return _decoded(envelope.payload)


def verify_envelope(envelope: DsseEnvelope, public_keys: Iterable[bytes]) -> frozenset[KeyId]:
    """Which of these keys signed; raises unless at least one did."""
    if not envelope.signatures:
        raise UnsignedEnvelopeError("expected a signed envelope, got one without signatures")
    message = pae(envelope.payload_type, _decoded(envelope.payload))
    signatures = [_decoded(one.sig) for one in envelope.signatures]
    signed = frozenset(
        key_id_of(key) for key in public_keys if any(_is_by(key, message, signature) for signature in signatures)
    )
    if not signed:
        raise UntrustedEnvelopeError(f"expected a signature by a key that was given, got {len(signatures)} by others")
    return signed


def _is_by(public_key: bytes, message: bytes, signature: bytes) -> bool:
    # Others may sign by other methods; such a signature is not ours to judge, and no harm.
    if len(signature) != SIGNATURE_SIZE:
        return False
    try:
        verify_ed25519(public_key, message, signature)
    except SignatureError:
        return False
    return True


def _decoded(text: str) -> bytes:
    """DSSE allows both alphabets of base64; anything else is refused."""
    try:
        return b64decode(text.translate(_URL_SAFE), validate=True)
    except ValueError as error:
        raise MalformedEnvelopeError(f"expected base64, got `{ascii(text)[1:-1][:40]}`") from error
