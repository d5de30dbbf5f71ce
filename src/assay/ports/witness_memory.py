"""What a witness remembers: the logs it knows, and the latest checkpoint it cosigned of each."""

from collections.abc import Callable, Mapping
from typing import Protocol

from assay.kernel.note import VerifierKey
from assay.kernel.witness import Known, Verdict

LogKeys = Mapping[str, tuple[VerifierKey, ...]]
Judge = Callable[[Known | None, LogKeys], Verdict]


class WitnessMemory(Protocol):
    """Compares and stores in one step, also between processes."""

    def advance(self, origin: str, judge: Judge) -> Verdict:
        """Judge against what is known, and make what was accepted durable before returning."""
        ...
