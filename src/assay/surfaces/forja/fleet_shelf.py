"""The fleet in memory: one snapshot for all who ask, the last changes for those who watch, and who is to be woken.

revision in the database moved -> load -> change -> history -> watchers
A place in the fleet's history is its revision and the name of the process that told it (`7-5f1c09ab`): a database that
was put back counts the same numbers anew, and means others by them.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from assay.registry.discover import Index, build_index
from assay.registry.fleet import FleetChange, FleetSnapshot, change_between, join_changes
from assay.surfaces.forja.errors import TooManyWatchersError

_FRESH_SECONDS = 1.0
_KEPT_CHANGES = 256
_MOST_WATCHERS = 512
# Within 64 bits.
_LONGEST_NUMBER = 19


@dataclass(slots=True, eq=False)
class FleetShelf:
    """INVARIANT: `_history` leads without a gap to `_revision`. `load` gives None where the known revision stands."""

    load: Callable[[int | None], tuple[int, Index | None]]
    boot: str
    _index: Index = field(default_factory=lambda: build_index(()), init=False)
    _revision: int | None = field(default=None, init=False)
    _loaded: float = field(default=0.0, init=False)
    _history: deque[FleetChange] = field(default_factory=lambda: deque(maxlen=_KEPT_CHANGES), init=False)
    _watchers: set[Callable[[], None]] = field(default_factory=set, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    is_closed: bool = field(default=False, init=False)

    def index(self) -> Index:
        return self.current()[1]

    def current(self) -> tuple[int, Index]:
        """As it was at most a second ago."""
        if self._revision is None or time.monotonic() - self._loaded > _FRESH_SECONDS:
            return self.refresh()
        with self._lock:
            return self._revision, self._index

    def refresh(self) -> tuple[int, Index]:
        """As it is now; whoever watches is woken if that is another one."""
        with self._lock:
            revision, index = self.load(self._revision)
            self._loaded = time.monotonic()
            woken = self._follow(revision, index)
            now = revision, self._index
        for wake in woken:
            wake()
        return now

    def snapshot(self) -> FleetSnapshot:
        revision, index = self.current()
        return FleetSnapshot(revision=revision, services=tuple(index.entries[name] for name in sorted(index.entries)))

    def place(self, revision: int) -> str:
        """What a caller says to be told of what came since: the tag of a snapshot, the id of an event."""
        return f"{revision}-{self.boot}"

    def news_since(self, place: str | None) -> FleetChange | FleetSnapshot | None:
        """None where nothing changed; the whole where the changes since then are no longer known."""
        self.current()
        revision = self._revision_at(place)
        with self._lock:
            if revision == self._revision:
                return None
            steps = [change for change in self._history if revision is not None and change.since >= revision]
        if not steps or steps[0].since != revision:
            return self.snapshot()
        joined = steps[0]
        for step in steps[1:]:
            joined = join_changes(joined, step)
        return joined

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` after each change, from any thread; the answer unsubscribes."""
        with self._lock:
            if len(self._watchers) >= _MOST_WATCHERS:
                raise TooManyWatchersError(f"expected at most {_MOST_WATCHERS} watchers, got one more")
            self._watchers.add(wake)
        return lambda: self._watchers.discard(wake)

    def close(self) -> None:
        """Let every watcher go."""
        self.is_closed = True
        with self._lock:
            woken = tuple(self._watchers)
        for wake in woken:
            wake()

    def _revision_at(self, place: str | None) -> int | None:
        """None for a place in the history of another process, and for what is no place at all."""
        number, _, boot = (place or "").partition("-")
        is_ours = boot == self.boot and number.isascii() and number.isdigit() and len(number) < _LONGEST_NUMBER
        return int(number) if is_ours else None

    def _follow(self, revision: int, index: Index | None) -> tuple[Callable[[], None], ...]:
        if index is None:
            return ()
        before, self._revision = self._revision, revision
        old, self._index = self._index, index
        if before is None:
            return ()
        if revision < before:
            # A database that was put back to an earlier state: nobody's place in the history holds.
            self._history.clear()
        else:
            self._history.append(change_between(old.entries, index.entries, since=before, revision=revision))
        return tuple(self._watchers)
