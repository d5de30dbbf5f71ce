"""Which lane a claim takes: its contract's risk profile, or critical where a case of `critical_when` holds for it."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from operator import ge, gt, le, lt

from assay.truth.contract import Comparison, Contract, CriticalCondition, RiskProfile
from assay.truth.number import exact_number
from assay.truth.reading import value_text

_ORDERS: Mapping[Comparison, Callable[[Decimal, Decimal], bool]] = {
    Comparison.ABOVE: gt,
    Comparison.AT_LEAST: ge,
    Comparison.BELOW: lt,
    Comparison.AT_MOST: le,
}


def is_critical(contract: Contract, claim: Mapping[str, object]) -> bool:
    if contract.risk_profile is RiskProfile.CRITICAL:
        return True
    return any(all(_holds(condition, claim) for condition in case.all) for case in contract.critical_when)


def _holds(condition: CriticalCondition, claim: Mapping[str, object]) -> bool:
    said, value = claim.get(condition.field), condition.value
    if said is None:
        return False
    order = _ORDERS.get(condition.op)
    if order is None:
        return (value_text(said) == value_text(value)) is (condition.op is Comparison.EQUALS)
    if type(said) not in (int, float):
        return False
    return order(exact_number(said), exact_number(value))  # type: ignore[arg-type]  # numbers, as was asked just before
