"""How a verdict is written down: transcript, entry, row and, where it is held, the question to a person.

judged -> drafts, with everything that costs time -> one unit of work for all rules of a record
"""

from dataclasses import dataclass

import msgspec
from msgspec import Raw

from assay.kernel.canonical import canonicalize
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, instant_before, render_instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.kernel.transcript import Transcript
from assay.ports.database import Unit
from assay.ports.telemetry_store import BufferedText, KnownTelemetry, TelemetryDrop
from assay.ports.verdict_store import CoveredSubject, StableRule, VerdictRow
from assay.review.ticket import Ticket
from assay.verdicts.cover import CoverageEntry, register_unmapped
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import Envelope
from assay.verdicts.fastpath import Stability
from assay.verdicts.govern import Ruling, Standing
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.window_fact import buffer_record


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedVerdict:
    """One rule's verdict on its way; the row gets its number when the entry has one."""

    draft: Draft
    row: VerdictRow
    ruling: Ruling
    transcript: Transcript
    stable: StableRule | None
    is_mapped: bool
    ticket: Ticket | None


def verdict_event(telemetry: Telemetry, docket: Docket, ruling: Ruling) -> Event:
    """A held verdict is announced as held, and never with what the model said."""
    kind = EntryKind.VERDICT_HELD if ruling.standing is Standing.HELD else EntryKind.VERDICT
    news = {
        "telemetry_id": telemetry.telemetry_id,
        "rule_id": docket.rule_id,
        "subject": telemetry.subject,
        "verdict": None if ruling.standing is Standing.HELD else ruling.verdict.value,
    }
    return Event(type=kind.value, subject=telemetry.telemetry_id, body=Raw(canonicalize(news)))


def row_of(
    telemetry: Telemetry, docket: Docket, envelope: Envelope, ruling: Ruling, *, subject: str, at: Instant
) -> VerdictRow:
    return VerdictRow(
        sequence_number=0,
        telemetry_id=telemetry.telemetry_id,
        rule_id=docket.rule_id,
        subject=subject,
        as_of=telemetry.timestamp,
        standing=ruling.standing.value,
        verdict=ruling.verdict.value,
        status=envelope.verifier_result.status.value,
        tier=ruling.tier.value,
        path=None if envelope.verdict_path is None else envelope.verdict_path.value,
        kg_version_hash=envelope.model_provenance.kg_version_hash,
        recorded_at=at,
    )


def stability_of(known: StableRule) -> Stability:
    return Stability(rule_id=known.rule_id, pattern=known.pattern, count=known.count)


def note_record(
    unit: Unit,
    tenant_id: TenantId,
    telemetry: Telemetry,
    *,
    subject: str,
    first: int,
    keep_seconds: int,
    is_mapped: bool,
    at: Instant,
) -> None:
    """The record is known from now on, and later windows look back at it under its `subject`, as the graph knows it."""
    unit.telemetry.add_known(tenant_id, known_telemetry(telemetry, subject, first=first))
    unit.telemetry.buffer(tenant_id, buffered_text(telemetry, subject))
    drop_old(unit, tenant_id, subject, keep_seconds, at)
    if not is_mapped:
        note_gap(unit, tenant_id, telemetry)


def known_telemetry(telemetry: Telemetry, subject: str, *, first: int) -> KnownTelemetry:
    """The row that makes a record known; `first` is the number of its first verdict."""
    return KnownTelemetry(
        telemetry_id=telemetry.telemetry_id,
        telemetry_hash=telemetry.telemetry_hash,
        subject=subject,
        as_of=telemetry.timestamp,
        sequence_number=first,
    )


def buffered_text(telemetry: Telemetry, subject: str) -> BufferedText:
    """The row that later windows look back at."""
    return BufferedText(
        subject=subject,
        as_of=telemetry.timestamp,
        telemetry_id=telemetry.telemetry_id,
        text=msgspec.json.encode(buffer_record(telemetry)).decode(),
    )


def drop_old(unit: Unit, tenant_id: TenantId, subject: str, keep_seconds: int, at: Instant) -> None:
    """Drop records that are too old by the clock of the subject's newest; a drop is an entry of its own."""
    ends = unit.telemetry.find_ends(tenant_id, subject)
    if ends is None or ends[0] > (until := instant_before(ends[1], keep_seconds)):
        return
    records, latest = unit.telemetry.drop(tenant_id, subject, until=until)
    if latest is None:
        return
    body = {"subject": subject, "records": records, "dropped_until": render_instant(latest)}
    event = Event(type=EntryKind.TELEMETRY_DROPPED.value, subject=subject, body=Raw(canonicalize(body)))
    entry = draft_entry(tenant_id, EntryKind.TELEMETRY_DROPPED, body, at=at, events=(event,))
    drop = TelemetryDrop(
        subject=subject,
        dropped_until=latest,
        records=records,
        dropped_at=at,
        sequence_number=unit.record(entry).sequence_number,
    )
    unit.telemetry.add_drop(tenant_id, drop)


def note_gap(unit: Unit, tenant_id: TenantId, telemetry: Telemetry) -> None:
    """Nobody has a rule for the subject: the Coverage Register says so."""
    known = unit.verdicts.find_coverage(tenant_id, telemetry.subject)
    entry = register_unmapped(None if known is None else read_coverage(known), telemetry)
    unit.verdicts.put_coverage(tenant_id, coverage_text(entry))


def coverage_text(entry: CoverageEntry) -> CoveredSubject:
    return CoveredSubject(subject=entry.subject, text=msgspec.json.encode(entry).decode())


def read_coverage(covered: CoveredSubject) -> CoverageEntry:
    return msgspec.json.decode(covered.text, type=CoverageEntry)
