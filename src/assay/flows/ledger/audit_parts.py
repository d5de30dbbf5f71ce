"""The parts of an audit, each a pure function of what one reader sees, so that workers may share them.

entries of a range: hash, link, columns, leaf, transcript, vote, and a keyed sum of the rows they project
a projected table: the same sum of the rows that are stored | folded tables: folded from the entries and compared
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import Struct

from assay.facts.kinds import Content, Fold, Folded, Projected, Table
from assay.facts.ledger import Erasure, disclosed_rows, event_rows
from assay.facts.projector import row_of
from assay.facts.table import PROJECTOR, TABLES
from assay.flows.ledger.check_entry import EntryFaultError, verify_stored_entry
from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.truth.replay_truth import ledger_entries
from assay.flows.truth.state_entry import read_bronze
from assay.flows.truth.vote_entry import verify_vote
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import Entry, read_entry
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId, TenantId, parse_principal_id
from assay.kernel.key import KeyPurpose, KeyRing
from assay.kernel.ledger import EntryKind, transcript_ref_of
from assay.kernel.transcript import Transcript, verify_transcript
from assay.ports.damage import DamagedFileError, DamagedRecordError
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry

T = TypeVar("T")
# Entries after a damaged one that are tried, to name all that a damaged page holds.
_TRIED = 1000
_MODULUS = 1 << 128
_OUTBOX = "outbox"


class Reader(Protocol):
    """Runs work on one state of the database; a worker's own reader can be pickled."""

    def read(self, work: Callable[[Unit], T]) -> T: ...


class Sum(NamedTuple):
    """How many rows, and the sum of their keyed hashes: equal for equal sets of rows, in any order."""

    rows: int = 0
    total: int = 0

    def plus(self, other: "Sum") -> "Sum":
        return Sum(self.rows + other.rows, (self.total + other.total) % _MODULUS)


class Fault(NamedTuple):
    """What was found, as `EntryFaultError` says it."""

    code: str
    message: str
    entry: int | None


class Part(NamedTuple):
    """Entries `first` to `last`; or, with `tables`, those tables. `key` is drawn for each run."""

    tenant_id: TenantId
    founder: KeyId
    key: bytes
    first: int
    last: int
    tables: tuple[str, ...] = ()


class Done(NamedTuple):
    """What a part found: `previous_hash` is what its first entry names, and the caller compares it."""

    part: Part
    fault: Fault | None = None
    previous_hash: Digest | None = None
    head_hash: Digest | None = None
    leaves: tuple[bytes, ...] = ()
    transcripts: tuple[str, ...] = ()
    sums: dict[str, Sum] = {}  # noqa: RUF012 - never changed
    rows: int = 0


def run_part(job: tuple[Reader, Part]) -> Done:
    """Do one part with its reader; a plain function, so that a worker can be told its name."""
    reader, part = job
    if not part.tables:
        return reader.read(lambda unit: _read_entries(unit, part))
    work = _sum_table if _is_summed(PROJECTOR.tables[part.tables[0]]) else _fold_tables
    return reader.read(lambda unit: work(unit, part))


def summed_tables() -> tuple[Table, ...]:
    """The tables whose rows follow from one entry each, and stay or are erased."""
    return tuple(table for table in TABLES if not table.pending and _is_summed(table))


def _is_summed(table: Table) -> bool:
    form = table.form
    return (isinstance(form, Projected) and form.fold is None) or (
        isinstance(form, Content) and form.fold is None and form.seal is not None
    )


def folded_tables() -> tuple[Table, ...]:
    return tuple(table for table in TABLES if not table.pending and _fold_of(table) is not None)


