"""Public keys as people write them down: PEM, hex, base64, a verifier key line, or only a key id."""

import re
from base64 import b64decode, b64encode
from hashlib import sha256

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from assay.kernel.ids import KeyId, parse_key_id
from assay.kernel.signature import MalformedKeyError, load_public_key

_HEX = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{43}=", re.ASCII)
_VKEY = re.compile(r"([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})", re.ASCII)
_NOTE_ED25519 = b"\x01"
_EXPECTED = "PEM, 64 hex digits, base64 of 32 bytes, or `name+hash+key`"


def parse_public_key(text: str) -> bytes:
    """The raw 32 bytes of PEM SPKI, 64 hex digits, base64, or a C2SP verifier key (whose hash must fit).

    Refusals never repeat the text: it may be a private key given by mistake.
    """
    stripped = text.strip()
    raw = _raw_key(stripped)
    load_public_key(raw)
    return raw


def parse_anchor(text: str) -> bytes | KeyId:
    """What an operator may trust: a `sha256:` key id, or a public key in any form above."""
    stripped = text.strip()
    return parse_key_id(stripped) if stripped.startswith("sha256:") else parse_public_key(stripped)


def _raw_key(text: str) -> bytes:
    if text.startswith("-----BEGIN "):
        return _from_pem(text)
    if _HEX.fullmatch(text):
        return bytes.fromhex(text)
    if _BASE64.fullmatch(text):
        return _from_base64(text)
    vkey = _VKEY.fullmatch(text)
    if vkey is None:
        raise MalformedKeyError(f"expected a public key as {_EXPECTED}, got {len(text)} characters of something else")
    return _from_vkey(vkey[1], vkey[2], _from_base64(vkey[3]))


def _from_pem(text: str) -> bytes:
    try:
        key = load_pem_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise MalformedKeyError("expected a PEM public key (`BEGIN PUBLIC KEY`), got other or damaged PEM") from error
    if not isinstance(key, Ed25519PublicKey):
        raise MalformedKeyError(f"expected an Ed25519 public key, got {type(key).__name__.strip('_')}")
    return key.public_bytes_raw()


def _from_base64(text: str) -> bytes:
    raw = b64decode(text)
    # The last character of base64 has spare bits; accepting them would give one key several spellings.
    if b64encode(raw).decode() != text:
        raise MalformedKeyError("expected base64 with zero spare bits, got a non-canonical spelling")
    return raw


def _from_vkey(name: str, hex_hash: str, typed_key: bytes) -> bytes:
    if not typed_key.startswith(_NOTE_ED25519):
        raise MalformedKeyError(f"expected a verifier key of type 1 (Ed25519), got type {typed_key[0]}")
    expected = sha256(f"{name}\n".encode() + typed_key).hexdigest()[:8]
    if hex_hash != expected:
        raise MalformedKeyError(f"expected key hash `{expected}` for verifier `{name}`, got `{hex_hash}`")
    return typed_key[1:]
