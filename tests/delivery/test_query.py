"""A query type says how well founded its answers should be; what falls short is seen and delivered all the same."""

from typing import Any

import pytest

from assay.delivery.annotate import deliver
from assay.delivery.errors import DeliveryError
from assay.delivery.level import Level
from assay.delivery.query import QueryRegistry, QueryType, check_expectation, fold_queries, rules_behind
from assay.delivery.rule import RuleId
from assay.identity.risk import RiskTier
from tests.delivery.answers import OUTPUT, RULE, make_annotation
from tests.identity.people import ADMIN, NOON
from tests.raising import raises


def make_type(**changes: Any) -> QueryType:  # noqa: ANN401  any field
    fields: dict[str, Any] = {
        "slug": "vessel.ukc-status",
        "description": "whether a vessel has enough water under her keel",
        "domain": "maritime",
        "expected_level": Level.PARTIAL,
        "owner": ADMIN,
        "answerer": "org.harbour.ukc",
        "rules": (RULE,),
        "recorded_at": NOON,
        "recorded_by": ADMIN,
    }
    return QueryType(**(fields | changes))


@pytest.mark.clause("pramana", "12.8")
@pytest.mark.parametrize(
    ("level", "short"),
    [
        (Level.UNVERIFIED, True),
        (Level.SINGLE_SOURCE, True),
        (Level.PARTIAL, False),
        (Level.AUTHENTIC, False),
        (Level.INFERRED, False),
    ],
)
def test_an_answer_below_the_expected_minimum_is_seen(level: Level, *, short: bool) -> None:
    found = check_expectation(make_type(), level)
    assert (found is not None) == short
    if found is not None:
        assert (found.level, found.expected_level, found.owner) == (level, Level.PARTIAL, ADMIN)


@pytest.mark.clause("pramana", "6.4")
def test_an_expectation_withholds_nothing() -> None:
    """Only a user's floor does; an answer that falls short is delivered with its annotation."""
    annotation = make_annotation([])
    assert check_expectation(make_type(expected_level=Level.AUTHENTIC), annotation.authenticity_level) is not None
    assert deliver(OUTPUT, annotation, floor=0).output == OUTPUT


def test_versions_follow_one_another_and_the_highest_is_in_force() -> None:
    first, second = make_type(), make_type(version=2, expected_level=Level.AUTHENTIC)
    registry = fold_queries([first, second])
    assert registry.get("vessel.ukc-status").expected_level is Level.AUTHENTIC
    assert registry.can_answer() == ("vessel.ukc-status",)
    for wrong in ([second], [first, first]):
        with raises(DeliveryError.query_type):
            fold_queries(wrong)
    with raises(DeliveryError.unknown_query_type):
        QueryRegistry().get("nothing")


@pytest.mark.clause("pramana", "11.6")
def test_an_answer_always_has_rules() -> None:
    assert rules_behind(make_type(), [RuleId("A-1"), RuleId("A-1")]) == ("A-1",)
    assert rules_behind(make_type(), []) == (RULE,)
    with raises(DeliveryError.annotation):
        rules_behind(make_type(rules=()), [])


@pytest.mark.parametrize(
    "changes",
    [
        {"slug": "Vessel"},
        {"slug": "x" * 200},
        {"domain": ""},
        {"description": " "},
        {"answerer": "a\nb"},
        {"version": 0},
        {"version": True},
        {"rules": (RULE, RULE)},
    ],
    ids=str,
)
def test_a_query_type_is_well_formed_or_refused(changes: dict[str, Any]) -> None:
    with raises(DeliveryError.query_type):
        make_type(**changes)


def test_asking_is_reading_unless_the_type_says_more() -> None:
    assert make_type().risk_tier is RiskTier.READ_ONLY
