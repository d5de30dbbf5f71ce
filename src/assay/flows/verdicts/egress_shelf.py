"""How many attempts of each guard are in the ledger already, and how many a person has looked into; process memory."""

from threading import Lock
from weakref import WeakKeyDictionary

from assay.ports.egress import EgressGuard


class EgressShelf:
    """A guard counts from 0 in every process; what the ledger has of its count is kept beside it."""

    def __init__(self) -> None:
        self._recorded: WeakKeyDictionary[EgressGuard, int] = WeakKeyDictionary()
        self._cleared: WeakKeyDictionary[EgressGuard, int] = WeakKeyDictionary()
        # Held while attempts are written down, so that none is written twice.
        self.writing = Lock()

    def unrecorded(self, guard: EgressGuard | None) -> int:
        return 0 if guard is None else guard.attempts - self._recorded.get(guard, 0)

    def uncleared(self, guard: EgressGuard | None) -> int:
        return 0 if guard is None else guard.attempts - self._cleared.get(guard, 0)

    def note_recorded(self, guard: EgressGuard, attempts: int) -> None:
        self._recorded[guard] = self._recorded.get(guard, 0) + attempts

    def note_cleared(self, guard: EgressGuard | None) -> None:
        """Count the attempts that are on record as cleared; one that came since stays open."""
        if guard is not None:
            self._cleared[guard] = self._recorded.get(guard, 0)
