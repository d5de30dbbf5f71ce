"""A second person accepts a corrected rule: its next version and their certification, in one commit."""

import msgspec

from assay.delivery.propose import Proposal, ProposalRoute, accept_proposal
from assay.flows.delivery.rule_rows import add_certification, add_version, load_rules
from assay.flows.known import get_principal
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

_ACCEPT = "accept"


def settle_proposal(
    unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant
) -> None:
    """The follow-up of a RULE_PROPOSAL ticket.

    Only a text rule gets its version here. One of a graph, a contract or code is accepted in principle: its source is
    changed, reviewed and signed in its own way, and comes back as a new version from there.
    """
    if settlement.denied or settlement.choice != _ACCEPT:
        return
    proposal = msgspec.json.decode(ticket.shown, type=Proposal)
    if proposal.route is not ProposalRoute.REGISTRY_VERSION:
        return
    tenant_id = ticket.tenant_id
    by = get_principal(unit, tenant_id, next(one.by for one in answers if one.choice == _ACCEPT))
    registry = load_rules(unit, tenant_id, [proposal.rule_id])
    version, certification = accept_proposal(
        proposal, registry, seen=proposal.content_hash, by=by, at=at, ticket_id=ticket.id
    )
    add_version(unit, tenant_id, version, proposal.content)
    add_certification(unit, tenant_id, certification, at=at)
