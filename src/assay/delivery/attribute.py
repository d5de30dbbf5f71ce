"""An outcome that names an answer is about that answer, and one sender tells it once (PRAMANA 7.4.1).

Without this, a sender could lay a failure at the door of a rule that had no part in the answer, or count one failure
as often as it has keys.
"""

from collections.abc import Iterable
from datetime import timedelta

from assay.delivery.annotate import Annotation
from assay.delivery.errors import DeliveryError, OutcomeConflictError
from assay.delivery.level import Level
from assay.delivery.outcome import Signal
from assay.kernel.instant import render_instant

_MAX_SKEW = timedelta(minutes=5)


def verify_attribution(signal: Signal, annotation: Annotation, *, withheld: bool) -> None:
    """Raise unless rules, level, strands and time of the signal are those of the answer that it names.

    `annotation` is the one before any floor; whoever got a withheld answer knows it by PRAMANA-0, too.
    """
    foreign = set(signal.rule_ids) - {ref.rule_id for ref in annotation.rules}
    if foreign:
        raise DeliveryError.outcome_answer(
            f"expected rules behind the answer, got `{', '.join(sorted(foreign))[:200]}`"
        )
    levels = {annotation.authenticity_level, *((Level.UNVERIFIED,) if withheld else ())}
    if signal.authenticity_level not in levels:
        told = " or ".join(sorted(levels))
        raise DeliveryError.outcome_answer(f"expected level {told} of the answer, got {signal.authenticity_level}")
    _verify_strands(signal, annotation)
    if signal.occurred_at < annotation.answered_at - _MAX_SKEW:
        told = render_instant(annotation.answered_at)
        raise DeliveryError.outcome_answer(
            f"expected an outcome after {told}, got {render_instant(signal.occurred_at)}"
        )


def find_same(signal: Signal, known: Iterable[Signal]) -> Signal | None:
    """The same signal where this sender told it before, under whatever key; another one about it is a conflict.

    `known` are the signals about the same answer.
    """
    mine = [one for one in known if one.sender == signal.sender and set(one.rule_ids) & set(signal.rule_ids)]
    for one in mine:
        if one.content_hash != signal.content_hash:
            told = f"`{signal.sender}` told the outcome of `{str(signal.answer_id)[:80]}` before"
            raise OutcomeConflictError(f"{told}: expected {one.content_hash}, got {signal.content_hash}")
    return mine[0] if mine else None


def _verify_strands(signal: Signal, annotation: Annotation) -> None:
    present, missing = set(annotation.strands_present), set(annotation.strands_missing)
    if set(signal.strands_available) != present or not missing.issuperset(signal.strand_missing):
        expected, got = ", ".join(sorted(present)), ", ".join(sorted(signal.strands_available))
        raise DeliveryError.outcome_answer(f"expected the strands of the answer, `{expected}`, got `{got[:200]}`")
