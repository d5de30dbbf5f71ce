"""What follows when people answered whether to certify a rule: the certification, in the commit of their decision."""

import msgspec
from msgspec import Struct

from assay.delivery.rule import RuleVersion, certify
from assay.flows.delivery.rule_rows import add_certification, load_rules
from assay.flows.known import get_principal
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

CERTIFY = "certify"


class ShownRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person is shown: the version and its whole content."""

    rule: RuleVersion
    content: str


def settle_certification(
    unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant
) -> None:
    """The follow-up: the room refuses who recorded the version themselves, and a version that is in force no more."""
    if settlement.denied or settlement.choice != CERTIFY:
        return
    shown = msgspec.json.decode(ticket.shown, type=ShownRule)
    rule_id, tenant_id = shown.rule.rule_id, ticket.tenant_id
    by = get_principal(unit, tenant_id, next(one.by for one in answers if one.choice == CERTIFY))
    certification = certify(
        load_rules(unit, tenant_id, [rule_id]),
        rule_id,
        seen=shown.rule.content_hash,
        by=by,
        at=at,
        ticket_id=ticket.id,
    )
    add_certification(unit, tenant_id, certification, at=at)
