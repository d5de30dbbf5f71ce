"""A person stands by the version of a rule that is in force: a ticket that shows it, and their signed answer.

rule -> ticket -> answer `certify` -> Certification, in the commit that records the decision
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from assay.delivery.rule import parse_rule_id, render_ref
from assay.flows.delivery.rule_rows import content_of, load_rules
from assay.flows.delivery.rules import RuleName
from assay.flows.delivery.settle_certification import CERTIFY, ShownRule
from assay.flows.identity.authenticate import confirm, require_session
from assay.flows.request import Option, Request
from assay.flows.review.answer_desk import DeskAnswer, answer_desk
from assay.flows.review.answer_review import SignedElsewhere
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import parse_digest
from assay.ports.database import Unit
from assay.ports.signer import Signer
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket, TicketDraft


class RequestCertification(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule_id: RuleName


class CertifyRule(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule_id: RuleName
    seen: Annotated[str, Meta(description="The hash of what you were shown."), Option(metavar="HASH")]
    reason: Annotated[str, Meta(max_length=2000, description="Why; it is recorded with the answer.")] = ""


def ask_certification(tools: Tools, caller: Caller, request: RequestCertification) -> Ticket:
    """Ask people to certify the version of a rule in force; the same open question is returned again."""
    name, tenant_id = parse_rule_id(request.rule_id), caller.tenant_id

    def work(unit: Unit) -> Ticket:
        confirm(unit, caller)
        known = load_rules(unit, tenant_id, [name]).get(name)
        latest, about = known.latest, render_ref(known.ref)
        for ticket in unit.review.open_tickets_about(tenant_id, TicketKind.RULE_CERTIFICATION, about):
            return ticket
        shown = ShownRule(rule=latest, content=content_of(unit, tenant_id, name, latest.version))
        draft = TicketDraft(
            kind=TicketKind.RULE_CERTIFICATION,
            title=f"stand by rule {about}",
            shown=msgspec.json.format(msgspec.json.encode(shown), indent=2).decode(),
            eligible_roles=(BuiltInRole.REVIEWER,),
            opened_by=tools.delivery.principal_id,
            requested_by=latest.recorded_by,
            about=about,
        )
        opened = draft_ticket(tools, tenant_id, draft, at=caller.at)
        open_review_in(unit, opened)
        return opened

    return tools.database.write(work)


def certify_rule(
    tools: Tools, caller: Caller, request: CertifyRule, *, signing: Signer | SignedElsewhere | None = None
) -> DeskAnswer:
    """Certify the version of a rule in force, as a person in their own session who saw it with this hash.

    The author of the version cannot certify it. A person with a registered key answers the ticket instead.
    """
    require_session(caller)
    ticket = ask_certification(tools, caller, RequestCertification(rule_id=request.rule_id))
    reply = Reply(choice=CERTIFY, seen=parse_digest(request.seen), reason=request.reason, body="{}")
    return answer_desk(tools, caller, ticket.id, reply, signing=signing)
