"""COSE_Sign1 against the working group's example and against another's implementation."""

import json
from pathlib import Path
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pycose.headers import KID
from pycose.keys.okp import OKPKey
from pycose.messages.sign1message import Sign1Message

from assay.kernel.cbor import CborTag, CborValue, MalformedCborError, render_cbor
from assay.kernel.cose import KEY_ID, MalformedCoseError, parse_sign1, render_sign1, seal_sign1, verify_sign1
from assay.kernel.signature import InvalidSignatureError
from tests.kernel._signing import LOG, OTHER

VECTOR: dict[str, Any] = json.loads((Path(__file__).parent.parent / "vectors/cose/eddsa-sig-01.json").read_text())
SIGNED = seal_sign1({KEY_ID: b"log"}, b"content", LOG.sign, unprotected={KEY_ID: b"hint"})


def _others_view(encoded: bytes) -> bool:
    """What cbor2 reads and pycose says about the signature."""
    protected, unprotected, payload, signature = cbor2.loads(encoded).value
    message = Sign1Message.from_cose_obj([protected, dict(unprotected), payload, signature], True)
    message.key = OKPKey(crv="ED25519", x=LOG.public)
    held: bool = message.verify_signature()
    return held


def test_the_published_example_is_read_verified_and_rendered_to_the_same_bytes() -> None:
    received = bytes.fromhex(VECTOR["message"])
    message = parse_sign1(received)
    assert message.payload == VECTOR["payload"].encode()
    assert message.unprotected == {KEY_ID: VECTOR["key_id"].encode()}
    verify_sign1(message, bytes.fromhex(VECTOR["public_key"]))
    assert render_sign1(message) == received
    with pytest.raises(InvalidSignatureError):
        verify_sign1(message, LOG.public)


@given(st.binary(max_size=80), st.binary(max_size=20))
def test_another_implementation_verifies_what_we_sign(payload: bytes, key_id: bytes) -> None:
    encoded = render_sign1(seal_sign1({KEY_ID: key_id}, payload, LOG.sign))
    assert _others_view(encoded)
    verify_sign1(parse_sign1(encoded), LOG.public)
    with pytest.raises(InvalidSignatureError):
        verify_sign1(parse_sign1(encoded), OTHER.public)


def test_we_verify_what_another_implementation_signs() -> None:
    theirs = Sign1Message(phdr={"ALG": "EDDSA", KID: b"log"}, payload=b"content")
    theirs.key = OKPKey(crv="ED25519", d=LOG.seed, x=LOG.public)
    message = parse_sign1(theirs.encode())
    verify_sign1(message, LOG.public)
    assert message.payload == b"content"


def test_a_payload_that_was_left_out_must_be_given_and_one_that_is_there_must_not() -> None:
    """Else a message could seem to sign whatever the caller happens to hold."""
    detached = parse_sign1(render_sign1(seal_sign1({}, b"content", LOG.sign, is_detached=True)))
    assert detached.payload is None
    verify_sign1(detached, LOG.public, payload=b"content")
    with pytest.raises(InvalidSignatureError):
        verify_sign1(detached, LOG.public, payload=b"other")
    with pytest.raises(MalformedCoseError):
        verify_sign1(detached, LOG.public)
    with pytest.raises(MalformedCoseError):
        verify_sign1(SIGNED, LOG.public, payload=b"content")


def test_headers_payload_and_signature_are_bound_together() -> None:
    for changed in (
        replace(SIGNED, protected=render_cbor({1: -8, KEY_ID: b"gol"})),
        replace(SIGNED, payload=b"Content"),
        replace(SIGNED, signature=SIGNED.signature[::-1]),
    ):
        with pytest.raises(InvalidSignatureError):
            verify_sign1(parse_sign1(render_sign1(changed)), LOG.public)
    # The unprotected header is for whoever passes the message on.
    verify_sign1(parse_sign1(render_sign1(replace(SIGNED, unprotected={}))), LOG.public)


_PARTS: tuple[CborValue, ...] = (SIGNED.protected, {}, b"content", SIGNED.signature)


@pytest.mark.parametrize(
    "value",
    [
        list(_PARTS),
        CborTag(17, _PARTS),
        CborTag(18, _PARTS[:3]),
        CborTag(18, (*_PARTS, b"")),
        CborTag(18, ("text", *_PARTS[1:])),
        CborTag(18, (_PARTS[0], [], *_PARTS[2:])),
        CborTag(18, (*_PARTS[:2], "text", _PARTS[3])),
        CborTag(18, (*_PARTS[:3], None)),
        CborTag(18, (render_cbor([1]), *_PARTS[1:])),
        CborTag(18, (render_cbor({1: -7}), *_PARTS[1:])),
        CborTag(18, (render_cbor({4: b""}), *_PARTS[1:])),
        CborTag(18, (render_cbor({1: -8, 2: [99]}), *_PARTS[1:])),
    ],
)
def test_what_is_no_signature_of_ours_to_judge_is_refused(value: CborValue) -> None:
    """Another tag, other parts, another algorithm, a header that would have to be understood."""
    with pytest.raises(MalformedCoseError):
        parse_sign1(render_cbor(value))


def test_a_protected_header_that_is_no_cbor_is_refused() -> None:
    with pytest.raises(MalformedCborError):
        parse_sign1(render_cbor(CborTag(18, (b"", *_PARTS[1:]))))


def test_a_refusal_quotes_no_more_than_a_line_of_what_was_sent() -> None:
    """Whoever sends much gets little back: a refusal goes into answers and logs."""
    header = render_cbor({1: b"x" * 100_000})
    with pytest.raises(MalformedCoseError) as caught:
        parse_sign1(render_cbor(CborTag(18, [header, {}, b"", b""])))
    assert len(str(caught.value)) < 200
