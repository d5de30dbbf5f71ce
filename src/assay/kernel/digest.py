"""A digest: SHA-256, written `sha256:` and 64 lower-case hex digits (SKI 4.6)."""

import re
from hashlib import sha256
from typing import NewType

from assay.kernel.errors import TypeFormError

Digest = NewType("Digest", str)

_PREFIX = "sha256:"
_FORM = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)

# The `previous_hash` of entry 1 (SKI 7.1).
ZERO_DIGEST = Digest(_PREFIX + "0" * 64)
# SHA-256 of no bytes at all: how SKI 3.5 marks an unsigned knowledge graph.
EMPTY_DIGEST = Digest(_PREFIX + sha256(b"").hexdigest())


class MalformedDigestError(TypeFormError):
    """A digest is not `sha256:` and 64 lower-case hex digits."""

    code = "form.digest"


def digest_of(content: bytes) -> Digest:
    return Digest(_PREFIX + sha256(content).hexdigest())


def digest_from_raw(raw: bytes) -> Digest:
    if len(raw) != sha256().digest_size:
        raise MalformedDigestError(f"expected 32 bytes of SHA-256, got {len(raw)}")
    return Digest(_PREFIX + raw.hex())


def parse_digest(text: str) -> Digest:
    if _FORM.fullmatch(text) is None:
        raise MalformedDigestError(f"expected `sha256:` and 64 lower-case hex digits, got `{text[:80]}`")
    return Digest(text)


def raw_digest(digest: Digest) -> bytes:
    return bytes.fromhex(digest.removeprefix(_PREFIX))
