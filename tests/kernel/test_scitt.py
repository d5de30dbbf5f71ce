"""COSE receipts (RFC 9942) and SCITT-style statements: what holds, what others read in them, and what is refused."""

from contextlib import suppress

import cbor2
import pytest
from msgspec.structs import replace
from pycose.keys.okp import OKPKey
from pycose.messages.sign1message import Sign1Message

from assay.kernel.bundle import Bundle
from assay.kernel.cbor import CborValue, render_cbor
from assay.kernel.check_bundle import CheckName, Finding, NoEntryTextError, UntrustedSignerError
from assay.kernel.cose import Header, MalformedCoseError, Sign1, parse_sign1, render_sign1, seal_sign1
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.instant import parse_instant
from assay.kernel.key import TrustAnchors
from assay.kernel.merkle import Frontier, leaf_hash
from assay.kernel.scitt import MalformedReceiptError, make_receipt, make_transparent, parse_receipt
from assay.kernel.scitt_check import check_scitt
from tests.kernel._signing import LOG, ORIGIN, OTHER, TestKey
from tests.kernel.test_bundle import ANCHORS, BUNDLE, ENTRIES, NOBODY, _endorse

AT = parse_instant("2026-03-02T08:00:00Z")
PLAIN = replace(BUNDLE, disclosures=(), attachments=())
RECEIPT = make_receipt(PLAIN, LOG.key_id, LOG.sign, at=AT)
STATEMENT = make_transparent(PLAIN, LOG.key_id, LOG.sign, at=AT)
TEXT = PLAIN.entry.encode()
_MESSAGE = parse_sign1(RECEIPT)
_PROOF = _MESSAGE.unprotected[396]


def _codes(finding: Finding) -> dict[CheckName, str | None]:
    return {check.name: check.code for check in finding.checks}


def _resigned(message: Sign1, header: Header, key: TestKey = LOG) -> bytes:
    """The same message with other protected headers, signed by somebody."""
    detached = message.payload is None
    sealed = seal_sign1(
        {**message.header, **header},
        message.payload or b"",
        key.sign,
        unprotected=message.unprotected,
        is_detached=detached,
    )
    return render_sign1(sealed)


def test_a_statement_holds_for_whoever_trusts_its_log() -> None:
    finding = check_scitt(STATEMENT, ANCHORS, origin=ORIGIN)
    assert finding.holds
    assert finding.signer == LOG.key_id
    assert _codes(finding) == {
        CheckName.ENTRY_FORM: None,
        CheckName.RECEIPT: None,
        CheckName.RECEIPT_SIGNATURE: None,
        CheckName.STATEMENT: None,
        CheckName.STATEMENT_SIGNATURE: None,
    }


def test_a_receipt_holds_beside_the_text_of_its_entry_and_only_there() -> None:
    assert check_scitt(RECEIPT, ANCHORS, entry=TEXT).holds
    other = check_scitt(RECEIPT, ANCHORS, entry=ENTRIES[7])
    assert not other.holds
    with pytest.raises(NoEntryTextError):
        check_scitt(RECEIPT, ANCHORS)


def test_another_implementation_finds_what_rfc_9942_asks_for() -> None:
    """Protected: algorithm and structure 1. Unprotected: one inclusion proof. The root is left out, and is signed."""
    protected, unprotected, payload, signature = cbor2.loads(RECEIPT).value
    header = cbor2.loads(protected)
    assert (header[1], header[395], header[4], payload) == (-8, 1, LOG.key_id.encode(), None)
    assert header[15] == {1: ORIGIN, 2: PLAIN.entry_hash, 6: int(AT.timestamp()), "assay.tree_size": 300}
    size, index, path = cbor2.loads(unprotected[396][-1][0])
    assert (size, index, tuple(path)) == (300, PLAIN.leaf_index, PLAIN.inclusion_path)
    root = Frontier().extend([leaf_hash(entry) for entry in ENTRIES]).root()
    message = Sign1Message.from_cose_obj([protected, dict(unprotected), root, signature], True)
    message.key = OKPKey(crv="ED25519", x=LOG.public)
    assert message.verify_signature()


def test_an_anchor_may_be_only_the_id_of_a_key_that_leads_to_the_signer() -> None:
    """The keys travel with the receipt; what they are worth is for the anchors to say."""
    heir = _endorse(OTHER, LOG, "2026-02-01T00:00:00Z")
    rotated = make_transparent(replace(PLAIN, keys=(*PLAIN.keys, heir)), OTHER.key_id, OTHER.sign, at=AT)
    assert check_scitt(rotated, TrustAnchors(key_ids=frozenset([LOG.key_id]))).holds
    assert _codes(check_scitt(rotated, NOBODY))[CheckName.RECEIPT_SIGNATURE] == UntrustedSignerError.code


def test_nobody_trusted_is_untrusted_and_nothing_else() -> None:
    codes = _codes(check_scitt(STATEMENT, NOBODY))
    untrusted = UntrustedSignerError.code
    assert codes.pop(CheckName.RECEIPT_SIGNATURE) == codes.pop(CheckName.STATEMENT_SIGNATURE) == untrusted
    assert set(codes.values()) == {None}


def test_a_key_counts_only_while_it_is_valid() -> None:
    ended = replace(PLAIN, keys=(_endorse(LOG, LOG, "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"),))
    finding = check_scitt(make_receipt(ended, LOG.key_id, LOG.sign, at=AT), ANCHORS, entry=TEXT)
    assert finding.code == "key.expired"


def _changed_path(position: int) -> bytes:
    path = list(PLAIN.inclusion_path)
    path[position] = bytes(32)
    return make_receipt(replace(PLAIN, inclusion_path=tuple(path)), LOG.key_id, LOG.sign, at=AT)


