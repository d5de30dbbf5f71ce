"""Permits: entries about what was permitted, claimed, reported and ended, and the rows that follow from them."""

from collections.abc import Iterator

from msgspec import Raw, Struct

from assay.facts.kinds import Fact, Projected, Table
from assay.kernel.canonical import canonical_json, canonicalize
from assay.kernel.digest import Digest
from assay.kernel.entry import Entry
from assay.kernel.ids import KeyId, PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.permits.permit import Effect, Permit, PermitId
from assay.ports.permit_store import ClaimedPermit, EndedPermit, IssuedPermit, ReportedEffect


class PermitIssued(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `permit.issued` entry: the statement that was signed, and by which key."""

    permit_id: PermitId
    bundle_hash: Digest
    key_id: KeyId
    statement: Permit


class PermitClaimed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `permit.claimed` entry: durable before the effect."""

    permit_id: PermitId
    claimed_by: PrincipalId
    report_due_at: Instant


class EffectReported(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `permit.reported` entry; `is_late` where it came after its time."""

    permit_id: PermitId
    reported_by: PrincipalId
    effect: Effect
    result_hash: Digest | None
    detail: str
    is_late: bool


class PermitEnded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `permit.ended` entry: revoked before its use, or an unknown effect that a person reconciled."""

    permit_id: PermitId
    how: str
    by: PrincipalId
    reason: str
    ticket_id: TicketId | None


def issued_entry(permit: Permit, key_id: KeyId, *, at: Instant) -> Draft:
    body = PermitIssued(permit_id=permit.permit_id, bundle_hash=permit.bundle_hash, key_id=key_id, statement=permit)
    return _about(permit, EntryKind.PERMIT_ISSUED, body, at)


def claimed_entry(permit: Permit, claimed_by: PrincipalId, *, report_due_at: Instant, at: Instant) -> Draft:
    body = PermitClaimed(permit_id=permit.permit_id, claimed_by=claimed_by, report_due_at=report_due_at)
    return _about(permit, EntryKind.PERMIT_CLAIMED, body, at)


def reported_entry(
    permit: Permit,
    reported_by: PrincipalId,
    effect: Effect,
    result_hash: Digest | None,
    detail: str,
    *,
    is_late: bool,
    at: Instant,
) -> Draft:
    body = EffectReported(
        permit_id=permit.permit_id,
        reported_by=reported_by,
        effect=effect,
        result_hash=result_hash,
        detail=detail,
        is_late=is_late,
    )
    return _about(permit, EntryKind.PERMIT_REPORTED, body, at)


def ended_entry(
    permit: Permit, how: str, *, by: PrincipalId, reason: str, at: Instant, ticket_id: TicketId | None = None
) -> Draft:
    body = PermitEnded(permit_id=permit.permit_id, how=how, by=by, reason=reason, ticket_id=ticket_id)
    return _about(permit, EntryKind.PERMIT_ENDED, body, at)


def _about(permit: Permit, kind: EntryKind, body: Struct, at: Instant) -> Draft:
    news = {"permit_id": permit.permit_id, "bundle_hash": permit.bundle_hash, "tool": permit.tool}
    event = Event(type=kind.value, subject=permit.permit_id, body=Raw(canonicalize(news)))
    return draft_entry(permit.tenant_id, kind, body, at=at, events=(event,))


def _issued_rows(entry: Entry, body: PermitIssued) -> Iterator[IssuedPermit]:
    yield IssuedPermit(
        permit_id=body.permit_id,
        bundle_hash=body.bundle_hash,
        agent=body.statement.agent,
        text=canonical_json(body.statement),
        key_id=body.key_id,
        expires_at=body.statement.expires_at,
        sequence_number=entry.sequence_number,
    )


def _claimed_rows(entry: Entry, body: PermitClaimed) -> Iterator[ClaimedPermit]:
    yield ClaimedPermit(
        permit_id=body.permit_id,
        claimed_by=body.claimed_by,
        claimed_at=entry.timestamp,
        report_due_at=body.report_due_at,
        sequence_number=entry.sequence_number,
    )


def _reported_rows(entry: Entry, body: EffectReported) -> Iterator[ReportedEffect]:
    yield ReportedEffect(
        permit_id=body.permit_id,
        effect=body.effect,
        result_hash=body.result_hash,
        detail=body.detail,
        reported_at=entry.timestamp,
        is_late=int(body.is_late),
        sequence_number=entry.sequence_number,
    )


def _ended_rows(entry: Entry, body: PermitEnded) -> Iterator[EndedPermit]:
    yield EndedPermit(
        permit_id=body.permit_id,
        how=body.how,
        by=body.by,
        reason=body.reason,
        ticket_id=body.ticket_id,
        ended_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


FACTS = (
    Fact(EntryKind.PERMIT_ISSUED, PermitIssued, _issued_rows, into=(IssuedPermit,)),
    Fact(EntryKind.PERMIT_CLAIMED, PermitClaimed, _claimed_rows, into=(ClaimedPermit,)),
    Fact(EntryKind.PERMIT_REPORTED, EffectReported, _reported_rows, into=(ReportedEffect,)),
    Fact(EntryKind.PERMIT_ENDED, PermitEnded, _ended_rows, into=(EndedPermit,)),
)
TABLES = (
    Table(
        "permit", Projected(IssuedPermit), keys=("permit_id", "bundle_hash", "agent"), taken="the permit `{permit_id}`"
    ),
    Table("permit_claim", Projected(ClaimedPermit), keys=("permit_id",), taken="a claim of `{permit_id}`"),
    Table("permit_report", Projected(ReportedEffect), keys=("permit_id",), taken="the report about `{permit_id}`"),
    Table("permit_end", Projected(EndedPermit), keys=("permit_id",), taken="the end of `{permit_id}`"),
)
