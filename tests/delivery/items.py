"""Root-cause work items for tests."""

from typing import Any

from msgspec.structs import replace

from assay.delivery.conclude import Conclusion, Siddhanta, conclude
from assay.delivery.outcome import Outcome
from assay.delivery.plugin import Category, PurvaPaksha
from assay.delivery.rule import RuleRef, RuleRegistry, RuleSource, fold_rules, next_version
from assay.delivery.tally import recount
from assay.delivery.workitem import OpeningReason, WorkItem, open_item
from assay.identity.principal import PrincipalChange
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId, TicketId
from tests.delivery.answers import RULE
from tests.delivery.signals import make_signal
from tests.identity.people import NOON, later, make_principal

__all__ = ["REGISTRY", "REVIEWER", "SECOND", "THOUGHT", "TICKET", "conclusion", "make_item", "make_registry"]

TICKET = TicketId("tkt_" + "0" * 26)
REVIEWER = make_principal("user:amira", change=PrincipalChange(roles=("reviewer",)))
SECOND = make_principal("user:bela", change=PrincipalChange(roles=("reviewer",)))
THOUGHT = PurvaPaksha(
    failure_category=Category.APPLICATION,
    hypothesis="the draught was taken from another voyage",
    proposed_correction="",
    confidence=0.99,
)


def make_registry(source: RuleSource = RuleSource.TEXT, content: bytes = b"old text") -> RuleRegistry:
    version = next_version(
        RuleRegistry(),
        RULE,
        content_hash=digest_of(content),
        source=source,
        source_ref="manual 4.2",
        capabilities=["vessel.ukc-status"],
        domains=["maritime"],
        at=NOON,
        by=PrincipalId("user:author"),
    )
    assert version is not None
    return fold_rules([version])


REGISTRY = make_registry()


def make_item(count: int = 3, **changes: Any) -> WorkItem:  # noqa: ANN401  any field
    item = open_item(
        RuleRef(rule_id=RULE, version=1),
        [make_signal(session_id=f"s-{number}") for number in range(count)],
        reason=OpeningReason.FAILURES,
        rule_content="clearance is at least 1.5 m",
        rule_history=REGISTRY.get(RULE).versions,
        tally=recount([Outcome.FAILURE] * count),
        original_query="may she enter at 14:00?",
        original_response="yes, with 1.4 m",
        at=NOON,
    )
    return replace(item, **changes)


def conclusion(category: Category, corrected: str | None = None, item: WorkItem | None = None) -> Conclusion:
    found = (
        Siddhanta(failure_category=category, siddhanta="the rule ignores squat")
        if corrected is None
        else Siddhanta(failure_category=category, siddhanta="the rule ignores squat", corrected_rule=corrected)
    )
    return conclude(item or make_item(), found, by=REVIEWER, at=later(hours=1), ticket_id=TICKET)
