"""A person stands by the version of a rule that is in force: a ticket that shows it, and their signed answer.

rule -> ticket -> answer `certify` -> Certification, in the commit that records the decision
"""

import msgspec
from msgspec import Struct

from assay.delivery.rule import RuleVersion, certify, parse_rule_id, render_ref
from assay.flows.delivery.rule_rows import add_certification, content_of, load_rules
from assay.flows.identity.authenticate import authenticate, require_session
from assay.flows.known import get_principal
from assay.flows.review.answer_review import Answered, answer_review
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.review.settle_review import FollowUps
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.signer import Signer
from assay.review.answer import Answer
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.review.settle import Settlement
from assay.review.ticket import Ticket, TicketDraft

__all__ = ["ShownRule", "ask_certification", "certify_rule", "settle_certification"]

_CERTIFY = "certify"


class ShownRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person is shown: the version and its whole content."""

    rule: RuleVersion
    content: str


def ask_certification(tools: Tools, tenant_id: TenantId, rule_id: str, *, at: Instant) -> Ticket:
    """The open question about the version in force; it is asked once. The caller has authenticated whoever asks."""
    name = parse_rule_id(rule_id)

    def work(unit: Unit) -> Ticket:
        latest = load_rules(unit, tenant_id, [name]).get(name).latest
        about = render_ref(load_rules(unit, tenant_id, [name]).get(name).ref)
        for known in unit.review.open_tickets_about(tenant_id, TicketKind.RULE_CERTIFICATION, about):
            return known
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
        ticket = draft_ticket(tools, tenant_id, draft, at=at)
        open_review_in(unit, ticket)
        return ticket

    return tools.database.write(work)


def certify_rule(
    tools: Tools,
    rule_id: str,
    *,
    seen: Digest,
    reason: str = "",
    credential: str,
    follow_ups: FollowUps,
    signing: Signer | None = None,
    at: Instant,
) -> Answered:
    """Certify a rule, by a person in their own session who saw the ticket with this hash (`ask_certification`)."""
    proved = authenticate(tools, credential, at=at)
    require_session(proved)
    ticket = ask_certification(tools, proved.principal.tenant_id, rule_id, at=at)
    reply = Reply(choice=_CERTIFY, seen=seen, reason=reason, body="{}")
    return answer_review(tools, ticket.id, reply, credential=credential, signing=signing, follow_ups=follow_ups, at=at)


def settle_certification(
    unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant
) -> None:
    """The follow-up: the room refuses who recorded the version themselves, and a version that is in force no more."""
    if settlement.denied or settlement.choice != _CERTIFY:
        return
    shown = msgspec.json.decode(ticket.shown, type=ShownRule)
    rule_id, tenant_id = shown.rule.rule_id, ticket.tenant_id
    by = get_principal(unit, tenant_id, next(one.by for one in answers if one.choice == _CERTIFY))
    certification = certify(
        load_rules(unit, tenant_id, [rule_id]),
        rule_id,
        seen=shown.rule.content_hash,
        by=by,
        at=at,
        ticket_id=ticket.id,
    )
    add_certification(unit, tenant_id, certification, at=at)
