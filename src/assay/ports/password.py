"""Passwords: slow to check on purpose, so that a stolen database does not give them away."""

from typing import Protocol

SALT_BYTES = 16


class Passwords(Protocol):
    """Hashes with argon2id; only so many at once, since each takes much memory, and the others wait their turn.

    Two spellings of the same characters (Unicode NFC) are one password. Whoever waits too long is refused with
    `identity.busy`.
    """

    def encode(self, password: str, *, salt: bytes) -> str:
        """The encoded argon2id string to keep; the caller draws `SALT_BYTES` fresh random bytes."""
        ...

    def verify(self, encoded: str | None, password: str) -> bool:
        """Whether this is the password; None (nobody has one) is always false and takes as long as a real one."""
        ...
