r"""Signatures: Ed25519, which anyone can check, and HMAC-SHA256, which only holders of the secret can.

Our own records are signed under a domain, so that a signature made for one kind never passes for another:

    message = b"assay/" + kind + b"/v1\n" + payload

Foreign formats (signed notes, Kaori states, knowledge graphs) define their own message and use
`verify_ed25519` as it is.
"""

import hmac
import re
from enum import StrEnum
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from assay.kernel.errors import KeyUseError, SignatureError

PUBLIC_KEY_SIZE = 32
SIGNATURE_SIZE = 64
HMAC_SIZE = 32
# A shorter secret could be guessed from one signature, or from the key id.
MIN_SECRET_SIZE = 32

# edwards25519 (RFC 8032, 5.1): the field, the curve constant d, and the bit of the encoding that holds the sign of x.
_P = 2**255 - 19
_D = (-121665 * pow(121666, -1, _P)) % _P
_SIGN_BIT = 1 << 255
_HEX = re.compile(r"(?:[0-9a-f]{2})+", re.ASCII)
# Most of what is signed is a hash or a small record.
_REMEMBERED_BYTES = 1024


class SignedKind(StrEnum):
    """What a signature of ours is about; grows, and a retired value is never reused."""

    KEY = "key"
    RETIREMENT = "retirement"
    ANSWER = "answer"
    TRANSCRIPT = "transcript"
    SESSION = "session"
    MARK = "mark"
    BACKUP = "backup"
    ATTESTATION = "attestation"
    SOVEREIGNTY = "sovereignty"
    WINDOW = "window"
    MANIFEST = "manifest"
    ANNOUNCE = "announce"
    ANNOTATION = "annotation"
    FOLD = "fold"
    CLAIMS_POLICY = "claims_policy"
    ACT = "act"
    SAMPLE_PLAN = "sample_plan"
    GATEWAY_TABLE = "gateway_table"


class MalformedKeyError(KeyUseError):
    """Bytes or text are not an Ed25519 public key."""

    code = "key.malformed"


class WeakKeyError(KeyUseError):
    """A public key is a point of small order: signatures under it can be made without any secret."""

    code = "key.weak"


class ShortSecretError(KeyUseError):
    """An HMAC secret is too short to be kept from a guesser."""

    code = "key.short_secret"


class MalformedSignatureError(SignatureError):
    """A written signature is not lower-case hex."""

    code = "signature.malformed"


class SignatureLengthError(SignatureError):
    """A signature does not have the length of its method."""

    code = "signature.length"


class InvalidSignatureError(SignatureError):
    """A signature was not made by this key over these bytes."""

    code = "signature.invalid"


def signing_message(kind: SignedKind, payload: bytes) -> bytes:
    """The bytes to sign for one of our own kinds; no kind contains a line feed, so two kinds never share a message."""
    return b"assay/" + kind.encode() + b"/v1\n" + payload


def parse_signature_hex(text: str) -> bytes:
    """Read lower-case hex only, so that one signature has one spelling; the length is for the method to judge."""
    if _HEX.fullmatch(text) is None:
        raise MalformedSignatureError(f"expected a signature in lower-case hex, got `{text[:140]}`")
    return bytes.fromhex(text)


def verify_ed25519(public_key: bytes, message: bytes, signature: bytes) -> None:
    """Raise unless `signature` is this key's over exactly these bytes; malleable and weak-key forms are refused."""
    if len(signature) != SIGNATURE_SIZE:
        raise SignatureLengthError(f"expected {SIGNATURE_SIZE} bytes of Ed25519 signature, got {len(signature)}")
    try:
        (_verify_remembered if len(message) <= _REMEMBERED_BYTES else _verify)(public_key, message, signature)
    except InvalidSignature as error:
        raise InvalidSignatureError(
            f"the signature is not by key `{public_key.hex()}` over these {len(message)} bytes"
        ) from error


def _verify(public_key: bytes, message: bytes, signature: bytes) -> None:
    load_public_key(public_key).verify(signature, message)


# A signed record is looked at again and again, and what holds for these bytes holds for ever. What was refused is not
# remembered: strangers could send any number of them.
_verify_remembered = lru_cache(maxsize=2048)(_verify)


# Loading costs a square root in the field; a batch is checked against the same few keys.
@lru_cache(maxsize=1024)
def load_public_key(raw: bytes) -> Ed25519PublicKey:
    """Load 32 raw bytes; a text that is no canonical point of the curve, or a point of small order, is refused.

    The library checks the length alone, and a key of small order would let anyone sign anything.
    """
    if len(raw) != PUBLIC_KEY_SIZE:
        raise MalformedKeyError(f"expected {PUBLIC_KEY_SIZE} bytes of Ed25519 public key, got {len(raw)}")
    y = int.from_bytes(raw, "little") & ~_SIGN_BIT
    if y >= _P or not _is_on_curve(y):
        raise MalformedKeyError(f"expected a canonical point of edwards25519, got `{raw.hex()}`")
    if _has_small_order(y):
        raise WeakKeyError(f"expected a point of large order, got `{raw.hex()}`")
    return Ed25519PublicKey.from_public_bytes(raw)


def sign_hmac(secret: bytes, message: bytes) -> bytes:
    if len(secret) < MIN_SECRET_SIZE:
        raise ShortSecretError(f"expected a secret of at least {MIN_SECRET_SIZE} bytes, got {len(secret)}")
    return hmac.digest(secret, message, "sha256")


def verify_hmac(secret: bytes, message: bytes, signature: bytes) -> None:
    """Raise unless `signature` is HMAC-SHA256 of the message; compared in constant time."""
    if len(signature) != HMAC_SIZE:
        raise SignatureLengthError(f"expected {HMAC_SIZE} bytes of HMAC-SHA256, got {len(signature)}")
    if not hmac.compare_digest(sign_hmac(secret, message), signature):
        raise InvalidSignatureError(f"the HMAC is not by this secret over these {len(message)} bytes")


def _is_on_curve(y: int) -> bool:
    """Whether x^2 = (y^2 - 1) / (d y^2 + 1) has a root, by Euler's criterion; d y^2 + 1 is never zero."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    return pow(square, (_P - 1) // 2, _P) in (0, 1)


def _has_small_order(y: int) -> bool:
    """Orders 1, 2 and 4 have y = 1, -1 and 0; a point of order 8 doubles into y = 0, so that d y^4 + 2 y^2 = 1."""
    square = y * y % _P
    return y * (square - 1) * (_D * square * square + 2 * square - 1) % _P == 0
