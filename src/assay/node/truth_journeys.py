"""Keys of truth handled as questions."""

from assay.flows.delivery.handle_intake import Handled, handle_key
from assay.node.ledger_journeys import LedgerJourneys


class TruthJourneys(LedgerJourneys):
    """What a node knows, and the entries that say how."""

    def answer_key(self, truthkey: str, *, credential: str | None = None) -> Handled:
        """Compile a key, and deliver its state gated and marked."""
        self._writing()
        return handle_key(
            self._answering(), truthkey, credential=self._token(credential, "pramana:query"), at=self._now()
        )