def _read_entries(unit: Unit, part: Part) -> Done:
    ring, tally = own_key_ring_in(unit, part.founder), _Tally(unit, part.key)
    leaves: list[bytes] = []
    transcripts: list[str] = []
    first_link, head_hash, fault = None, None, None
    rows = unit.ledger.entries(part.tenant_id, first=part.first, last=part.last)
    try:
        for expected in range(part.first, part.last + 1):
            row = _next_entry(unit, part, rows, expected)
            entry = verify_stored_entry(row, part.tenant_id, expected, previous_hash=head_hash)
            first_link = first_link or entry.previous_hash
            if row.llm_transcript is not None:
                transcripts.append(_check_reference(unit, ring, part.tenant_id, row))
            if entry.kind is EntryKind.VOTE_CAST:
                _check_vote(unit, ring, part.tenant_id, row)
            tally.add(entry)
            head_hash = Digest(row.entry_hash)
            leaves.append(row.leaf_hash)
    except EntryFaultError as found:
        fault = Fault(found.fault_code, str(found), found.entry)
    return Done(part, fault, first_link, head_hash, tuple(leaves), tuple(transcripts), tally.sums)


class _Tally:
    """The sums of the rows that entries project, by table."""

    def __init__(self, unit: Unit, key: bytes) -> None:
        self._unit = unit
        self._encode = unit.tables.encode
        self._key = key
        self.sums: dict[str, Sum] = {}

    def add(self, entry: Entry) -> None:
        for opened in disclosed_rows(entry):
            self.add_row("disclosure", self._encode(opened))
        for event in event_rows(entry):
            self.add_row(_OUTBOX, self._encode(event))
        if entry.kind is EntryKind.ERASURE:
            self._erase(entry)
        if not PROJECTOR.has_rows(entry.kind):
            return
        try:
            rows = PROJECTOR.project(entry)
        except DamagedRecordError as error:
            raise EntryFaultError("ledger.body", str(error), entry.sequence_number) from error
        for row in rows:
            table = PROJECTOR.shape_of(type(row)).table
            if table:
                self.add_row(table, self._encode(row))

    def _erase(self, entry: Entry) -> None:
        """What was erased is no longer due."""
        erasure = msgspec.json.decode(entry.body, type=Erasure)
        of = self._unit.ledger.find_entry(entry.tenant_id, erasure.sequence_number)
        for opened in disclosed_rows(read_entry(of.text)) if of is not None else ():
            if opened.pointer in erasure.pointers:
                erased = Sum(-1, -_keyed(self._encode(opened), self._key))
                self.sums["disclosure"] = self.sums.get("disclosure", Sum()).plus(erased)

    def add_row(self, table: str, row: bytes) -> None:
        self.sums[table] = self.sums.get(table, Sum()).plus(Sum(1, _keyed(row, self._key)))


def _keyed(row: bytes, key: bytes) -> int:
    return int.from_bytes(blake2b(row, key=key, digest_size=16).digest())


def _sum_table(unit: Unit, part: Part) -> Done:
    """Rows of entries after `last` are not counted, but must be entries of this very state."""
    [name] = part.tables
    kind, count, total = _row_type(name), 0, 0
    head = unit.ledger.head(part.tenant_id).sequence_number
    first = _first_recorded(unit, name, part.tenant_id)
    for number, row in unit.tables.stored(kind, part.tenant_id):
        if number > head:
            return Done(part, row_fault("row_unrecorded", name, number))
        if first <= number <= part.last:
            count, total = count + 1, (total + _keyed(row, part.key)) % _MODULUS
    return Done(part, find_stray(unit, name), sums={name: Sum(count, total)}, rows=count)


def _first_recorded(unit: Unit, table: str, tenant_id: TenantId) -> int:
    """Entries of 0.1.0 record no events, so that theirs cannot be compared; for other tables every entry counts."""
    return unit.outbox.recorded_since(tenant_id) if table == _OUTBOX else 1


