"""Each strategy gives the value worked out by hand, whatever the order, and from nothing but what was observed."""

from decimal import Decimal
from itertools import permutations

import pytest

from assay.truth.contract import Derivation, DerivationStrategy
from assay.truth.derive import derive_claim_payload
from tests.truth.compiling import readings


def _derived(strategy: str, said: list[tuple[str, object]], **options: object) -> object:
    """One field from weights and values; an Ellipsis says nothing at the path. All orders must agree."""
    rule = Derivation(strategy=DerivationStrategy(strategy), path="a.b", **options)  # type: ignore[arg-type]  # by name
    # The later in the list, the later reported.
    spoken = [
        (weight, {} if value is ... else {"a": {"b": value}}, place) for place, (weight, value) in enumerate(said)
    ]
    answers = [
        derive_claim_payload({"field": rule}, readings([rule], [], order)).get("field", ...)
        for order in permutations(spoken)
    ]
    assert all(answer == answers[0] and type(answer) is type(answers[0]) for answer in answers)
    return answers[0]


@pytest.mark.clause("kaori", "2.3")
@pytest.mark.parametrize(
    ("strategy", "said", "options", "expected"),
    [
        ("weighted_mode", [("1", "low"), ("1", "low"), ("3", "high")], {}, "high"),
        ("weighted_mode", [("1", "low"), ("1", "high")], {}, "high"),
        ("weighted_mode", [("1", "low"), ("1", "high")], {"prefer": ("low", "high")}, "low"),
        ("weighted_mode", [("1", "low"), ("1", "high")], {"prefer": ("mid",)}, "high"),
        ("weighted_mode", [("1", {"x": 1}), ("1", {"x": 1}), ("1", [2])], {}, {"x": 1}),
        ("weighted_mode", [("1", ...)], {}, ...),
        ("weighted_mode", [("1", None)], {"default": "none"}, "none"),
        ("weighted_mean", [("1", 1), ("3", 2)], {"places": 2}, 1.75),
        ("weighted_mean", [("1", 0.1), ("1", 0.2)], {"places": 2}, 0.15),
        ("weighted_mean", [("1", 1), ("1", 2)], {"places": 0}, 2),
        ("weighted_mean", [("1", -1), ("1", -2)], {"places": 0}, -2),
        ("weighted_mean", [("1", 1), ("1", 1), ("1", 2)], {"places": 6}, 1.333333),
        ("weighted_mean", [("1", True), ("1", "7"), ("1", 4)], {"places": 1}, 4),
        ("weighted_mean", [("1", "7")], {"places": 1}, ...),
        ("median", [("1", 5), ("9", 1), ("1", 3)], {"places": 1}, 3),
        ("median", [("1", 1), ("1", 2)], {"places": 1}, 1.5),
        ("median", [("1", ...)], {"places": 1}, ...),
        ("latest", [("9", "first"), ("1", "last")], {}, "last"),
        ("latest", [("1", "said"), ("1", ...)], {}, "said"),
        ("latest", [], {}, ...),
        ("first", [("1", "first"), ("9", "last")], {}, "first"),
        ("first", [], {}, ...),
        ("all_of", [("1", True), ("1", True)], {}, True),
        ("all_of", [("1", True), ("1", False), ("1", "yes")], {}, False),
        ("all_of", [("1", 1)], {}, ...),
        ("any_of", [("1", False), ("1", True)], {}, True),
        ("any_of", [("1", False), ("1", 1)], {}, False),
        ("any_of", [("1", ...)], {"default": False}, False),
        ("boolean_majority", [("1", True), ("1", True), ("3", False)], {}, False),
        ("boolean_majority", [("3", True), ("1", False)], {}, True),
        ("boolean_majority", [("1", True), ("1", False)], {}, False),
        ("boolean_majority", [("1", "true")], {}, ...),
        ("min", [("1", 2.5), ("1", -1)], {}, -1),
        ("min", [("1", ...)], {}, ...),
        ("max", [("1", 2.5), ("1", -1)], {}, 2.5),
        ("max", [("1", ...)], {}, ...),
        ("count", [("1", "a"), ("1", "b"), ("1", ...)], {}, 2),
        ("count", [("1", "a"), ("1", "b"), ("1", "a")], {"equals": "a"}, 2),
        ("count", [("1", 1.5), ("1", 1)], {"equals": Decimal("1.5")}, 1),
        ("count", [("1", ...)], {}, 0),
        ("count", [("1", ...)], {"default": 7}, 7),
    ],
)
def test_a_field_is_what_its_strategy_says(
    strategy: str, said: list[tuple[str, object]], options: dict[str, object], expected: object
) -> None:
    """Worked out by hand; means and medians round half away from zero."""
    assert _derived(strategy, said, **options) == expected


def test_a_path_through_something_that_has_no_members_leads_nowhere() -> None:
    rule = Derivation(strategy=DerivationStrategy.LATEST, path="a.b")
    assert derive_claim_payload({"field": rule}, readings([rule], [], [("1", {"a": "text"}, 0)])) == {}
