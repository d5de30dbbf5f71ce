"""Mandates: standing approvals for a bounded class of calls, from the proposal to the revocation.

terms -> what they would have allowed last month -> ticket -> people sign it -> `mandate.signed`
call within the limits -> no new approval, one use (`cover`) | revoked, used up, expired, a signer gone -> people again
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from assay.claims.approve import Approval, ApprovalCheck, check_approvals
from assay.claims.bundle import Decision, HumanDecision
from assay.claims.parse_bundle import parse_bundle
from assay.claims.policy import ApprovalNeed, ApprovalPolicy
from assay.facts.claims import BundleContext
from assay.facts.permits import MandateEnded, MandateSigned, mandate_ended_entry, signed_entry
from assay.flows.claims.claims_facts import active_policy
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import confirm
from assay.flows.known import get_principal
from assay.flows.permits.cover import MandateHistory, end_reasons, get_mandate, load_mandate, mandated_call
from assay.flows.permits.mandate_settings import MandateSettings
from assay.flows.request import (
    NEWEST,
    Done,
    Moment,
    Page,
    Paged,
    PrincipalName,
    Reason,
    Request,
    cut,
    parse_or_not_found,
    read_number,
    whose,
)
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.identity.authorise import has_role, require_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId, TicketId, parse_principal_id
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.permits.errors import PermitError
from assay.permits.mandate import (
    ArgumentLimit,
    Budget,
    MandateId,
    MandateTerms,
    Seat,
    Used,
    check_call,
    parse_mandate_id,
    terms_hash,
    use,
    verify_terms,
)
from assay.ports.claims_store import ReceivedBundle
from assay.ports.database import Unit
from assay.ports.permit_store import UsedMandate
from assay.review.answer import Answer
from assay.review.errors import ReviewError
from assay.review.kind import TicketKind
from assay.review.settle import Settlement
from assay.review.ticket import Ticket, TicketDraft

DECIDE_WITHIN = timedelta(days=7)
LOOK_BACK = timedelta(days=30)
# Who may propose a mandate for another principal's calls, and revoke any.
KEEPERS = (BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)
_SIGN = "sign"
_MOST_LOOKED_AT = 5000
_MOST_SHOWN = 20
_FOUR_EYES = 2

MandateName = Annotated[str, Meta(description="The id of a mandate, `mnd_…`.")]


class _Terms(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The terms as a caller gives them."""

    agent: Annotated[PrincipalName, Meta(description="The agent whose calls it covers.")]
    tool: Annotated[str, Meta(description="The tool.")]
    audience: Annotated[str, Meta(description="Where the tool runs, as its calls name it.")]
    tier: Annotated[RiskTier, Meta(description="The highest tier of these calls; never PRIVILEGE.")]
    purpose: Annotated[str, Meta(min_length=1, max_length=2000, description="What it is for; the signers read it.")]
    count: Annotated[int, Meta(ge=1, description="At most so many calls.")]
    expires_at: Annotated[Moment, Meta(description="When it ends.")]
    starts_at: Annotated[Moment | None, Meta(description="When it begins; at once where nothing is said.")] = None
    limits: Annotated[
        tuple[ArgumentLimit, ...], Meta(description="What each argument may be; one without a limit is refused.")
    ] = ()
    budget: Annotated[Budget | None, Meta(description="The most that an argument may sum up to.")] = None


