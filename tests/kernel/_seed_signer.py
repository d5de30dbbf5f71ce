"""A signer for tests, made from a fixed seed, so that a red run is red again."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.kernel.ids import KeyId
from assay.kernel.key import SigningMethod, key_id_of

__all__ = ["SeedSigner"]


class SeedSigner:
    """A signer whose private key is one byte, repeated: known to everyone, hence for tests alone."""

    def __init__(self, seed: int) -> None:
        self._private_key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)

    @property
    def key_id(self) -> KeyId:
        return key_id_of(self.public_key)

    @property
    def method(self) -> SigningMethod:
        return SigningMethod.ED25519

    @property
    def public_key(self) -> bytes:
        return self._private_key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return self._private_key.sign(message)
