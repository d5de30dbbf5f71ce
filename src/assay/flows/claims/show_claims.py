"""What is on record about bundles: a list, one with every decision about it; each as the caller may see it now.

A reviewer who is still to answer alone sees a bundle as it was when they were asked: each later decision tells how
others answered, by its reason, its approvals, or by being there at all.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct
from msgspec.structs import replace

from assay.claims.bundle import Claim, Decision
from assay.claims.decide import decided_bundle
from assay.claims.edit import ClaimChange
from assay.claims.gate import GateFacts
from assay.claims.parse_bundle import parse_bundle
from assay.claims.passage import Passage, SupportResult
from assay.facts.claims import BundleContext, ClaimsDecided
from assay.flows.claims.claims_facts import asked_of
from assay.flows.claims.claims_rows import changes_of, decided_rows, is_asker
from assay.flows.claims.decide_claims import FINAL, GatedClaims, recorded_claims
from assay.flows.claims.evidence import CheckQuote, check_quote_in
from assay.flows.errors import NotFoundError
from assay.flows.known import get_ticket
from assay.flows.request import (
    NEWEST,
    SEE_ALL,
    Option,
    Page,
    Paged,
    PrincipalName,
    Request,
    cut,
    parse_or_not_found,
    read_number,
    whose,
)
from assay.flows.tools import Tools
from assay.identity.authorise import has_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole, Principal
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.claims_store import ReceivedBundle, RecordedDecision
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.review.sight import is_blind

_TEAMS = (BuiltInRole.OPS_TEAM, BuiltInRole.SECURITY_TEAM)
# More bundles under one id than a guard makes; beyond this a missing row is left to the audit.
_MOST_UNDER_AN_ID = 100
_WAITING = (Decision.DEFER.value, Decision.ESCALATE.value)


class ListClaims(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    decision: Annotated[
        Literal["PUBLISH", "DEFER", "ESCALATE", "REFUSE"] | None, Meta(description="Only bundles of this decision.")
    ] = None
    agent: Annotated[
        PrincipalName | None, Meta(description="Only bundles of this principal."), Option(metavar="ID")
    ] = None
    tier: Annotated[RiskTier | None, Meta(description="Only bundles whose highest tier this is.")] = None
    bundle_id: Annotated[str | None, Meta(description="Only bundles with this id.")] = None


class ShowClaim(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    bundle_hash: Annotated[str, Meta(description="The hash of the bundle."), Option(metavar="HASH")]


class ShownPassage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a pointer of a claim quotes, and the sentences around it where the source is held and has it."""

    place: int
    source: str
    quote: str
    result: SupportResult
    message: str
    sentences: tuple[str, ...] = ()


class ClaimsView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bundle with its decision, and every decision about it in order; `successor` is the one in its place, if any.

    `passages` are the quotes of each claim, by claim id, compared with what is held now. Where a reviewer edited the
    bundle that it takes the place of, `edited_by` says who, and `changes` what.
    """

    gated: GatedClaims
    decisions: tuple[ClaimsDecided, ...]
    submitted_by: PrincipalId
    received_at: Instant
    resumes: Digest | None
    successor: Digest | None
    passages: dict[str, tuple[ShownPassage, ...]] = {}
    edited_by: PrincipalId | None = None
    changes: tuple[ClaimChange, ...] = ()


class ListedClaims(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a list; `decision` is None where a bundle was received and not decided yet.

    `sequence_number` is that of the entry that received it.
    """

    bundle_hash: Digest
    bundle_id: str
    submitted_by: PrincipalId
    tier: str
    received_at: Instant
    decision: str | None
    reason: str | None
    sequence_number: int


def claims(tools: Tools, caller: Caller, request: ListClaims) -> Page[ListedClaims]:
    """List bundles with their decisions, the newest first; without a role that may see all, one's own."""
    of = request.agent if caller.is_local else whose(caller, request.agent)
    agent = None if of is None else PrincipalId(of)
    before = read_number("claims", request.cursor, start=NEWEST)
    found = tools.database.read(lambda unit: _list(unit, caller, request, agent, before))
    return cut("claims", found, request.limit, lambda line: line.sequence_number)


def claim(tools: Tools, caller: Caller, request: ShowClaim) -> ClaimsView:
    """Show a bundle with every decision about it: to its agent, and to those who may see the claims of others."""
    wanted = parse_or_not_found(parse_digest, request.bundle_hash, "bundle")

    def look(unit: Unit) -> ClaimsView:
        require_party(unit, caller, wanted)
        return show_claims(unit, tools, caller.tenant_id, wanted, caller.viewer, caller.at)

    return tools.database.read(look)