def _fold_tables(unit: Unit, part: Part) -> Done:
    """Both sides in one state, since rows that are replaced do not say of which entries they are."""
    tables = [(name, PROJECTOR.tables[name]) for name in part.tables]
    folds = {name: fold for name, table in tables if (fold := _fold_of(table)) is not None}
    kinds = {name: _kinds_of(table) for name, table in tables}
    wanted = frozenset().union(*kinds.values()) if all(kinds.values()) else None
    states: dict[str, dict[Any, Struct]] = {name: {} for name in folds}
    for stored in unit.ledger.entries(part.tenant_id, kinds=wanted):
        entry = read_entry(stored.text)
        try:
            for name, fold in folds.items():
                if not kinds[name] or entry.kind in kinds[name]:
                    fold(states[name], entry)
        except (Error, KeyError, ValueError) as error:
            # A sound node writes no entry that its folds cannot take.
            return Done(part, Fault("ledger.body", f"entry {entry.sequence_number}: {error}", entry.sequence_number))
    count = 0
    for name in folds:
        expected = {unit.tables.encode(row): getattr(row, "sequence_number", 0) for row in states[name].values()}
        for number, row in unit.tables.stored(_row_type(name), part.tenant_id):
            count += 1
            if row not in expected:
                code = "row_differs" if number in expected.values() else "row_unrecorded"
                return Done(part, row_fault(code, name, number))
            del expected[row]
        if expected:
            return Done(part, row_fault("row_missing", name, min(expected.values())))
        stray = find_stray(unit, name)
        if stray is not None:
            return Done(part, stray)
    return Done(part, rows=count)


def check_sample(unit: Unit, tenant_id: TenantId, count: int, seed: bytes) -> int:
    """Compare so many rows of each table with the entries they name, spread over the ledger by the seed.

    Raises `EntryFaultError` for the first that differs, also where an entry has no row; returns how many were compared.
    """
    head = unit.ledger.head(tenant_id).sequence_number
    compared = 0
    for table in TABLES:
        kind = row_of(table)
        if table.pending or not isinstance(table.form, Projected) or kind is None:
            continue
        place = _keyed(table.name.encode(), seed) % (head + 1)
        first = _first_recorded(unit, table.name, tenant_id)
        for number, row in unit.tables.sample(kind, tenant_id, after=place, count=count):
            if number < first:
                continue
            stored = unit.ledger.find_entry(tenant_id, number)
            due = [] if stored is None else _projected(unit, kind, stored)
            if stored is None or digest_of(stored.text) != stored.entry_hash or row not in due:
                raise EntryFaultError(*row_fault("row_differs" if due else "row_unrecorded", table.name, number))
            compared += 1
    return compared


def _kinds_of(table: Table) -> frozenset[EntryKind]:
    """The kinds of entries that change a table; none for all."""
    return frozenset(table.form.folds if isinstance(table.form, Projected | Folded | Content) else ())


def find_wrong_row(unit: Unit, part: Part) -> Fault | None:
    """Name the first row of a table whose sum differs; a second pass over this table alone."""
    [name] = part.tables
    kind = _row_type(name)
    kinds = None if name == _OUTBOX else [fact.kind for fact in PROJECTOR.facts.values() if kind in fact.into]
    if kinds == []:
        return None
    first = _first_recorded(unit, name, part.tenant_id)
    entries = unit.ledger.entries(part.tenant_id, last=part.last, kinds=kinds)
    expected = ((one.sequence_number, due) for one in entries if (due := _projected(unit, kind, one)))
    stored = (
        (number, sorted(row for _, row in rows))
        for number, rows in groupby(unit.tables.stored(kind, part.tenant_id, last=part.last), itemgetter(0))
        if number >= first
    )
    for number, due, found in _side_by_side(expected, stored):
        if due != found:
            code = "row_missing" if not found else "row_unrecorded" if not due else "row_differs"
            return row_fault(code, name, number)
    return None


def _projected(unit: Unit, kind: type[Struct], stored: StoredEntry) -> list[bytes]:
    entry = read_entry(stored.text)
    rows = (*PROJECTOR.project(entry), *PROJECTOR.events(entry))
    return sorted(unit.tables.encode(row) for row in rows if type(row) is kind)


def _side_by_side(
    expected: Iterable[tuple[int, list[bytes]]], stored: Iterable[tuple[int, list[bytes]]]
) -> Iterator[tuple[int, list[bytes], list[bytes]]]:
    """By number; what one side lacks is empty."""
    left, right = iter(expected), iter(stored)
    due, found = next(left, None), next(right, None)
    while due is not None or found is not None:
        if found is None or (due is not None and due[0] < found[0]):
            assert due is not None  # noqa: S101 - one of both is there
            yield due[0], due[1], []
            due = next(left, None)
        elif due is None or found[0] < due[0]:
            yield found[0], [], found[1]
            found = next(right, None)
        else:
            yield due[0], due[1], found[1]
            due, found = next(left, None), next(right, None)


