"""Centres that a few far-off reports cannot move, worked out by hand, and how far reports agree with them."""

from decimal import Decimal
from typing import Any

import pytest

from assay.truth.centre import FINE, closeness, find_centre, find_interval
from assay.truth.contract import Derivation, DerivationStrategy
from assay.truth.contradict import measure_agreement
from assay.truth.derive import derive_claim_payload
from assay.truth.errors import ContractError
from assay.truth.number import MILLION
from tests.truth.compiling import flood, readings


def _rule(strategy: str, **members: str) -> Derivation:
    numbers: dict[str, Any] = {name: Decimal(value) for name, value in members.items()}
    return Derivation(strategy=DerivationStrategy(strategy), path="level", places=3, **numbers)


def _claim(rule: Derivation, *levels: float, weights: str = "") -> object:
    heavy = [*weights.split()] or ["1"] * len(levels)
    spoken = [
        (weight, {"level": level}, place) for place, (weight, level) in enumerate(zip(heavy, levels, strict=True))
    ]
    return derive_claim_payload({"level": rule}, readings([rule], [], spoken)).get("level")


@pytest.mark.parametrize(
    ("rule", "levels", "weights", "expected"),
    [
        (_rule("weighted_median"), (1, 2, 9), "", 2),
        (_rule("weighted_median"), (1, 2, 9, 10), "", 5.5),
        (_rule("weighted_median"), (1, 2, 9), "1 1 3", 9),
        (_rule("weighted_median"), (1, 2, 9), "2 1 1", 1.5),
        # A quarter of the weight of four is one report at each end.
        (_rule("trimmed_mean", trim="0.25"), (0, 10, 20, 999), "", 15),
        (_rule("trimmed_mean", trim="0"), (0, 10, 20), "", 10),
        # A tenth of ten: the lowest and the highest are left out.
        (_rule("trimmed_mean", trim="0.1"), (-500, 1, 1, 1, 1, 1, 1, 1, 1, 500), "", 1),
        # Within the tolerance of each other every report counts in full: the mean.
        (_rule("huber", tolerance="5"), (1, 2, 3, 6), "", 3),
    ],
)
def test_a_centre_is_what_its_definition_says(
    rule: Derivation, levels: tuple[float, ...], weights: str, expected: float
) -> None:
    assert _claim(rule, *levels, weights=weights) == expected


def test_six_reports_near_forty_outweigh_two_of_999() -> None:
    levels = (39, 40, 40, 40, 41, 40, 999, 999)
    for rule in (_rule("weighted_median"), _rule("trimmed_mean", trim="0.3"), _rule("huber", tolerance="2")):
        centre = _claim(rule, *levels)
        assert isinstance(centre, int | float)
        assert 39 <= centre <= 41
    assert _claim(_rule("weighted_mean"), *levels) == 279.75


def test_nobody_who_says_a_number_leaves_the_field_out() -> None:
    assert (
        derive_claim_payload(
            {"level": _rule("huber", tolerance="1"), "range": _rule("interval", tolerance="1", level="0.95")},
            readings([_rule("huber", tolerance="1")], [], [("1", {}, 0)]),
        )
        == {}
    )


def test_closeness_falls_smoothly_from_one_over_a_half_at_the_tolerance() -> None:
    assert [closeness(distance, 10) for distance in (0, 10, 20, 30)] == [1_000_000, 500_000, 200_000, 100_000]


def test_agreement_of_numbers_falls_with_their_spread_relative_to_the_tolerance() -> None:
    """[50, 50, 50] agree, [45, 50, 55] less, [5, 50, 900] hardly, where 10 is the tolerance."""
    rule = _rule("weighted_median", tolerance="10")
    found = []
    for levels in ((50, 50, 50), (45, 50, 55), (5, 50, 900)):
        spoken = [("1", {"level": level}, place) for place, level in enumerate(levels)]
        found.append(measure_agreement({"level": rule}, readings([rule], [], spoken)))
    assert found[0] == 1
    assert found[0] > found[1] > found[2]
    assert found[1] == Decimal("0.866667")


def test_agreement_without_a_tolerance_is_not_about_numbers() -> None:
    rule = _rule("weighted_median")
    said = readings([rule], [], [("1", {"level": 1}, 0), ("1", {"level": 99}, 1)])
    assert measure_agreement({"level": rule}, said) == 1


def test_an_interval_narrows_with_reports_and_widens_with_their_spread() -> None:
    rule = _rule("interval", tolerance="1", level="0.95")

    def width(*levels: int) -> int:
        numbers = [level * MILLION for level in levels]
        centre = find_centre(_rule("weighted_median"), numbers, [1] * len(numbers))
        low, high = find_interval(rule, centre, numbers, [1] * len(numbers))
        assert high - centre == centre - low
        return high - low

    assert width(*[50] * 3) > width(*[50] * 12) > 0
    assert width(40, 50, 60) > width(49, 50, 51)


def test_three_equal_reports_have_an_interval_worked_out_by_hand() -> None:
    """Spread 0, tolerance 1 as two reports: variance 2/5, half width 1.959964 x sqrt(2/5 / 3) = 0.715676."""
    rule = _rule("interval", tolerance="1", level="0.95")
    assert _claim(rule, 50, 50, 50) == [49.284, 50.716]


@pytest.mark.parametrize(
    "rule",
    [
        {"strategy": "huber", "path": "water_level_meters", "places": 2},
        {"strategy": "trimmed_mean", "path": "water_level_meters", "places": 2},
        {"strategy": "weighted_median", "path": "water_level_meters"},
        {"strategy": "weighted_median", "path": "water_level_meters", "places": 2, "trim": 0.1},
        {"strategy": "interval", "path": "water_level_meters", "places": 2, "tolerance": 1, "level": 0.5},
        {"strategy": "interval", "path": "water_level_meters", "places": 2, "tolerance": 1, "level": 0.95},
    ],
)
def test_a_rule_that_lacks_or_has_too_much_is_refused(rule: dict[str, object]) -> None:
    """The last is sound by itself, and gives two numbers where the schema of the field has one."""
    with pytest.raises(ContractError):
        flood({"claim_derivation.water_level_meters": rule})


@pytest.mark.parametrize(("strategy", "centre"), [("weighted_mean", 4), ("median", 2)])
def test_older_strategies_have_their_centre_too(strategy: str, centre: int) -> None:
    """Under a posterior the mean and the median are taken of the corrected numbers."""
    numbers = [1 * MILLION, 2 * MILLION, 9 * MILLION]
    assert find_centre(_rule(strategy), numbers, [1, 1, 1]) == centre * MILLION * FINE


def test_a_centre_of_many_scattered_reports_is_found_in_bounded_steps() -> None:
    numbers = [n * n * MILLION for n in range(200)]
    centre = find_centre(_rule("huber", tolerance="0.001"), numbers, [1] * 200)
    assert 0 < centre < 200 * 200 * MILLION * FINE


def test_agreement_where_nobody_says_a_number_is_whole() -> None:
    rule = _rule("huber", tolerance="1")
    assert measure_agreement({"level": rule}, readings([rule], [], [("1", {}, 0)])) == 1
