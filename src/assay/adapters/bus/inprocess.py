"""Events to handlers in this process: each subscriber has a name, a thread and a durable cursor.

cursor -> outbox after it -> handler, one by one -> confirm (durable) -> wait for news

At least once and in order: the cursor moves only after the handler returned, so a crash in between delivers again. A
failing handler is called again with the same event; nothing overtakes it. An append never waits for any of this: the
writer only rings a bell.
"""

import threading
from collections.abc import Callable
from time import monotonic

from msgspec import Struct

from assay.adapters.group_commit import ClosedError
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId
from assay.ports.database import Database, Unit
from assay.ports.events import OutboxEvent

Handler = Callable[[OutboxEvent], None]

_BATCH = 64
# A confirmation is a commit; many quick events share one, and a slow handler never has more than this to repeat.
_CONFIRM_SECONDS = 0.1
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 30.0


class SubscriptionTakenError(Error):
    """Two subscribers of one name would move each other's cursor."""

    code = "events.subscription_taken"
    blame = Blame.USAGE


class BusClosedError(Error):
    """The bus was closed and takes no more subscribers."""

    code = "events.bus_closed"


class SubscriptionFacts(Struct, frozen=True, kw_only=True):
    """How a subscriber is doing; `failures` counts calls that raised, `last_error` is empty after a success."""

    name: str
    tenant_id: TenantId
    confirmed: int
    delivered: int
    failures: int
    last_error: str


class Subscription:
    """One subscriber's thread."""

    def __init__(
        self, database: Database, name: str, tenant_id: TenantId, handler: Handler, *, first_pause: float
    ) -> None:
        self._database = database
        self._handler = handler
        self._first_pause = first_pause
        self._bell = threading.Event()
        self._stopping = threading.Event()
        self._confirmed = 0
        self._delivered = 0
        self._failures = 0
        self._last_error = ""
        self.name = name
        self.tenant_id = tenant_id
        self._thread = threading.Thread(target=self._run, name=f"assay-bus-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ring(self) -> None:
        """Say that there is news; called by the writer, so it only sets a flag."""
        self._bell.set()

    def stop(self) -> None:
        self._stopping.set()
        self._bell.set()

    def join(self, timeout: float) -> bool:
        """Whether the thread has ended; a handler that does not return is left behind, and its event comes again."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def facts(self) -> SubscriptionFacts:
        return SubscriptionFacts(
            name=self.name,
            tenant_id=self.tenant_id,
            confirmed=self._confirmed,
            delivered=self._delivered,
            failures=self._failures,
            last_error=self._last_error,
        )

    def _run(self) -> None:
        pause = self._first_pause
        while not self._stopping.is_set():
            # Before looking: news that arrives while we look must ring again, or it would be overlooked.
            self._bell.clear()
            try:
                found = self._deliver()
            except ClosedError:
                return
            except Exception as error:  # noqa: BLE001 - whatever a handler raises, its event is due again
                self._failures += 1
                self._last_error = f"{type(error).__name__}: {error}"
                self._stopping.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
                continue
            pause = self._first_pause
            if not found:
                self._bell.wait()

    def _deliver(self) -> bool:
        """Hand over what is due; whether there was anything. Confirms what succeeded also when a later one fails."""
        events = self._database.read(self._due)
        done, confirmed_at = 0, monotonic()
        try:
            for event in events:
                if self._stopping.is_set():
                    break
                self._handler(event)
                self._delivered += 1
                self._last_error = ""
                done = event.position
                if monotonic() - confirmed_at >= _CONFIRM_SECONDS:
                    self._confirm(done)
                    done, confirmed_at = 0, monotonic()
        finally:
            if done:
                self._confirm(done)
        return bool(events)

    def _due(self, unit: Unit) -> tuple[OutboxEvent, ...]:
        self._confirmed = unit.outbox.cursor(self.tenant_id, self.name)
        return unit.outbox.events(self.tenant_id, after=self._confirmed, limit=_BATCH)

    def _confirm(self, position: int) -> None:
        self._database.write(lambda unit: unit.outbox.confirm(self.tenant_id, self.name, position))
        self._confirmed = position


class Bus:
    """All subscribers of one process. Each (name, tenant) has one cursor, which outlives the process."""

    def __init__(self, database: Database, *, first_pause: float = _FIRST_PAUSE_SECONDS) -> None:
        self._database = database
        self._first_pause = first_pause
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription, ...] = ()
        self._closed = False
        self._leave = database.subscribe(self._ring)

    def subscribe(self, name: str, tenant_id: TenantId, handler: Handler) -> Subscription:
        """Start delivering after this subscriber's cursor: first what was missed, then what comes.

        The handler is called on the subscriber's own thread, and again for the same event when it raised or when the
        process ended before the confirmation; it must bear that.
        """
        subscription = Subscription(self._database, name, tenant_id, handler, first_pause=self._first_pause)
        with self._lock:
            if self._closed:
                raise BusClosedError("the bus was closed")
            if any((one.name, one.tenant_id) == (name, tenant_id) for one in self._subscriptions):
                raise SubscriptionTakenError(f"`{name}` of `{tenant_id}` is subscribed already")
            self._subscriptions = (*self._subscriptions, subscription)
        subscription.start()
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop delivering to it; its cursor stays, and its thread ends with the event it has in hand."""
        with self._lock:
            self._subscriptions = tuple(one for one in self._subscriptions if one is not subscription)
        subscription.stop()

    def facts(self) -> tuple[SubscriptionFacts, ...]:
        return tuple(subscription.facts() for subscription in self._subscriptions)

    def close(self, timeout: float = 10.0) -> bool:
        """Let each handler finish its event, confirm it, and end; before the database is closed."""
        with self._lock:
            self._closed = True
        self._leave()
        for subscription in self._subscriptions:
            subscription.stop()
        deadline = monotonic() + timeout
        ended = [one.join(max(0.0, deadline - monotonic())) for one in self._subscriptions]
        return all(ended)

    def _ring(self, tenant_id: TenantId, _position: int) -> None:
        for subscription in self._subscriptions:
            if subscription.tenant_id == tenant_id:
                subscription.ring()
