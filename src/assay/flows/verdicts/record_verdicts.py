"""Step 5 of a verdict (SKI 2.2): records that come together share one unit of work, each with all of its rules.

look -> is_known, is_still_stable -> entries, rows, tickets and kept answers of the requests -> receipts, when durable
INVARIANT: the ledger gets its entries at once and in order, as if each record had a unit of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from assay.flows.identity.authenticate import confirm
from assay.flows.request_mark import forget_expired
from assay.flows.review.open_review import open_review_in
from assay.flows.tools import Tools
from assay.flows.verdicts.read_verdicts import Decided, RuleVerdict
from assay.flows.verdicts.reason import Case
from assay.flows.verdicts.verdict_entry import (
    PreparedVerdict,
    buffered_text,
    drop_old,
    known_telemetry,
    note_gap,
    stability_of,
)
from assay.kernel.errors import Error
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


def newly_decided(case: Case, verdicts: Sequence[PreparedVerdict], receipts: Sequence[Receipt]) -> Decided:
    """The verdicts of a record whose commit is durable: equal to `decided_of` of the record, as a test shows."""
    telemetry = case.telemetry
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


class _Batch:
    """What one unit of work writes for one tenant: counts are read once and written once, rows go in together.

    INVARIANT: what `add` took is found by every later question to this batch, and is in the database after `store`.
    """

    def __init__(self, unit: Unit, tenant_id: TenantId, keep_seconds: int) -> None:
        self.unit = unit
        self._tenant_id = tenant_id
        self._keep_seconds = keep_seconds
        self._taken: set[str] = set()
        self._stable: dict[str, StableRule | None] = {}
        self._counted: dict[str, StableRule] = {}
        self._ends: dict[str, tuple[Instant, Instant] | None] = {}
        self._transcripts: list[Transcript] = []
        self._rows: list[VerdictRow] = []
        self._known: list[KnownTelemetry] = []
        self._buffered: list[BufferedText] = []

    def look(self, cases: Sequence[Case]) -> None:
        """Find out which ids are taken, and how far back the records of the subjects go."""
        ids = [case.telemetry.telemetry_id for case in cases]
        self._taken = {one.telemetry_id for one in self.unit.telemetry.find_known_many(self._tenant_id, ids)}
        subjects = tuple(dict.fromkeys([case.subject for case in cases]))
        ends = self.unit.telemetry.find_ends_many(self._tenant_id, subjects)
        self._ends = {subject: ends.get(subject) for subject in subjects}

    def may_add(self, judged: "JudgedCase") -> bool:
        """Whether the id is still free, and every rule as stable as it was when the model was left out."""
        is_free = judged.case.telemetry.telemetry_id not in self._taken
        return is_free and all(self._is_still_stable(verdict) for verdict in judged.verdicts)

    def _is_still_stable(self, verdict: PreparedVerdict) -> bool:
        if verdict.row.path != VerdictPath.FAST.value or verdict.stable is None:
            return True
        known = self._stability(verdict.row.rule_id)
        return known is not None and known.pattern == verdict.stable.pattern and known.count >= verdict.stable.count

    def add(self, judged: "JudgedCase") -> tuple[Receipt, ...]:
        """Add a record with all its verdicts; one receipt for each, in their order."""
        case, verdicts = judged.case, judged.verdicts
        receipts = tuple([self._add_verdict(one) for one in verdicts])
        subject, telemetry = verdicts[0].row.subject, case.telemetry
        self._taken.add(telemetry.telemetry_id)
        self._known.append(known_telemetry(telemetry, subject, first=receipts[0].sequence_number))
        self._buffered.append(buffered_text(telemetry, subject))
        self._drop_old(subject, telemetry.timestamp, case.at)
        if not verdicts[0].is_mapped:
            note_gap(self.unit, self._tenant_id, telemetry)
        return receipts

    def store(self) -> None:
        """Write what was added since the last time; tables are read in this unit only after it."""
        unit, tenant_id = self.unit, self._tenant_id
        if self._rows:
            unit.transcripts.add_many(tenant_id, self._transcripts)
            unit.verdicts.add_many(tenant_id, self._rows)
            unit.telemetry.add_known_many(tenant_id, self._known)
            unit.telemetry.buffer_many(tenant_id, self._buffered)
        for kept in self._counted.values():
            unit.verdicts.put_stability(tenant_id, kept)
        for waiting in (self._transcripts, self._rows, self._known, self._buffered):
            waiting.clear()
        self._counted.clear()

    def _add_verdict(self, one: PreparedVerdict) -> Receipt:
        self._transcripts.append(one.transcript)
        receipt = self.unit.record(one.draft)
        ticket_id = None if one.ticket is None else one.ticket.id
        self._rows.append(replace(one.row, sequence_number=receipt.sequence_number, ticket_id=ticket_id))
        if one.ticket is not None:
            open_review_in(self.unit, one.ticket)
        if one.stable is not None:
            self._count(one.stable, VerifierStatus(one.row.status))
        return receipt

    def _stability(self, rule_id: str) -> StableRule | None:
        if rule_id not in self._stable:
            self._stable[rule_id] = self.unit.verdicts.find_stability(self._tenant_id, rule_id)
        return self._stable[rule_id]

    def _count(self, now: StableRule, status: VerifierStatus) -> None:
        """Count inside the commit, so that no evaluation at the same time is lost."""
        known = self._stability(now.rule_id)
        after = note_evaluation(None if known is None else stability_of(known), now.rule_id, now.pattern, status)
        kept = StableRule(rule_id=after.rule_id, pattern=after.pattern, count=after.count)
        self._stable[now.rule_id] = self._counted[now.rule_id] = kept

    def _drop_old(self, subject: str, as_of: Instant, at: Instant) -> None:
        """Where the subject's newest record is too far from its oldest, the old ones leave the buffer."""
        if subject not in self._ends:
            self._ends[subject] = self.unit.telemetry.find_ends(self._tenant_id, subject)
        oldest, newest = self._ends[subject] or (as_of, as_of)
        oldest, newest = min(oldest, as_of), max(newest, as_of)
        self._ends[subject] = oldest, newest
        if oldest <= instant_before(newest, self._keep_seconds):
            self.store()
            drop_old(self.unit, self._tenant_id, subject, self._keep_seconds, at)
            del self._ends[subject]


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A record with the verdicts of all its rules, not recorded yet."""

    case: Case
    verdicts: tuple[PreparedVerdict, ...]


class Recorded(NamedTuple):
    """A receipt for each rule; `decided` where it was needed already, for the answer that is kept under a key."""

    receipts: tuple[Receipt, ...]
    decided: Decided | None = None


def record_verdicts(tools: Tools, judged: Sequence[JudgedCase]) -> list[Recorded | Error]:
    """Record judged records of one tenant in one unit of work, from the first one on.

    The list ends before a record that must be judged again: its id was taken meanwhile, or its rule is not stable any
    more. It ends with a refusal where a caller may not act any more or a key was used meanwhile. Nothing after the end
    is recorded.
    """
    keep_seconds = tools.ski.keep_seconds
    return tools.database.write(lambda unit: _record(_Batch(unit, judged[0].case.tenant_id, keep_seconds), judged))


def _record(batch: _Batch, judged: Sequence[JudgedCase]) -> list[Recorded | Error]:
    batch.look([one.case for one in judged])
    forget_expired(batch.unit, [one.case.mark for one in judged if one.case.mark is not None])
    confirmed: set[tuple[str, str]] = set()
    recorded: list[Recorded | Error] = []
    for one in judged:
        refusal = _find_refusal(batch.unit, one.case, confirmed)
        if refusal is not None:
            recorded.append(refusal)
            break
        if not batch.may_add(one):
            break
        with batch.unit.ledger.under(one.case.caller.trace):
            receipts = batch.add(one)
        recorded.append(Recorded(receipts, _keep(batch.unit, one, receipts)))
    batch.store()
    return recorded


def _find_refusal(unit: Unit, case: Case, confirmed: set[tuple[str, str]]) -> Error | None:
    """Whether the caller may still act, and the key of the request is still free; each credential is checked once."""
    credential = (case.caller.via, case.caller.credential_id)
    try:
        if credential not in confirmed:
            confirm(unit, case.caller)
            confirmed.add(credential)
        if case.mark is not None:
            case.mark.verify_free(unit)
    except Error as refusal:
        return refusal
    return None


def _keep(unit: Unit, judged: JudgedCase, receipts: tuple[Receipt, ...]) -> Decided | None:
    """Keep the answer to a request with a key, beside what it did."""
    mark = judged.case.mark
    if mark is None:
        return None
    decided = newly_decided(judged.case, judged.verdicts, receipts)
    mark.keep(unit, decided, entry=receipts[0].sequence_number - 1)
    return decided
