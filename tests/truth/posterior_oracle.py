"""The posterior computed a second time: from the formula in `docs/truth.md`, with fractions, without any of our code.

reports + records + rule -> fractions -> the shares of all values, and the robust centres of numbers
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

__all__ = ["oracle_shares", "oracle_weighted_median"]

_MILLION = 1_000_000


def oracle_shares(
    rule: Mapping[str, Any],
    values: Sequence[str],
    reports: Sequence[Mapping[str, Any]],
    prior: Mapping[str, Fraction] | None = None,
) -> dict[str, Fraction]:
    """`reports` have `said`, `kept` (a fraction), and the record: `right`, `wrong`, `matrix[truth][said]`."""
    weights = {}
    for value in values:
        weight = Fraction(1, len(values)) if prior is None else prior[value]
        for report in reports:
            weight *= _rounded(_likelihood(rule, report, value, values))
        weights[value] = weight
    total = sum(weights.values())
    return {value: weight / total for value, weight in weights.items()}


def _rounded(number: Fraction) -> Fraction:
    """Six places, half up, and never nothing."""
    return Fraction(max(1, int(number * _MILLION + Fraction(1, 2))), _MILLION)


def _likelihood(rule: Mapping[str, Any], report: Mapping[str, Any], truth: str, values: Sequence[str]) -> Fraction:
    others, said = len(values) - 1, report["said"]
    right, wrong = Fraction(report["right"]), Fraction(report["wrong"])
    accuracy = (right + Fraction(rule["prior_reports"]) * Fraction(rule["prior_correct"])) / (
        right + wrong + Fraction(rule["prior_reports"])
    )
    row = {value: Fraction(report["matrix"].get(truth, {}).get(value, 0)) for value in values}
    strength = Fraction(rule["value_reports"])

    def chance(value: str) -> Fraction:
        expected = accuracy if value == truth else (1 - accuracy) / others
        return (row[value] + strength * expected) / (sum(row.values()) + strength)

    cap, hit = Fraction(rule["cap"]), chance(truth)
    if hit <= cap:
        found = chance(said)
    elif said == truth:
        found = cap
    else:
        found = chance(said) * (1 - cap) / (1 - hit)
    kept = Fraction(report["kept"])
    return kept * found + (1 - kept) / len(values)


def oracle_weighted_median(pairs: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """The middle of all numbers that have at most half of the weight below and at most half above them."""
    total = sum(weight for _, weight in pairs)
    middle = [
        number
        for number, _ in pairs
        if 2 * sum(w for n, w in pairs if n < number) <= total and 2 * sum(w for n, w in pairs if n > number) <= total
    ]
    return (min(middle) + max(middle)) / 2
