"""Verdicts, looked up: of a record, of an entry, a page of them, and those that wait for a person."""

from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.errors.verdicts import NotHeldError
from assay.flows.tools import Tools
from assay.flows.verdicts.read_verdict import Decided, RuleVerdict, decided_of
from assay.flows.verdicts.verdict_row import vouch_row
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.transcript import Transcript
from assay.ports.database import Unit
from assay.ports.verdict_store import VerdictRow
from assay.review.ticket import Ticket


class HeldVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A verdict that waits, and the ticket that asks; the verdict itself is not served."""

    sequence_number: int
    telemetry_id: str
    rule_id: str
    subject: str
    as_of: Instant
    ticket: Ticket
    is_overdue: bool


def show_verdict(tools: Tools, tenant_id: TenantId, telemetry_id: str) -> Decided:
    """Every rule's verdict on a record; `flow.not_found` where none was reached."""
    return tools.database.read(lambda unit: decided_of(unit, tenant_id, telemetry_id))


def show_entry_verdict(tools: Tools, tenant_id: TenantId, sequence_number: int) -> Decided:
    """The same for the record that an entry is about."""
    row = tools.database.read(lambda unit: unit.verdicts.find(tenant_id, sequence_number))
    if row is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no verdict in entry {sequence_number}")
    return show_verdict(tools, tenant_id, row.telemetry_id)


def show_ticket_verdict(tools: Tools, tenant_id: TenantId, ticket_id: TicketId) -> RuleVerdict:
    """What the question on a held verdict came to by now; `verdict.not_held` where it asks about none."""

    def look(unit: Unit) -> RuleVerdict:
        row = unit.verdicts.find_by_ticket(tenant_id, ticket_id)
        if row is None:
            raise NotHeldError(f"expected the ticket of a held verdict, got `{ticket_id}`")
        decided = decided_of(unit, tenant_id, row.telemetry_id)
        return next(one for one in decided.verdicts if one.rule_id == row.rule_id)

    return tools.database.read(look)


def list_verdicts(
    tools: Tools,
    tenant_id: TenantId,
    *,
    rule_id: str | None = None,
    subject: str | None = None,
    verdict: str | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    before: int | None = None,
    limit: int = 100,
) -> tuple[VerdictRow, ...]:
    """What stands, the newest first; a held one shows DISCRETIONARY, and its standing that it is none."""

    def look(unit: Unit) -> tuple[VerdictRow, ...]:
        rows = unit.verdicts.page(
            tenant_id,
            rule_id=rule_id,
            subject=subject,
            verdict=verdict,
            since=since,
            until=until,
            before=before,
            limit=limit,
            is_standing=True,
        )
        entries = unit.ledger.find_entries(tenant_id, (row.sequence_number for row in rows))
        for row in rows:
            vouch_row(unit, tenant_id, row, entries)
        return rows

    return tools.database.read(look)


def list_held(
    tools: Tools, tenant_id: TenantId, *, at: Instant, after: int = 0, limit: int = 100
) -> tuple[HeldVerdict, ...]:
    """Those that nobody attested or declined yet, the oldest first; an overdue one stays held."""
    return tools.database.read(
        lambda unit: tuple(
            _held(row, ticket, at)
            for row in unit.verdicts.held(tenant_id, after=after, limit=limit)
            if (ticket := unit.review.find_ticket(tenant_id, TicketId(row.ticket_id or ""))) is not None
        )
    )


def _held(row: VerdictRow, ticket: Ticket, at: Instant) -> HeldVerdict:
    return HeldVerdict(
        sequence_number=row.sequence_number,
        telemetry_id=row.telemetry_id,
        rule_id=row.rule_id,
        subject=row.subject,
        as_of=row.as_of,
        ticket=ticket,
        is_overdue=ticket.due_at is not None and at >= ticket.due_at,
    )


def show_transcript(tools: Tools, tenant_id: TenantId, transcript_ref: str) -> Transcript:
    """What the model was asked and what it answered (SKI 7.4)."""
    found = tools.database.read(lambda unit: unit.transcripts.find(tenant_id, transcript_ref))
    if found is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no transcript `{transcript_ref[:80]}`")
    return found
