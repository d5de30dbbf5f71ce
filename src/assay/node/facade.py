"""The node as one object: every journey is one of its methods."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.flows.request import BulkLine
from assay.node.acting import ActingNode
from assay.node.aio import AsyncNode
from assay.node.answer_journeys import AnswerJourneys
from assay.node.claim_journeys import ClaimJourneys
from assay.node.event_journeys import EventJourneys
from assay.operations.calls import Calls, Given


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
