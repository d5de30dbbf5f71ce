"""A reviewer must name one of three categories, and nobody but an authenticated person closes an item."""

import json
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from assay.delivery.conclude import Siddhanta, conclude, parse_conclusion
from assay.delivery.errors import DeliveryError
from assay.delivery.plugin import Category
from assay.identity.principal import PrincipalChange, PrincipalKind
from tests.delivery.items import REVIEWER, THOUGHT, TICKET, make_item
from tests.identity.people import NOON, later, make_principal
from tests.raising import raises


def _body(**changes: Any) -> str:  # noqa: ANN401  any field
    fields: dict[str, Any] = {"failure_category": "A", "siddhanta": "the question was about another berth"}
    return json.dumps({name: value for name, value in (fields | changes).items() if value is not ...})


@pytest.mark.clause("pramana", "10.1")
@pytest.mark.parametrize(
    ("category", "choice", "more"),
    [
        ("A", "routing_failure", {}),
        ("B", "application_failure", {"sub_category": "wrong units"}),
        ("C", "rule_failure", {"corrected_rule": "clearance is at least 1.8 m"}),
    ],
)
def test_each_category_is_read_and_recorded(category: str, choice: str, more: dict[str, Any]) -> None:
    found = parse_conclusion(_body(failure_category=category, **more), choice=choice)
    closed = conclude(make_item(), found, by=REVIEWER, at=NOON, ticket_id=TICKET)
    assert closed.failure_category == category
    assert (closed.sub_category, closed.corrected_rule) == (more.get("sub_category"), more.get("corrected_rule"))
    assert (closed.concluded_by, closed.ticket_id) == ("user:amira", TICKET)


@pytest.mark.clause("pramana", "10.1")
@pytest.mark.parametrize(
    ("choice", "changes"),
    [
        ("routing_failure", {"failure_category": ...}),
        ("routing_failure", {"failure_category": "unknown"}),
        ("routing_failure", {"failure_category": "AB"}),
        ("rule_failure", {}),
        ("approve", {}),
        ("routing_failure", {"siddhanta": " "}),
        ("routing_failure", {"siddhanta": ...}),
        ("routing_failure", {"corrected_rule": "x"}),
        ("rule_failure", {"failure_category": "C"}),
        ("rule_failure", {"failure_category": "C", "corrected_rule": ""}),
        ("routing_failure", {"sub_category": ""}),
        ("routing_failure", {"confidence": 1}),
    ],
)
def test_a_conclusion_without_one_clear_category_is_refused(choice: str, changes: dict[str, Any]) -> None:
    with raises(DeliveryError.conclusion):
        parse_conclusion(_body(**changes), choice=choice)


def test_sub_categories_are_those_the_operator_lists() -> None:
    known = {Category.ROUTING: ["wrong service"]}
    found = parse_conclusion(_body(sub_category="wrong service"), choice="routing_failure", sub_categories=known)
    assert found.sub_category == "wrong service"
    assert parse_conclusion(_body(), choice="routing_failure", sub_categories=known).sub_category is UNSET
    with raises(DeliveryError.conclusion, match="sub-category"):
        parse_conclusion(_body(sub_category="moon"), choice="routing_failure", sub_categories=known)
    with raises(DeliveryError.conclusion, match="sub-category"):
        parse_conclusion(
            _body(failure_category="B", sub_category="wrong service"),
            choice="application_failure",
            sub_categories=known,
        )


@pytest.mark.clause("pramana", "10.2")
@pytest.mark.clause("pramana", "14.5")
@pytest.mark.parametrize(
    "by",
    [
        None,
        make_principal("ai:judge", kind=PrincipalKind.AGENT, change=PrincipalChange(roles=("reviewer",))),
        make_principal("service:node", kind=PrincipalKind.SERVICE, change=PrincipalChange(roles=("reviewer",))),
        make_principal("user:clerk"),
        make_principal("user:gone", change=PrincipalChange(roles=("reviewer",), disabled_at=NOON)),
    ],
    ids=["nobody", "agent", "service", "no role", "disabled"],
)
def test_nobody_but_an_authenticated_person_with_the_role_closes_an_item(by: Any) -> None:  # noqa: ANN401  a principal
    found = Siddhanta(failure_category=Category.ROUTING, siddhanta="x")
    with raises(DeliveryError.concluder):
        conclude(make_item(), found, by=by, at=later(hours=1), ticket_id=TICKET)


def test_a_conclusion_comes_after_its_question() -> None:
    found = Siddhanta(failure_category=Category.ROUTING, siddhanta="x")
    with raises(DeliveryError.conclusion):
        conclude(replace(make_item(), opened_at=later(hours=1)), found, by=REVIEWER, at=NOON, ticket_id=TICKET)


@pytest.mark.clause("pramana", "10.2")
@pytest.mark.parametrize("confidence", [0.0, 0.5, 1.0])
def test_a_hypothesis_changes_nothing_about_what_the_person_may_say(confidence: float) -> None:
    """However sure the plugin is, the conclusion is the person's, word for word."""
    item = make_item(plugin_id="p", purva_paksha=replace(THOUGHT, confidence=confidence))
    found = Siddhanta(failure_category=Category.ROUTING, siddhanta="x")
    assert conclude(item, found, by=REVIEWER, at=NOON, ticket_id=TICKET) == conclude(
        make_item(), found, by=REVIEWER, at=NOON, ticket_id=TICKET
    )
