"""Verdicts, read from their entries: of a record, of an entry, in lists, and those that wait for a person.

row -> its entry -> envelope, body, ruling -> what may be served: a held verdict has none
"""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct, field

from assay.flows.errors import NotFoundError
from assay.flows.errors.verdicts import VerdictFlowError
from assay.flows.known import get_ticket
from assay.flows.request import NEWEST, Moment, Option, Page, Paged, Request, cut, parse_moment, read_number
from assay.flows.tools import Tools
from assay.flows.verdicts.verdict_entry import JudgedEntry, judged_entry
from assay.identity.caller import Caller
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.merkle import MAX_SIZE
from assay.kernel.transcript import Transcript, transcript_id_of
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.verdict_store import VerdictRow
from assay.review.ticket import Ticket
from assay.verdicts.envelope import Envelope, Verdict
from assay.verdicts.govern import Overall, Standing, strictest

SequenceNumber = Annotated[int, Meta(ge=1, le=MAX_SIZE, description="The number of an entry of the ledger.")]
TelemetryId = Annotated[str, Meta(min_length=1, description="The id of a telemetry record."), Option(metavar="RECORD")]


class ShowRecord(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    telemetry_id: TelemetryId


class ShowVerdict(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sequence: Annotated[SequenceNumber, Option(metavar="SEQ")]


class ListVerdicts(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule_id: Annotated[str | None, Meta(description="Of this rule alone."), Option(flag="--rule", metavar="ID")] = None
    subject: Annotated[str | None, Meta(description="About this subject alone."), Option(metavar="NAME")] = None
    verdict: Annotated[Verdict | None, Meta(description="Only this verdict.")] = None
    from_at: Annotated[
        Moment | None, Meta(description="Only records measured then or later."), Option(flag="--from", metavar="TIME")
    ] = field(name="from", default=None)
    to: Annotated[Moment | None, Meta(description="Only records measured before."), Option(metavar="TIME")] = None
    standing: Annotated[bool, Meta(description="Leave out held verdicts that were settled since.")] = False
    offset: Annotated[int, Meta(ge=0, le=2**31 - 1, description="Skip so many."), Option(hidden=True)] = 0


class ListHeld(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the held verdicts."""


class ShowTranscript(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    transcript_ref: Annotated[str, Meta(description="The transcript that an envelope names."), Option(metavar="REF")]


class RuleVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one rule came to. While it is held there is no verdict and no envelope to serve, only the ticket."""

    rule_id: str
    tier: str
    standing: Standing
    verdict: Verdict | None
    reason: str
    sequence_number: int
    entry_hash: Digest
    recorded_at: Instant
    ticket_id: str | None = None
    envelope: Envelope | None = None


class Decided(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record and its verdicts, one for each rule; `is_new` is false where they were recorded before."""

    telemetry_id: str
    telemetry_hash: Digest
    subject: str
    as_of: Instant
    overall: Overall
    verdicts: tuple[RuleVerdict, ...]
    is_new: bool = False


def decided_of(unit: Unit, tenant_id: TenantId, telemetry_id: str, *, is_new: bool = False) -> Decided:
    """What is on record for a telemetry id; what settled a held verdict stands in its place."""
    rows = unit.verdicts.of_telemetry(tenant_id, telemetry_id)
    if not rows:
        raise NotFoundError(f"tenant `{tenant_id}` has no verdict on `{ascii(telemetry_id)[1:-1][:80]}`")
    judged = _judged(unit, tenant_id, rows)
    settled = {one.settles for one in judged}
    standing = [pair for pair in zip(rows, judged, strict=True) if pair[1].entry_hash not in settled]
    return Decided(
        telemetry_id=telemetry_id,
        telemetry_hash=judged[0].telemetry_hash,
        subject=rows[0].subject,
        as_of=rows[0].as_of,
        overall=strictest(one.ruling for _, one in standing),
        verdicts=tuple(_rule_verdict(row, one) for row, one in standing),
        is_new=is_new,
    )


def _judged(unit: Unit, tenant_id: TenantId, rows: Sequence[VerdictRow]) -> list[JudgedEntry]:
    """The entries of rows, which are read at once."""
    entries = unit.verdicts.entries(tenant_id, (row.sequence_number for row in rows))
    return [judged_entry(one, tier=row.tier) for row, one in zip(rows, entries, strict=True)]


def _rule_verdict(row: VerdictRow, judged: JudgedEntry) -> RuleVerdict:
    """A verdict of the second runtime has no envelope."""
    ruling = judged.ruling
    is_held = ruling.standing is Standing.HELD
    return RuleVerdict(
        rule_id=row.rule_id,
        tier=ruling.tier,
        standing=ruling.standing,
        verdict=None if is_held else ruling.verdict,
        reason=ruling.reason,
        sequence_number=row.sequence_number,
        entry_hash=judged.entry_hash,
        recorded_at=judged.entry.timestamp,
        ticket_id=row.ticket_id,
        envelope=None if is_held or judged.read is None else judged.read.envelope,
    )


class ListedVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one rule came to about one record. `settles` is the entry of the held verdict that it ended."""

    telemetry_id: str
    subject: str
    as_of: Instant
    settles: int | None
    outcome: RuleVerdict


def listed_verdicts(unit: Unit, tenant_id: TenantId, rows: Sequence[VerdictRow]) -> tuple[ListedVerdict, ...]:
    """Rows of the index, each with the verdict that its entry holds; the entries are read at once."""
    return tuple(
        ListedVerdict(
            telemetry_id=row.telemetry_id,
            subject=row.subject,
            as_of=row.as_of,
            settles=row.held_entry,
            outcome=_rule_verdict(row, judged),
        )
        for row, judged in zip(rows, _judged(unit, tenant_id, rows), strict=True)
    )


class HeldVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A verdict that waits, and the ticket that asks; the verdict itself is not served."""

    sequence_number: int
    telemetry_id: str
    rule_id: str
    subject: str
    as_of: Instant
    ticket: Ticket
    is_overdue: bool


def verdicts_of(tools: Tools, caller: Caller, request: ShowRecord) -> Decided:
    """Show every rule's verdict on a record; what settled a held verdict is shown in its place."""
    return tools.database.read(lambda unit: decided_of(unit, caller.tenant_id, request.telemetry_id))


def verdict(tools: Tools, caller: Caller, request: ShowVerdict) -> ListedVerdict:
    """Show the verdict in an entry of the ledger; it never changes."""
    tenant_id, number = caller.tenant_id, request.sequence

    def work(unit: Unit) -> ListedVerdict:
        row = unit.verdicts.find(tenant_id, number)
        if row is None:
            raise NotFoundError(f"`{tenant_id}` has no verdict in entry {number}")
        (listed,) = listed_verdicts(unit, tenant_id, [row])
        return listed

    return tools.database.read(work)


def verdicts(tools: Tools, caller: Caller, request: ListVerdicts) -> Page[ListedVerdict]:
    """List verdicts with their envelopes, the newest first; a held one is listed without its verdict."""
    tenant_id, before = caller.tenant_id, read_number("verdicts", request.cursor, start=NEWEST)
    since, until = parse_moment(request.from_at), parse_moment(request.to)

    def work(unit: Unit) -> tuple[ListedVerdict, ...]:
        rows = unit.verdicts.page(
            tenant_id,
            rule_id=request.rule_id,
            subject=request.subject,
            verdict=request.verdict,
            since=since,
            until=until,
            before=before,
            limit=request.limit + 1,
            offset=request.offset,
            is_standing=request.standing,
        )
        return listed_verdicts(unit, tenant_id, rows)

    return cut("verdicts", tools.database.read(work), request.limit, lambda one: one.outcome.sequence_number)


def held(tools: Tools, caller: Caller, request: ListHeld) -> Page[HeldVerdict]:
    """List verdicts that wait for a person, the oldest first, each with its ticket; an overdue one stays held."""
    tenant_id, after = caller.tenant_id, read_number("held", request.cursor)

    def work(unit: Unit) -> tuple[HeldVerdict, ...]:
        return tuple(
            _held(row, ticket, caller.at)
            for row in unit.verdicts.held(tenant_id, after=after, limit=request.limit + 1)
            if (ticket := unit.review.find_ticket(tenant_id, TicketId(row.ticket_id or ""))) is not None
        )

    return cut("held", tools.database.read(work), request.limit, lambda one: one.sequence_number)


def transcript(tools: Tools, caller: Caller, request: ShowTranscript) -> Transcript:
    """Show what the model was asked and what it answered (SKI 7.4)."""
    return find_transcript(tools, caller.tenant_id, request.transcript_ref)


def find_transcript(tools: Tools, tenant_id: TenantId, transcript_ref: str) -> Transcript:
    return tools.database.read(lambda unit: get_transcript(unit, tenant_id, transcript_ref))


def get_transcript(unit: Unit, tenant_id: TenantId, transcript_ref: str) -> Transcript:
    """The transcript that an entry names; `store.damaged_record` where what is kept under its id is another."""
    found = unit.transcripts.find(tenant_id, transcript_ref)
    if found is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no transcript `{transcript_ref[:80]}`")
    actual = transcript_id_of(found)
    if (found.transcript_id, actual) != (transcript_ref, transcript_ref):
        raise DamagedRecordError(f"expected the transcript `{transcript_ref[:80]}`, got the content of {actual}")
    return found


def show_verdict(tools: Tools, tenant_id: TenantId, telemetry_id: str) -> Decided:
    """Every rule's verdict on a record, for flows that act for no caller; `flow.not_found` where there is none."""
    return tools.database.read(lambda unit: decided_of(unit, tenant_id, telemetry_id))


def show_entry_verdict(tools: Tools, tenant_id: TenantId, sequence_number: int) -> Decided:
    """The same for the record that an entry is about."""
    row = tools.database.read(lambda unit: unit.verdicts.find(tenant_id, sequence_number))
    if row is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no verdict in entry {sequence_number}")
    return show_verdict(tools, tenant_id, row.telemetry_id)


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
    return tools.database.read(
        lambda unit: unit.verdicts.page(
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
    )


def show_ticket_verdict(tools: Tools, tenant_id: TenantId, ticket_id: TicketId) -> RuleVerdict:
    """What the question on a held verdict came to by now; `verdict.not_held` where it asks about none."""

    def look(unit: Unit) -> RuleVerdict:
        get_ticket(unit, tenant_id, ticket_id)
        row = unit.verdicts.find_by_ticket(tenant_id, ticket_id)
        if row is None:
            raise VerdictFlowError.not_held(f"expected the ticket of a held verdict, got `{ticket_id}`")
        decided = decided_of(unit, tenant_id, row.telemetry_id)
        return next(one for one in decided.verdicts if one.rule_id == row.rule_id)

    return tools.database.read(look)


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
