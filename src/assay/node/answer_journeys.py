"""Functions of the embedding program that answer questions and check strands."""

from collections.abc import Callable, Iterable

from assay.flows.delivery.answerers import Function, Replayer
from assay.flows.delivery.strands import StrandFunction
from assay.node.ledger_journeys import LedgerJourneys


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
