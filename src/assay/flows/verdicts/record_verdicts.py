"""Step 5 of a verdict (SKI 2.2): records that come together share one unit of work, each with all of its rules.

look -> is_known, is_still_stable -> entries, rows, tickets and kept answers of the requests -> receipts, when durable
INVARIANT: the ledger gets its entries at once and in order, as if each record had a unit of its own.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from assay.flows.errors import RequestInHandError
from assay.flows.request_mark import RequestMark, forget_expired
from assay.flows.review.open_review import open_review_in
from assay.flows.tools import Tools
from assay.flows.verdicts.judge_record import Case
from assay.flows.verdicts.read_verdicts import Decided, RuleVerdict
from assay.flows.verdicts.verdict_entry import (
    PreparedVerdict,
    buffered_text,
    drop_old,
    known_telemetry,
    note_gap,
    stability_of,
)
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, instant_before
from assay.kernel.ledger import Draft, Receipt
from assay.kernel.read_back import read_back
from assay.kernel.transcript import Transcript
from assay.ports.database import Unit
from assay.ports.telemetry_store import BufferedText, KnownTelemetry
from assay.ports.verdict_store import StableRule, VerdictRow
from assay.verdicts.envelope import Envelope, VerdictPath, VerifierStatus
from assay.verdicts.fastpath import note_evaluation
from assay.verdicts.govern import Standing, strictest
from assay.verdicts.telemetry import Telemetry


def newly_decided(telemetry: Telemetry, verdicts: Sequence[PreparedVerdict], receipts: Sequence[Receipt]) -> Decided:
    """The verdicts of a record whose commit is durable; the caller has waited for it."""
    return Decided(
        telemetry_id=telemetry.telemetry_id,
        telemetry_hash=telemetry.telemetry_hash,
        subject=verdicts[0].row.subject,
        as_of=telemetry.timestamp,
        overall=strictest(one.ruling for one in verdicts),
        verdicts=tuple([_rule_verdict(*pair) for pair in zip(verdicts, receipts, strict=True)]),
        is_new=True,
    )


def _rule_verdict(prepared: PreparedVerdict, receipt: Receipt) -> RuleVerdict:
    """A held one has neither verdict nor envelope to serve, only its ticket."""
    ruling = prepared.ruling
    is_held = ruling.standing is Standing.HELD
    return RuleVerdict(
        rule_id=prepared.row.rule_id,
        tier=ruling.tier,
        standing=ruling.standing,
        verdict=None if is_held else ruling.verdict,
        reason=ruling.reason,
        sequence_number=receipt.sequence_number,
        entry_hash=receipt.entry_hash,
        recorded_at=receipt.timestamp,
        ticket_id=None if prepared.ticket is None else prepared.ticket.id,
        envelope=None if is_held else _envelope(prepared.draft),
    )


def _envelope(draft: Draft) -> Envelope | None:
    """From the canonical bytes: a number that was 20.0 here is 20 for whoever reads the entry."""
    return None if draft.verdict is None else read_back(draft.verdict.llm_transcript, Envelope)


class VerdictBatch:
    """The memory of one unit of work, and of no other: nobody else writes while it runs."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._taken: set[tuple[TenantId, str]] = set()
        self._stable: dict[tuple[TenantId, str], StableRule | None] = {}
        self._counted: dict[tuple[TenantId, str], StableRule] = {}
        self._ends: dict[tuple[TenantId, str], tuple[Instant, Instant] | None] = {}
        self._transcripts: defaultdict[TenantId, list[Transcript]] = defaultdict(list)
        self._rows: defaultdict[TenantId, list[VerdictRow]] = defaultdict(list)
        self._known: defaultdict[TenantId, list[KnownTelemetry]] = defaultdict(list)
        self._buffered: defaultdict[TenantId, list[BufferedText]] = defaultdict(list)

    def look(self, tenant_id: TenantId, telemetry_ids: Iterable[str], subjects: Iterable[str]) -> None:
        """Find out which of these ids are taken, and how far back the records of these subjects go."""
        for known in self.unit.telemetry.find_known_many(tenant_id, telemetry_ids):
            self._taken.add((tenant_id, known.telemetry_id))
        named = tuple(subjects)
        ends = self.unit.telemetry.find_ends_many(tenant_id, named)
        self._ends.update(((tenant_id, subject), ends.get(subject)) for subject in named)

    def is_known(self, tenant_id: TenantId, telemetry_id: str) -> bool:
        return (tenant_id, telemetry_id) in self._taken

    def is_still_stable(self, tenant_id: TenantId, verdict: PreparedVerdict) -> bool:
        """Asked where the writer is alone: the fast path rests on what was stable when the verdict was thought of."""
        if verdict.row.path != VerdictPath.FAST.value or verdict.stable is None:
            return True
        known = self._stability(tenant_id, verdict.row.rule_id)
        return known is not None and known.pattern == verdict.stable.pattern and known.count >= verdict.stable.count

    def add(
        self,
        tenant_id: TenantId,
        telemetry: Telemetry,
        verdicts: tuple[PreparedVerdict, ...],
        *,
        keep_seconds: int,
        at: Instant,
    ) -> tuple[Receipt, ...]:
        """A record with all its verdicts; the answer is one receipt for each, in their order."""
        receipts = tuple([self._add_verdict(tenant_id, one) for one in verdicts])
        subject = verdicts[0].row.subject
        self._taken.add((tenant_id, telemetry.telemetry_id))
        self._known[tenant_id].append(known_telemetry(telemetry, subject, first=receipts[0].sequence_number))
        self._buffered[tenant_id].append(buffered_text(telemetry, subject))
        self._keep(tenant_id, subject, telemetry.timestamp, keep_seconds, at)
        if not verdicts[0].is_mapped:
            note_gap(self.unit, tenant_id, telemetry)
        return receipts

    def store(self) -> None:
        """Write what was added since the last time; whoever reads these tables in this unit calls it before."""
        for tenant_id, transcripts in self._transcripts.items():
            self.unit.transcripts.add_many(tenant_id, transcripts)
        for tenant_id, rows in self._rows.items():
            self.unit.verdicts.add_many(tenant_id, rows)
        for tenant_id, known in self._known.items():
            self.unit.telemetry.add_known_many(tenant_id, known)
        for tenant_id, records in self._buffered.items():
            self.unit.telemetry.buffer_many(tenant_id, records)
        for (tenant_id, _), kept in self._counted.items():
            self.unit.verdicts.put_stability(tenant_id, kept)
        for waiting in (self._transcripts, self._rows, self._known, self._buffered, self._counted):
            waiting.clear()

    def _add_verdict(self, tenant_id: TenantId, one: PreparedVerdict) -> Receipt:
        self._transcripts[tenant_id].append(one.transcript)
        receipt = self.unit.record(one.draft)
        ticket_id = None if one.ticket is None else one.ticket.id
        row = replace(one.row, sequence_number=receipt.sequence_number, ticket_id=ticket_id)
        self._rows[tenant_id].append(row)
        if one.ticket is not None:
            open_review_in(self.unit, one.ticket)
        if one.stable is not None:
            self._count(tenant_id, one.stable, VerifierStatus(one.row.status))
        return receipt

    def _stability(self, tenant_id: TenantId, rule_id: str) -> StableRule | None:
        place = tenant_id, rule_id
        if place not in self._stable:
            self._stable[place] = self.unit.verdicts.find_stability(tenant_id, rule_id)
        return self._stable[place]

    def _count(self, tenant_id: TenantId, now: StableRule, status: VerifierStatus) -> None:
        """Counted where the writer is alone, so that no evaluation at the same time is forgotten."""
        known = self._stability(tenant_id, now.rule_id)
        after = note_evaluation(None if known is None else stability_of(known), now.rule_id, now.pattern, status)
        kept = StableRule(rule_id=after.rule_id, pattern=after.pattern, count=after.count)
        self._stable[tenant_id, now.rule_id] = self._counted[tenant_id, now.rule_id] = kept

    def _keep(self, tenant_id: TenantId, subject: str, as_of: Instant, keep_seconds: int, at: Instant) -> None:
        """Where the subject's newest record is too far from its oldest, the old ones leave the buffer."""
        place = tenant_id, subject
        if place not in self._ends:
            self._ends[place] = self.unit.telemetry.find_ends(tenant_id, subject)
        oldest, newest = self._ends[place] or (as_of, as_of)
        oldest, newest = min(oldest, as_of), max(newest, as_of)
        self._ends[place] = oldest, newest
        if oldest <= instant_before(newest, keep_seconds):
            self.store()
            drop_old(self.unit, tenant_id, subject, keep_seconds, at)
            del self._ends[place]


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A record with the verdicts of all its rules, which nobody has been told yet."""

    case: Case
    verdicts: tuple[PreparedVerdict, ...]
    mark: RequestMark | None = None


class Recorded(NamedTuple):
    """A receipt for each rule; `decided` where it was needed already, for the answer that is kept."""

    receipts: tuple[Receipt, ...]
    decided: Decided | None = None


@dataclass(frozen=True, slots=True)
class _Recording:
    """What one call brings: records in their order, of which a later one may rest on those before it."""

    keep_seconds: int
    judged: Sequence[JudgedCase]


def record_verdicts(tools: Tools, judged: Sequence[JudgedCase]) -> Sequence[Recorded]:
    """Receipts for the records from the first one on, up to one that must be looked at again.

    That is one whose id was taken meanwhile, or whose rule is not stable any more: neither it nor what comes after it
    is on record then. A key that was used meanwhile is `RequestInHandError`, and none of them is.
    """
    recording = _Recording(tools.ski.keep_seconds, judged)
    return tools.recording.write(tools.database, recording, _record_all, weight=len(judged))


def _record_all(unit: Unit, recordings: Sequence[_Recording]) -> list[list[Recorded] | RequestInHandError]:
    batch = VerdictBatch(unit)
    of_tenant: defaultdict[TenantId, list[Case]] = defaultdict(list)
    for recording in recordings:
        for one in recording.judged:
            of_tenant[one.case.tenant_id].append(one.case)
    for tenant_id, cases in of_tenant.items():
        batch.look(tenant_id, [case.telemetry.telemetry_id for case in cases], [case.subject for case in cases])
    forget_expired(unit, [one.mark for sent in recordings for one in sent.judged if one.mark is not None])
    recorded = [_find_used(unit, recording) or _record(batch, recording) for recording in recordings]
    batch.store()
    return recorded


def _find_used(unit: Unit, recording: _Recording) -> RequestInHandError | None:
    """Asked where the writer is alone: of two requests under one key, one has an effect."""
    try:
        for one in recording.judged:
            if one.mark is not None:
                one.mark.verify_free(unit)
    except RequestInHandError as refusal:
        return refusal
    return None


def _record(batch: VerdictBatch, recording: _Recording) -> list[Recorded]:
    recorded: list[Recorded] = []
    for one in recording.judged:
        tenant_id, telemetry = one.case.tenant_id, one.case.telemetry
        is_known = batch.is_known(tenant_id, telemetry.telemetry_id)
        if is_known or not all(batch.is_still_stable(tenant_id, verdict) for verdict in one.verdicts):
            break
        with batch.unit.ledger.under(one.case.trace):
            receipts = batch.add(
                tenant_id, telemetry, one.verdicts, keep_seconds=recording.keep_seconds, at=one.case.at
            )
        recorded.append(Recorded(receipts, _keep(batch.unit, one, receipts)))
    return recorded


def _keep(unit: Unit, judged: JudgedCase, receipts: tuple[Receipt, ...]) -> Decided | None:
    """The answer to a request with a key, beside what it did."""
    if judged.mark is None:
        return None
    decided = newly_decided(judged.case.telemetry, judged.verdicts, receipts)
    judged.mark.keep(unit, decided, entry=receipts[0].sequence_number - 1)
    return decided
