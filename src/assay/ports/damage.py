"""Damage: what every store says when something stored cannot be read back, and what a process has seen of it.

Callers may go on with what still can be read.
"""

import threading

from assay.kernel.errors import Error, StoreError


class DamagedRecordError(StoreError):
    """A stored record cannot be read back: the database was damaged, or changed behind our back.

    `entry` is the number of the ledger entry that it belongs to, where one is known.
    """

    code = "store.damaged_record"

    def __init__(self, message: str, *, entry: int | None = None) -> None:
        super().__init__(message)
        self.entry = entry


class DamagedFileError(DamagedRecordError):
    """The database itself says that its files are damaged where it was asked to read."""

    code = "store.damaged_file"


class DamageLog:
    """The codes of the damage that this process has met since everything was last found in order."""

    _MOST = 16

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._codes: tuple[str, ...] = ()

    def codes(self) -> tuple[str, ...]:
        return self._codes

    def add(self, error: Error) -> None:
        with self._lock:
            code = getattr(error, "fault_code", error.code)
            if code not in self._codes and len(self._codes) < self._MOST:
                self._codes = (*self._codes, code)

    def clear(self) -> None:
        """Forget it, after a full verification that holds."""
        with self._lock:
            self._codes = ()
