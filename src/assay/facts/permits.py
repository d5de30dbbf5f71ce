"""Permits and mandates: entries about what was permitted, claimed, reported, signed and used, and their rows."""

from collections.abc import Iterator, Mapping

from msgspec import Raw, Struct

from assay.facts.kinds import Fact, Projected, Table
from assay.kernel.canonical import canonical_json, canonicalize
from assay.kernel.commitment import Disclosure, seal_fields
from assay.kernel.digest import Digest
from assay.kernel.entry import Entry
from assay.kernel.ids import KeyId, PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.permits.gateway import ToolRow
from assay.permits.mandate import MandateId, MandateTerms, Seat
from assay.permits.permit import Effect, Permit, PermitId
from assay.ports.permit_store import (
    ApprovedDefinition,
    ClaimedPermit,
    EndedMandate,
    EndedPermit,
    GatewayCall,
    IssuedPermit,
    ReleasedGatewayTable,
    ReportedEffect,
    SignedMandate,
    UsedMandate,
)

# Where the entry of a report holds the commitment of what the tool said.
DETAIL_POINTER = "/detail"


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
    """The body of a `permit.reported` entry; `is_late` where it came after its time.

    `detail` is the commitment of what the tool said: the words can be erased.
    """

    permit_id: PermitId
    reported_by: PrincipalId
    effect: Effect
    result_hash: Digest | None
    is_late: bool
    detail: Raw = Raw()


class PermitEnded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `permit.ended` entry: revoked before its use, or an unknown effect that a person reconciled."""

    permit_id: PermitId
    how: str
    by: PrincipalId
    reason: str
    ticket_id: TicketId | None


class MandateSigned(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `mandate.signed` entry: the terms, whose approval it replaces, and the people who signed it."""

    mandate_id: MandateId
    terms: MandateTerms
    seats: tuple[Seat, ...]
    signed_by: tuple[PrincipalId, ...]
    proposed_by: PrincipalId
    ticket_id: TicketId


class MandateUsed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `mandate.used` entry: one call that it covered, and what is used up after it."""

    mandate_id: MandateId
    position: int
    bundle_hash: Digest
    amount: str
    total: str


class MandateEnded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `mandate.ended` entry: it was revoked."""

    mandate_id: MandateId
    by: PrincipalId
    reason: str