@pytest.mark.parametrize(
    ("bundle", "name", "code"),
    [
        (replace(PLAIN, leaf_index=40), CheckName.ENTRY_FORM, "proof.leaf"),
        (replace(PLAIN, tree_size=1), CheckName.RECEIPT_SIGNATURE, "merkle.range"),
        (replace(PLAIN, entry_hash=digest_of(b"")), CheckName.RECEIPT, "proof.receipt_form"),
        (replace(PLAIN, entry=ENTRIES[42].decode()), CheckName.RECEIPT, "proof.receipt_form"),
        (replace(PLAIN, entry="{}"), CheckName.ENTRY_FORM, "proof.entry_form"),
    ],
    ids=["index", "outside", "subject", "entry", "no entry"],
)
def test_a_receipt_about_something_else_does_not_hold(bundle: Bundle, name: CheckName, code: str) -> None:
    finding = check_scitt(make_transparent(bundle, LOG.key_id, LOG.sign, at=AT), ANCHORS)
    assert not finding.holds
    assert finding.signer is None
    assert _codes(finding)[name] == code


def test_a_path_to_a_root_that_was_never_signed_does_not_hold() -> None:
    """The receipt is signed over the checkpoint's root, whatever path lies beside it."""
    for position in range(len(PLAIN.inclusion_path)):
        finding = check_scitt(_changed_path(position), ANCHORS, entry=TEXT)
        assert finding.code == "signature.invalid"


def test_another_size_with_a_path_of_the_same_shape_does_not_hold() -> None:
    """RFC 9942 signs the root alone, so the size is signed beside it."""
    proof = render_cbor((299, PLAIN.leaf_index, PLAIN.inclusion_path))
    changed = render_sign1(replace(_MESSAGE, unprotected={**_MESSAGE.unprotected, 396: {-1: [proof]}}))
    assert check_scitt(changed, ANCHORS, entry=TEXT).code == "proof.leaf"


def test_another_log_is_not_this_one() -> None:
    finding = check_scitt(STATEMENT, ANCHORS, origin="example.org/other")
    assert finding.code == "checkpoint.origin"


def test_a_statement_resigned_by_another_key_is_not_the_logs() -> None:
    forged = _resigned(parse_sign1(STATEMENT), {}, OTHER)
    assert _codes(check_scitt(forged, ANCHORS))[CheckName.STATEMENT_SIGNATURE] == "signature.invalid"
    unnamed = _resigned(parse_sign1(STATEMENT), {4: "text"})
    assert _codes(check_scitt(unnamed, ANCHORS))[CheckName.STATEMENT_SIGNATURE] == UntrustedSignerError.code


def test_every_byte_of_a_receipt_counts() -> None:
    """Whatever bit is turned, but in the keys' own notes: it does not hold, and ends in a coded refusal."""
    start = RECEIPT.index(b"assay.keys")
    end = RECEIPT.index(b"\x58\x40", start)  # the signature's head
    for position in [*range(start), *range(end, len(RECEIPT))][::3]:
        changed = bytearray(RECEIPT)
        changed[position] ^= 1
        with suppress(Error):
            assert not check_scitt(bytes(changed), ANCHORS, entry=TEXT).holds, position


@pytest.mark.parametrize(
    "unprotected",
    [
        {},
        {396: {}},
        {396: {-1: []}},
        {396: {-1: [b"\x80", b"\x80"]}},
        {396: {-1: [b"\x80"]}},
        {396: {-1: [render_cbor((300, 41, []))]}},
        {396: {-1: [render_cbor((300, 41, ["text"]))]}},
        {396: _PROOF, "assay.keys": "text"},
        {396: _PROOF, "assay.keys": b"{"},
        {396: _PROOF, "assay.keys": b'{"other": []}'},
    ],
)
def test_a_receipt_without_one_well_formed_proof_is_refused(unprotected: dict[int | str | bytes, CborValue]) -> None:
    with pytest.raises(MalformedReceiptError):
        parse_receipt(render_sign1(replace(_MESSAGE, unprotected=unprotected)))


def test_the_keys_may_be_left_out_by_whoever_passes_a_receipt_on() -> None:
    bare = render_sign1(replace(_MESSAGE, unprotected={396: _PROOF}))
    assert check_scitt(bare, ANCHORS, entry=TEXT).holds


@pytest.mark.parametrize(
    "header",
    [
        {395: 2},
        {15: {}},
        {15: None},
        {15: {1: "log", 2: "sub", 6: 1}},
        {15: {1: "log", 2: "sub", 6: -1, "assay.tree_size": 300}},
    ],
)
def test_a_receipt_of_another_structure_or_without_claims_is_refused(header: Header) -> None:
    with pytest.raises(MalformedReceiptError):
        parse_receipt(_resigned(_MESSAGE, header))


def test_a_statement_needs_exactly_one_receipt() -> None:
    statement = parse_sign1(STATEMENT)
    receipts: list[CborValue] = [[], [RECEIPT, RECEIPT], "text", ["text"]]
    for given in receipts:
        with pytest.raises(MalformedReceiptError):
            check_scitt(render_sign1(replace(statement, unprotected={394: given})), ANCHORS)
    with pytest.raises(MalformedReceiptError):
        # A statement in the place of a receipt has a payload, and proves nothing.
        check_scitt(render_sign1(replace(statement, unprotected={394: [STATEMENT]})), ANCHORS)
    with pytest.raises(MalformedCoseError):
        check_scitt(render_cbor([]), ANCHORS)


def test_a_tree_of_one_entry_has_no_receipt() -> None:
    """RFC 9942 asks for at least one hash in the path."""
    with pytest.raises(MalformedReceiptError):
        make_receipt(replace(PLAIN, inclusion_path=()), LOG.key_id, LOG.sign, at=AT)
