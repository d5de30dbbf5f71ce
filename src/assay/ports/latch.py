"""Where a fired switch is remembered that could not be stored, as on a full disk."""

from typing import Protocol


class Latch(Protocol):
    """Room for one short record that was taken in advance, so that writing it needs no more room."""

    def prepare(self) -> None:
        """Take the room, if it is not taken yet."""
        ...

    def load(self) -> bytes | None:
        """Return the record; None where there is none, or none that is whole."""
        ...

    def store(self, record: bytes) -> None:
        """Write the record over the last one; it is on disk when this returns."""
        ...

    def clear(self) -> None: ...
