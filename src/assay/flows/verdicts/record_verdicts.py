"""Step 5 of a verdict (SKI 2.2): records that come together share one unit of work, each with all of its rules.

look -> is_known, is_still_stable -> entries, rows, tickets and kept answers of the requests -> receipts, when durable
INVARIANT: the ledger gets its entries at once and in order, as if each record had a unit of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.flows.identity.authenticate import confirm
from assay.flows.request_mark import forget_expired
from assay.flows.review.open_review import open_review_in
from assay.flows.tools import Tools
from assay.flows.verdicts.read_verdicts import Decided, RuleVerdict
from assay.flows.verdicts.reason import Case
from assay.flows.verdicts.verdict_entry import PreparedVerdict, drop_old
from assay.flows.verdicts.verdict_memory import ends_with, find_stability
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, Receipt
from assay.kernel.read_back import read_back
from assay.kernel.transcript import Transcript
from assay.ports.database import Unit
from assay.ports.telemetry_store import BufferEnds
from assay.verdicts.envelope import Envelope, VerdictPath
from assay.verdicts.fastpath import Stability, note_evaluation
from assay.verdicts.govern import Standing, strictest


def newly_decided(case: Case, verdicts: Sequence[PreparedVerdict], receipts: Sequence[Receipt]) -> Decided:
    """The verdicts of a record whose commit is durable: equal to `decided_of` of the record, as a test shows."""
    telemetry = case.telemetry
    return Decided(
        telemetry_id=telemetry.telemetry_id,
        telemetry_hash=telemetry.telemetry_hash,
        subject=verdicts[0].subject,
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
        rule_id=prepared.rule_id,
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
    """What one unit of work writes for one tenant: rows go in together.

    INVARIANT: what `add` took is found by every later question to this batch, and is in the database after `store`.
    """

    def __init__(self, unit: Unit, tools: Tools, tenant_id: TenantId) -> None:
        self.unit = unit
        self._tools = tools
        self._tenant_id = tenant_id
        self._taken: set[str] = set()
        self._stable: dict[str, Stability | None] = {}
        self._ends: dict[str, BufferEnds] = {}
        self._transcripts: list[Transcript] = []
        self._receipts: list[Receipt] = []

    def look(self, cases: Sequence[Case]) -> None:
        """Find out which ids are taken, and how far back the records of the subjects go."""
        ids = [case.telemetry.telemetry_id for case in cases]
        self._taken = {one.telemetry_id for one in self.unit.telemetry.find_known_many(self._tenant_id, ids)}
        self._ends = self.unit.telemetry.find_ends(self._tenant_id, [case.subject for case in cases])

    def may_add(self, judged: "JudgedCase") -> bool:
        """Whether the id is still free, and every rule as stable as it was when the model was left out."""
        is_free = judged.case.telemetry.telemetry_id not in self._taken
        return is_free and all(self._is_still_stable(verdict) for verdict in judged.verdicts)

    def _is_still_stable(self, verdict: PreparedVerdict) -> bool:
        if verdict.path is not VerdictPath.FAST or verdict.pattern is None:
            return True
        known = self._stability(verdict.rule_id)
        return known is not None and known.pattern == verdict.pattern

    def add(self, judged: "JudgedCase") -> tuple[Receipt, ...]:
        """Add a record with all its verdicts; one receipt for each, in their order."""
        telemetry = judged.case.telemetry
        receipts = tuple([self._add_verdict(one) for one in judged.verdicts])
        self._taken.add(telemetry.telemetry_id)
        self._drop_old(judged.verdicts[0].subject, telemetry.timestamp, judged.case.at)
        return receipts

    def store(self) -> None:
        """Write what was added since the last time; tables are read in this unit only after it."""
        if self._receipts:
            self.unit.transcripts.add_many(self._tenant_id, self._transcripts)
            self.unit.record_rows(self._receipts)
        self._transcripts.clear()
        self._receipts.clear()

    def _add_verdict(self, one: PreparedVerdict) -> Receipt:
        self._transcripts.append(one.transcript)
        receipt = self.unit.append(one.draft)
        self._receipts.append(receipt)
        if one.ticket is not None:
            open_review_in(self.unit, one.ticket)
        if one.pattern is not None and one.rule_id in self._stable:
            before = self._stable[one.rule_id]
            self._stable[one.rule_id] = note_evaluation(before, one.rule_id, one.pattern, one.status)
        return receipt

    def _stability(self, rule_id: str) -> Stability | None:
        """Inside the commit, so that no evaluation at the same time is missed; of one in a row the pattern is known."""
        if rule_id not in self._stable:
            # What this batch added already is not in the tables before it is stored.
            self.store()
            self._stable[rule_id] = find_stability(
                self.unit, self._tools.stability, self._tenant_id, rule_id, enough=1, is_committed=False
            )
        return self._stable[rule_id]

    def _drop_old(self, subject: str, as_of: Instant, at: Instant) -> None:
        """Where the subject's newest record is too far from its oldest, the old ones are dropped."""
        keep_seconds = self._tools.ski.keep_seconds
        if subject not in self._ends:
            self._ends |= self.unit.telemetry.find_ends(self._tenant_id, [subject])
        self._ends[subject], is_dropping = ends_with(self._ends[subject], as_of, keep_seconds)
        if is_dropping:
            self.store()
            drop_old(self.unit, self._tenant_id, subject, keep_seconds, arrived=as_of, at=at)
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
    return tools.database.write(lambda unit: _record(_Batch(unit, tools, judged[0].case.tenant_id), judged))


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