def require_party(unit: Unit, caller: Caller, wanted: Digest) -> None:
    """Raise unless the caller is its agent, or may see the claims of others; to them it is not found.

    Nor does a person find the bundle of an output that they asked for: it is withheld from them until it is published.
    """
    if caller.is_local:
        return
    row, principal = unit.claims.find_bundle(caller.tenant_id, wanted), caller.principal
    is_party = row is not None and (row.submitted_by == principal.id or has_role(principal, (*SEE_ALL, *_TEAMS)))
    if row is None or not is_party or is_asker(row, principal):
        raise NotFoundError(f"tenant `{caller.tenant_id}` has no bundle `{wanted}`")


def show_claims(
    unit: Unit, tools: Tools, tenant_id: TenantId, wanted: Digest, viewer: Principal | None, at: Instant
) -> ClaimsView:
    """A bundle with its decisions, as the viewer may see it; None is the operator of the node's folder."""
    row = unit.claims.find_bundle(tenant_id, wanted)
    if row is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no bundle `{wanted}`")
    gated = recorded_claims(unit, tools, tenant_id, wanted, at=at)
    if gated is None:
        raise NotFoundError(f"`{wanted}` was received and is not decided yet: submit it again")
    successor = unit.claims.find_successor(tenant_id, wanted)
    decisions = asked_of(unit, tenant_id, wanted)
    return ClaimsView(
        gated=keep_back(unit, tenant_id, gated, viewer),
        # The facts of a decision name answers of others, and are for deciding again: the entry has them.
        decisions=tuple(
            replace(one, facts=UNSET) for one in decisions[: last_seen(unit, tenant_id, decisions, viewer)]
        ),
        submitted_by=row.submitted_by,
        received_at=row.received_at,
        resumes=row.resumes,
        successor=None if successor is None else successor.bundle_hash,
        passages=_passages(unit, tenant_id, row),
        edited_by=msgspec.json.decode(row.context, type=BundleContext).edited_by or None,
        changes=changes_of(unit, tenant_id, row),
    )


def _passages(unit: Unit, tenant_id: TenantId, row: ReceivedBundle) -> dict[str, tuple[ShownPassage, ...]]:
    quoted = msgspec.json.decode(row.context, type=BundleContext).passages
    if not quoted:
        return {}
    claims = {claim.id: claim for claim in parse_bundle(row.text).claims}
    hashes = {one.evidence_hash for claim in claims.values() for one in claim.evidence_pointers if one.evidence_hash}
    contents = unit.claims.contents(tenant_id, tuple(sorted(hashes)))
    return {
        name: tuple(_shown_passage(claims[name], one, contents) for one in found)
        for name, found in quoted.items()
        if name in claims
    }


def _shown_passage(claim: Claim, passage: Passage, contents: Mapping[str, bytes]) -> ShownPassage:
    pointer = claim.evidence_pointers[passage.place]
    asked = CheckQuote(
        statement=claim.statement,
        quote=passage.quote,
        source=pointer.source,
        offset=passage.offset,
        selector=passage.selector,
    )
    found = check_quote_in(asked, contents.get(pointer.evidence_hash or ""))
    return ShownPassage(
        place=passage.place,
        source=pointer.source,
        quote=passage.quote,
        result=found.result,
        message=found.message,
        sentences=found.passage,
    )


def last_seen(
    unit: Unit, tenant_id: TenantId, decisions: Sequence[ClaimsDecided], viewer: Principal | None
) -> int | None:
    """The position of the last decision that this person may see; None where they may see all of them.

    None is also the operator of the folder. What is published or refused is shown to everybody who may look.
    """
    if viewer is None or not decisions or decisions[-1].outcome.decision in FINAL:
        return None
    return next((one.position for one in decisions if _asks_in_blind(unit, tenant_id, one, viewer)), None)


def keep_back(unit: Unit, tenant_id: TenantId, gated: GatedClaims, viewer: Principal | None) -> GatedClaims:
    """The bundle as this person may see it now."""
    if viewer is None or gated.decision in FINAL:
        return gated
    rows = decided_rows(unit, tenant_id, gated.bundle_hash)
    last = last_seen(unit, tenant_id, [told for _, told in rows], viewer)
    if last is None:
        return gated
    row, told = rows[last - 1]
    nobody = GateFacts(now=told.outcome.decided_at, submitter=gated.bundle.origin_agent, risk_ceiling=None)
    return replace(
        gated,
        decision=told.outcome.decision,
        bundle=decided_bundle(gated.bundle, told.outcome, nobody),
        outcome=told.outcome,
        position=last,
        sequence_number=row.sequence_number,
        is_new=False,
    )


