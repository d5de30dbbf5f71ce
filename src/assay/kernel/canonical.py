"""Canonical bytes: one value, one text, one hash, in two named profiles.

value -> canonical bytes -> SHA-256
`ski-3.0` is RFC 8785 over NFC strings (SKI 7.3); `kaori-2.1` is Kaori 3.2. Accepted: None, bool, int, float, str,
mappings with string keys, lists, tuples, aware datetimes and msgspec structs; subclasses of these count as their base,
so that members of StrEnum and IntEnum are their values. Everything else is refused with a `canonical.*` code, a naive
datetime with `form.naive_datetime`. The bytes come from a fast path that equals the exact one byte for byte.
"""

from hashlib import sha256

from assay.kernel._canonical_exact import (
    MAX_DEPTH,
    MAX_SAFE_INTEGER,
    DepthError,
    IntegerRangeError,
    KeyCollisionError,
    KeyTypeError,
    LoneSurrogateError,
    NonFiniteError,
    Profile,
    ValueTypeError,
    canonicalize_exact,
)
from assay.kernel._canonical_fast import canonicalize_fast
from assay.kernel.digest import Digest, digest_of

__all__ = [
    "MAX_DEPTH",
    "MAX_SAFE_INTEGER",
    "DepthError",
    "IntegerRangeError",
    "KeyCollisionError",
    "KeyTypeError",
    "LoneSurrogateError",
    "NonFiniteError",
    "Profile",
    "ValueTypeError",
    "canonical_digest",
    "canonical_hash",
    "canonical_json",
    "canonicalize",
    "canonicalize_exact",
]


def canonicalize(value: object, profile: Profile = Profile.SKI) -> bytes:
    """The canonical UTF-8 bytes of a value; refuses what has none."""
    content = canonicalize_fast(value, profile)
    return canonicalize_exact(value, profile) if content is None else content


def canonical_json(value: object, profile: Profile = Profile.SKI) -> str:
    return canonicalize(value, profile).decode("utf-8")


def canonical_hash(value: object, profile: Profile = Profile.SKI) -> str:
    """SHA-256 of the canonical bytes, as 64 lower-case hex digits (Kaori 3.3)."""
    return sha256(canonicalize(value, profile)).hexdigest()


def canonical_digest(value: object, profile: Profile = Profile.SKI) -> Digest:
    """SHA-256 of the canonical bytes, written `sha256:` and hex (SKI 4.6)."""
    return digest_of(canonicalize(value, profile))