class GatewayReleased(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `gateway.released` entry: the table of tools in force from here on, and the node's signature."""

    version: int
    rows: tuple[ToolRow, ...]
    key_id: KeyId
    signature: str
    released_by: PrincipalId


class DefinitionApproved(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `gateway.approved` entry: a tool may also be called by this definition."""

    tool: str
    definition_hash: Digest
    approved_by: PrincipalId
    reason: str


class GatewayCalled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `gateway.called` entry: hashes of what was asked and answered, and what guardians made of it."""

    tool: str
    agent: PrincipalId
    definition_hash: Digest
    arguments_hash: Digest
    result_hash: Digest
    permit_id: PermitId | None
    threat: str
    is_withheld: bool


def gateway_entry(
    tenant_id: TenantId, body: GatewayReleased | DefinitionApproved | GatewayCalled, *, at: Instant
) -> Draft:
    """The entry of a gateway's table, of a definition, or of a call."""
    kind = _GATEWAY[type(body)]
    subject = str(body.version) if isinstance(body, GatewayReleased) else body.tool
    event = Event(type=kind.value, subject=subject, body=Raw(canonicalize({"subject": subject})))
    return draft_entry(tenant_id, kind, body, at=at, events=(event,))


_GATEWAY = {
    GatewayReleased: EntryKind.GATEWAY_RELEASED,
    DefinitionApproved: EntryKind.GATEWAY_APPROVED,
    GatewayCalled: EntryKind.GATEWAY_CALLED,
}


def signed_entry(tenant_id: TenantId, body: MandateSigned, *, at: Instant) -> Draft:
    news: dict[str, str] = {"agent": body.terms.agent, "tool": body.terms.tool, "ticket_id": body.ticket_id}
    return _of_mandate(tenant_id, EntryKind.MANDATE_SIGNED, body.mandate_id, body, news, at)


def used_entry(tenant_id: TenantId, body: MandateUsed, *, at: Instant) -> Draft:
    news: dict[str, str] = {"bundle_hash": body.bundle_hash}
    return _of_mandate(tenant_id, EntryKind.MANDATE_USED, body.mandate_id, body, news, at)


def mandate_ended_entry(tenant_id: TenantId, body: MandateEnded, *, at: Instant) -> Draft:
    return _of_mandate(tenant_id, EntryKind.MANDATE_ENDED, body.mandate_id, body, {}, at)


def _of_mandate(
    tenant_id: TenantId, kind: EntryKind, mandate_id: MandateId, body: Struct, news: dict[str, str], at: Instant
) -> Draft:
    event = Event(type=kind.value, subject=mandate_id, body=Raw(canonicalize({"mandate_id": mandate_id, **news})))
    return draft_entry(tenant_id, kind, body, at=at, events=(event,))


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
    *,
    is_late: bool,
    at: Instant,
    words: tuple[str, bytes] | None = None,
) -> Draft:
    """`words` are what the tool said, with their salt: logged as a commitment, erasable for ever."""
    body: dict[str, object] = {
        "permit_id": permit.permit_id,
        "reported_by": reported_by,
        "effect": effect.value,
        "result_hash": result_hash,
        "is_late": is_late,
    }
    if words is None:
        return _about(permit, EntryKind.PERMIT_REPORTED, body, at)
    sealed, disclosures = seal_fields({**body, "detail": words[0]}, [DETAIL_POINTER], [words[1]])
    return _about(permit, EntryKind.PERMIT_REPORTED, sealed, at, disclosures)


def ended_entry(
    permit: Permit, how: str, *, by: PrincipalId, reason: str, at: Instant, ticket_id: TicketId | None = None
) -> Draft:
    body = PermitEnded(permit_id=permit.permit_id, how=how, by=by, reason=reason, ticket_id=ticket_id)
    return _about(permit, EntryKind.PERMIT_ENDED, body, at)


def _about(
    permit: Permit,
    kind: EntryKind,
    body: Struct | Mapping[str, object],
    at: Instant,
    disclosures: tuple[Disclosure, ...] = (),
) -> Draft:
    news = {"permit_id": permit.permit_id, "bundle_hash": permit.bundle_hash, "tool": permit.tool}
    event = Event(type=kind.value, subject=permit.permit_id, body=Raw(canonicalize(news)))
    return draft_entry(permit.tenant_id, kind, body, at=at, disclosures=disclosures, events=(event,))


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
        detail=bytes(body.detail).decode(),
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


def _signed_rows(entry: Entry, body: MandateSigned) -> Iterator[SignedMandate]:
    yield SignedMandate(
        mandate_id=body.mandate_id,
        agent=body.terms.agent,
        tool=body.terms.tool,
        text=canonical_json(body.terms),
        seats=canonical_json(body.seats),
        signed_by=canonical_json(body.signed_by),
        proposed_by=body.proposed_by,
        ticket_id=body.ticket_id,
        signed_at=entry.timestamp,
        expires_at=body.terms.expires_at,
        sequence_number=entry.sequence_number,
    )


def _used_rows(entry: Entry, body: MandateUsed) -> Iterator[UsedMandate]:
    yield UsedMandate(
        mandate_id=body.mandate_id,
        position=body.position,
        bundle_hash=body.bundle_hash,
        amount=body.amount,
        total=body.total,
        used_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


def _mandate_ended_rows(entry: Entry, body: MandateEnded) -> Iterator[EndedMandate]:
    yield EndedMandate(
        mandate_id=body.mandate_id,
        by=body.by,
        reason=body.reason,
        ended_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


def _released_rows(entry: Entry, body: GatewayReleased) -> Iterator[ReleasedGatewayTable]:
    yield ReleasedGatewayTable(
        version=body.version,
        text=canonical_json(body.rows),
        key_id=body.key_id,
        signature=body.signature,
        by=body.released_by,
        released_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


def _definition_rows(entry: Entry, body: DefinitionApproved) -> Iterator[ApprovedDefinition]:
    yield ApprovedDefinition(
        tool=body.tool,
        definition_hash=body.definition_hash,
        by=body.approved_by,
        reason=body.reason,
        approved_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


def _call_rows(entry: Entry, body: GatewayCalled) -> Iterator[GatewayCall]:
    yield GatewayCall(
        tool=body.tool,
        agent=body.agent,
        definition_hash=body.definition_hash,
        arguments_hash=body.arguments_hash,
        result_hash=body.result_hash,
        permit_id=body.permit_id,
        threat=body.threat,
        is_withheld=int(body.is_withheld),
        called_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


FACTS = (
    Fact(EntryKind.GATEWAY_RELEASED, GatewayReleased, _released_rows, into=(ReleasedGatewayTable,)),
    Fact(EntryKind.GATEWAY_APPROVED, DefinitionApproved, _definition_rows, into=(ApprovedDefinition,)),
    Fact(EntryKind.GATEWAY_CALLED, GatewayCalled, _call_rows, into=(GatewayCall,)),
    Fact(EntryKind.PERMIT_ISSUED, PermitIssued, _issued_rows, into=(IssuedPermit,)),
    Fact(EntryKind.PERMIT_CLAIMED, PermitClaimed, _claimed_rows, into=(ClaimedPermit,)),
    Fact(EntryKind.PERMIT_REPORTED, EffectReported, _reported_rows, into=(ReportedEffect,)),
    Fact(EntryKind.PERMIT_ENDED, PermitEnded, _ended_rows, into=(EndedPermit,)),
    Fact(EntryKind.MANDATE_SIGNED, MandateSigned, _signed_rows, into=(SignedMandate,)),
    Fact(EntryKind.MANDATE_USED, MandateUsed, _used_rows, into=(UsedMandate,)),
    Fact(EntryKind.MANDATE_ENDED, MandateEnded, _mandate_ended_rows, into=(EndedMandate,)),
)
TABLES = (
    Table("gateway_table", Projected(ReleasedGatewayTable), keys=("version",), taken="version {version} of the table"),
    Table(
        "gateway_definition",
        Projected(ApprovedDefinition),
        keys=("sequence_number",),
        taken="the definition of `{tool}`",
    ),
    Table("gateway_call", Projected(GatewayCall), keys=("sequence_number", "agent"), taken="a call of `{tool}`"),
    Table(
        "permit", Projected(IssuedPermit), keys=("permit_id", "bundle_hash", "agent"), taken="the permit `{permit_id}`"
    ),
    Table("permit_claim", Projected(ClaimedPermit), keys=("permit_id",), taken="a claim of `{permit_id}`"),
    Table("permit_report", Projected(ReportedEffect), keys=("permit_id",), taken="the report about `{permit_id}`"),
    Table("permit_end", Projected(EndedPermit), keys=("permit_id",), taken="the end of `{permit_id}`"),
    Table("mandate", Projected(SignedMandate), keys=("mandate_id", "agent"), taken="the mandate `{mandate_id}`"),
    Table(
        "mandate_use",
        Projected(UsedMandate),
        keys=("mandate_id",),
        taken="use {position} of the mandate `{mandate_id}`",
    ),
    Table("mandate_end", Projected(EndedMandate), keys=("mandate_id",), taken="the end of `{mandate_id}`"),
)
