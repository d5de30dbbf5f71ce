"""Whether the tables of verdicts are what the ledger holds: every row has its entry, and every entry its row.

entries in order | rows in the order of their entries -> one beside the other; then buffer, drops and stability
Windows and the fast path decide by these tables, so what was added, changed or taken away there is told.
"""

from collections.abc import Iterator
from itertools import chain

import msgspec
from msgspec import Struct

from assay.flows.ledger.compare_rows import RowProblem
from assay.flows.verdicts.ledger_memory import LedgerMemory
from assay.flows.verdicts.verdict_row import JudgedEntry, find_judged, vouch_row
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import parse_instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry
from assay.ports.telemetry_store import KnownTelemetry
from assay.ports.verdict_store import EgressNote, StableRule, VerdictRow

_DIFFERS, _MISSING, _UNRECORDED = "verdict.row_differs", "verdict.row_missing", "verdict.row_unrecorded"
_EGRESS = frozenset({EntryKind.EGRESS_ATTEMPTED, EntryKind.EGRESS_CLEARED})
_LAST = parse_instant("9999-12-31T23:59:59.999999Z")


def check_verdicts(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """Every problem in the order of entries; none if all holds. That the entries form a chain, an audit says."""
    walk = _Walk(unit, tenant_id)
    yield from walk.problems()
    yield from _memory_problems(unit, tenant_id, walk.memory)
    yield from _egress_problems(unit, tenant_id, walk.egress)


class _Walk:
    def __init__(self, unit: Unit, tenant_id: TenantId) -> None:
        self._unit, self._tenant_id, self.memory = unit, tenant_id, LedgerMemory()
        self._rows = unit.verdicts.all(tenant_id)
        self._known = unit.telemetry.known(tenant_id)
        self._row = next(self._rows, None)
        self._record = next(self._known, None)
        self._latest: str | None = None
        self.egress: dict[int, EgressNote] = {}

    def problems(self) -> Iterator[RowProblem]:
        for entry in self._unit.ledger.entries(self._tenant_id):
            yield from self._unrecorded(entry.sequence_number)
            judged = self.memory.take(entry)
            if entry.kind in _EGRESS:
                self.egress[entry.sequence_number] = _egress_note(entry)
            if entry.kind == EntryKind.VERDICT_FINAL:
                judged = find_judged(entry)
            if judged is not None:
                yield from self._row_problems(judged)
                yield from self._known_problems(entry, judged)
        yield from self._unrecorded(None)

    def _unrecorded(self, number: int | None) -> Iterator[RowProblem]:
        while self._row is not None and (number is None or self._row.sequence_number < number):
            yield _problem(_UNRECORDED, "verdict_index", self._row.sequence_number)
            self._row = next(self._rows, None)
        while self._record is not None and (number is None or self._record.sequence_number < number):
            yield _problem(_UNRECORDED, "telemetry", self._record.sequence_number)
            self._record = next(self._known, None)

    def _row_problems(self, judged: JudgedEntry) -> Iterator[RowProblem]:
        number = judged.row.sequence_number
        row = self._row if self._row is not None and self._row.sequence_number == number else None
        if row is None:
            yield _problem(_MISSING, "verdict_index", number)
            return
        self._row = next(self._rows, None)
        yield from self._vouched(row)

    def _vouched(self, row: VerdictRow) -> Iterator[RowProblem]:
        try:
            vouch_row(self._unit, self._tenant_id, row)
        except Error:
            yield _problem(_DIFFERS, "verdict_index", row.sequence_number)

    def _known_problems(self, entry: StoredEntry, judged: JudgedEntry) -> Iterator[RowProblem]:
        """A record is known from its first verdict on; several rows that name one entry are one too many."""
        number = entry.sequence_number
        is_first = judged.row.telemetry_id != self._latest and entry.kind != EntryKind.VERDICT_FINAL
        expected = _known(judged) if is_first else None
        self._latest = judged.row.telemetry_id if is_first else self._latest
        found: list[KnownTelemetry] = []
        while self._record is not None and self._record.sequence_number == number:
            found.append(self._record)
            self._record = next(self._known, None)
        if expected is not None and expected not in found:
            yield _problem(_MISSING, "telemetry", number)
        yield from (_problem(_UNRECORDED, "telemetry", number) for one in found if one != expected)


def _known(judged: JudgedEntry) -> KnownTelemetry:
    row = judged.row
    return KnownTelemetry(
        telemetry_id=row.telemetry_id,
        telemetry_hash=judged.telemetry_hash,
        subject=row.subject,
        as_of=row.as_of,
        sequence_number=row.sequence_number,
    )


class _Attempted(Struct):
    """The member of a body that a note is made of; one that clears has none."""

    attempts: int = 0


class _AttemptedEntry(Struct):
    body: _Attempted


def _egress_note(entry: StoredEntry) -> EgressNote:
    attempts = msgspec.json.decode(entry.text, type=_AttemptedEntry).body.attempts
    noted_at = parse_instant(entry.timestamp)
    return EgressNote(sequence_number=entry.sequence_number, attempts=attempts, noted_at=noted_at)


def _egress_problems(unit: Unit, tenant_id: TenantId, told: dict[int, EgressNote]) -> Iterator[RowProblem]:
    """A row too few would end a refusal that nobody looked into."""
    rows = {note.sequence_number: note for note in unit.verdicts.egress_notes(tenant_id)}
    for number in sorted({*told, *rows}):
        if number not in rows:
            yield _problem(_MISSING, "egress_note", number)
        elif rows[number] != told.get(number):
            yield _problem(_DIFFERS if number in told else _UNRECORDED, "egress_note", number)


def _memory_problems(unit: Unit, tenant_id: TenantId, memory: LedgerMemory) -> Iterator[RowProblem]:
    extents = [extent.subject for extent in unit.telemetry.extents(tenant_id)]
    for subject in sorted({*extents, *memory.kept}):
        yield from _buffer_problems(unit, tenant_id, memory, subject)
        if unit.telemetry.dropped_until(tenant_id, subject) != memory.dropped.get(subject):
            yield _problem(_DIFFERS, "telemetry_drop", memory.taken)
    held = {row.rule_id: row for row in unit.verdicts.stabilities(tenant_id)}
    for rule_id in sorted({*held, *memory.stable}):
        expected = memory.stable.get(rule_id)
        told = None if expected is None else StableRule(rule_id=rule_id, pattern=expected.pattern, count=expected.count)
        if held.get(rule_id) != told:
            yield _problem(_DIFFERS, "rule_stability", memory.taken)


def _buffer_problems(unit: Unit, tenant_id: TenantId, memory: LedgerMemory, subject: str) -> Iterator[RowProblem]:
    rows = {row.telemetry_id: row for row in unit.telemetry.buffered(tenant_id, subject, until=_LAST)}
    kept = memory.kept.get(subject, {})
    for name in dict.fromkeys(chain(kept, rows)):
        row, expected = rows.get(name), kept.get(name)
        if expected is None:
            yield _problem(_UNRECORDED, "telemetry_buffer", memory.taken)
        elif row is None:
            yield _problem(_MISSING, "telemetry_buffer", expected.sequence_number)
        elif not expected.is_held_by(row):
            yield _problem(_DIFFERS, "telemetry_buffer", expected.sequence_number)


def _problem(code: str, table: str, number: int) -> RowProblem:
    words = {
        _DIFFERS: f"expected what `{table}` holds up to entry {number} as the ledger has it, got another",
        _MISSING: f"expected the row of entry {number} in `{table}`, got none",
        _UNRECORDED: f"expected every row in `{table}` to have its entry, got one that has none at entry {number}",
    }
    return RowProblem(code=code, message=words[code], entry=number)
