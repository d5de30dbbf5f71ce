"""Permits: a published action is permitted once, claimed before its effect, and reported after it.

published bundle -> issue -> permit in two signed forms
permit + call -> claim (one of any number of callers gets it) -> the tool runs -> report: done | failed | unknown
a claim without a report in time -> unknown -> a ticket -> a reviewer says whether it happened
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct

from assay.claims.bundle import Decision
from assay.facts.claims import BundleContext, ClaimsDecided
from assay.facts.permits import (
    DETAIL_POINTER,
    claimed_entry,
    ended_entry,
    issued_entry,
    reported_entry,
)
from assay.flows.claims.claims_facts import asked_of
from assay.flows.errors import NotFoundError
from assay.flows.errors.permits import NotClaimableError, PermitFlowError
from assay.flows.identity.authenticate import confirm
from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.permits.cover import require_live
from assay.flows.request import (
    NEWEST,
    Done,
    Option,
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
from assay.identity.authorise import has_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.kernel.canonical import canonical_json
from assay.kernel.commitment import COMMITMENT_KEY, commit
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import KeyId, PrincipalId, TenantId, TicketId, parse_principal_id
from assay.kernel.instant import Instant, render_instant
from assay.kernel.key import KeyPurpose
from assay.permits.mandate import MandateId
from assay.permits.permit import (
    PERMIT_ENTROPY_BYTES,
    Effect,
    Permit,
    PermitId,
    PermitState,
    Reconciled,
    ToolCall,
    hash_arguments,
    parse_call,
    parse_permit_id,
    permit_names,
    verify_use,
    whole_second,
)
from assay.permits.seal import render_cose, render_jwt, verify_permit
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.permit_store import ClaimedPermit, EndedPermit, IssuedPermit, ReportedEffect
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.settle import Settlement
from assay.review.ticket import Ticket, TicketDraft

# An approval is about now: what was published longer ago is gated again.
MOST_AGE = timedelta(hours=24)
# How long a claimed call may run before its effect counts as unknown, unless the claim says less.
REPORT_SECONDS = 300
RECONCILERS = (BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)
_REVOKED = "revoked"
_LONGEST_DETAIL = 2000
_SALT_SIZE = 32
_MAY_RETRY = frozenset({PermitState.EXPIRED, PermitState.FAILED})

PermitName = Annotated[str, Meta(description="The id of a permit, `pmt_…`.")]


class IssuePermit(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    bundle_hash: Annotated[
        str, Meta(description="The hash of the published bundle."), Option(form="argument", metavar="BUNDLE")
    ]
    seconds: Annotated[int, Meta(ge=1, le=3600, description="How long the permit can be claimed.")] = 300


class ClaimPermit(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    permit_id: PermitName
    tool: Annotated[str, Meta(description="The tool that is about to run.")]
    audience: Annotated[str, Meta(description="Where it runs, as the permit names it.")]
    arguments: Annotated[dict[str, Any], Meta(description="The arguments that it is about to run with.")]
    permit: Annotated[
        str | None, Meta(description="The permit itself (JWT, or COSE in base64url), to verify it at the node.")
    ] = None
    report_seconds: Annotated[int, Meta(ge=1, le=86_400, description="How soon the effect will be reported.")] = (
        REPORT_SECONDS
    )


class ReportEffect(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    permit_id: PermitName
    effect: Annotated[
        Effect, Meta(description="`failed` promises that nothing happened; if that is not certain, `unknown`.")
    ]
    result_hash: Annotated[str | None, Meta(description="The hash of the result, `sha256:…`.")] = None
    detail: Annotated[str, Meta(max_length=_LONGEST_DETAIL, description="What the tool said, in a line.")] = ""


class RevokePermit(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    permit_id: PermitName
    reason: Reason


class ShowPermit(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    permit_id: PermitName


class ListPermits(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    agent: Annotated[PrincipalName | None, Meta(description="Only permits of this agent.")] = None
    state: Annotated[PermitState | None, Meta(description="Only permits in this state.")] = None


class PermitView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A permit and what became of it. `ticket_id` is the question to reviewers about an unknown effect."""

    permit: Permit
    state: PermitState
    claimed_by: PrincipalId | None = None
    claimed_at: Instant | None = None
    report_due_at: Instant | None = None
    effect: Effect | None = None
    result_hash: Digest | None = None
    detail: str = ""
    reconciled: Reconciled | None = None
    ended_by: PrincipalId | None = None
    reason: str | None = None
    sequence_number: int


