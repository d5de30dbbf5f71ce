"""A permit in both of its forms: others' libraries read it, and no changed byte of it is accepted."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.jwk import OKPKey
from msgspec.structs import replace
from pycose.keys.okp import OKPKey as CoseKey
from pycose.messages.sign1message import Sign1Message

from assay.kernel.errors import Error
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import key_id_of
from assay.permits.errors import PermitError
from assay.permits.permit import (
    Permit,
    ToolCall,
    hash_arguments,
    parse_call,
    parse_permit_id,
    permit_names,
    render_call,
    verify_use,
)
from assay.permits.seal import render_cose, render_jwt, verify_permit
from tests.raising import raises

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = PRIVATE.public_key().public_bytes_raw()
KEY = key_id_of(PUBLIC)
AT = Instant(datetime(2026, 1, 7, 12, tzinfo=UTC))
CALL = ToolCall(tool="delete_record", arguments={"id": 41, "table": "guests"}, audience="https://tools.example")
NAME, NONCE = permit_names(bytes(range(32)))
PERMIT = Permit(
    permit_id=NAME,
    issuer="node.example/hotel",
    tenant_id=TenantId("hotel"),
    agent=PrincipalId("ai:concierge"),
    audience=CALL.audience,
    tool=CALL.tool,
    arguments_hash=hash_arguments(CALL.arguments),
    bundle_hash=hash_arguments({"bundle": 1}),
    issued_at=AT,
    expires_at=Instant(AT + timedelta(minutes=5)),
    nonce=NONCE,
)


def find_key(key_id: KeyId, _permit: Permit) -> bytes:
    assert key_id == KEY
    return PUBLIC


def test_both_forms_state_the_same_permit() -> None:
    assert verify_permit(render_jwt(PERMIT, KEY, PRIVATE.sign), find_key) == PERMIT
    assert verify_permit(render_cose(PERMIT, KEY, PRIVATE.sign), find_key) == PERMIT
    under = replace(PERMIT, mandate_id="mdt_1")
    assert verify_permit(render_jwt(under, KEY, PRIVATE.sign), find_key).mandate_id == "mdt_1"
    assert verify_permit(render_cose(under, KEY, PRIVATE.sign), find_key) == under


# Most readers know the older name of the algorithm only, so it is the one that is written.
@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")
def test_others_read_the_jwt() -> None:
    key = OKPKey.import_key({"kty": "OKP", "crv": "Ed25519", "x": _b64(PUBLIC)})
    token = jwt.decode(render_jwt(PERMIT, KEY, PRIVATE.sign), key, algorithms=["EdDSA", "Ed25519"])
    assert (token.claims["jti"], token.claims["aud"], token.claims["tool"]) == (NAME, CALL.audience, CALL.tool)
    assert token.claims["exp"] - token.claims["iat"] == 300


def test_others_read_the_cose_message() -> None:
    protected, unprotected, payload, signature = cbor2.loads(render_cose(PERMIT, KEY, PRIVATE.sign)).value
    message = Sign1Message.from_cose_obj([protected, dict(unprotected), payload, signature], True)
    message.key = CoseKey(crv="ED25519", x=PUBLIC)
    assert message.verify_signature()
    claims = cbor2.loads(payload)
    assert (claims[7].decode(), claims[3], claims["arguments_hash"]) == (NAME, CALL.audience, PERMIT.arguments_hash)


@given(st.integers(0, 10_000), st.integers(1, 255), st.booleans())
def test_a_changed_byte_is_refused(place: int, change: int, is_text: bool) -> None:  # noqa: FBT001 - an example
    form = render_jwt(PERMIT, KEY, PRIVATE.sign).encode() if is_text else render_cose(PERMIT, KEY, PRIVATE.sign)
    changed = bytearray(form)
    changed[place % len(form)] ^= change
    with pytest.raises((Error, AssertionError)):
        verify_permit(changed.decode("latin-1") if is_text else bytes(changed), find_key)


@pytest.mark.parametrize("form", ["", "a.b", "a.b.c", "..", b"", b"\xd2\x84", b"\x01", "x" * 20_000])
def test_what_is_no_permit_is_refused_with_a_code(form: str | bytes) -> None:
    with pytest.raises(Error):
        verify_permit(form, find_key)


def test_a_permit_for_another_kind_of_token_is_refused() -> None:
    """A signature that the same key made over another type of token never passes for a permit."""
    token = jwt.encode(
        {"alg": "Ed25519", "typ": "JWT", "kid": KEY}, {"sub": "ai:concierge"}, _okp(), algorithms=["Ed25519"]
    )
    with raises(PermitError.form):
        verify_permit(token, find_key)


def test_a_permit_is_for_one_call_only() -> None:
    verify_use(PERMIT, CALL, at=AT)
    verify_use(PERMIT, replace(CALL, arguments={"table": "guests", "id": 41}), at=AT)
    for other in (
        replace(CALL, tool="read_record"),
        replace(CALL, audience="https://elsewhere.example"),
        replace(CALL, arguments={"id": 42, "table": "guests"}),
        replace(CALL, arguments={"id": 41, "table": "guests", "force": True}),
    ):
        with raises(PermitError.use):
            verify_use(PERMIT, other, at=AT)
    with raises(PermitError.expired):
        verify_use(PERMIT, CALL, at=PERMIT.expires_at)


def test_a_call_has_one_text() -> None:
    text = render_call(CALL)
    assert text == '{"arguments":{"id":41,"table":"guests"},"audience":"https://tools.example","tool":"delete_record"}'
    assert parse_call(text) == CALL
    for other in (text.replace(":41", ": 41"), "{}", "[]", text + " ", text.replace("tool", "tools")):
        with raises(PermitError.use):
            parse_call(other)
    with raises(PermitError.use):
        render_call(replace(CALL, arguments={"x": float("nan")}))
    with raises(PermitError.use):
        render_call(replace(CALL, arguments={"x": "y" * 300_000}))


@pytest.mark.parametrize(
    "change",
    [
        {"tool": ""},
        {"tool": " x"},
        {"audience": "a\nb"},
        {"nonce": "0"},
        {"permit_id": "pmt_1"},
        {"issued_at": AT + timedelta(microseconds=1)},
        {"expires_at": AT},
        {"agent": "nobody"},
        {"arguments_hash": "sha256:0"},
    ],
)
def test_a_malformed_permit_cannot_be_made(change: dict[str, object]) -> None:
    with pytest.raises(Error):
        replace(PERMIT, **change)


def test_ids_have_a_form() -> None:
    assert parse_permit_id(NAME) == NAME
    for other in ("", "pmt_", "tkt_" + "a" * 26, NAME.upper()):
        with pytest.raises(PermitError):
            parse_permit_id(other)


def _okp() -> OKPKey:
    private = PRIVATE.private_bytes_raw()
    return OKPKey.import_key({"kty": "OKP", "crv": "Ed25519", "x": _b64(PUBLIC), "d": _b64(private)})


def _b64(content: bytes) -> str:
    text = urlsafe_b64encode(content).decode().rstrip("=")
    assert urlsafe_b64decode(text + "==") == content
    return text
