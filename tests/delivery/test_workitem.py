"""A reviewer is shown everything, must name one of three categories, and nobody but a person closes an item."""

import json
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from assay.delivery.errors import ConcluderError, InvalidConclusionError, InvalidWorkItemError
from assay.delivery.outcome import Outcome
from assay.delivery.plugin import Category
from assay.delivery.rule import RuleId, RuleRef
from assay.delivery.tally import recount
from assay.delivery.twowrong import Standing, TwoWrong
from assay.delivery.workitem import (
    CHOICES,
    MOST_CONTEXTS,
    OpeningReason,
    Siddhanta,
    conclude,
    draft_ticket,
    open_item,
    parse_conclusion,
)
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.review.kind import KIND_RULES, OnExpiry, TicketKind
from assay.review.ticket import LONGEST_SHOWN, open_ticket
from tests.delivery.answers import RULE
from tests.delivery.items import REGISTRY, REVIEWER, THOUGHT, TICKET, make_item
from tests.identity.people import NOON, TENANT, later, make_principal

_NODE = PrincipalId("service:node")


def _body(**changes: Any) -> str:  # noqa: ANN401  any field
    fields: dict[str, Any] = {"failure_category": "A", "siddhanta": "the question was about another berth"}
    return json.dumps({name: value for name, value in (fields | changes).items() if value is not ...})


@pytest.mark.clause("pramana", "11.10")
@pytest.mark.clause("pramana", "9")
def test_a_reviewer_is_shown_rule_history_failures_strands_and_hypothesis() -> None:
    item = make_item(plugin_id="slm-ukc", purva_paksha=THOUGHT)
    draft = draft_ticket(item, opened_by=_NODE)
    shown = json.loads(draft.shown)
    assert (draft.kind, draft.about) == (TicketKind.ROOT_CAUSE, item.item_id)
    assert shown["rule_content"] == "clearance is at least 1.5 m"
    assert shown["rule_history"][0]["source_ref"] == "manual 4.2"
    assert [one["session"] for one in shown["contexts"]] == ["session:s-0", "session:s-1", "session:s-2"]
    assert shown["contexts"][0]["strand_missing"] == ["proof"]
    assert shown["contexts"][0]["query_context"] == "charter party clause, English law"
    assert (shown["original_query"], shown["original_response"]) == ("may she enter at 14:00?", "yes, with 1.4 m")
    assert shown["purva_paksha"]["hypothesis"] == THOUGHT.hypothesis
    assert shown["tally"]["consecutive_failures"] == 3


@pytest.mark.clause("pramana", "10.1")
@pytest.mark.clause("pramana", "10.2")
def test_the_three_categories_are_the_choices_and_no_time_out_closes_the_question() -> None:
    rule = KIND_RULES[TicketKind.ROOT_CAUSE]
    assert set(CHOICES.values()) == set(rule.choices)
    assert list(CHOICES) == [Category.ROUTING, Category.APPLICATION, Category.RULE]
    assert rule.expiries == (OnExpiry.STAY_OPEN,)


def test_the_desk_takes_the_ticket_as_it_is() -> None:
    draft = draft_ticket(make_item(plugin_id="p", purva_paksha=THOUGHT), opened_by=_NODE)
    ticket = open_ticket(draft, id=TICKET, tenant_id=TENANT, at=NOON)
    assert set(ticket.choices) == set(CHOICES.values())
    assert (ticket.quorum, ticket.on_expiry) == (1, OnExpiry.STAY_OPEN)


def test_what_is_too_long_is_shown_cut_with_its_hash() -> None:
    item = make_item(MOST_CONTEXTS, original_response="é" * LONGEST_SHOWN)
    draft = draft_ticket(item, opened_by=_NODE)
    shown = json.loads(draft.shown)
    assert len(draft.shown.encode()) <= LONGEST_SHOWN
    assert "cut here; the whole is sha256:" in shown["original_response"]
    assert (shown["original_query"], len(shown["contexts"]), shown["signals"]) == (item.original_query, 10, 50)


def test_an_item_is_opened_by_its_last_signal_and_so_once() -> None:
    assert make_item().item_id == make_item().item_id != make_item(4).item_id
    assert len(make_item(MOST_CONTEXTS + 7).contexts) == MOST_CONTEXTS
    assert make_item(MOST_CONTEXTS + 7).signals == MOST_CONTEXTS + 7


@pytest.mark.parametrize(
    "changes",
    [
        {"rule_history": ()},
        {"rule": RuleRef(rule_id=RuleId("OTHER-1"), version=1)},
        {"contexts": ()},
        {"plugin_id": "p"},
        {"purva_paksha": THOUGHT},
        {"reason": OpeningReason.TWO_WRONG},
    ],
    ids=lambda one: next(iter(one)),
)
def test_an_item_without_what_a_reviewer_needs_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidWorkItemError):
        make_item(**changes)


def test_an_item_needs_signals() -> None:
    with pytest.raises(InvalidWorkItemError, match="signals"):
        open_item(
            RuleRef(rule_id=RULE, version=1),
            [],
            reason=OpeningReason.MANUAL,
            rule_content="",
            rule_history=REGISTRY.get(RULE).versions,
            tally=recount([]),
            original_query="",
            original_response="",
            at=NOON,
        )


def test_two_wrong_steps_are_told_as_the_reason() -> None:
    finding = TwoWrong(standing=Standing.CONFIRMED, wrong=("a", "b"), reason="each fails")
    item = make_item(reason=OpeningReason.TWO_WRONG, two_wrong=finding)
    assert "two wrong steps" in draft_ticket(item, opened_by=_NODE).title
    assert json.loads(draft_ticket(item, opened_by=_NODE).shown)["two_wrong"]["standing"] == "confirmed"


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
    with pytest.raises(InvalidConclusionError):
        parse_conclusion(_body(**changes), choice=choice)


def test_sub_categories_are_those_the_operator_lists() -> None:
    known = {Category.ROUTING: ["wrong service"]}
    found = parse_conclusion(_body(sub_category="wrong service"), choice="routing_failure", sub_categories=known)
    assert found.sub_category == "wrong service"
    assert parse_conclusion(_body(), choice="routing_failure", sub_categories=known).sub_category is UNSET
    with pytest.raises(InvalidConclusionError, match="sub-category"):
        parse_conclusion(_body(sub_category="moon"), choice="routing_failure", sub_categories=known)
    with pytest.raises(InvalidConclusionError, match="sub-category"):
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
    with pytest.raises(ConcluderError):
        conclude(make_item(), found, by=by, at=later(hours=1), ticket_id=TICKET)


def test_a_conclusion_comes_after_its_question() -> None:
    found = Siddhanta(failure_category=Category.ROUTING, siddhanta="x")
    with pytest.raises(InvalidConclusionError):
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


def test_a_success_may_be_looked_at_too() -> None:
    assert make_item(tally=recount([Outcome.SUCCESS])).tally.confidence == 1
