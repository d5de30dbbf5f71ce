"""Whether the tables of verdicts and knowledge graphs are what the ledger holds.

entries in order | rows in the order of their entries -> one beside the other -> problems
"""

from collections.abc import Iterator
from itertools import chain

import msgspec
from msgspec import Struct

from assay.flows.ledger.compare_rows import IndexedTable, RowProblem, compare_rows, row_problem
from assay.flows.verdicts.change_graphs import review_of, reviewed_content
from assay.flows.verdicts.graphs_in_use import GraphAdded, is_activation
from assay.flows.verdicts.verdict_memory import LedgerMemory
from assay.flows.verdicts.verdict_rows import JudgedEntry, find_judged, vouch_row
from assay.kernel.digest import Digest
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import parse_instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.graph_store import GraphHead, RecordedReview
from assay.ports.ledger_store import StoredEntry
from assay.ports.telemetry_store import KnownTelemetry
from assay.ports.verdict_store import EgressNote, StableRule, VerdictRow
from assay.review.answer import Answer


def check_graphs(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """In the order of entries. The bytes of a graph are held against its hash whenever it is opened."""
    tables = (
        IndexedTable("graph_version", EntryKind.GRAPH_ADDED, unit.graphs.heads(tenant_id), _is_version),
        IndexedTable("graph_activation", EntryKind.GRAPH_ACTIVATED, unit.graphs.activations(tenant_id), is_activation),
    )
    yield from compare_rows(unit, tenant_id, "graph", tables)
    yield from _review_problems(unit, tenant_id)


def _is_version(row: GraphHead, entry: Entry) -> bool:
    said = GraphAdded(
        document_hash=row.document_hash,
        content_hash=row.content_hash,
        form=row.form,
        signed_by=row.signed_by,
        added_by=row.by,
    )
    try:
        return msgspec.json.decode(entry.body, type=GraphAdded) == said and row.added_at == entry.timestamp
    except msgspec.MsgspecError:
        return False


class _Opened(Struct, frozen=True):
    """The members of a question by which its answers are told."""

    ticket_id: str
    about: str | None = None


def _review_problems(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """Somebody's no that was taken away, or a yes that nobody gave, would let a graph be loaded."""
    expected = dict(_answered(unit, tenant_id))
    contents = {review.content_hash for review in expected.values()}
    contents |= {head.content_hash for head in unit.graphs.heads(tenant_id)}
    rows = (row for content in sorted(contents) for row in unit.graphs.reviews(tenant_id, content))
    found = {row.sequence_number: row for row in rows}
    for number in sorted(expected.keys() | found.keys()):
        if number not in found:
            yield row_problem("graph", "row_missing", "graph_review", number)
        elif number not in expected:
            yield row_problem("graph", "row_unrecorded", "graph_review", number)
        elif found[number] != expected[number]:
            yield row_problem("graph", "row_differs", "graph_review", number)


def _answered(unit: Unit, tenant_id: TenantId) -> Iterator[tuple[int, RecordedReview]]:
    asked: dict[str, Digest] = {}
    for stored in unit.ledger.entries(tenant_id):
        if stored.kind == EntryKind.TICKET_OPENED:
            opened = msgspec.json.decode(parse_entry(stored.text).body, type=_Opened)
            content = reviewed_content(opened.about)
            if content is not None:
                asked[opened.ticket_id] = content
        elif stored.kind == EntryKind.TICKET_ANSWERED and asked:
            answer = msgspec.json.decode(parse_entry(stored.text).body, type=Answer)
            if answer.ticket_id in asked:
                number = stored.sequence_number
                yield number, review_of(asked[answer.ticket_id], answer, sequence_number=number)


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
