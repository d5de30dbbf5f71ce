"""DSSE envelopes against the published vector, and against everything that must not pass."""

import json
from base64 import b64decode, urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.kernel.dsse import (
    DsseSignature,
    MalformedEnvelopeError,
    UnsignedEnvelopeError,
    UntrustedEnvelopeError,
    pae,
    parse_envelope,
    payload_of,
    render_envelope,
    seal_envelope,
    verify_envelope,
)
from assay.kernel.errors import JsonError
from tests.kernel._signing import LOG, OTHER

VECTOR: dict[str, Any] = json.loads((Path(__file__).parent.parent / "vectors/dsse/protocol.json").read_text())
KIND = "application/vnd.example+json"
SIGNED = seal_envelope(KIND, b"{}", [(LOG.key_id, LOG.sign)])


def test_the_encoding_is_the_published_one() -> None:
    assert pae(VECTOR["payload_type"], VECTOR["payload"].encode()) == VECTOR["pae"].encode()


def test_the_published_envelope_is_read_and_its_signature_is_over_our_encoding() -> None:
    """ECDSA is not ours to judge, so the library judges it: over the bytes that `pae` makes of what we read."""
    envelope = parse_envelope(json.dumps(VECTOR["envelope"]))
    payload = payload_of(envelope, payload_type=VECTOR["payload_type"])
    raw = b64decode(envelope.signatures[0].sig)
    signature = utils.encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    numbers = ec.EllipticCurvePublicNumbers(int(VECTOR["x"]), int(VECTOR["y"]), ec.SECP256R1())
    numbers.public_key().verify(signature, pae(envelope.payload_type, payload), ec.ECDSA(SHA256()))
    with pytest.raises(UntrustedEnvelopeError):
        verify_envelope(envelope, [LOG.public])


@given(st.text(max_size=9), st.binary(max_size=9), st.text(max_size=9), st.binary(max_size=9))
def test_two_messages_never_share_an_encoding(kind: str, payload: bytes, other: str, content: bytes) -> None:
    assert (pae(kind, payload) == pae(other, content)) is ((kind, payload) == (other, content))


@given(st.text(max_size=20), st.binary(max_size=60))
def test_what_is_sealed_is_read_and_verified(kind: str, payload: bytes) -> None:
    read = parse_envelope(render_envelope(seal_envelope(kind, payload, [(LOG.key_id, LOG.sign)])))
    assert payload_of(read, payload_type=kind) == payload
    assert verify_envelope(read, [OTHER.public, LOG.public]) == {LOG.key_id}


def test_every_key_that_signed_is_named_and_no_other() -> None:
    both = seal_envelope(KIND, b"{}", [(LOG.key_id, LOG.sign), (OTHER.key_id, OTHER.sign)])
    assert verify_envelope(both, [OTHER.public, LOG.public]) == {LOG.key_id, OTHER.key_id}
    assert verify_envelope(both, [OTHER.public]) == {OTHER.key_id}


def test_a_key_id_in_the_envelope_proves_nothing() -> None:
    """A stolen name with a signature of one's own is not by that name's key; a wrong name does no harm."""
    stolen = seal_envelope(KIND, b"{}", [(LOG.key_id, OTHER.sign)])
    with pytest.raises(UntrustedEnvelopeError, match="by others"):
        verify_envelope(stolen, [LOG.public])
    assert verify_envelope(stolen, [OTHER.public]) == {OTHER.key_id}


def test_a_signature_of_another_method_is_passed_over() -> None:
    """It is not ours to judge: beside a good one it does no harm, alone it counts for nothing."""
    foreign = DsseSignature(sig="AAAA")
    assert verify_envelope(replace(SIGNED, signatures=(foreign, *SIGNED.signatures)), [LOG.public]) == {LOG.key_id}
    with pytest.raises(UntrustedEnvelopeError):
        verify_envelope(replace(SIGNED, signatures=(foreign,)), [LOG.public])


@pytest.mark.parametrize("change", [{"payload": "e30K"}, {"payload_type": "application/json"}], ids=str)
def test_neither_the_payload_nor_its_type_can_be_changed(change: dict[str, str]) -> None:
    with pytest.raises(UntrustedEnvelopeError):
        verify_envelope(replace(SIGNED, **change), [LOG.public])


def test_nobody_vouches_for_an_envelope_without_signatures_or_without_keys() -> None:
    with pytest.raises(UnsignedEnvelopeError, match="without signatures"):
        verify_envelope(seal_envelope(KIND, b"{}"), [LOG.public])
    with pytest.raises(UntrustedEnvelopeError):
        verify_envelope(SIGNED, [])


def test_another_kind_of_payload_is_not_handed_out() -> None:
    with pytest.raises(MalformedEnvelopeError, match="expected a payload of type"):
        payload_of(SIGNED, payload_type="application/vnd.in-toto+json")


def test_both_alphabets_of_base64_and_unknown_fields_are_read() -> None:
    """DSSE demands it of readers; nothing outside the payload and its type is believed anyway."""
    payload = b"\xfb\xff\xfe"
    sealed = seal_envelope(KIND, payload, [(LOG.key_id, LOG.sign)])
    value = json.loads(render_envelope(replace(sealed, payload=urlsafe_b64encode(payload).decode())))
    read = parse_envelope(json.dumps({**value, "extra": 1}))
    assert payload_of(read, payload_type=KIND) == payload
    assert verify_envelope(read, [LOG.public]) == {LOG.key_id}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"payload":"","payloadType":"a"}',
        '{"payload":"","payloadType":1,"signatures":[]}',
        '{"payload":"*","payloadType":"a","signatures":[]}',
        '{"payload":"é","payloadType":"a","signatures":[]}',
        '{"payload":"","payloadType":"a","signatures":[{"keyid":"a"}]}',
        '{"payload":"","payloadType":"a","signatures":[{"sig":"a"}]}',
    ],
)
def test_what_is_no_envelope_is_refused(text: str) -> None:
    with pytest.raises(MalformedEnvelopeError):
        parse_envelope(text)


def test_an_envelope_with_two_payloads_is_refused() -> None:
    with pytest.raises(JsonError):
        parse_envelope('{"payload":"","payload":"e30=","payloadType":"a","signatures":[]}')
