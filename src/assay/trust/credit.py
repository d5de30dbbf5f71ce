"""Credits: what a contract promises to those who reported and voted, worked out from a final state's outcomes.

contract's `credits` + outcomes of a signed final state -> points by agent
They are no trust: they move no standing and weigh nothing. They follow from the log and the contract, whenever asked.
"""

from collections.abc import Mapping
from decimal import Decimal

from assay.trust._signal_body import Outcome, OutcomeRole, TruthstateEmitted
from assay.trust.judge import judges
from assay.truth.contract import CreditReason
from assay.truth.number import ARITHMETIC

_REASONS = {
    OutcomeRole.REPORTER: (CreditReason.OBSERVATION, CreditReason.VERIFIED_OBSERVATION),
    OutcomeRole.VOTER: (CreditReason.VOTE, CreditReason.VERIFIED_VOTE),
}
_NOTHING = Decimal(0)


def credits_of(promised: Mapping[str, Decimal], emitted: TruthstateEmitted) -> dict[str, Decimal]:
    """Points by agent. Each role has two credits: one for taking part, and one more for being right; whoever was wrong
    earns neither. Only a state that is signed and final pays.
    """
    earned: dict[str, Decimal] = {}
    for outcome in emitted.outcomes if judges(emitted) else ():
        points = _points(promised, outcome)
        if points:
            earned[outcome.agent_id] = ARITHMETIC.add(earned.get(outcome.agent_id, _NOTHING), points)
    return earned


def _points(promised: Mapping[str, Decimal], outcome: Outcome) -> Decimal:
    if outcome.correct is False:
        return _NOTHING
    taking_part, being_right = _REASONS[outcome.role]
    points = promised.get(taking_part, _NOTHING)
    return ARITHMETIC.add(points, promised.get(being_right, _NOTHING)) if outcome.correct else points
