"""A key that is not here: everything that needs no signature works, and everything else says what is missing."""

from typing import NoReturn

from assay.adapters.keyfile import KeyFileMissingError
from assay.kernel.ids import KeyId
from assay.kernel.key import SigningMethod


class AbsentKey:
    """Implements `Signer` by refusing; for a folder that is being restored, whose keys may come later."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def key_id(self) -> KeyId:
        return self._refuse()

    @property
    def method(self) -> SigningMethod:
        return self._refuse()

    @property
    def public_key(self) -> bytes | None:
        """Not known here, so nothing is verified with it either."""
        return None

    def sign(self, message: bytes) -> bytes:
        return self._refuse(len(message))

    def _refuse(self, size: int = 0) -> NoReturn:
        raise KeyFileMissingError(f"expected the {self._name} key to sign {size} bytes with, got none")
