"""The node as one object: every journey is one of its methods."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.adapters.bus.inprocess import Bus, Handler, Subscription, SubscriptionFacts
from assay.flows.delivery.answerers import Function, Replayer
from assay.flows.delivery.strands import StrandFunction
from assay.flows.request import BulkLine
from assay.flows.verdicts.estimate_verdict import EstimatedVerdict, JudgeSampling, estimate_verdict, weights_of_verdict
from assay.node.acting import ActingNode
from assay.node.aio import AsyncNode
from assay.node.ledger_journeys import LedgerJourneys
from assay.node.opened import OpenedNode
from assay.operations.calls import Calls, Given
from assay.wiring import open_scorer


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


class ClaimJourneys(LedgerJourneys):
    """Draws replies of the judge again."""

    def estimate_verdict(
        self, telemetry_id: str, *, rule_id: str | None = None, sampling: JudgeSampling | None = None
    ) -> EstimatedVerdict:
        """How sure the judge was of a recorded verdict, by drawing its reply again; exact by seed, not recorded."""
        weights = weights_of_verdict(self.tools, self.tenant_id, telemetry_id, rule_id)
        judge = open_scorer(folder=self.folder, named=weights)
        return estimate_verdict(self.tools, self.tenant_id, telemetry_id, judge, rule_id=rule_id, sampling=sampling)


class AnswerJourneys(LedgerJourneys):
    """No answer without its gate decision, its level and the rules it rests on."""

    def answers(
        self, name: str, *, rules: Iterable[str] = (), replay: Replayer | None = None
    ) -> Callable[[Function], Function]:
        """A decorator: this function answers questions of that kind; before the first question is asked."""
        return self._open_table().answers(name, rules=rules, replay=replay)

    def strand(
        self,
        strand_type_id: str,
        *,
        name: str,
        how_to_check: str,
        absence_implication: str,
        contact: str,
        registered: bool = False,
    ) -> Callable[[StrandFunction], StrandFunction]:
        """A decorator: this function checks a further strand, named `x-…`; before the first question is asked.

        It answers with the evidence that it found, or with None. One that raises or is late is absent.
        """
        return self._open_strands().strand(
            strand_type_id,
            name=name,
            how_to_check=how_to_check,
            absence_implication=absence_implication,
            contact=contact,
            registered=registered,
        )


class Node(
    ClaimJourneys,
    AnswerJourneys,
    EventJourneys,
    Calls,
):
    """An open node; see `assay.open`. Each method parses, calls one flow, and returns what that flow returns.

    Whatever records something takes a `credential`, an API key or session token, or uses the one given on opening.
    Reading, compiling and adding people is what the operator of the folder may do.
    """

    def __init__(
        self,
        folder: Path,
        *,
        credential: str | None = None,
        tenant: str | None = None,
        trust: Iterable[str] = (),
        read_only: bool = False,
        database: str | None = None,
    ) -> None:
        super().__init__(
            folder,
            credential=credential,
            tenant=tenant,
            trust=tuple(trust),
            read_only=read_only,
            database=database,
        )
        self._aio: AsyncNode | None = None

    @property
    def aio(self) -> AsyncNode:
        """The same journeys, awaited."""
        self.tools  # noqa: B018 - a closed node has none
        with self._lock:
            if self._aio is None:
                self._aio = AsyncNode(self)
            return self._aio

    def acting(self, credential: str | None) -> ActingNode:
        """The operations for another caller: this API key or session token; None for the operator of the folder."""
        return ActingNode(self, credential)

    def perform_named(self, operation: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the operation's result
        """Perform an operation of the table by its name, for the caller that the node was opened with."""
        return ActingNode(self, self._credential).perform_named(operation, given)

    def _perform(self, operation: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the operation's result
        return self.perform_named(operation, given)

    def _walk(self, operation: str, given: Mapping[str, Any]) -> Iterator[Any]:
        return ActingNode(self, self._credential)._walk(operation, given)  # noqa: SLF001 - as above

    def _each(self, operation: str, records: Iterable[Given]) -> Iterator[BulkLine]:
        return ActingNode(self, self._credential)._each(operation, records)  # noqa: SLF001 - as above

    def _follow(self, operation: str, given: Mapping[str, Any]) -> Iterator[Any]:
        return ActingNode(self, self._credential)._follow(operation, given)  # noqa: SLF001 - as above

    def _end_threads(self) -> None:
        if self._aio is not None:
            self._aio.end_threads()
        super()._end_threads()
