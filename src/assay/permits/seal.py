"""The two signed forms of one permit: a JWT (RFC 7519, EdDSA) and a COSE_Sign1 (RFC 9052) over CWT claims (RFC 8392).

permit -> claims -> signing input -> a signer signs it -> text or bytes -> parse -> verify with public keys alone
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from assay.kernel.cbor import CborKey, CborValue, parse_cbor, render_cbor
from assay.kernel.cose import ALGORITHM, EDDSA, KEY_ID, parse_sign1, render_sign1, seal_sign1, verify_sign1
from assay.kernel.ids import KeyId
from assay.kernel.signature import verify_ed25519
from assay.permits.errors import PermitError
from assay.permits.permit import Permit, second_of

JWT_TYPE = "assay-permit+jwt"
COSE_TYPE = "application/assay-permit+cwt"
LONGEST_FORM = 16 * 1024
# The label of the header `typ` (RFC 9596).
_TYPE = 16
# CWT claim keys (RFC 8392, 4): the registered claims have numbers, ours have names.
_LABELS = {"iss": 1, "sub": 2, "aud": 3, "exp": 4, "iat": 6, "jti": 7}
_NAMES = {label: name for name, label in _LABELS.items()}
_PARTS = 3

Sign = Callable[[bytes], bytes]
# The public key of a key id; raises where it is not trusted at that time.
FindKey = Callable[[KeyId, Permit], bytes]


def render_jwt(permit: Permit, key_id: KeyId, sign: Sign) -> str:
    """Write a permit as a compact JWS."""
    head = {"alg": "EdDSA", "kid": key_id, "typ": JWT_TYPE}
    message = f"{_b64(msgspec.json.encode(head))}.{_b64(msgspec.json.encode(_claims(permit)))}"
    return f"{message}.{_b64(sign(message.encode()))}"


def render_cose(permit: Permit, key_id: KeyId, sign: Sign) -> bytes:
    """Write a permit as a tagged COSE_Sign1."""
    header: dict[CborKey, CborValue] = {KEY_ID: key_id.encode(), _TYPE: COSE_TYPE}
    claims: dict[CborKey, CborValue] = {_LABELS.get(name, name): value for name, value in _claims(permit).items()}
    claims[_LABELS["jti"]] = permit.permit_id.encode()
    return render_sign1(seal_sign1(header, render_cbor(claims), sign))


def verify_permit(form: str | bytes, find_key: FindKey) -> Permit:
    """Return the permit in a JWT (text) or a COSE_Sign1 (bytes); raise unless a trusted key signed exactly it.

    The caller must still compare the call (`verify_use`) and claim the permit at the node.
    """
    if len(form) > LONGEST_FORM:
        raise PermitError.form(f"expected a permit of at most {LONGEST_FORM} bytes, got {len(form)}")
    return _verify_jwt(form, find_key) if isinstance(form, str) else _verify_cose(form, find_key)


def _claims(permit: Permit) -> dict[str, Any]:
    claims: dict[str, Any] = {
        "iss": permit.issuer,
        "sub": permit.agent,
        "aud": permit.audience,
        "exp": int(permit.expires_at.timestamp()),
        "iat": int(permit.issued_at.timestamp()),
        "jti": permit.permit_id,
        "tenant": permit.tenant_id,
        "tool": permit.tool,
        "arguments_hash": permit.arguments_hash,
        "bundle_hash": permit.bundle_hash,
        "nonce": permit.nonce,
    }
    if permit.mandate_id is not None:
        claims["mandate"] = permit.mandate_id
    return claims


def _permit_of(claims: Mapping[Any, Any]) -> Permit:
    """The permit that claims state; every claim is required, known and of its type."""
    known = {"iss", "sub", "aud", "jti", "tenant", "tool", "arguments_hash", "bundle_hash", "nonce"}
    texts = {name: value for name, value in claims.items() if name not in ("exp", "iat")}
    unknown = sorted(str(name) for name in texts.keys() - known - {"mandate"})
    if unknown or known - texts.keys() or not all(isinstance(value, str) for value in texts.values()):
        raise PermitError.form(f"expected the claims of a permit as text, got {', '.join(unknown) or 'others'}")
    times = [claims.get(name) for name in ("iat", "exp")]
    if not all(type(one) is int for one in times):
        raise PermitError.form("expected `iat` and `exp` in whole seconds")
    issued, expires = (second_of(int(one or 0)) for one in times)
    return Permit(
        permit_id=texts["jti"],
        issuer=texts["iss"],
        tenant_id=texts["tenant"],
        agent=texts["sub"],
        audience=texts["aud"],
        tool=texts["tool"],
        arguments_hash=texts["arguments_hash"],
        bundle_hash=texts["bundle_hash"],
        issued_at=issued,
        expires_at=expires,
        nonce=texts["nonce"],
        mandate_id=texts.get("mandate"),
    )


def _verify_jwt(form: str, find_key: FindKey) -> Permit:
    parts = form.split(".")
    if len(parts) != _PARTS:
        raise PermitError.form("expected a JWT of three parts")
    head, claims = (_object(_unb64(part)) for part in parts[:2])
    if (head.get("alg"), head.get("typ")) != ("EdDSA", JWT_TYPE) or set(head) != {"alg", "kid", "typ"}:
        raise PermitError.form(f"expected a header of `alg` EdDSA, `kid` and `typ` {JWT_TYPE}")
    permit = _permit_of(claims)
    message = f"{parts[0]}.{parts[1]}".encode()
    verify_ed25519(find_key(KeyId(str(head["kid"])), permit), message, _unb64(parts[2]))
    return permit


def _verify_cose(form: bytes, find_key: FindKey) -> Permit:
    message = parse_sign1(form)
    header, claims = message.header, parse_cbor(message.payload or b"")
    key_id = header.get(KEY_ID)
    if set(header) != {ALGORITHM, KEY_ID, _TYPE} or (header[ALGORITHM], header[_TYPE]) != (EDDSA, COSE_TYPE):
        raise PermitError.form(f"expected protected headers of EdDSA, a key id and the type {COSE_TYPE}")
    if not isinstance(claims, dict) or not isinstance(key_id, bytes) or message.unprotected:
        raise PermitError.form("expected a map of claims, a key id in bytes and no unprotected header")
    named = {str(_NAMES.get(key, key)) if isinstance(key, int) else key: value for key, value in claims.items()}
    if len(named) != len(claims) or not isinstance(named.get("jti"), bytes):
        raise PermitError.form("expected each claim once, and a permit id in bytes")
    named["jti"] = named["jti"].decode(errors="replace")
    permit = _permit_of(named)
    verify_sign1(message, find_key(KeyId(key_id.decode(errors="replace")), permit))
    return permit


def _object(content: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise PermitError.form("expected a JSON object") from error


def _b64(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")


def _unb64(text: str) -> bytes:
    try:
        found = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise PermitError.form("expected base64url without padding") from error
    if _b64(found) != text:
        raise PermitError.form("expected base64url without padding, in its one spelling")
    return found
