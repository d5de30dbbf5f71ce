"""Truth beyond single operations: observations in streams, and keys handled as questions."""

from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec.structs import replace

from assay.flows.delivery.handle_intake import Handled, handle_key
from assay.flows.request import BulkLine
from assay.flows.truth.observe import ObserveLines
from assay.node.acting import ActingNode
from assay.node.ledger_journeys import LedgerJourneys
from assay.operations.calls import Given
from assay.operations.parse import document_bytes
from assay.operations.truth import OBSERVATIONS_RECORD

# Lines of one request: the results of a part come before the next part is read.
_PART = 500


class TruthJourneys(LedgerJourneys):
    """What a node knows, and the entries that say how."""

    def observe_many(self, records: Iterable[Given], *, credential: str | None = None) -> Iterator[BulkLine]:
        """Record observations, a result for each in order; one that is refused costs no other anything."""
        acting = ActingNode(self, credential or self._credential)
        numbered = enumerate(records, start=1)
        while part := list(islice(numbered, _PART)):
            lines = b"\n".join(document_bytes(one).replace(b"\n", b" ") for _, one in part)
            done: tuple[BulkLine, ...] = acting.perform(OBSERVATIONS_RECORD, ObserveLines(observations=lines)).value
            first = part[0][0] - 1
            yield from (replace(one, line=first + (one.line or 0)) for one in done)

    def answer_key(self, truthkey: str, *, credential: str | None = None) -> Handled:
        """Compile a key, and deliver its state gated and marked."""
        self._writing()
        return handle_key(
            self._answering(), truthkey, credential=self._token(credential, "pramana:query"), at=self._now()
        )