def row_fault(code: str, table: str, number: int) -> Fault:
    message = f"expected the row of entry {number} in `{table}` as the ledger has it: {code.replace('_', ' ')}"
    return Fault(f"ledger.{code}", message, number or None)


def find_stray(unit: Unit, name: str) -> Fault | None:
    """Report a row of a tenant that has no ledger: no audit of a tenant would read it."""
    tenant_id = unit.tables.find_stray(name, unit.ledger.tenants())
    if tenant_id is None:
        return None
    return Fault("ledger.row_unrecorded", f"`{name}` has a row of `{tenant_id[:80]}`, which has no ledger", None)


def _row_type(name: str) -> type[Struct]:
    kind = row_of(PROJECTOR.tables[name])
    assert kind is not None  # noqa: S101 - a table without it is pending
    return kind


def _fold_of(table: Table) -> Fold | None:
    return table.form.fold if isinstance(table.form, Projected | Folded | Content) else None


def _next_entry(unit: Unit, part: Part, rows: Iterator[StoredEntry], expected: int) -> StoredEntry:
    try:
        # Where a stream broke off is not certain to the entry, so from there on each is asked for by its number.
        row = _next_streamed(rows) or unit.ledger.find_entry(part.tenant_id, expected)
    except DamagedRecordError as error:
        last = _last_unreadable(unit, part.tenant_id, expected)
        what = f"entry {expected}" if last == expected else f"entries {expected} to {last}"
        raise EntryFaultError(error.code, f"{what} cannot be read: {error}", expected) from error
    if row is None:
        raise EntryFaultError("ledger.entry_missing", f"entry {expected} is missing", expected)
    return row


def _next_streamed(rows: Iterator[StoredEntry]) -> StoredEntry | None:
    try:
        return next(rows, None)
    except DamagedFileError:
        return None


def _last_unreadable(unit: Unit, tenant_id: TenantId, first: int) -> int:
    """A page holds several entries: find the last one of those that cannot be read."""
    last = first
    for number in range(first + 1, first + _TRIED):
        try:
            unit.ledger.find_entry(tenant_id, number)
        except DamagedRecordError:
            last = number
        else:
            break
    return last


def _check_reference(unit: Unit, ring: KeyRing, tenant_id: TenantId, row: StoredEntry) -> str:
    """A verdict rests on a transcript: it must be in its store, be the one that is named, and hold (SKI 7.4)."""
    number = row.sequence_number
    try:
        name = transcript_ref_of((row.llm_transcript or "").encode())
        transcript = unit.transcripts.find(tenant_id, name)
        if transcript is not None and transcript.transcript_id == name:
            check_transcript(transcript, ring)
            return name
    except Error as error:
        raise EntryFaultError(error.code, f"entry {number}: its transcript: {error}", number) from error
    raise EntryFaultError("ledger.transcript_missing", f"entry {number}: transcript `{name}` is not kept", number)


def check_transcript(transcript: Transcript, ring: KeyRing) -> None:
    record = ring.get(transcript.signing_key_id, transcript.completed_at, purpose=KeyPurpose.TRANSCRIPT)
    verify_transcript(transcript, record.raw_public_key or b"")


def _check_vote(unit: Unit, ring: KeyRing, tenant_id: TenantId, row: StoredEntry) -> None:
    """A vote is a person's decision: signed by the key that had to, about what that person was shown (Kaori law 6)."""
    number, get_entry = row.sequence_number, ledger_entries(unit, tenant_id)
    try:
        _, body = read_bronze(get_entry, number)
        about = unit.identity.recorded_in(tenant_id, parse_principal_id(body.submitted_by))
        in_force = max((one for one in about if one < number), default=None)
        verify_vote(body, get_entry, ring, in_force=in_force)
    except Error as error:
        raise EntryFaultError(error.code, f"entry {number}: its vote: {error}", number) from error
