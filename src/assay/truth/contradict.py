"""Where those who speak contradict each other, and how far they agree."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from assay.truth.centre import measure_closeness, tolerance_of
from assay.truth.contract import (
    ROBUST,
    ContradictionComparison,
    ContradictionRule,
    Derivation,
    DerivationStrategy,
)
from assay.truth.number import from_millionths, whole_millionths
from assay.truth.reading import Readings

_DISTINCT, _MAJORITY = ContradictionComparison.DISTINCT, DerivationStrategy.BOOLEAN_MAJORITY
_ONE_ANSWER = (DerivationStrategy.WEIGHTED_MODE, _MAJORITY)


def find_contradictions(rules: Iterable[ContradictionRule], readings: Readings) -> list[ContradictionRule]:
    """The rules by which the observations contradict each other, in the contract's order."""
    return [rule for rule in rules if _is_broken(rule, readings)]


def _is_broken(rule: ContradictionRule, readings: Readings) -> bool:
    if rule.compare is _DISTINCT:
        behind = readings.tally_at(rule.path).values()
        return len(behind) > 1 and _is_enough(rule, max(behind), sum(behind))
    numbers, tolerance = readings.numbers_at(rule.path), rule.tolerance or Decimal(0)
    if not numbers or from_millionths(max(numbers) - min(numbers)) <= tolerance:
        return False
    weights = readings.weights_at(rule.path)
    weighed = sorted(zip(numbers, weights, strict=True))
    return _is_enough(rule, _heaviest_group(weighed, whole_millionths(tolerance)), sum(weights))


def _is_enough(rule: ContradictionRule, majority: int, total: int) -> bool:
    return total - majority >= rule.min_share * total


def _heaviest_group(ordered: Sequence[tuple[int, int]], tolerance: int) -> int:
    """The most weight whose numbers lie no further apart than the tolerance; everybody else is the minority."""
    heaviest = group = first = 0
    for number, weight in ordered:
        group += weight
        while number - ordered[first][0] > tolerance:
            group -= ordered[first][1]
            first += 1
        heaviest = max(heaviest, group)
    return heaviest


def measure_agreement(
    rules: Mapping[str, Derivation], readings: Readings, contradictions: Iterable[ContradictionRule] = ()
) -> Decimal:
    """How much of the weight that spoke stands behind the heaviest value, at the field that is disputed most.

    Only fields with one right answer are looked at: modes and majorities, and robust centres, where a report counts as
    far as it is close to the centre. Without any such field nobody disagrees.
    """
    shares = [_share(rule, readings) for rule in rules.values() if rule.strategy in _ONE_ANSWER]
    for rule in rules.values():
        tolerance = tolerance_of(rule, contradictions) if rule.strategy in ROBUST else None
        if tolerance is not None:
            shares.append(measure_closeness(rule, tolerance, readings))
    return min(shares, default=Decimal(1))


def _share(rule: Derivation, readings: Readings) -> Decimal:
    tally = readings.booleans_at(rule.path) if rule.strategy is _MAJORITY else readings.tally_at(rule.path)
    return Decimal(max(tally.values())) / sum(tally.values()) if tally else Decimal(1)
