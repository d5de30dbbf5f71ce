"""Whether the tables of truth are what the ledger holds: every row has its entry, and every entry its rows.

entries in order | rows in the order of their entries -> one beside the other -> what is on one side alone, or differs
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice, product
from typing import Annotated, Any, Generic, TypeVar

from msgspec import Meta, Struct

from assay.flows.ledger.compare_rows import RowProblem
from assay.flows.request import Option, Request
from assay.flows.tools import Tools
from assay.flows.truth.truth_entry import BRONZE_KINDS, evidence_of, known_fingerprints
from assay.flows.truth.vouch_rows import find_contract_fault, find_record_fault, find_snapshot_fault, find_state_fault
from assay.identity.caller import Caller
from assay.kernel.ids import TenantId
from assay.kernel.json_text import parse_json
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry
from assay.ports.truth_store import FrozenTrust, RecordKind, ReleasedContract, SilverState, TruthRecord

_MOST_PROBLEMS = 100

T = TypeVar("T", TruthRecord, FrozenTrust, SilverState, ReleasedContract)
_DIFFERS, _MISSING, _UNRECORDED = "truth.row_differs", "truth.row_missing", "truth.row_unrecorded"


class TableFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is wrong with the tables from entry `first` on: at most the first hundred problems."""

    first: int
    last: int
    problems: tuple[RowProblem, ...]

    @property
    def holds(self) -> bool:
        return not self.problems


class CheckTables(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    newest: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Compare with the newest so many entries; else with all."),
        Option(metavar="N"),
    ] = None


class TablesReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the tables of truth hold what the entries from `first` to `last` hold; at most a hundred problems."""

    holds: bool
    first: int
    last: int
    problems: tuple[RowProblem, ...]


def check_truth_tables(tools: Tools, caller: Caller, request: CheckTables) -> TablesReport:
    """Compare the tables that truth is compiled from with the ledger, row by row, in both directions."""
    found = check_tables(tools, caller.tenant_id, newest=request.newest)
    return TablesReport(holds=found.holds, first=found.first, last=found.last, problems=found.problems)


def check_tables(tools: Tools, tenant_id: TenantId, *, newest: int | None = None) -> TableFinding:
    """Compare the tables with all entries, or with the `newest` so many."""

    def work(unit: Unit) -> TableFinding:
        last = unit.ledger.head(tenant_id).sequence_number
        first = 1 if newest is None else max(1, last - newest + 1)
        problems = tuple(islice(check_bronze(unit, tenant_id, first=first), _MOST_PROBLEMS))
        return TableFinding(first=first, last=last, problems=problems)

    return tools.database.read(work)


def check_bronze(unit: Unit, tenant_id: TenantId, *, first: int = 1) -> Iterator[RowProblem]:
    """Every problem in the order of entries, from `first` on; none if all holds. That they form a chain, an audit says.

    Reads everything from there and keeps only fingerprints in mind, however much there is.
    """
    return _Walk(unit, tenant_id, first).problems()


class _Rows(Generic[T]):
    """Rows of one table that come by in the order of their entries, each looked at once."""

    def __init__(self, table: str, rows: Iterable[T]) -> None:
        self.table = table
        self._rows: Iterator[T] = iter(rows)
        self._next: T | None = next(self._rows, None)

    def before(self, number: int | None) -> Iterator[T]:
        """Those of earlier entries; of all where there is no number."""
        while self._next is not None and (number is None or self._next.sequence_number < number):
            yield self._take(self._next)

    def of(self, number: int) -> list[T]:
        found: list[T] = []
        while self._next is not None and self._next.sequence_number == number:
            found.append(self._take(self._next))
        return found

    def _take(self, row: T) -> T:
        self._next = next(self._rows, None)
        return row


class _Walk:
    def __init__(self, unit: Unit, tenant_id: TenantId, first: int) -> None:
        self._unit, self._tenant_id, self._first = unit, tenant_id, first
        contracts = [one for one in unit.truth.contracts(tenant_id) if one.sequence_number >= first]
        self._records = _Rows("truth_record", unit.truth.record_log(tenant_id, first=first))
        self._snapshots = _Rows("trust_snapshot", unit.truth.snapshot_log(tenant_id, first=first))
        self._states = _Rows("truth_state", unit.truth.state_log(tenant_id, first=first))
        self._contracts = _Rows("truth_contract", sorted(contracts, key=lambda one: one.sequence_number))
        # Fingerprints by id, and under which keys beyond their entry's own they stand though nobody was seen to bring
        # them there yet.
        self._fingerprints: dict[str, int] = {}
        self._brought: set[tuple[int, str]] = set()
        self._unexplained: dict[tuple[int, str], TruthRecord] = {}

    def problems(self) -> Iterator[RowProblem]:
        for row in self._unit.ledger.entries(self._tenant_id, first=self._first):
            yield from self._unrecorded(row.sequence_number)
            yield from self._problems_at(row)
        yield from self._unrecorded(None)
        yield from self._left_over()

    def _unrecorded(self, number: int | None) -> Iterator[RowProblem]:
        for rows in (self._records, self._snapshots, self._states, self._contracts):
            for row in rows.before(number):
                yield _problem(_UNRECORDED, rows.table, row.sequence_number)

    def _problems_at(self, row: StoredEntry) -> Iterator[RowProblem]:
        number, kind = row.sequence_number, row.kind
        records, snapshots = self._records.of(number), self._snapshots.of(number)
        states, contracts = self._states.of(number), self._contracts.of(number)
        if kind in BRONZE_KINDS:
            yield from self._record_problems(row, records)
            records = []
        elif kind == EntryKind.SNAPSHOT_FROZEN:
            yield from _compared("trust_snapshot", number, [find_snapshot_fault(one, row.text) for one in snapshots])
            snapshots = []
        elif kind == EntryKind.TRUTH_STATE:
            yield from _compared("truth_state", number, [find_state_fault(one, row.text) for one in states])
            states = []
        elif kind == EntryKind.CONTRACT_RELEASED:
            yield from _compared("truth_contract", number, [find_contract_fault(one, row.text) for one in contracts])
            contracts = []
        for table, odd in (
            ("truth_record", records),
            ("trust_snapshot", snapshots),
            ("truth_state", states),
            ("truth_contract", contracts),
        ):
            yield from (_problem(_UNRECORDED, table, number) for _ in odd)

    def _record_problems(self, row: StoredEntry, rows: list[TruthRecord]) -> Iterator[RowProblem]:
        number, body = row.sequence_number, _body(row)
        named = {str(key) for key in body.get("truthkeys") or ()}
        for key in sorted(named - {one.truthkey for one in rows}):
            yield _problem(_MISSING, "truth_record", number, f" under `{key[:200]}`")
        for one in rows:
            is_elsewhere = one.kind is RecordKind.FINGERPRINT and one.truthkey not in named
            fault = find_record_fault(one, row.text, lambda one=one: frozenset([one.record_id.rpartition(".")[2]]))  # type: ignore[misc]  # a default binds the loop's variable
            if fault is not None:
                yield RowProblem(code=_DIFFERS, message=fault, entry=number)
            elif is_elsewhere:
                self._unexplained[number, one.truthkey] = one
            if one.kind is RecordKind.FINGERPRINT:
                self._fingerprints[one.record_id] = number
                self._brought.add((number, one.truthkey))
        if row.kind == EntryKind.OBSERVATION_RECORDED:
            yield from self._missing_fingerprints(named, body.get("record"))

    def _missing_fingerprints(self, keys: set[str], record: object) -> Iterator[RowProblem]:
        """One that was known when the observation came stands under its key too."""
        if not isinstance(record, dict):
            return
        known = chain.from_iterable(known_fingerprints(one, self._fingerprints.get) for one in evidence_of(record))
        for number, key in product(known, keys):
            self._unexplained.pop((number, key), None)
            if (number, key) not in self._brought:
                yield _problem(_MISSING, "truth_record", number, f" under `{key[:200]}`")

    def _left_over(self) -> Iterator[RowProblem]:
        """Attached to an observation that was there before: then the key has one with that evidence."""
        for (number, key), row in sorted(self._unexplained.items()):
            sha256 = row.record_id.rpartition(".")[2]
            records = self._unit.truth.records(self._tenant_id, key)
            if not any(sha256 in one.text for one in records if one.kind is RecordKind.OBSERVATION):
                yield _problem(_UNRECORDED, "truth_record", number, f" under `{key[:200]}`")


def _compared(table: str, number: int, faults: list[str | None]) -> Iterator[RowProblem]:
    """What is wrong with each row of an entry that has one."""
    if not faults:
        yield _problem(_MISSING, table, number)
    for fault in faults:
        if fault is not None:
            yield _problem(_DIFFERS, table, number)


def _problem(code: str, table: str, number: int, where: str = "") -> RowProblem:
    words = {
        _DIFFERS: f"expected the row of entry {number} in `{table}` as the ledger has it, got another",
        _MISSING: f"expected the row of entry {number} in `{table}`{where}, got none",
        _UNRECORDED: f"expected every row in `{table}`{where} to have its entry, got one that names entry {number}",
    }
    return RowProblem(code=code, message=words[code], entry=number)


def _body(row: StoredEntry) -> Mapping[str, Any]:
    entry = parse_json(row.text)
    body = entry.get("body") if isinstance(entry, dict) else None
    return body if isinstance(body, dict) else {}
