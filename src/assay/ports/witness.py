"""A witness: somebody else who remembers our checkpoints and cosigns only what grew honestly."""

from typing import NamedTuple, Protocol


class WitnessReply(NamedTuple):
    """The protocol's status and body; nothing in it is verified yet."""

    status: int
    body: bytes


class Witness(Protocol):
    """Speaks C2SP tlog-witness; `witness.unreachable` when there is no answer at all."""

    @property
    def name(self) -> str: ...

    @property
    def public_key(self) -> bytes: ...

    def add_checkpoint(self, request: bytes) -> WitnessReply: ...
