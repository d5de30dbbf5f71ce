"""What the sample node computes: the answerers that its configuration names."""

from decimal import Decimal
from typing import Any

from assay.delivery.answerer import Question
from assay.flows.delivery.answerers import Answerers

CLEARANCE, SQUAT = "MAR-YK-007", "MAR-SQ-003"
TABLE = Answerers()
_SHARE = Decimal("0.10")


@TABLE.answers("vessel.clearance", rules=[CLEARANCE])
def clearance(question: Question) -> str:
    """Say whether there is enough water under the keel: a tenth of the draught."""
    given = _numbers(question)
    water = given["depth"] - given["draught"]
    enough = water >= _SHARE * given["draught"]
    return f"{'clear' if enough else 'not clear'}: {water} m under the keel of {_SHARE * given['draught']} m needed"


@TABLE.answers("vessel.squat", rules=[CLEARANCE, SQUAT])
def squat(question: Question) -> str:
    """Estimate how far a ship sinks at speed: block coefficient times speed squared over 100, in metres."""
    given = _numbers(question)
    return f"{given['block'] * given['knots'] ** 2 / 100} m"


def _numbers(question: Question) -> dict[str, Decimal]:
    asked: Any = question.question
    return {name: Decimal(str(value)) for name, value in asked.items() if isinstance(value, int | float)}
