"""A reviewer is shown everything about a failing rule, once, as a ticket that no time-out closes."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from assay.delivery.conclude import CHOICES
from assay.delivery.errors import DeliveryError
from assay.delivery.outcome import Outcome
from assay.delivery.plugin import Category
from assay.delivery.rule import RuleId, RuleRef
from assay.delivery.tally import recount
from assay.delivery.twowrong import Standing, TwoWrong
from assay.delivery.workitem import (
    MOST_CONTEXTS,
    OpeningReason,
    draft_ticket,
    open_item,
)
from assay.kernel.ids import PrincipalId
from assay.review.kind import KIND_RULES, OnExpiry, TicketKind
from assay.review.ticket import LONGEST_SHOWN, open_ticket
from tests.delivery.answers import RULE
from tests.delivery.items import REGISTRY, THOUGHT, TICKET, make_item
from tests.identity.people import NOON, TENANT
from tests.raising import raises

_NODE = PrincipalId("service:node")


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


def test_of_many_domains_and_many_wrong_steps_a_few_are_shown() -> None:
    """A question to people has a longest size, and however much stands behind it, it is asked."""
    names = tuple(f"{number:05}-{'x' * 100}" for number in range(10_000))
    [version] = make_item().rule_history
    finding = TwoWrong(standing=Standing.SUSPECTED, wrong=names, reason="a success with 10000 wrong steps")
    item = make_item(rule_history=(replace(version, domains=names, capabilities=names),), two_wrong=finding)
    draft = draft_ticket(item, opened_by=_NODE)
    shown = json.loads(draft.shown)
    assert len(draft.shown.encode()) <= LONGEST_SHOWN
    assert shown["two_wrong"] == {"standing": "suspected", "wrong": list(names[:10]), "reason": finding.reason}
    assert shown["rule_history"][0]["domains"] == shown["rule_history"][0]["capabilities"] == list(names[:10])


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
    with raises(DeliveryError.work_item):
        make_item(**changes)


def test_an_item_needs_signals() -> None:
    with raises(DeliveryError.work_item, match="signals"):
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


def test_a_success_may_be_looked_at_too() -> None:
    assert make_item(tally=recount([Outcome.SUCCESS])).tally.confidence == 1
