"""Passwords by argon2id, with a bound on how many are hashed at once."""

import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from assay.kernel.errors import Blame, Error
from assay.ports.password import SALT_BYTES

if TYPE_CHECKING:
    from argon2 import PasswordHasher

# RFC 9106, section 4, the second recommended option: for memory-constrained machines.
_TIME_COST = 3
_MEMORY_KIB = 64 * 1024
_LANES = 4
_HASH_BYTES = 32


class PasswordsBusyError(Error):
    """Too many passwords are being checked at once; try again."""

    code = "identity.busy"
    blame = Blame.OURS


class Argon2Passwords:
    """Implements `ports.password.Passwords`; `at_once` times `memory_kib` is all the memory strangers can claim."""

    def __init__(
        self,
        *,
        at_once: int = 2,
        patience: float = 10.0,
        memory_kib: int = _MEMORY_KIB,
        time_cost: int = _TIME_COST,
        lanes: int = _LANES,
    ) -> None:
        self._places = threading.BoundedSemaphore(at_once)
        self._patience = patience
        self._memory_kib = memory_kib
        self._time_cost = time_cost
        self._lanes = lanes

    def encode(self, password: str, *, salt: bytes) -> str:
        with self._place():
            return self._hasher.hash(_bytes(password), salt=salt)

    def verify(self, encoded: str | None, password: str) -> bool:
        from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415 - see `_hasher`

        with self._place():
            # Made on the first call whoever is asked for, so that the first call tells nothing either.
            nobody = self._nobody
            try:
                self._hasher.verify(nobody if encoded is None else encoded, _bytes(password))
            except (VerificationError, InvalidHashError):
                return False
        return encoded is not None

    @cached_property
    def _hasher(self) -> "PasswordHasher":
        from argon2 import PasswordHasher, Type  # noqa: PLC0415 - most commands never see a password, and must be quick

        return PasswordHasher(
            time_cost=self._time_cost,
            memory_cost=self._memory_kib,
            parallelism=self._lanes,
            hash_len=_HASH_BYTES,
            salt_len=SALT_BYTES,
            type=Type.ID,
        )

    @cached_property
    def _nobody(self) -> str:
        """What an unknown person's password is compared with: made with the same costs, so it takes the same time."""
        return self._hasher.hash(b"", salt=bytes(SALT_BYTES))

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._places.acquire(timeout=self._patience):
            raise PasswordsBusyError(f"expected a free place within {self._patience} s, got none")
        try:
            yield
        finally:
            self._places.release()


def _bytes(password: str) -> bytes:
    # A text that has no UTF-8 is simply a wrong password here; `set_password` refuses to set one.
    return unicodedata.normalize("NFC", password).encode(errors="surrogatepass")
