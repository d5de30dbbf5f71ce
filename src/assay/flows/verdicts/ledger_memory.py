"""What verdicts could remember at any entry, worked out from the entries alone.

entries in order -> take -> the buffer of each subject, what left it, and how stable each rule was
Windows and the fast path decide by tables that may be changed by hand; this is what those tables must hold.
"""

from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from assay.flows.verdicts.verdict_row import JudgedEntry, find_judged
from assay.kernel.canonical import canonical_json
from assay.kernel.entry import parse_entry
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.ledger_store import StoredEntry
from assay.ports.telemetry_store import BufferedText
from assay.verdicts.docket import UNRULED
from assay.verdicts.fastpath import Stability, note_evaluation, recorded_pattern
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.telemetry import parse_telemetry
from assay.verdicts.window_fact import BufferedRecord, buffer_record

_JUDGED = frozenset({EntryKind.VERDICT, EntryKind.VERDICT_HELD, EntryKind.VERDICT_V2})


class _Drop(Struct, frozen=True):
    subject: str
    dropped_until: Instant


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A record in the buffer, and the entry of its first verdict."""

    sequence_number: int
    record: BufferedRecord

    def is_held_by(self, row: BufferedText) -> bool:
        """Whether an entry holds this row, by values: a row has its readings as they came, an entry sorts them."""
        try:
            told = msgspec.json.decode(row.text, type=BufferedRecord)
        except msgspec.MsgspecError:
            return False
        is_placed = (row.as_of, row.telemetry_id) == (self.record.timestamp, self.record.telemetry_id)
        return is_placed and canonical_json(told) == canonical_json(self.record)


@dataclass(slots=True)
class LedgerMemory:
    """After the entries that were taken, in their order."""

    kept: dict[str, dict[str, KeptRecord]] = field(default_factory=dict)
    dropped: dict[str, Instant] = field(default_factory=dict)
    stable: dict[str, Stability] = field(default_factory=dict)
    taken: int = 0
    _latest: str | None = None

    def take(self, row: StoredEntry) -> JudgedEntry | None:
        """The next entry; the answer is a verdict that opens a record or adds a rule to it, or None."""
        self.taken = row.sequence_number
        if row.kind == EntryKind.TELEMETRY_DROPPED:
            self._drop(msgspec.json.decode(parse_entry(row.text).body, type=_Drop))
            return None
        if row.kind not in _JUDGED:
            return None
        judged = find_judged(row)
        if judged is None:
            return None
        self._note_stability(judged)
        self._keep(judged)
        return judged

    def earlier(self, subject: str) -> tuple[BufferedRecord, ...]:
        return tuple(one.record for one in self.kept.get(subject, {}).values())

    def _drop(self, drop: _Drop) -> None:
        records = self.kept.get(drop.subject, {})
        self.kept[drop.subject] = {
            name: one for name, one in records.items() if one.record.timestamp > drop.dropped_until
        }
        before = self.dropped.get(drop.subject)
        self.dropped[drop.subject] = drop.dropped_until if before is None else max(before, drop.dropped_until)

    def _keep(self, judged: JudgedEntry) -> None:
        """Once for a record: all its verdicts are of one commit, with no other record's between them."""
        row = judged.row
        if row.telemetry_id == self._latest:
            return
        self._latest = row.telemetry_id
        record = buffer_record(parse_telemetry(judged.telemetry))
        self.kept.setdefault(row.subject, {})[row.telemetry_id] = KeptRecord(row.sequence_number, record)

    def _note_stability(self, judged: JudgedEntry) -> None:
        read, rule_id = judged.read, judged.row.rule_id
        if read is None or judged.ruling.tier is not RiskTier.LOW or rule_id == UNRULED:
            return
        envelope = read.envelope
        pattern = recorded_pattern(rule_id, read.body.judgements, envelope.model_provenance)
        status = envelope.verifier_result.status
        self.stable[rule_id] = note_evaluation(self.stable.get(rule_id), rule_id, pattern, status)
