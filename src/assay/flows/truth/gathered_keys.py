"""Stored observations made ready for a contract, kept in memory from one compilation of their key to the next.

stored texts + contract -> Gathered; only what is not in memory is decoded and made ready
INVARIANT: what is kept is found by everything that it was made from, so that memory changes no byte of any state.
"""

from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

from assay.kernel.instant import Instant
from assay.truth.contract import Contract
from assay.truth.gather import Gathered, add_observation, gather_observations
from assay.truth.observation import HashedObservation, read_stored_observation

# Observations of all keys together, a few kilobytes each. A key with more than that is read anew each time.
MOST_KEPT = 1 << 15
# One by one an observation is added for the price of a copy; of many at once all are gathered anew.
_FEW = 16


class StoredText(NamedTuple):
    """An observation as it is stored: its canonical text, the hash that it must have, and when it was received."""

    text: str
    hash: str
    received_at: Instant | None = None

    def read(self) -> HashedObservation:
        return read_stored_observation(self.text, self.hash, self.received_at)


class _Kept(NamedTuple):
    stored: tuple[StoredText, ...]
    gathered: Gathered


class GatheredKeys:
    """The keys that were compiled last, up to so many observations in all; safe for threads."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._count = 0
        self._lock = Lock()

    def __len__(self) -> int:
        """How many observations are kept."""
        return self._count

    def gather(self, contract: Contract, truthkey: str, stored: tuple[StoredText, ...]) -> Gathered:
        """What `gather_observations` would give for all that is stored, in whatever order its rows are."""
        place = (truthkey, contract.claim_type_hash)
        with self._lock:
            kept = self._kept.get(place)
        gathered = _gathered(contract, kept, stored)
        self._keep(place, _Kept(stored, gathered))
        return gathered

    def _keep(self, place: tuple[str, str], kept: _Kept) -> None:
        with self._lock:
            old = self._kept.pop(place, None)
            self._count -= 0 if old is None else len(old.stored)
            if len(kept.stored) > self._most:
                return
            self._kept[place] = kept
            self._count += len(kept.stored)
            while self._count > self._most:
                _, oldest = self._kept.popitem(last=False)
                self._count -= len(oldest.stored)


def _gathered(contract: Contract, kept: _Kept | None, stored: tuple[StoredText, ...]) -> Gathered:
    """What was kept and what is new; where a text is gone or is another, all of them are read again."""
    if kept is not None and kept.stored == stored:
        return kept.gathered
    known = frozenset(() if kept is None else kept.stored)
    new = [one for one in stored if one not in known]
    if kept is None or len(known) + len(new) != len(stored):
        return gather_observations(contract, [one.read() for one in stored])
    if len(new) > _FEW:
        return gather_observations(contract, [*kept.gathered.rows, *[one.read() for one in new]])
    gathered = kept.gathered
    for one in new:
        gathered = add_observation(contract, gathered, one.read())
    return gathered


_HERE = GatheredKeys()


def gather_stored(contract: Contract, truthkey: str, stored: tuple[StoredText, ...]) -> Gathered:
    """Gather stored observations, through the memory that this process keeps."""
    return _HERE.gather(contract, truthkey, stored)
