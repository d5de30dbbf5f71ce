"""What a client knows of the fleet: its snapshot, how old that is, and how answers and events move it.

answer -> take -> index;   line -> hear -> change -> index
"""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias, TypeVar

import httpx
import msgspec
from msgspec import Struct

from assay.registry.discover import Index, build_index
from assay.registry.fleet import FleetChange, FleetSnapshot, change_between, follow_change
from assay.registry.manifest import DEFAULT_PREFIX
from assay.registry.network import NetworkState
from assay.registry.permission import mask_of
from assay.surfaces.forja.errors import ForjaError, UnreachableError
from assay.surfaces.forja.fleet_stream import ALIVE_SECONDS

T = TypeVar("T", bound=Struct)
# Bits as a mask, as names, or as one text of names.
Needs: TypeAlias = int | str | Iterable[str]
_LONGEST_WAIT = 30.0


def as_mask(needs: Needs) -> int:
    if isinstance(needs, int):
        return needs
    return mask_of(needs.split(",") if isinstance(needs, str) else list(needs))


@dataclass(slots=True)
class Waiting:
    """How long to wait before a cut line is taken up again: longer each time, up to half a minute."""

    seconds: float = 0.25

    def reset(self) -> None:
        self.seconds = 0.25

    def next_seconds(self) -> float:
        now, self.seconds = self.seconds, min(self.seconds * 2, _LONGEST_WAIT)
        return now


@dataclass(slots=True, eq=False)
class FleetView:
    """INVARIANT: `index` is the fleet at `revision`, as the registry told it, or as its changes since then make it."""

    url: str
    max_age: float
    max_stale: float
    index: Index = field(default_factory=lambda: build_index(()), init=False)
    revision: int | None = field(default=None, init=False)
    # Where that is in the registry's history, in the registry's own words; empty where it did not say.
    _place: str = field(default="", init=False)
    # While a stream moves the snapshot, an older answer that was under way does not move it back.
    is_streaming: bool = field(default=False, init=False)
    closed: threading.Event = field(default_factory=threading.Event, init=False)
    _heard: float = field(default=0.0, init=False)
    _event: dict[str, str] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    @property
    def snapshot_url(self) -> str:
        return self.url.rstrip("/") + f"{DEFAULT_PREFIX}/fleet"

    @property
    def watch_url(self) -> str:
        return f"{self.snapshot_url}/watch"

    @property
    def network_url(self) -> str:
        return self.url.rstrip("/") + f"{DEFAULT_PREFIX}/network"

    def condition(self) -> dict[str, str]:
        return {"if-none-match": f'"{self._place}"'} if self._place else {}

    def stream_options(self) -> dict[str, Any]:
        """A line that says nothing for three times the agreed while is dead."""
        place = {"last-event-id": self._place} if self._place else {}
        self._event = {}
        return {"headers": place, "timeout": httpx.Timeout(5.0, read=3 * ALIVE_SECONDS)}

    def is_fresh(self) -> bool:
        return self.revision is not None and self._age() <= self.max_age

    def require_usable(self) -> None:
        """Too old a snapshot is no answer: it might name a service whose switch has fired since."""
        if self.revision is None or self._age() > self.max_stale:
            raise UnreachableError(f"`{self.url}` does not answer, and nothing newer than {self.max_stale} s is known")

    def require_open(self, error: Exception) -> None:
        """Closing the client cuts its line; any other fault of our own making goes on to the caller."""
        if isinstance(error, RuntimeError) and not isinstance(error, httpx.StreamError) and not self.closed.is_set():
            raise error

    def missed(self, error: Exception) -> UnreachableError:
        return UnreachableError(f"`{self.url}` does not answer: {type(error).__name__}")

    def take(self, answer: httpx.Response) -> bool:
        """A snapshot, or the word that the one at hand still stands."""
        if answer.status_code == HTTPStatus.NOT_MODIFIED and self.revision is not None:
            self._heard = time.monotonic()
            return False
        if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise UnreachableError(f"`{self.url}` answers with status {answer.status_code}")
        snapshot = _read(answer, FleetSnapshot)
        if self.is_streaming and snapshot.revision < (self.revision or 0):
            return False
        return not self._put(snapshot, answer.headers.get("etag", "").strip('"')).is_empty

    def lines(self, answer: httpx.Response) -> httpx.Response:
        """The same answer, if it is a stream of events."""
        kind = answer.headers.get("content-type", "")
        if answer.status_code != HTTPStatus.OK or not kind.startswith("text/event-stream"):
            raise ForjaError.strange_answer(
                f"expected a stream of events, got status {answer.status_code} of `{kind[:80]}`"
            )
        self.is_streaming = True
        return answer

    def hear(self, line: str) -> FleetChange | None:
        """One line of the stream; at the end of an event the change that it made, if it made one."""
        self._heard = time.monotonic()
        if line:
            name, _, value = line.partition(":")
            if name:
                self._event[name] = value.removeprefix(" ")
            return None
        event, self._event = self._event, {}
        change = self._apply(event)
        return change if change is not None and not change.is_empty else None

    def _apply(self, event: dict[str, str]) -> FleetChange | None:
        kind, said = event.get("event"), event.get("data", "")
        if kind == "snapshot":
            return self._put(_decode(said.encode(), FleetSnapshot), event.get("id", ""))
        if kind != "change":
            return None
        change = _decode(said.encode(), FleetChange)
        with self._lock:
            known = self.revision or 0
            if change.revision <= known:
                return None
            # A snapshot may have come in between; a change from before it still ends where it says.
            self.index = follow_change(self.index, change, at_revision=min(known, change.since))
            self.revision, self._place = change.revision, event.get("id", "")
        return change

    def _put(self, snapshot: FleetSnapshot, place: str) -> FleetChange:
        index = build_index(snapshot.services)
        with self._lock:
            since, old = self.revision or 0, self.index.entries
            self.index, self.revision, self._place = index, snapshot.revision, place
            self._heard = time.monotonic()
        return change_between(old, index.entries, since=since, revision=snapshot.revision)

    def _age(self) -> float:
        return time.monotonic() - self._heard


def parse_network(answer: httpx.Response) -> NetworkState:
    return _read(answer, NetworkState)


def _read(answer: httpx.Response, shape: type[T]) -> T:
    if answer.status_code != HTTPStatus.OK:
        raise ForjaError.strange_answer(f"expected status 200, got {answer.status_code}")
    return _decode(answer.content, shape)


def _decode(content: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ForjaError.strange_answer(f"expected a {shape.__name__} document: {str(error)[:200]}") from error
