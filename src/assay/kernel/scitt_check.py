"""Check a COSE receipt, or a statement that carries one, against the keys a verifier trusts.

received (+ entry text, for a bare receipt) + anchors -> each check: ok, failed or not checked -> Finding

The root is not in a receipt: the path leads to one, and the signature says whether the log ever signed it. So a
changed path and another's signature look alike; the key id in the header tells them apart, for the wording alone.
"""

from collections.abc import Callable

from msgspec import Struct

from assay.kernel.bundle import parse_entry_head
from assay.kernel.check_bundle import (
    Check,
    CheckName,
    Finding,
    LeafPositionError,
    NoEntryTextError,
    Outcome,
    UntrustedSignerError,
)
from assay.kernel.checkpoint import OriginError
from assay.kernel.cose import KEY_ID, Sign1, parse_sign1, verify_sign1
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId
from assay.kernel.instant import render_instant
from assay.kernel.key import KeyPurpose, KeyRing, TrustAnchors, trusted_keys
from assay.kernel.merkle import inclusion_root, leaf_hash
from assay.kernel.scitt import Claims, MalformedReceiptError, ParsedReceipt, claims_of, parse_receipt, receipts_of


class _Export(Struct, frozen=True, kw_only=True):
    """What was read; a bare receipt has no statement."""

    text: bytes
    receipt: ParsedReceipt
    statement: Sign1 | None


def check_scitt(
    received: bytes, anchors: TrustAnchors, *, entry: bytes | None = None, origin: str | None = None
) -> Finding:
    """Try every check; raises only for bytes that are no COSE message at all.

    A statement brings the entry's text along; for a bare receipt it must be given.
    """
    export = _read(received, entry)
    notes = export.receipt.notes
    ring = trusted_keys(anchors, notes.keys, notes.retirements)
    steps: list[tuple[CheckName, Callable[[], str]]] = [
        (CheckName.ENTRY_FORM, lambda: _entry_form(export)),
        (CheckName.RECEIPT, lambda: _claims(export.receipt.claims, export.text, origin)),
        (CheckName.RECEIPT_SIGNATURE, lambda: _receipt_signature(export, ring)),
    ]
    statement = export.statement
    if statement is not None:
        steps += [
            (CheckName.STATEMENT, lambda: _claims(claims_of(statement.header), export.text, origin)),
            (CheckName.STATEMENT_SIGNATURE, lambda: _signature(statement, None, claims_of(statement.header), ring)),
        ]
    checks = tuple(_attempt(name, step) for name, step in steps)
    failures = [check.code for check in checks if check.outcome is Outcome.FAILED]
    return Finding(
        holds=not failures,
        code=failures[0] if failures else None,
        checks=checks,
        signer=None if failures else _key_id(export.receipt.message),
    )


def _read(received: bytes, entry: bytes | None) -> _Export:
    message = parse_sign1(received)
    if message.payload is None:
        if entry is None:
            raise NoEntryTextError("expected the entry's exact text beside a receipt, which holds none")
        return _Export(text=entry, receipt=parse_receipt(received), statement=None)
    receipts = receipts_of(message)
    if len(receipts) != 1:
        raise MalformedReceiptError(f"expected a statement with one receipt, got {len(receipts)}")
    return _Export(text=message.payload, receipt=parse_receipt(receipts[0]), statement=message)


def _attempt(name: CheckName, step: Callable[[], str]) -> Check:
    try:
        return Check(name=name, outcome=Outcome.OK, message=step())
    except Error as error:
        return Check(name=name, outcome=Outcome.FAILED, message=str(error), code=error.code)


def _entry_form(export: _Export) -> str:
    head = parse_entry_head(export.text)
    if export.receipt.leaf_index != head.sequence_number - 1:
        got = export.receipt.leaf_index
        raise LeafPositionError(f"expected leaf {head.sequence_number - 1} by the entry, got {got}")
    return f"entry {head.sequence_number} of `{head.tenant_id}`, {head.kind}, {head.timestamp}"


def _claims(claims: Claims, text: bytes, origin: str | None) -> str:
    if origin is not None and claims.issuer != origin:
        raise OriginError(f"expected the log `{origin}`, got `{ascii(claims.issuer)[1:-1][:80]}`")
    found = digest_of(text)
    if claims.subject != found:
        raise MalformedReceiptError(f"expected subject {found}, got `{ascii(claims.subject)[1:-1][:80]}`")
    return f"`{ascii(claims.issuer)[1:-1]}` about {found}"


def _receipt_signature(export: _Export, ring: KeyRing) -> str:
    receipt = export.receipt
    if receipt.tree_size != receipt.claims.tree_size:
        raise LeafPositionError(f"expected size {receipt.claims.tree_size} as it is signed, got {receipt.tree_size}")
    root = inclusion_root(leaf_hash(export.text), receipt.leaf_index, receipt.tree_size, receipt.path)
    words = _signature(receipt.message, root, receipt.claims, ring)
    return f"{len(receipt.path)} hashes lead to a root of {receipt.tree_size} entries, {words}"


def _signature(message: Sign1, payload: bytes | None, claims: Claims, ring: KeyRing) -> str:
    named = _key_id(message)
    records = ring.records.get(named)
    if not records:
        raise UntrustedSignerError(f"expected a key that an anchor leads to, got {named}")
    record = ring.get(named, claims.issued_at, purpose=KeyPurpose.LEDGER)
    # A key that only its holder can verify with has no public bytes, and none are refused.
    verify_sign1(message, record.raw_public_key or b"", payload=payload)
    return f"signed by {named} at {render_instant(claims.issued_at)}"


def _key_id(message: Sign1) -> KeyId:
    named = message.header.get(KEY_ID)
    return KeyId(named.decode(errors="replace") if isinstance(named, bytes) else "")
