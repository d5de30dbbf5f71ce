"""Observations contradict each other where the minority holds the share that the contract names."""

from decimal import Decimal

import pytest

from assay.truth.contract import (
    ContradictionAction,
    ContradictionComparison,
    ContradictionRule,
    Derivation,
    DerivationStrategy,
)
from assay.truth.contradict import find_contradictions, measure_agreement
from tests.truth.compiling import readings


def _spoken(said: list[tuple[str, object]]) -> list[tuple[str, dict[str, object], int]]:
    return [(weight, {"x": value}, place) for place, (weight, value) in enumerate(said)]


def _rule(compare: str, share: str, tolerance: str | None = None) -> ContradictionRule:
    return ContradictionRule(
        id="differs",
        path="x",
        compare=ContradictionComparison(compare),
        min_share=Decimal(share),
        action=ContradictionAction.FLAG,
        tolerance=None if tolerance is None else Decimal(tolerance),
    )


@pytest.mark.parametrize(
    ("rule", "said", "is_broken"),
    [
        (_rule("distinct", "0.25"), [("3", "a"), ("1", "b")], True),
        (_rule("distinct", "0.26"), [("3", "a"), ("1", "b")], False),
        (_rule("distinct", "0"), [("3", "a"), ("1", "a")], False),
        (_rule("distinct", "0"), [], False),
        (_rule("spread", "0.25", "1.5"), [("3", 1), ("1", 2.6)], True),
        (_rule("spread", "0.25", "1.5"), [("3", 1), ("1", 2.5)], False),
        (_rule("spread", "0.3", "1"), [("1", 0), ("1", 1), ("1", 2)], True),
        (_rule("spread", "0.4", "1"), [("1", 0), ("1", 1), ("1", 2)], False),
        (_rule("spread", "0", "1"), [("1", "high")], False),
    ],
)
def test_a_rule_is_broken_by_weight(
    rule: ContradictionRule, said: list[tuple[str, object]], *, is_broken: bool
) -> None:
    """Distinct: everybody but the heaviest value. Spread: everybody outside the heaviest group within the tolerance."""
    assert find_contradictions([rule], readings([], [rule], _spoken(said))) == ([rule] if is_broken else [])


@pytest.mark.parametrize(
    ("strategy", "said", "expected"),
    [
        (DerivationStrategy.WEIGHTED_MODE, [("3", "a"), ("1", "b")], "0.75"),
        (DerivationStrategy.BOOLEAN_MAJORITY, [("1", True), ("1", False), ("7", "?")], "0.5"),
        (DerivationStrategy.WEIGHTED_MODE, [], "1"),
        (DerivationStrategy.LATEST, [("1", "a"), ("1", "b")], "1"),
    ],
)
def test_agreement_is_the_share_behind_the_answer(
    strategy: DerivationStrategy, said: list[tuple[str, object]], expected: str
) -> None:
    rules = {"x": Derivation(strategy=strategy, path="x")}
    assert measure_agreement(rules, readings(rules.values(), [], _spoken(said))) == Decimal(expected)
