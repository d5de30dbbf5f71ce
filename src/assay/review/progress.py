"""A reviewer's progress: how much, how soon, and how often the outcome was theirs."""

from collections.abc import Iterable, Sequence
from statistics import median

from msgspec import Struct

from assay.kernel.ids import PrincipalId
from assay.review.answer import Answer
from assay.review.settle import Settlement
from assay.review.ticket import Ticket


class GivenAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer with its question, and the outcome where there is one."""

    ticket: Ticket
    answer: Answer
    settlement: Settlement | None


class Progress(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`median_seconds` is from opening to answer. Of the answers to tickets that `settled` by some choice, `agreed` had
    that choice; open tickets count in neither, so the figures tell nobody how one stands.
    """

    by: PrincipalId
    answered: int
    median_seconds: float | None
    settled: int
    agreed: int
    open_leases: int
    held: int


def measure_progress(by: PrincipalId, given: Iterable[GivenAnswer], *, open_leases: int, held: int) -> Progress:
    answers = tuple(given)
    decided = [(one.answer.choice, one.settlement.choice) for one in answers if one.settlement is not None]
    decided = [(mine, outcome) for mine, outcome in decided if outcome is not None]
    return Progress(
        by=by,
        answered=len(answers),
        median_seconds=_median([(one.answer.answered_at - one.ticket.opened_at).total_seconds() for one in answers]),
        settled=len(decided),
        agreed=sum(mine == outcome for mine, outcome in decided),
        open_leases=open_leases,
        held=held,
    )


def _median(seconds: Sequence[float]) -> float | None:
    return float(median(seconds)) if seconds else None
