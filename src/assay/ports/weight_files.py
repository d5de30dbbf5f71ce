"""Where weights lie: files by hash, written once and for good, and one place for a training that is not finished."""

from typing import Protocol

from assay.kernel.digest import Digest


class WeightFiles(Protocol):
    """What was put is durable when `put` returns, and comes back byte for byte or not at all."""

    def put(self, content: bytes) -> Digest:
        """Keep a file under its hash; the same again changes nothing."""
        ...

    def find(self, weight_hash: Digest) -> bytes | None:
        """Refuses bytes that do not have that hash any more."""
        ...


class CheckpointPlace(Protocol):
    """What a training stored last, replaced all or nothing."""

    def load(self) -> bytes | None: ...

    def store(self, content: bytes) -> None: ...


class TrainingPlace(CheckpointPlace, Protocol):
    """The checkpoint of one training, until its weights are kept."""

    def drop(self) -> None: ...


class TrainingPlaces(Protocol):
    """Where trainings that are not finished lie, each by a name of letters and digits."""

    def checkpoint(self, name: str) -> TrainingPlace: ...
