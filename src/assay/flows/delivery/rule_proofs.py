"""Rows about rules and reporters, believed only as far as the ledger says the same: each is held against its entry.

row -> the entry that it names -> the body that it must have come from | store.damaged_record
A row is what a level or a counter rests on, so one that was put beside the ledger decides nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import msgspec
from msgspec import Struct

from assay.delivery.outcome import ReporterGrant
from assay.delivery.rule import Certification, RuleSource, RuleVersion
from assay.flows.delivery.delivery_entry import delivery_entry, read_text
from assay.kernel.digest import digest_of
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.delivery_store import CertifiedRule, RecordedRule
from assay.ports.ledger_store import StoredEntry

# A graph and a contract bring their rules with them, under the entry that brought them into use.
_BROUGHT_BY = {RuleSource.GRAPH: EntryKind.GRAPH_ACTIVATED, RuleSource.CONTRACT: EntryKind.CONTRACT_RELEASED}


class _Accepted(Struct, frozen=True, kw_only=True):
    reviewed_by: tuple[PrincipalId, ...] = ()


class RuleProofs:
    """Reads rows of one tenant with their entries; an entry that brought many rules is read once."""

    def __init__(self, unit: Unit, tenant_id: TenantId) -> None:
        self._unit = unit
        self._tenant_id = tenant_id
        self._entries: dict[int, Entry] = {}
        self._stored: dict[int, StoredEntry] = {}
        self._sources: dict[tuple[str, int], RuleSource] = {}

    def read_entries(self, numbers: Iterable[int]) -> None:
        """The entries of many rows at once, for whoever asks about each of them next."""
        self._stored = self._unit.ledger.find_entries(self._tenant_id, numbers)

    def version(self, row: RecordedRule) -> RuleVersion:
        """The version that a row tells of, with the content that its hash stands for."""
        told = read_text(row.text, RuleVersion)
        kept = (told.rule_id, told.version, told.content_hash)
        _require(kept == (row.rule_id, row.version, row.content_hash), row.sequence_number)
        _require(digest_of(row.content.encode()) == told.content_hash, row.sequence_number)
        entry = self._entry(row.sequence_number)
        if entry.kind is EntryKind.RULE_RECORDED:
            self._require_body(entry, told, told.recorded_at)
        else:
            _require(entry.kind is _BROUGHT_BY.get(told.source), row.sequence_number)
        self._sources[told.rule_id, told.version] = told.source
        return told

    def certification(self, row: CertifiedRule) -> Certification:
        """The certification that a row tells of; its version is read before it."""
        told = read_text(row.text, Certification)
        _require((told.rule_id, told.version) == (row.rule_id, row.version), row.sequence_number)
        entry = self._entry(row.sequence_number)
        if entry.kind is EntryKind.RULE_CERTIFIED:
            self._require_body(entry, told, told.certified_at)
        else:
            # Only whoever accepted a graph stands by its rules without an entry of their own.
            is_of_graph = self._sources.get((told.rule_id, told.version)) is RuleSource.GRAPH
            _require(is_of_graph and entry.kind is EntryKind.GRAPH_ACTIVATED, row.sequence_number)
            _require(told.certified_by in _reviewers(entry), row.sequence_number)
        return told

    def _entry(self, sequence_number: int) -> Entry:
        if sequence_number not in self._entries:
            stored = self._stored.get(sequence_number)
            self._entries[sequence_number] = (
                _entry_of(self._unit, self._tenant_id, sequence_number)
                if stored is None
                else _held(stored, sequence_number)
            )
        return self._entries[sequence_number]

    def _require_body(self, entry: Entry, told: Struct, at: Instant) -> None:
        draft = delivery_entry(self._tenant_id, entry.kind, told, at=at)
        _require(bytes(draft.body) == bytes(entry.body), entry.sequence_number)


def check_rows(unit: Unit, tenant_id: TenantId) -> Iterator[str]:
    """Each row about a rule that the ledger does not bear out."""
    proofs = RuleProofs(unit, tenant_id)
    for version in tuple(unit.delivery.every_rule(tenant_id)):
        yield from _problem(f"{version.rule_id}@{version.version}", partial(proofs.version, version))
    for certified in tuple(unit.delivery.every_certification(tenant_id)):
        name = f"{certified.rule_id}@{certified.version} certified"
        yield from _problem(name, partial(proofs.certification, certified))


def find_granted(unit: Unit, tenant_id: TenantId, principal_id: PrincipalId) -> ReporterGrant | None:
    """The grant in force."""
    row = unit.delivery.find_grant(tenant_id, principal_id)
    return None if row is None else read_text(row.text, ReporterGrant)


def _problem(name: str, look: Callable[[], object]) -> Iterator[str]:
    try:
        look()
    except DamagedRecordError as error:
        yield f"{name}: {error}"


def _reviewers(entry: Entry) -> tuple[PrincipalId, ...]:
    return msgspec.json.decode(entry.body, type=_Accepted).reviewed_by


def _entry_of(unit: Unit, tenant_id: TenantId, sequence_number: int) -> Entry:
    return _held(unit.ledger.find_entry(tenant_id, sequence_number), sequence_number)


def _held(stored: StoredEntry | None, sequence_number: int) -> Entry:
    if stored is None or digest_of(stored.text) != stored.entry_hash:
        raise DamagedRecordError(f"expected entry {sequence_number} beside a row about rules, got none that holds")
    return parse_entry(stored.text)


def _require(is_same: bool, sequence_number: int) -> None:  # noqa: FBT001  it is what is required
    if not is_same:
        raise DamagedRecordError(f"expected a row about rules to say what entry {sequence_number} says, got another")