def is_kept_back(unit: Unit, tenant_id: TenantId, wanted: Digest, position: int, viewer: Principal) -> bool:
    """Whether this decision about a bundle is not shown to this person yet."""
    last = last_seen(unit, tenant_id, asked_of(unit, tenant_id, wanted), viewer)
    return last is not None and position > last


def _asks_in_blind(unit: Unit, tenant_id: TenantId, told: ClaimsDecided, viewer: Principal) -> bool:
    return any(_is_blind(unit, tenant_id, one.ticket_id, viewer) for one in told.tickets)


def _is_blind(unit: Unit, tenant_id: TenantId, ticket_id: TicketId, viewer: Principal) -> bool:
    ticket = get_ticket(unit, tenant_id, ticket_id)
    answered = [one.by for one in unit.review.answers(tenant_id, ticket_id)]
    settled = unit.review.find_settlement(tenant_id, ticket_id) is not None
    return is_blind(ticket, viewer, answered, settled=settled)


def _list(
    unit: Unit, caller: Caller, request: ListClaims, agent: PrincipalId | None, before: int
) -> list[ListedClaims]:
    """One line more than the page has, where there are as many; filtered by the decision that the caller may see."""
    # A later decision that is not shown yet must not be told by the filter either: both that wait are read.
    among = _WAITING if request.decision in _WAITING else (request.decision,) if request.decision else ()
    if request.bundle_id is not None:
        _require_rows(unit, caller.tenant_id, request.bundle_id)
    found: list[ListedClaims] = []
    while len(found) <= request.limit:
        rows = unit.pages.bundles(
            caller.tenant_id,
            submitted_by=agent,
            tier=None if request.tier is None else request.tier.value,
            bundle_id=request.bundle_id,
            decisions=among,
            before=before,
            limit=request.limit + 1,
        )
        decided = {one.bundle_hash: one for one in _latest(unit, caller, rows)}
        lines = [_listed(row, decided.get(row.bundle_hash)) for row in rows]
        found += [line for line in lines if request.decision in (None, line.decision)]
        if len(rows) <= request.limit:
            break
        before = rows[-1].sequence_number
    return found[: request.limit + 1]


def _require_rows(unit: Unit, tenant_id: TenantId, bundle_id: str) -> None:
    """A guard sends a bundle again where the list has none: an entry of the ledger without its row is damage."""
    rows = unit.pages.bundles(tenant_id, bundle_id=bundle_id, limit=_MOST_UNDER_AN_ID)
    missing = sorted({*unit.claims.logged_under(tenant_id, bundle_id)} - {row.sequence_number for row in rows})
    if missing and len(rows) < _MOST_UNDER_AN_ID:
        raise DamagedRecordError(f"expected the bundles of entries {missing} under `{bundle_id}`, got none")


def _latest(unit: Unit, caller: Caller, rows: Sequence[ReceivedBundle]) -> list[RecordedDecision]:
    """The latest decision about each bundle that the caller may see."""
    latest = unit.claims.latest_decisions(caller.tenant_id, [row.bundle_hash for row in rows])
    return [_seen(unit, caller, one) for one in latest]


def _seen(unit: Unit, caller: Caller, latest: RecordedDecision) -> RecordedDecision:
    # Nothing was answered before the first decision, so only a later one can tell of answers.
    if latest.position == 1 or caller.viewer is None:
        return latest
    rows = decided_rows(unit, caller.tenant_id, latest.bundle_hash)
    last = last_seen(unit, caller.tenant_id, [told for _, told in rows], caller.viewer)
    return latest if last is None else rows[last - 1][0]


def _listed(row: ReceivedBundle, latest: RecordedDecision | None) -> ListedClaims:
    return ListedClaims(
        bundle_hash=row.bundle_hash,
        bundle_id=row.bundle_id,
        submitted_by=row.submitted_by,
        tier=row.tier,
        received_at=row.received_at,
        decision=None if latest is None else latest.decision,
        reason=None if latest is None else latest.reason,
        sequence_number=row.sequence_number,
    )
