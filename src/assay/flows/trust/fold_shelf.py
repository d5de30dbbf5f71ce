"""Folds of trust kept between compilations, so that each signal is read once however many agents there are.

borrow (one thread at a time) -> the fold of a tenant under a policy -> taken further by the borrower -> given back
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from assay.kernel.ids import TenantId
from assay.ports.trust_store import FoldMark
from assay.trust.evolve import Fold

MARK_EVERY = 1000
_MOST = 8  # with 30,000 agents each, about 100 MB


@dataclass(slots=True, kw_only=True)
class Folded:
    """A fold of the log up to entry `through`; `since_mark` is how many signals were added since the last mark."""

    fold: Fold
    through: int
    since_mark: int


@dataclass(slots=True)
class FoldPlace:
    """Where a fold is kept, and the mark that is still to be left of it."""

    folded: Folded | None = None
    due: FoldMark | None = None


class FoldShelf:
    """The folds of one database; those asked for least recently go first.

    A shelf belongs to one database, and only what was committed may be folded in: never borrow in a unit that writes.
    """

    def __init__(self, *, mark_every: int = MARK_EVERY, most: int = _MOST) -> None:
        self.mark_every = mark_every
        self._most = most
        self._places: OrderedDict[tuple[TenantId, str], FoldPlace] = OrderedDict()
        # A fold is for one thread. Freezing trust computes and hardly waits, so one at a time costs little.
        self._lock = Lock()

    @contextmanager
    def borrow(self, tenant_id: TenantId, policy_hash: str) -> Iterator[FoldPlace]:
        """The place of a tenant and a policy, for this thread alone until the block ends."""
        with self._lock:
            name = (tenant_id, policy_hash)
            place = self._places.setdefault(name, FoldPlace())
            self._places.move_to_end(name)
            if len(self._places) > self._most:
                self._places.popitem(last=False)
            yield place

    def take_due(self, tenant_id: TenantId) -> list[FoldMark]:
        """Marks of a tenant that have become due, each handed out once."""
        with self._lock:
            places = [place for (owner, _), place in self._places.items() if owner == tenant_id and place.due]
            due = [place.due for place in places if place.due is not None]
            for place in places:
                place.due = None
            return due
