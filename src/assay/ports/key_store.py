"""The node's own keys: endorsements and retirements, as facts that only grow."""

from typing import Protocol

from assay.kernel.key import Endorsement, Retirement

__all__ = ["KeyStore"]


class KeyStore(Protocol):
    """In the order they were added."""

    def add(self, fact: Endorsement | Retirement) -> None: ...

    def endorsements(self) -> tuple[Endorsement, ...]: ...

    def retirements(self) -> tuple[Retirement, ...]: ...