class ProposeMandate(_Terms, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mandate that people are asked to sign."""


class PreviewMandate(_Terms, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mandate that is only tried on recorded calls."""


class ShowMandate(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mandate_id: MandateName


class RevokeMandate(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mandate_id: MandateName
    reason: Reason


class ListMandates(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    agent: Annotated[PrincipalName | None, Meta(description="Only mandates of this agent.")] = None


class ListMandateUses(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mandate_id: MandateName


class PreviewedCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recorded call; `decision` is what became of it then, `reasons` why the mandate would not have covered it."""

    bundle_hash: Digest
    statement: str
    received_at: Instant
    tier: str
    decision: str | None
    reasons: tuple[str, ...] = ()


class MandatePreview(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a mandate would have done with the agent's calls of this tool since then.

    `refused_then` are calls that it would have allowed and that were refused, listed first in `allowed_calls`.
    `is_whole` is false where there were more bundles than are looked at.
    """

    since: Instant
    until: Instant
    calls: int
    allowed: int
    amount: str
    refused_then: int
    allowed_calls: tuple[PreviewedCall, ...]
    other_calls: tuple[PreviewedCall, ...]
    is_whole: bool


class MandateAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What signers are shown, as canonical JSON; `why_two` says why two people must sign, where they must."""

    terms: MandateTerms
    terms_hash: Digest
    seats: tuple[Seat, ...]
    signatures: int
    why_two: tuple[str, ...]
    preview: MandatePreview


class MandateProposal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ticket on which people sign; the mandate has this id once they have."""

    mandate_id: MandateId
    ticket_id: TicketId
    shown_hash: Digest
    asked: MandateAsked


class MandateView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mandate and what is used of it. `is_live` says that it can cover a call now, `reasons` why it cannot."""

    mandate_id: MandateId
    terms: MandateTerms
    seats: tuple[Seat, ...]
    signed_by: tuple[PrincipalId, ...]
    proposed_by: PrincipalId
    ticket_id: TicketId
    signed_at: Instant
    used_count: int
    used_total: str
    is_live: bool
    reasons: tuple[str, ...] = ()
    ended_by: PrincipalId | None = None
    ended_at: Instant | None = None
    reason: str | None = None
    sequence_number: int


def propose_mandate(tools: Tools, caller: Caller, request: ProposeMandate) -> Done[MandateProposal]:
    """Ask people to sign a standing approval: the agent for itself, operators and reviewers for any agent.

    The ticket goes to the roles that approve such calls one by one, and shows what the mandate would have allowed in
    the last 30 days. Nobody who asked can sign.
    """
    terms = _read_terms(request, caller.at)

    def work(unit: Unit) -> Done[MandateProposal]:
        asker = confirm(unit, caller).principal
        if asker.id != terms.agent:
            require_role(asker, KEEPERS)
        get_principal(unit, caller.tenant_id, terms.agent)
        asked = _asked(unit, tools.mandates, caller.tenant_id, terms, caller.at)
        draft = TicketDraft(
            kind=TicketKind.MANDATE,
            title=_title(terms),
            shown=canonical_json(asked),
            eligible_roles=tuple(seat.role for seat in asked.seats),
            opened_by=asker.id,
            requested_by=asker.id,
            about=f"mandate:{terms.agent}",
            quorum=asked.signatures,
            due_at=min(Instant(caller.at + DECIDE_WITHIN), terms.expires_at),
        )
        ticket = draft_ticket(tools, caller.tenant_id, draft, at=caller.at)
        receipt = open_review_in(unit, ticket)
        made = MandateProposal(
            mandate_id=_id_of(ticket), ticket_id=ticket.id, shown_hash=ticket.shown_hash, asked=asked
        )
        return Done(value=made, receipt=receipt)

    return tools.database.write(work)


def preview_mandate(tools: Tools, caller: Caller, request: PreviewMandate) -> MandatePreview:
    """Show what a mandate would have allowed in the last 30 days; nothing is recorded and nobody is asked."""
    whose(caller, request.agent)
    terms = _read_terms(request, caller.at)
    return tools.database.read(lambda unit: _preview(unit, caller.tenant_id, terms, caller.at))


def revoke_mandate(tools: Tools, caller: Caller, request: RevokeMandate) -> Done[MandateView]:
    """Revoke a mandate at once: no call is covered after this, and permits that rest on it cannot be claimed.

    Its agent may, its proposer, its signers, operators and reviewers.
    """
    mandate_id = parse_or_not_found(parse_mandate_id, request.mandate_id, "mandate")

    def work(unit: Unit) -> Done[MandateView]:
        who = confirm(unit, caller).principal
        history = _seen(unit, caller, mandate_id)
        parties = {history.terms.agent, history.row.proposed_by, *history.signed_by}
        if who.id not in parties and not has_role(who, KEEPERS):
            raise NotFoundError(f"there is no mandate `{mandate_id}` that `{who.id}` may revoke")
        if history.end is not None:
            return Done(value=_view(unit, caller.tenant_id, history, caller.at), is_new=False)
        body = MandateEnded(mandate_id=mandate_id, by=who.id, reason=request.reason)
        receipt = unit.record(mandate_ended_entry(caller.tenant_id, body, at=caller.at))
        after = get_mandate(unit, caller.tenant_id, mandate_id)
        return Done(value=_view(unit, caller.tenant_id, after, caller.at), receipt=receipt)

    return tools.database.write(work)


def mandate(tools: Tools, caller: Caller, request: ShowMandate) -> MandateView:
    """Show a mandate and how much of it is used: one's own, or any to those who may read records about others."""
    mandate_id = parse_or_not_found(parse_mandate_id, request.mandate_id, "mandate")

    def look(unit: Unit) -> MandateView:
        return _view(unit, caller.tenant_id, _seen(unit, caller, mandate_id), caller.at)

    return tools.database.read(look)


def mandates(tools: Tools, caller: Caller, request: ListMandates) -> Page[MandateView]:
    """List signed mandates, newest first."""
    agent = whose(caller, request.agent)
    who = None if agent is None else parse_principal_id(agent)
    before = read_number("mandates", request.cursor, start=NEWEST)

    def look(unit: Unit) -> Sequence[MandateView]:
        rows = unit.permits.mandate_page(caller.tenant_id, before=before, limit=request.limit + 1, agent=who)
        loaded = (load_mandate(unit, caller.tenant_id, row) for row in rows)
        return [_view(unit, caller.tenant_id, one, caller.at) for one in loaded]

    return cut("mandates", tools.database.read(look), request.limit, lambda one: one.sequence_number)


def mandate_uses(tools: Tools, caller: Caller, request: ListMandateUses) -> Page[UsedMandate]:
    """List the calls that a mandate covered, newest first."""
    mandate_id = parse_or_not_found(parse_mandate_id, request.mandate_id, "mandate")
    before = read_number("mandate-uses", request.cursor, start=NEWEST)

    def look(unit: Unit) -> Sequence[UsedMandate]:
        _seen(unit, caller, mandate_id)
        return unit.permits.uses(caller.tenant_id, mandate_id, before=before, limit=request.limit + 1)

    return cut("mandate-uses", tools.database.read(look), request.limit, lambda one: one.position)


def require_signer(unit: Unit, ticket: Ticket, answer: Answer, at: Instant) -> None:
    """The follow-up of each answer: a signature that fills no seat is refused, so that the last one completes them."""
    if answer.choice != _SIGN:
        return
    asked = _shown(ticket)
    if answer.by == asked.terms.agent:
        raise ReviewError.own_request(f"`{ticket.id}` is about `{answer.by}`")
    given = {one.by for one in unit.review.answers(ticket.tenant_id, ticket.id) if one.choice == _SIGN}
    signers = sorted({*given, answer.by})
    missing = _missing(unit, ticket, asked.seats, signers, at)
    if sum(need.people for need in missing) > asked.signatures - len(signers):
        names = ", ".join(f"{need.people} of {need.role}" for need in missing)
        raise PermitError.mandate_refused(f"expected a signature by {names}, got one by `{answer.by}`")


def sign_mandate(unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant) -> None:
    """The follow-up of a decision: the mandate is in force from the commit in which its last signature counts."""
    if settlement.denied or settlement.choice != _SIGN:
        return
    asked = _shown(ticket)
    verify_terms(asked.terms, at=at)
    signers = tuple(sorted(one.by for one in answers if one.choice == _SIGN))
    missing = _missing(unit, ticket, asked.seats, signers, at)
    if missing:
        raise PermitError.mandate_refused(
            f"expected signatures by {missing[0].people} more of `{missing[0].role}`, got none"
        )
    body = MandateSigned(
        mandate_id=_id_of(ticket),
        terms=asked.terms,
        seats=asked.seats,
        signed_by=signers,
        proposed_by=ticket.requested_by or ticket.opened_by,
        ticket_id=ticket.id,
    )
    unit.record(signed_entry(ticket.tenant_id, body, at=at))


def _missing(
    unit: Unit, ticket: Ticket, seats: tuple[Seat, ...], signers: Iterable[PrincipalId], at: Instant
) -> tuple[ApprovalNeed, ...]:
    """Which seats are empty, counted as the human-approval gate counts approvals: nobody sits in two."""
    check = ApprovalCheck(
        bundle_hash=ticket.shown_hash,
        needs=tuple(ApprovalNeed(role=seat.role, people=seat.people) for seat in seats),
        parties=(),
        now=at,
    )
    people = [get_principal(unit, ticket.tenant_id, name) for name in signers]
    given = [
        Approval(
            id=person.id,
            bundle_hash=ticket.shown_hash,
            approver=person.id,
            is_person=person.is_person(),
            roles=tuple(role for role in ticket.eligible_roles if role in person.roles),
            decision=HumanDecision.APPROVED,
            given_at=at,
            expires_at=Instant(at + DECIDE_WITHIN),
        )
        for person in people
    ]
    return check_approvals(check, given).missing


def _read_terms(request: _Terms, at: Instant) -> MandateTerms:
    terms = MandateTerms(
        agent=parse_principal_id(request.agent),
        tool=request.tool,
        audience=request.audience,
        tier=request.tier,
        purpose=request.purpose,
        limits=request.limits,
        budget=request.budget,
        count=request.count,
        starts_at=at if request.starts_at is None else parse_instant(request.starts_at),
        expires_at=parse_instant(request.expires_at),
    )
    verify_terms(terms, at=at)
    return terms


def _asked(
    unit: Unit, settings: MandateSettings, tenant_id: TenantId, terms: MandateTerms, at: Instant
) -> MandateAsked:
    seats = _seats(active_policy(unit, tenant_id).approvals, terms.tier)
    why_two = tuple(_beyond_one(terms, settings))
    people = sum(seat.people for seat in seats)
    return MandateAsked(
        terms=terms,
        terms_hash=terms_hash(terms),
        seats=seats,
        signatures=max(people, _FOUR_EYES) if why_two else people,
        why_two=why_two,
        preview=_preview(unit, tenant_id, terms, at),
    )


def _seats(policy: ApprovalPolicy, tier: RiskTier) -> tuple[Seat, ...]:
    """Who approves calls up to this tier one by one, below PRIVILEGE; they sign the mandate too."""
    people: dict[str, int] = {}
    for row in policy.by_tier:
        for need in row.needs if row.tier.rank <= tier.rank else ():
            people[need.role] = max(people.get(need.role, 0), need.people)
    if not people:
        raise PermitError.mandate_refused(f"nobody has to approve calls up to {tier}: they need no mandate")
    return tuple(Seat(role=role, people=people[role]) for role in sorted(people))


def _beyond_one(terms: MandateTerms, settings: MandateSettings) -> Iterable[str]:
    if terms.count > settings.single_count:
        yield f"{terms.count} calls, more than {settings.single_count}"
    if terms.expires_at - terms.starts_at > settings.single_span:
        yield f"longer than {settings.single_span.days} days"
    if terms.budget is not None and Decimal(terms.budget.total) > settings.single_budget:
        yield f"a budget of {terms.budget.total}, more than {settings.single_budget}"


def _preview(unit: Unit, tenant_id: TenantId, terms: MandateTerms, at: Instant) -> MandatePreview:
    """Try the terms on the agent's recorded calls of this tool, in order, as if they had been in force."""
    since = Instant(at - LOOK_BACK)
    tried = replace(terms, starts_at=since, expires_at=Instant(at + timedelta(seconds=1)))
    used, allowed, others = Used(), list[PreviewedCall](), list[PreviewedCall]()
    looked = 0
    for row in unit.permits.bundles_of(tenant_id, terms.agent, since=since):
        looked += 1
        if looked > _MOST_LOOKED_AT:
            break
        arguments = msgspec.json.decode(row.context, type=BundleContext).tool_arguments
        call = mandated_call(parse_bundle(row.text), arguments) if len(arguments) == 1 else None
        if call is None or call.tool != terms.tool:
            continue
        found = check_call(tried, call, RiskTier(row.tier), used, at=row.received_at)
        shown = _previewed(row, found.reasons)
        if found.is_covered:
            used = use(used, found.amount)
            allowed.append(shown)
        else:
            others.append(shown)
    decisions = {
        one.bundle_hash: one.decision
        for one in unit.claims.latest_decisions(tenant_id, [one.bundle_hash for one in (*allowed, *others)])
    }
    told = [replace(one, decision=decisions.get(one.bundle_hash)) for one in allowed]
    refused = [one for one in told if one.decision == Decision.REFUSE.value]
    first = [*refused, *(one for one in told if one not in refused)]
    return MandatePreview(
        since=since,
        until=at,
        calls=len(allowed) + len(others),
        allowed=len(allowed),
        amount=format(used.total, "f"),
        refused_then=len(refused),
        allowed_calls=tuple(first[:_MOST_SHOWN]),
        other_calls=tuple(replace(one, decision=decisions.get(one.bundle_hash)) for one in others[-_MOST_SHOWN:]),
        is_whole=looked <= _MOST_LOOKED_AT,
    )


def _previewed(row: ReceivedBundle, reasons: tuple[str, ...]) -> PreviewedCall:
    statement = parse_bundle(row.text).claims[0].statement
    return PreviewedCall(
        bundle_hash=row.bundle_hash,
        statement=statement[:200],
        received_at=row.received_at,
        tier=row.tier,
        decision=None,
        reasons=reasons,
    )


def _view(unit: Unit, tenant_id: TenantId, history: MandateHistory, at: Instant) -> MandateView:
    terms, used, end = history.terms, history.used, history.end
    reasons = [*end_reasons(unit, tenant_id, history, at)]
    if at >= terms.expires_at:
        reasons.append(f"it expired at {render_instant(terms.expires_at)}")
    if at < terms.starts_at:
        reasons.append(f"it starts at {render_instant(terms.starts_at)}")
    if used.count >= terms.count:
        reasons.append(f"all {terms.count} uses are used up")
    return MandateView(
        mandate_id=history.row.mandate_id,
        terms=terms,
        seats=history.seats,
        signed_by=history.signed_by,
        proposed_by=history.row.proposed_by,
        ticket_id=history.row.ticket_id,
        signed_at=history.row.signed_at,
        used_count=used.count,
        used_total=format(used.total, "f"),
        is_live=not reasons,
        reasons=tuple(reasons),
        ended_by=None if end is None else end.by,
        ended_at=None if end is None else end.ended_at,
        reason=None if end is None else end.reason,
        sequence_number=history.row.sequence_number,
    )


def _seen(unit: Unit, caller: Caller, mandate_id: MandateId) -> MandateHistory:
    row = unit.permits.find_mandate(caller.tenant_id, mandate_id)
    if row is None:
        raise NotFoundError(f"there is no mandate `{mandate_id}`")
    history = load_mandate(unit, caller.tenant_id, row)
    if caller.principal.id not in (history.terms.agent, row.proposed_by, *history.signed_by):
        whose(caller, history.terms.agent)
    return history


def _id_of(ticket: Ticket) -> MandateId:
    """A mandate is named after the ticket on which it was signed."""
    return parse_mandate_id(f"mnd_{ticket.id.partition('_')[2]}")


def _title(terms: MandateTerms) -> str:
    budget = "" if terms.budget is None else f", {terms.budget.argument} up to {terms.budget.total} in all"
    until = f"{terms.expires_at:%Y-%m-%d}"
    whole = f"Let {terms.agent} call {terms.tool} up to {terms.count} times until {until}{budget}: {terms.purpose}"
    return "".join(one if one.isprintable() else " " for one in whole)[:280]


def _shown(ticket: Ticket) -> MandateAsked:
    return msgspec.json.decode(ticket.shown, type=MandateAsked)
