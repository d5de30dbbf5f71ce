"""Whoever holds a private key: a file, a token, a service. The key itself never crosses this line."""

from typing import Protocol

from assay.kernel.ids import KeyId
from assay.kernel.key import SigningMethod


class Signer(Protocol):
    """Signs exactly the bytes it is given; fails with a `key.*` error and never with a wrong signature."""

    @property
    def key_id(self) -> KeyId: ...

    @property
    def method(self) -> SigningMethod: ...

    @property
    def public_key(self) -> bytes | None:
        """The raw 32-byte Ed25519 key, or None where anyone who verifies must hold the secret (`local_hmac`)."""
        ...

    def sign(self, message: bytes) -> bytes: ...
