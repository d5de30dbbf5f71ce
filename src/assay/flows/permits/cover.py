"""Whether a mandate covers the call of a bundle, and the use of it in the commit of the decision.

bundle + live mandates of its agent -> limits, budget, count, signers -> the mandate, or none
decision PUBLISH -> the same comparison in the transaction -> `mandate.used`: of any number of callers none exceeds it
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import msgspec

from assay.claims.bundle import ClaimBundle, ClaimType
from assay.claims.gate import GateFacts
from assay.claims.policy import ApprovalPolicy
from assay.claims.risk import approval_needs, highest_tier
from assay.facts.permits import MandateUsed, used_entry
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.permits.errors import PermitError
from assay.permits.mandate import Coverage, MandateId, MandateTerms, Seat, Used, check_call, has_seats, use
from assay.permits.permit import ToolCall, parse_call
from assay.ports.claims_store import ReceivedBundle
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.permit_store import EndedMandate, SignedMandate


@dataclass(frozen=True, slots=True, kw_only=True)
class MandateHistory:
    """A mandate with what is used of it and its end, compared with the ledger's own index."""

    row: SignedMandate
    terms: MandateTerms
    seats: tuple[Seat, ...]
    signed_by: tuple[PrincipalId, ...]
    used: Used
    end: EndedMandate | None


def find_cover(
    unit: Unit,
    tenant_id: TenantId,
    row: ReceivedBundle,
    bundle: ClaimBundle,
    tool_arguments: tuple[str, ...],
    policy: ApprovalPolicy,
    *,
    at: Instant,
) -> MandateId | None:
    """Return the mandate that covers the call of a bundle which people would have to approve, else None.

    Of several, the one that expires first. A bundle that asks for other people than those whose roles signed the
    mandate is not covered.
    """
    needs = tuple(Seat(role=need.role, people=need.people) for need in approval_needs(bundle, policy))
    call = mandated_call(bundle, tool_arguments) if needs else None
    if call is None:
        return None
    for signed in unit.permits.mandates_for(tenant_id, row.submitted_by, after=at):
        if signed.tool != call.tool:
            continue
        history = load_mandate(unit, tenant_id, signed)
        if (
            has_seats(history.seats, needs)
            and _covers(unit, tenant_id, history, call, highest_tier(bundle), at).is_covered
        ):
            return history.row.mandate_id
    return None


def use_mandate(unit: Unit, tenant_id: TenantId, row: ReceivedBundle, bundle: ClaimBundle, facts: GateFacts) -> None:
    """Record one use of the mandate that a decision cites; raise where it does not cover the call any more."""
    history = get_mandate(unit, tenant_id, MandateId(facts.mandate or ""))
    call = mandated_call(bundle, facts.tool_arguments)
    if call is None:
        raise PermitError.mandate_refused("expected a bundle with one DECISION claim and one call")
    found = _covers(unit, tenant_id, history, call, highest_tier(bundle), facts.now)
    if not found.is_covered:
        raise PermitError.mandate_refused("; ".join(found.reasons))
    after = use(history.used, found.amount)
    body = MandateUsed(
        mandate_id=history.row.mandate_id,
        position=after.count,
        bundle_hash=row.bundle_hash,
        amount=format(found.amount, "f"),
        total=format(after.total, "f"),
    )
    unit.record(used_entry(tenant_id, body, at=facts.now))


def mandated_call(bundle: ClaimBundle, tool_arguments: tuple[str, ...]) -> ToolCall | None:
    """Return the call of a bundle that a mandate can cover: one DECISION claim, one call, below PRIVILEGE."""
    is_one = len(tool_arguments) == 1 and len(bundle.claims) == 1
    if not is_one or bundle.claims[0].claim_type is not ClaimType.DECISION:
        return None
    if highest_tier(bundle) is RiskTier.PRIVILEGE:
        return None
    try:
        return parse_call(tool_arguments[0])
    except PermitError:
        return None


def get_mandate(unit: Unit, tenant_id: TenantId, mandate_id: MandateId) -> MandateHistory:
    row = unit.permits.find_mandate(tenant_id, mandate_id)
    if row is None:
        raise DamagedRecordError(f"expected the mandate `{mandate_id}`, which a decision cites, got none")
    return load_mandate(unit, tenant_id, row)


def load_mandate(unit: Unit, tenant_id: TenantId, row: SignedMandate) -> MandateHistory:
    """Read what is used of a mandate and its end; an entry of the ledger without its row is damage.

    Without that comparison, deleting the last use would give budget back, and deleting the end would revive it.
    """
    last = unit.permits.last_use(tenant_id, row.mandate_id)
    end = unit.permits.find_end(tenant_id, row.mandate_id)
    logged = unit.permits.mandate_logged(tenant_id, row.mandate_id)
    known = {
        EntryKind.MANDATE_USED.value: 0 if last is None else last.sequence_number,
        EntryKind.MANDATE_ENDED.value: 0 if end is None else end.sequence_number,
    }
    missing = sorted(logged[kind] for kind, number in known.items() if logged.get(kind, 0) > number)
    if missing:
        raise DamagedRecordError(f"expected a row for each entry about `{row.mandate_id}`, got none for {missing}")
    return MandateHistory(
        row=row,
        terms=msgspec.json.decode(row.text, type=MandateTerms),
        seats=msgspec.json.decode(row.seats, type=tuple[Seat, ...]),
        signed_by=msgspec.json.decode(row.signed_by, type=tuple[PrincipalId, ...]),
        used=Used() if last is None else Used(count=last.position, total=Decimal(last.total)),
        end=end,
    )


def end_reasons(unit: Unit, tenant_id: TenantId, history: MandateHistory, at: Instant) -> Iterator[str]:
    """Why a mandate covers nothing any more, whatever its terms say: revoked, or a signer lost the role."""
    if history.end is not None:
        yield f"`{history.row.mandate_id}` was revoked"
    roles = {seat.role for seat in history.seats}
    for name in history.signed_by:
        person = unit.identity.find_principal(tenant_id, name)
        if person is None or not person.is_active(at) or not roles & {*person.roles, name}:
            yield f"`{name}`, who signed it, is no longer active as {' or '.join(sorted(roles))}"


def require_live(unit: Unit, tenant_id: TenantId, bundle_hash: Digest, mandate_id: MandateId, *, at: Instant) -> None:
    """Raise where a permit cites a mandate that was revoked, or whose signer may not sign any more."""
    reasons = tuple(end_reasons(unit, tenant_id, get_mandate(unit, tenant_id, mandate_id), at))
    if reasons:
        raise PermitError.mandate_refused(f"the bundle {bundle_hash} rests on a mandate: {'; '.join(reasons)}")


def _covers(
    unit: Unit, tenant_id: TenantId, history: MandateHistory, call: ToolCall, tier: RiskTier, at: Instant
) -> Coverage:
    ended = tuple(end_reasons(unit, tenant_id, history, at))
    found = check_call(history.terms, call, tier, history.used, at=at)
    return msgspec.structs.replace(found, reasons=(*ended, *found.reasons))
