"""Events: what was recorded is told to this process, at least once and in order."""

from assay.adapters.bus.inprocess import Bus, Handler, Subscription, SubscriptionFacts
from assay.node.opened import OpenedNode


class EventJourneys(OpenedNode):
    """Subscribers of one open node; each has a durable place of its own, which outlives the process."""

    _bus: Bus | None = None

    def subscribe(self, name: str, handler: Handler) -> Subscription:
        """Call `handler(event)` on a thread of its own for every event of the tenant after this name's place.

        First what was missed, then what comes. It is called again for the same event when it raised, or when the
        process ended before it was confirmed, and must bear that. Closing the node ends it after the event in hand.
        """
        database = self._writing().database
        with self._lock:
            if self._bus is None:
                self._bus = Bus(database)
            return self._bus.subscribe(name, self.tenant_id, handler)

    def subscribers(self) -> tuple[SubscriptionFacts, ...]:
        """How each subscriber is doing: its place, failures, and the last error."""
        return () if self._bus is None else self._bus.facts()

    def _end_threads(self) -> None:
        if self._bus is not None:
            self._bus.close()
        super()._end_threads()
