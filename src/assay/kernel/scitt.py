"""An entry as a SCITT-style transparent statement: the entry's text, signed, with a COSE receipt (RFC 9942) inside.

bundle + signer -> make_receipt -> COSE_Sign1 over the root, which is left out: whoever verifies computes it
entry text + receipt -> make_transparent -> COSE_Sign1 over the text, the receipt in its header 394

The leaf is the entry's text, as everywhere in this ledger. Beside what RFC 9942 asks for, a header has the log's
endorsed keys (endorsements are signed, so that nobody has to vouch for where they are written), and the claims have
the size of the tree: RFC 9942 signs the root alone, and several sizes share the shape of a path.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from math import ceil

import msgspec
from msgspec import Struct

from assay.kernel.bundle import Bundle
from assay.kernel.cbor import CborValue, parse_cbor, render_cbor
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.cose import CONTENT_TYPE, CWT_CLAIMS, KEY_ID, Header, Sign1, parse_sign1, render_sign1, seal_sign1
from assay.kernel.errors import ProofError
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant
from assay.kernel.key import Endorsement, Retirement

RECEIPT_MEDIA_TYPE = "application/scitt-receipt+cose"
STATEMENT_MEDIA_TYPE = "application/scitt-statement+cose"

# RFC 9942: receipts, which structure, which proofs; RFC9162_SHA256 and its inclusion proofs.
_RECEIPTS, _STRUCTURE, _PROOFS = 394, 395, 396
_RFC9162_SHA256, _INCLUSION = 1, -1
# RFC 8392 and RFC 9597: who says it, about what, when.
_ISSUER, _SUBJECT, _ISSUED_AT = 1, 2, 6
_KEYS = "assay.keys"
_SIZE = "assay.tree_size"
_JSON = "application/json"
_LATEST = 253402300799  # the last second of year 9999


class MalformedReceiptError(ProofError):
    """A COSE message is not a receipt, or not a statement with one, as RFC 9942 has them."""

    code = "proof.receipt_form"


class Claims(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The log's name, the entry's hash, the second of signing, and the size of the tree that is meant."""

    issuer: str
    subject: str
    issued_at: Instant
    tree_size: int


class KeyNotes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What leads from an anchor to the key that signed."""

    keys: tuple[Endorsement, ...] = ()
    retirements: tuple[Retirement, ...] = ()


class ParsedReceipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A receipt that was read and not verified."""

    message: Sign1
    claims: Claims
    tree_size: int
    leaf_index: int
    path: tuple[bytes, ...]
    notes: KeyNotes


def make_receipt(bundle: Bundle, key_id: KeyId, sign: Callable[[bytes], bytes], *, at: Instant) -> bytes:
    """Sign the root of the bundle's checkpoint once more, as RFC 9942 wants it.

    INVARIANT: the caller has verified the bundle with its own keys, so that only a root is signed that was before.
    """
    if not bundle.inclusion_path:
        # The grammar of RFC 9942 asks for at least one hash.
        raise MalformedReceiptError("expected a tree of at least 2 entries, got one whose only entry needs no path")
    checkpoint = parse_checkpoint(bundle.checkpoint.encode()).checkpoint
    proof = render_cbor((bundle.tree_size, bundle.leaf_index, bundle.inclusion_path))
    notes = msgspec.json.encode(KeyNotes(keys=bundle.keys, retirements=bundle.retirements))
    header = {**_header(bundle, checkpoint.origin, key_id, at), _STRUCTURE: _RFC9162_SHA256}
    return render_sign1(
        seal_sign1(
            header,
            checkpoint.root,
            sign,
            unprotected={_PROOFS: {_INCLUSION: [proof]}, _KEYS: notes},
            is_detached=True,
        )
    )


def make_transparent(bundle: Bundle, key_id: KeyId, sign: Callable[[bytes], bytes], *, at: Instant) -> bytes:
    """The entry's text, signed by the ledger as its issuer, with the receipt of its inclusion."""
    receipt = make_receipt(bundle, key_id, sign, at=at)
    origin = parse_checkpoint(bundle.checkpoint.encode()).checkpoint.origin
    header = {**_header(bundle, origin, key_id, at), CONTENT_TYPE: _JSON}
    return render_sign1(seal_sign1(header, bundle.entry.encode(), sign, unprotected={_RECEIPTS: [receipt]}))


def parse_receipt(received: bytes) -> ParsedReceipt:
    """Read one receipt of one inclusion strictly; verifies nothing."""
    message = parse_sign1(received)
    if message.header.get(_STRUCTURE) != _RFC9162_SHA256 or message.payload is not None:
        raise MalformedReceiptError(f"expected a detached root of structure {_RFC9162_SHA256} (RFC9162_SHA256)")
    size, index, path = _parse_proof(message.unprotected.get(_PROOFS))
    return ParsedReceipt(
        message=message,
        claims=claims_of(message.header),
        tree_size=size,
        leaf_index=index,
        path=path,
        notes=_parse_notes(message.unprotected.get(_KEYS)),
    )


def receipts_of(message: Sign1) -> tuple[bytes, ...]:
    """The receipts that a statement carries; none, where it carries none."""
    receipts = message.unprotected.get(_RECEIPTS, [])
    if not isinstance(receipts, list):
        raise MalformedReceiptError("expected receipts as an array of bytes")
    return tuple(_bytes(one) for one in receipts)


def claims_of(header: Header) -> Claims:
    """Issuer, subject and time of a protected header."""
    match header.get(CWT_CLAIMS):
        case {1: str() as issuer, 2: str() as subject, 6: int() as second, "assay.tree_size": int() as size} if (
            0 <= second <= _LATEST
        ):
            moment = Instant(datetime.fromtimestamp(second, UTC))
            return Claims(issuer=issuer, subject=subject, issued_at=moment, tree_size=size)
    raise MalformedReceiptError("expected issuer, subject, time and tree size in the protected header")


def _header(bundle: Bundle, origin: str, key_id: KeyId, at: Instant) -> dict[int | str | bytes, CborValue]:
    claims: dict[int | str | bytes, CborValue] = {
        _ISSUER: origin,
        _SUBJECT: bundle.entry_hash,
        # In whole seconds, and never before a key that came into force within this one.
        _ISSUED_AT: ceil(at.timestamp()),
        _SIZE: bundle.tree_size,
    }
    return {KEY_ID: key_id.encode(), CWT_CLAIMS: claims}


def _parse_proof(proofs: CborValue) -> tuple[int, int, tuple[bytes, ...]]:
    match proofs:
        case {-1: [bytes() as proof]}:
            pass
        case _:
            raise MalformedReceiptError("expected exactly one inclusion proof")
    match parse_cbor(proof):
        case [int() as size, int() as index, [_, *_] as path]:
            return size, index, tuple(_bytes(one) for one in path)
    raise MalformedReceiptError("expected tree size, leaf index and at least one hash")


def _parse_notes(content: CborValue) -> KeyNotes:
    if content is None:
        return KeyNotes()
    try:
        return msgspec.json.decode(_bytes(content), type=KeyNotes)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise MalformedReceiptError(f"expected endorsed keys in `{_KEYS}`: {error}") from error


def _bytes(value: CborValue) -> bytes:
    if not isinstance(value, bytes):
        raise MalformedReceiptError(f"expected bytes, got `{value!r:.80}`")
    return value
