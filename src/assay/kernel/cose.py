"""COSE_Sign1 (RFC 9052) with Ed25519: bytes, two headers, and one signature over the first header and the bytes.

protected header + payload -> seal_sign1 -> Sign1 -> render_sign1
bytes -> parse_sign1 -> verify_sign1 with a key one trusts (and the payload, where it was left out)

What was received as protected header is what is verified, never encoded again. A critical header (`crit`) is refused:
we understand none. Whom to believe is the caller's choice: the key id in a header is a hint.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from assay.kernel.cbor import CborKey, CborTag, CborValue, parse_cbor, render_cbor
from assay.kernel.errors import SignatureError
from assay.kernel.signature import verify_ed25519

Header = Mapping[CborKey, CborValue]

SIGN1_TAG = 18
# Labels of headers: RFC 9052 (1-4) and RFC 9597 (15).
ALGORITHM = 1
CONTENT_TYPE = 3
KEY_ID = 4
CWT_CLAIMS = 15
_CRITICAL = 2
# RFC 9053 names the family, RFC 9864 this curve alone; both are this signature. Readers know the older one.
EDDSA = -8
_ED25519 = -19
_PARTS = 4


class MalformedCoseError(SignatureError):
    """Bytes are not a COSE_Sign1 of a kind that we verify."""

    code = "cose.malformed"


class Sign1(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`protected` are the exact bytes that are signed; a `payload` of None travels elsewhere."""

    protected: bytes
    header: Header
    unprotected: Header
    payload: bytes | None
    signature: bytes


def seal_sign1(
    header: Header,
    payload: bytes,
    sign: Callable[[bytes], bytes],
    *,
    unprotected: Header | None = None,
    is_detached: bool = False,
) -> Sign1:
    """Signed by Ed25519, which the protected header then says; `unprotected` may be filled in by others later."""
    whole = {**header, ALGORITHM: EDDSA}
    protected = render_cbor(whole)
    return Sign1(
        protected=protected,
        header=whole,
        unprotected=unprotected or {},
        payload=None if is_detached else payload,
        signature=sign(_to_sign(protected, payload)),
    )


def render_sign1(message: Sign1) -> bytes:
    parts = (message.protected, message.unprotected, message.payload, message.signature)
    return render_cbor(CborTag(SIGN1_TAG, parts))


def parse_sign1(received: bytes) -> Sign1:
    """Read strictly, headers included; nothing is verified yet."""
    match parse_cbor(received):
        case CborTag(number=18, value=[bytes() as protected, dict() as unprotected, payload, bytes() as signature]):
            pass
        case _:
            raise MalformedCoseError(f"expected tag {SIGN1_TAG} and {_PARTS} parts of a COSE_Sign1, got another value")
    if not isinstance(payload, bytes | None):
        raise MalformedCoseError("expected bytes or null as payload")
    header = _parse_header(protected)
    return Sign1(protected=protected, header=header, unprotected=unprotected, payload=payload, signature=signature)


def verify_sign1(message: Sign1, public_key: bytes, *, payload: bytes | None = None) -> None:
    """Raise unless this key signed this header and payload; exactly one of message and caller has the payload."""
    given = [one for one in (message.payload, payload) if one is not None]
    if len(given) != 1:
        raise MalformedCoseError("expected the payload in the message or beside it, and not in both")
    verify_ed25519(public_key, _to_sign(message.protected, given[0]), message.signature)


def _parse_header(protected: bytes) -> Header:
    header = parse_cbor(protected)
    if not isinstance(header, dict):
        raise MalformedCoseError("expected a map as protected header")
    if header.get(ALGORITHM) not in (EDDSA, _ED25519):
        raise MalformedCoseError(f"expected algorithm {EDDSA} or {_ED25519}, got `{header.get(ALGORITHM)!r:.80}`")
    if _CRITICAL in header:
        raise MalformedCoseError("expected no critical headers, got some")
    return header


def _to_sign(protected: bytes, payload: bytes) -> bytes:
    """The Sig_structure of RFC 9052, 4.4, without external data."""
    return render_cbor(("Signature1", protected, b"", payload))
