"""Events to many readers on one event loop: each has a place of its own, and nobody waits for anybody.

commit -> a bell -> one read of the news for all readers of the tenant -> the latest events, kept for a while
reader at its place -> from what is kept, else from the outbox, page by page -> nothing there: wait for the bell

There is no queue for a reader: one that is slow only stays behind, and reads the outbox when it comes back. A writer
never waits for any of this, it only rings.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple, TypeVar

from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId
from assay.ports.database import Database
from assay.ports.events import OutboxEvent

T = TypeVar("T")
# How work that waits for a disk is run; the caller has threads for it.
Run = Callable[[Callable[[], T]], Awaitable[T]]

_PAGE = 64
_KEPT_EVENTS = 1024
_KEPT_BYTES = 8 * 1024 * 1024
_MOST_READERS = 2000


class FanoutFullError(Error):
    """As many readers follow the events as this server bears; come back later, and from the same place."""

    code = "events.too_many"
    blame = Blame.ANSWER


class Place(NamedTuple):
    """Where a reader begins, and the newest event at that time."""

    after: int
    newest: int


class _Channel:
    """The latest events of one tenant, without a gap, and who waits for the next."""

    def __init__(self, newest: int) -> None:
        self.kept: deque[OutboxEvent] = deque()
        self.bytes = 0
        self.newest = newest
        self.readers = 0
        self.news = asyncio.Event()

    def add(self, events: tuple[OutboxEvent, ...]) -> None:
        for event in events:
            self.kept.append(event)
            self.bytes += len(bytes(event.body))
            self.newest = event.position
        while self.kept and (len(self.kept) > _KEPT_EVENTS or self.bytes > _KEPT_BYTES):
            self.bytes -= len(bytes(self.kept.popleft().body))

    def after(self, place: int) -> tuple[OutboxEvent, ...] | None:
        """What is kept after a place; None where the next one is not kept any more."""
        if place >= self.newest:
            return ()
        if not self.kept or self.kept[0].position > place + 1:
            return None
        # Positions have no gaps, so the next one's place in what is kept is known.
        first = place + 1 - self.kept[0].position
        return tuple(self.kept[index] for index in range(first, min(first + _PAGE, len(self.kept))))

    def wake(self) -> None:
        """Everybody who waits now, and nobody who comes to wait later."""
        self.news.set()
        self.news = asyncio.Event()


class Fanout:
    """All readers of one server. Everything but the bell runs on one event loop."""

    def __init__(self, database: Database, *, most_readers: int = _MOST_READERS) -> None:
        self._database = database
        self._most_readers = most_readers
        self._channels: dict[TenantId, _Channel] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._filling: set[asyncio.Task[None]] = set()
        self._rung: set[TenantId] = set()
        self._closed = False
        self._leave = database.subscribe(self._ring)

    @property
    def readers(self) -> int:
        return sum(channel.readers for channel in self._channels.values())

    def close(self) -> None:
        """End every stream; safe from any thread, and more than once."""
        self._closed = True
        self._leave()
        if self._loop is not None and not self._loop.is_closed():
            with suppress(RuntimeError):  # the loop may end between the question and the call
                self._loop.call_soon_threadsafe(self._wake_all)

    async def admit(self, tenant_id: TenantId, after: int | None, run: Run[int]) -> Place:
        """Where a new reader begins: after the event given, else at the newest."""
        if self._closed or self.readers >= self._most_readers:
            raise FanoutFullError(f"expected at most {self._most_readers} readers of events, got one more")
        newest = await run(lambda: self._database.read(lambda unit: unit.outbox.newest(tenant_id)))
        return Place(after=newest if after is None else min(after, newest), newest=newest)

    async def pages(
        self, tenant_id: TenantId, start: Place, run: "Run[tuple[OutboxEvent, ...]]", *, idle_seconds: float
    ) -> AsyncGenerator[tuple[OutboxEvent, ...], None]:
        """What comes after a place, in order, until closed; an empty page whenever nothing came for so long."""
        channel, place = self._join(tenant_id, start.newest), start.after
        channel.readers += 1
        try:
            while not self._closed:
                news = channel.news
                page = channel.after(place)
                if page is None:
                    page = await run(self._reading(tenant_id, place))
                if page:
                    place = page[-1].position
                    yield page
                elif not await _rings(news, idle_seconds):
                    yield ()
        finally:
            channel.readers -= 1
            if not channel.readers and self._channels.get(tenant_id) is channel:
                del self._channels[tenant_id]

    def _join(self, tenant_id: TenantId, newest: int) -> _Channel:
        """The tenant's channel; whoever opens it asks for what was committed while it was not there."""
        self._loop = asyncio.get_running_loop()
        if tenant_id not in self._channels:
            self._channels[tenant_id] = _Channel(newest)
            self._look(tenant_id)
        return self._channels[tenant_id]

    def _reading(self, tenant_id: TenantId, place: int) -> Callable[[], tuple[OutboxEvent, ...]]:
        return lambda: self._database.read(lambda unit: unit.outbox.events(tenant_id, after=place, limit=_PAGE))

    def _ring(self, tenant_id: TenantId, _position: int) -> None:
        """Called by the writer: one note to the loop for however many commits until it is looked at."""
        if self._loop is None or tenant_id in self._rung or tenant_id not in self._channels:
            return
        self._rung.add(tenant_id)
        with suppress(RuntimeError):  # a loop that has ended has no readers
            self._loop.call_soon_threadsafe(self._look, tenant_id)

    def _look(self, tenant_id: TenantId) -> None:
        # Before reading: what is committed while we read must ring again.
        self._rung.discard(tenant_id)
        channel = self._channels.get(tenant_id)
        if channel is not None:
            task = asyncio.get_running_loop().create_task(self._fill(tenant_id, channel))
            self._filling.add(task)
            task.add_done_callback(self._filling.discard)

    async def _fill(self, tenant_id: TenantId, channel: _Channel) -> None:
        while not self._closed:
            try:
                events = await asyncio.to_thread(self._reading(tenant_id, channel.newest))
            except Error:
                # A database that cannot be read now is read again at the next bell, from the same place.
                return
            # Another fill may have been quicker with the same events.
            channel.add(tuple(one for one in events if one.position > channel.newest))
            if not events:
                return
            channel.wake()

    def _wake_all(self) -> None:
        for channel in self._channels.values():
            channel.wake()


async def _rings(news: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        return False
    return True