class SignedPermit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A permit in its two forms; `cose` is base64url without padding."""

    permit: Permit
    state: PermitState
    jwt: str
    cose: str
    sequence_number: int


@dataclass(frozen=True, slots=True)
class _History:
    """Every row about one permit; `state` follows from them and the time."""

    issued: IssuedPermit
    claim: ClaimedPermit | None
    reports: tuple[ReportedEffect, ...]
    end: EndedPermit | None

    @property
    def permit(self) -> Permit:
        return msgspec.json.decode(self.issued.text, type=Permit)

    @property
    def report(self) -> ReportedEffect | None:
        """The report that came in time; a late one decides nothing."""
        return next((one for one in self.reports if not one.is_late), None)

    def state(self, at: Instant) -> PermitState:
        if self.end is not None:
            states = {_REVOKED: PermitState.REVOKED, Reconciled.HAPPENED: PermitState.DONE}
            return states.get(self.end.how, PermitState.FAILED)
        if self.claim is None:
            return PermitState.ISSUED if at < self.issued.expires_at else PermitState.EXPIRED
        if self.report is not None:
            return PermitState(self.report.effect.value)
        return PermitState.CLAIMED if at < self.claim.report_due_at else PermitState.UNKNOWN


def issue_permit(tools: Tools, caller: Caller, request: IssuePermit) -> Done[SignedPermit]:
    """Permit the action of a published bundle, once.

    The bundle names the call as its one tool argument (`tool`, `arguments`, `audience` in canonical JSON). A permit
    that can still be claimed is returned again; after an expired or failed one, another is issued. A claimed, done or
    unknown one is never followed by another.
    """
    wanted = parse_or_not_found(parse_digest, request.bundle_hash, "bundle")
    return tools.database.write(lambda unit: _issue(unit, tools, caller, wanted, request.seconds))


def _issue(unit: Unit, tools: Tools, caller: Caller, wanted: Digest, seconds: int) -> Done[SignedPermit]:
    confirm(unit, caller)
    tenant_id, at = caller.tenant_id, caller.at
    call, mandate_id = _published_call(unit, caller, wanted)
    for history in _of_bundle(unit, tenant_id, wanted):
        state = history.state(at)
        if state is PermitState.ISSUED:
            _require_same_key(tools, history)
            return Done(value=_signed(tools, history.permit, history.issued.sequence_number), is_new=False)
        _require_retry(history, state)
    permit_id, nonce = permit_names(tools.entropy.token(PERMIT_ENTROPY_BYTES))
    issued_at = whole_second(at)
    permit = Permit(
        permit_id=permit_id,
        issuer=tools.origin_of(tenant_id),
        tenant_id=tenant_id,
        agent=caller.principal.id,
        audience=call.audience,
        tool=call.tool,
        arguments_hash=hash_arguments(call.arguments),
        bundle_hash=wanted,
        issued_at=issued_at,
        expires_at=Instant(issued_at + timedelta(seconds=seconds + 1)),
        nonce=nonce,
        mandate_id=mandate_id,
    )
    receipt = unit.record(issued_entry(permit, tools.review_signer.key_id, at=at))
    return Done(value=_signed(tools, permit, receipt.sequence_number), receipt=receipt)


def claim_permit(tools: Tools, caller: Caller, request: ClaimPermit) -> Done[PermitView]:
    """Claim a permit for exactly this call, before its effect.

    Of any number of callers one gets it, durably. The agent itself may claim, or the principal that the permit names as
    its audience. After a refusal, do not run.
    """
    permit_id = parse_or_not_found(parse_permit_id, request.permit_id, "permit")
    call = ToolCall(tool=request.tool, arguments=request.arguments, audience=request.audience)
    return tools.database.write(lambda unit: _claim(unit, tools, caller, permit_id, call, request))


def _claim(
    unit: Unit, tools: Tools, caller: Caller, permit_id: PermitId, call: ToolCall, request: ClaimPermit
) -> Done[PermitView]:
    confirm(unit, caller)
    history = _history(unit, caller.tenant_id, permit_id)
    permit = history.permit
    if caller.principal.id not in (permit.agent, permit.audience):
        raise NotFoundError(f"there is no permit `{permit_id}` that `{caller.principal.id}` may claim")
    if request.permit is not None and _verified(unit, tools, request.permit) != permit:
        raise NotClaimableError(f"expected the permit `{permit_id}` as it was signed, got another statement")
    verify_use(permit, call, at=caller.at)
    state = history.state(caller.at)
    if state is not PermitState.ISSUED:
        raise PermitFlowError.used(
            f"`{permit_id}` is {state}: expected one that nobody has claimed; do not run the call"
        )
    # The decision that the permit rests on must still hold.
    decided = _decided(unit, caller.tenant_id, permit.bundle_hash)
    if decided is None or decided.outcome.decision is not Decision.PUBLISH:
        raise PermitFlowError.not_published(
            f"the bundle {permit.bundle_hash} is no longer published; do not run the call"
        )
    _live_mandate(unit, caller, decided)
    due = Instant(caller.at + timedelta(seconds=request.report_seconds))
    draft = claimed_entry(permit, caller.principal.id, report_due_at=due, at=caller.at)
    receipt = unit.record(draft)
    return Done(value=_view(_history(unit, caller.tenant_id, permit_id), caller.at), receipt=receipt)


def report_effect(tools: Tools, caller: Caller, request: ReportEffect) -> Done[PermitView]:
    """Report what became of a claimed call; only its claimer may. The same report again changes nothing.

    `unknown`, and a report that comes too late, ask reviewers; until one has reconciled it, no other permit is issued.
    """
    permit_id = parse_or_not_found(parse_permit_id, request.permit_id, "permit")
    result = None if request.result_hash is None else parse_digest(request.result_hash)
    return tools.database.write(lambda unit: _report(unit, tools, caller, permit_id, request, result))


def _report(
    unit: Unit, tools: Tools, caller: Caller, permit_id: PermitId, request: ReportEffect, result: Digest | None
) -> Done[PermitView]:
    confirm(unit, caller)
    tenant_id, at = caller.tenant_id, caller.at
    history = _history(unit, tenant_id, permit_id)
    if history.claim is None or history.claim.claimed_by != caller.principal.id:
        raise NotFoundError(f"there is no permit `{permit_id}` that `{caller.principal.id}` has claimed")
    known = history.reports[-1] if history.reports else None
    if known is not None:
        if (known.effect, known.result_hash) != (request.effect, result):
            raise PermitFlowError.used(
                f"`{permit_id}` was reported as {known.effect}: expected the same report, got another"
            )
        return Done(value=_view(history, at, _words(unit, tenant_id, history)), is_new=False)
    is_late = at >= history.claim.report_due_at
    words = (request.detail, tools.entropy.token(_SALT_SIZE)) if request.detail else None
    draft = reported_entry(
        history.permit, caller.principal.id, request.effect, result, is_late=is_late, at=at, words=words
    )
    receipt = unit.record(draft)
    if is_late or request.effect is Effect.UNKNOWN:
        ask_about(unit, tools, tenant_id, permit_id, at=at)
    return Done(value=_view(_history(unit, tenant_id, permit_id), at, request.detail), receipt=receipt)


def revoke_permit(tools: Tools, caller: Caller, request: RevokePermit) -> Done[PermitView]:
    """Revoke a permit that nobody has claimed: its agent may, and every operator."""
    permit_id = parse_or_not_found(parse_permit_id, request.permit_id, "permit")

    def work(unit: Unit) -> Done[PermitView]:
        confirm(unit, caller)
        history = _seen(unit, caller, permit_id)
        if history.permit.agent != caller.principal.id and not has_role(caller.principal, (BuiltInRole.OPERATOR,)):
            raise NotFoundError(f"there is no permit `{permit_id}` that `{caller.principal.id}` may revoke")
        state = history.state(caller.at)
        if state is PermitState.REVOKED:
            return Done(value=_view(history, caller.at), is_new=False)
        if history.claim is not None:
            raise PermitFlowError.used(f"`{permit_id}` is {state}: expected one that nobody has claimed")
        draft = ended_entry(history.permit, _REVOKED, by=caller.principal.id, reason=request.reason, at=caller.at)
        receipt = unit.record(draft)
        return Done(value=_view(_history(unit, caller.tenant_id, permit_id), caller.at), receipt=receipt)

    return tools.database.write(work)


def permit(tools: Tools, caller: Caller, request: ShowPermit) -> PermitView:
    """Show a permit and what became of it: one's own, or anybody's to those who may read records about others."""
    permit_id = parse_or_not_found(parse_permit_id, request.permit_id, "permit")

    def look(unit: Unit) -> PermitView:
        history = _seen(unit, caller, permit_id)
        return _view(history, caller.at, _words(unit, caller.tenant_id, history))

    return tools.database.read(look)


def permits(tools: Tools, caller: Caller, request: ListPermits) -> Page[PermitView]:
    """List permits, newest first."""
    agent = whose(caller, request.agent)
    who = None if agent is None else parse_principal_id(agent)
    before = read_number("permits", request.cursor, start=NEWEST)

    def work(unit: Unit) -> Sequence[PermitView]:
        found: list[PermitView] = []
        place = before
        while len(found) <= request.limit:
            rows = unit.permits.page(caller.tenant_id, before=place, limit=request.limit + 1, agent=who)
            views = [
                _view(one, caller.at, _words(unit, caller.tenant_id, one))
                for one in _histories(unit, caller.tenant_id, rows)
            ]
            found += [one for one in views if request.state is None or one.state is request.state]
            if len(rows) <= request.limit:
                break
            place = rows[-1].sequence_number
        return found

    return cut("permits", tools.database.read(work), request.limit, lambda one: one.sequence_number)


def ask_about_overdue(tools: Tools, tenant_id: TenantId, *, at: Instant) -> tuple[TicketId, ...]:
    """Ask reviewers about every claim whose report is overdue; once for each."""
    overdue = tools.database.read(lambda unit: unit.permits.unreported(tenant_id, at))
    asked = [_ask_alone(tools, tenant_id, row.permit_id, at) for row in overdue]
    return tuple(one for one in asked if one is not None)


def _ask_alone(tools: Tools, tenant_id: TenantId, permit_id: PermitId, at: Instant) -> TicketId | None:
    return tools.database.write(lambda unit: ask_about(unit, tools, tenant_id, permit_id, at=at))


def ask_about(unit: Unit, tools: Tools, tenant_id: TenantId, permit_id: PermitId, *, at: Instant) -> TicketId | None:
    """Open the ticket about an unknown effect, unless it is open or was answered; return its id where it is new."""
    history = _history(unit, tenant_id, permit_id)
    if history.end is not None or unit.review.open_tickets_about(tenant_id, TicketKind.EFFECT, permit_id):
        return None
    statement, claim = history.permit, history.claim
    shown = {
        "permit": statement,
        "claimed_by": None if claim is None else claim.claimed_by,
        "claimed_at": None if claim is None else claim.claimed_at,
        "reports": [
            {"effect": one.effect, "at": one.reported_at, "late": bool(one.is_late)} for one in history.reports
        ],
        "call": _call_text(unit, tenant_id, statement.bundle_hash),
    }
    draft = TicketDraft(
        kind=TicketKind.EFFECT,
        title=f"Did `{statement.tool}` at `{statement.audience}` take place? No report since {_time(claim)}",
        shown=canonical_json(shown),
        eligible_roles=tuple(str(role) for role in RECONCILERS),
        opened_by=PrincipalId("service:permits"),
        requested_by=statement.agent,
        about=permit_id,
    )
    ticket = draft_ticket(tools, tenant_id, draft, at=at)
    open_review_in(unit, ticket)
    return ticket.id


def settle_effect(unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant) -> None:
    """Record what a reviewer found out; the follow-up of an EFFECT ticket."""
    if settlement.choice not in tuple(Reconciled):
        return
    history = _history(unit, ticket.tenant_id, PermitId(ticket.about or ""))
    if history.end is not None:
        return
    answer = next(one for one in answers if one.choice == settlement.choice)
    draft = ended_entry(
        history.permit, settlement.choice, by=answer.by, reason=answer.reason, ticket_id=ticket.id, at=at
    )
    unit.record(draft)


def _published_call(unit: Unit, caller: Caller, wanted: Digest) -> tuple[ToolCall, MandateId | None]:
    """The call of a bundle that the caller sent and that is published, and the mandate that the decision cites.

    Anything else is refused, and a decision by a mandate that does not hold any more.
    """
    row = unit.claims.find_bundle(caller.tenant_id, wanted)
    if row is None or row.submitted_by != caller.principal.id:
        raise NotFoundError(f"`{caller.principal.id}` has sent no bundle `{wanted}`")
    decided = _decided(unit, caller.tenant_id, wanted)
    outcome = None if decided is None else decided.outcome
    if decided is None or outcome is None or outcome.decision is not Decision.PUBLISH:
        got = "no decision yet" if outcome is None else str(outcome.decision)
        raise PermitFlowError.not_published(
            f"expected a published bundle, got {got}: wait for its approval, or resume it"
        )
    if caller.at - outcome.decided_at > MOST_AGE:
        told = f"it was published at {render_instant(outcome.decided_at)}"
        raise PermitFlowError.not_published(f"{told}: send the action again as a new bundle")
    arguments = msgspec.json.decode(row.context, type=BundleContext).tool_arguments
    if len(arguments) != 1:
        raise PermitFlowError.no_call(
            f"expected one tool argument that is a call, got {len(arguments)}: it cannot be permitted"
        )
    return parse_call(arguments[0]), _live_mandate(unit, caller, decided)


def _decided(unit: Unit, tenant_id: TenantId, wanted: Digest) -> ClaimsDecided | None:
    decisions = asked_of(unit, tenant_id, wanted)
    return decisions[-1] if decisions else None


def _live_mandate(unit: Unit, caller: Caller, decided: ClaimsDecided) -> MandateId | None:
    """The mandate that a decision rests on; revoking it ends what was not claimed yet."""
    facts = decided.facts
    if facts is UNSET or facts.mandate is UNSET:
        return None
    mandate_id = MandateId(facts.mandate)
    require_live(unit, caller.tenant_id, decided.bundle_hash, mandate_id, at=caller.at)
    return mandate_id


def _require_same_key(tools: Tools, history: _History) -> None:
    """A permit is rendered again by the key that signed it; after a rotation its first rendering is the only one."""
    if history.issued.key_id != tools.review_signer.key_id:
        name = history.issued.permit_id
        raise PermitFlowError.used(
            f"`{name}` was signed by an earlier review key: claim it, or revoke it and ask again"
        )


def _require_retry(history: _History, state: PermitState) -> None:
    """After what may a bundle be permitted again: only where it is certain that nothing happened."""
    if state in _MAY_RETRY or (state is PermitState.REVOKED and history.claim is None):
        return
    name = history.issued.permit_id
    if state is PermitState.UNKNOWN:
        raise PermitFlowError.effect_unknown(
            f"nobody knows whether `{name}` took place: a reviewer reconciles it first"
        )
    if state is PermitState.CLAIMED:
        raise PermitFlowError.running(f"the action is running, or its process ended: `{name}` is {state}")
    raise PermitFlowError.used(f"the action was permitted before: `{name}` is {state}")


def _signed(tools: Tools, permit: Permit, sequence_number: int) -> SignedPermit:
    signer = tools.review_signer
    cose = render_cose(permit, signer.key_id, signer.sign)
    return SignedPermit(
        permit=permit,
        state=PermitState.ISSUED,
        jwt=render_jwt(permit, signer.key_id, signer.sign),
        cose=urlsafe_b64encode(cose).decode().rstrip("="),
        sequence_number=sequence_number,
    )


def _verified(unit: Unit, tools: Tools, form: str) -> Permit:
    ring = own_key_ring_in(unit, tools.founder)

    def find_key(key_id: KeyId, permit: Permit) -> bytes:
        return ring.get(key_id, permit.issued_at, purpose=KeyPurpose.REVIEW).raw_public_key or b""

    if "." in form:
        return verify_permit(form, find_key)
    try:
        content = urlsafe_b64decode(form + "=" * (-len(form) % 4))
    except ValueError as error:
        raise NotClaimableError("expected a permit as a JWT, or as COSE in base64url") from error
    return verify_permit(content, find_key)


def _seen(unit: Unit, caller: Caller, permit_id: PermitId) -> _History:
    history = _history(unit, caller.tenant_id, permit_id)
    involved = {history.permit.agent, history.permit.audience}
    if caller.principal.id not in involved:
        whose(caller, history.permit.agent)
    return history


def _history(unit: Unit, tenant_id: TenantId, permit_id: PermitId) -> _History:
    issued = unit.permits.find(tenant_id, permit_id)
    if issued is None:
        raise NotFoundError(f"there is no permit `{permit_id}`")
    (found,) = _histories(unit, tenant_id, [issued])
    return found


def _of_bundle(unit: Unit, tenant_id: TenantId, wanted: Digest) -> Sequence[_History]:
    rows = unit.permits.of_bundle(tenant_id, wanted)
    missing = sorted({*unit.permits.logged_of_bundle(tenant_id, wanted)} - {row.sequence_number for row in rows})
    if missing:
        raise DamagedRecordError(f"expected the permits of entries {missing} for `{wanted}`, got none")
    return _histories(unit, tenant_id, rows)


def _histories(unit: Unit, tenant_id: TenantId, rows: Sequence[IssuedPermit]) -> list[_History]:
    """Everything about these permits; a missing row of an entry in the ledger is damage, never absence."""
    names = [row.permit_id for row in rows]
    claims = unit.permits.claims(tenant_id, names)
    reports = unit.permits.reports(tenant_id, names)
    ends = unit.permits.ends(tenant_id, names)
    numbers = [row.sequence_number for row in rows]
    numbers += [claim.sequence_number for claim in claims]
    numbers += [report.sequence_number for report in reports]
    numbers += [end.sequence_number for end in ends]
    missing = sorted({*unit.permits.logged(tenant_id, names)} - {*numbers})
    if missing:
        raise DamagedRecordError(f"expected a row for each entry about these permits, got none for {missing}")
    claim_of = {one.permit_id: one for one in claims}
    end_of = {one.permit_id: one for one in ends}
    by_permit = _grouped(reports)
    return [
        _History(row, claim_of.get(row.permit_id), tuple(by_permit[row.permit_id]), end_of.get(row.permit_id))
        for row in rows
    ]


def _grouped(reports: Iterable[ReportedEffect]) -> Mapping[PermitId, list[ReportedEffect]]:
    found: dict[PermitId, list[ReportedEffect]] = defaultdict(list)
    for one in reports:
        found[one.permit_id].append(one)
    return found


def _words(unit: Unit, tenant_id: TenantId, history: _History) -> str:
    """What the tool said, which must open the commitment of the entry; empty where it was erased."""
    report = history.reports[-1] if history.reports else None
    if report is None or not report.detail:
        return ""
    number = report.sequence_number
    kept = [one for one in unit.ledger.disclosures(tenant_id, number) if one.pointer == DETAIL_POINTER]
    if not kept:
        return ""
    text = str(msgspec.json.decode(kept[0].value))
    if msgspec.json.decode(report.detail) != {COMMITMENT_KEY: commit(text, bytes.fromhex(kept[0].salt))}:
        raise DamagedRecordError(f"expected the words that entry {number} commits to, got others")
    return text


def _view(history: _History, at: Instant, detail: str = "") -> PermitView:
    claim, end = history.claim, history.end
    report = history.reports[-1] if history.reports else None
    return PermitView(
        permit=history.permit,
        state=history.state(at),
        claimed_by=None if claim is None else claim.claimed_by,
        claimed_at=None if claim is None else claim.claimed_at,
        report_due_at=None if claim is None else claim.report_due_at,
        effect=None if report is None else report.effect,
        result_hash=None if report is None else report.result_hash,
        detail=detail,
        reconciled=None if end is None or end.how == _REVOKED else Reconciled(end.how),
        ended_by=None if end is None else end.by,
        reason=None if end is None else end.reason,
        sequence_number=history.issued.sequence_number,
    )


def _call_text(unit: Unit, tenant_id: TenantId, wanted: Digest) -> str:
    row = unit.claims.find_bundle(tenant_id, wanted)
    arguments = () if row is None else msgspec.json.decode(row.context, type=BundleContext).tool_arguments
    return arguments[0] if arguments else ""


def _time(claim: ClaimedPermit | None) -> str:
    return "it was claimed" if claim is None else f"{claim.claimed_at:%Y-%m-%d %H:%M} UTC"
