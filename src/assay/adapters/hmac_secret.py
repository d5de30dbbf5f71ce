"""`local_hmac`: a shared secret in a file. Whoever can check such a signature can also make one, so it proves
nothing to outsiders; Ed25519 is the default everywhere.
"""

from pathlib import Path

from assay.adapters._private_file import load_private_file
from assay.kernel.ids import KeyId
from assay.kernel.key import SigningMethod, hmac_key_id_of
from assay.kernel.signature import sign_hmac


class HmacSigner:
    """Signs with HMAC-SHA256; the secret is given, never assumed, and has at least 32 bytes."""

    def __init__(self, secret: bytes) -> None:
        self._key_id = hmac_key_id_of(secret)
        self._secret = secret

    def __repr__(self) -> str:
        return f"HmacSigner({self._key_id!r})"

    @property
    def key_id(self) -> KeyId:
        return self._key_id

    @property
    def method(self) -> SigningMethod:
        return SigningMethod.LOCAL_HMAC

    @property
    def public_key(self) -> None:
        return None

    def sign(self, message: bytes) -> bytes:
        return sign_hmac(self._secret, message)


def load_secret_file(path: Path) -> HmacSigner:
    """Read the raw bytes of the file, all of them; fewer than 32 are refused with `key.short_secret`."""
    return HmacSigner(load_private_file(path))
