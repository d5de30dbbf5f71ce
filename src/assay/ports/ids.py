"""The one place where randomness comes from."""

from typing import Protocol


class Entropy(Protocol):
    """Unpredictable bytes for salts, secrets and ids."""

    def token(self, size: int) -> bytes: ...
