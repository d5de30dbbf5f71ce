"""Rows of every table as JSON lines, the same for both databases. A test compares the list with the schema."""

import binascii
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import NamedTuple

import msgspec
from msgspec import Struct

from assay.adapters.sql.chains import ENTRY_COLUMNS
from assay.adapters.sql.parts import marks
from assay.adapters.sql.row import columns_of
from assay.adapters.sql.rows import Rows, stored_columns
from assay.adapters.sql.session import Row
from assay.kernel.ids import TenantId
from assay.ports.access_store import UsedNonce
from assay.ports.archive import BackupError
from assay.ports.claims_store import (
    EvidenceContent,
    EvidenceFact,
    ReceivedBundle,
    RecordedDecision,
    ReleasedClaimsPolicy,
    TakenTurn,
)
from assay.ports.delivery_store import (
    AnswerFinding,
    AskedPeople,
    CertifiedRule,
    ConcludedItem,
    DeliveredAnswer,
    GrantedReporter,
    OpenedItem,
    ProposedRule,
    RecordedQuery,
    RecordedRule,
    RuleCounters,
    RuleSignal,
    StoredPair,
    StoredSignal,
    TrainingJobRow,
    TrainingResultRow,
)
from assay.ports.desk_store import HeldRow, PendingPower, SavedDraft, SavedView, StoredAct, StoredEscalation
from assay.ports.events import OutboxRow, SubscriberCursor
from assay.ports.graph_store import GraphActivation, GraphVersion
from assay.ports.index_store import IndexPage, IndexSegment
from assay.ports.model_store import ModelActivation, ModelEvaluation, RegisteredModel
from assay.ports.peer_store import RecordedAgreement
from assay.ports.permit_store import (
    ApprovedDefinition,
    ClaimedPermit,
    EndedMandate,
    EndedPermit,
    GatewayCall,
    IssuedPermit,
    ReleasedGatewayTable,
    ReportedEffect,
    SignedMandate,
    UsedMandate,
)
from assay.ports.registry_store import (
    ChangedTier,
    HeldLease,
    IndexedService,
    NodeKey,
    NodeKeyEnd,
    NodeProof,
    NodeSwitchFact,
)
from assay.ports.request_store import KeptRequest
from assay.ports.telemetry_store import TelemetryDrop
from assay.ports.trust_store import FoldMark, LoggedSignal, RegisteredPolicy
from assay.ports.truth_store import FrozenTrust, ReleasedContract, SilverState, TruthRecord
from assay.ports.verdict_store import EgressNote, VerdictRow
from assay.ports.webhook_store import EndedWebhook, StoredWebhook, WebhookAttempts
from assay.review.lease import Lease

_AT_ONCE = 1000


class MalformedRowError(BackupError):
    """A line of a backup is not a row of its table."""

    code = "backup.row"


class Table(NamedTuple):
    """A table's columns, how many of the first make its order, and which hold bytes.

    The last `added` columns are newer than the first release; rows of older backups lack them.
    """

    columns: tuple[str, ...]
    order: tuple[str, ...]
    binary: tuple[str, ...] = ()
    # Bytes that are UTF-8, kept readable in the archive.
    text: tuple[str, ...] = ()
    added: int = 0


def _table_of(kind: type[msgspec.Struct], *order: str, binary: tuple[str, ...] = (), added: int = 0) -> Table:
    """A table whose rows are records of that kind in a tenant."""
    return Table(("tenant_id", *columns_of(kind)), ("tenant_id", *order), binary=binary, added=added)


_BY_PLACE = ("tenant_id", "level", "position")
# In the order of loading: the chain's heads after the entries they name.
TABLES: dict[str, Table] = {
    "ledger": Table(ENTRY_COLUMNS, ("tenant_id", "sequence_number"), binary=("leaf_hash",), text=("text",), added=1),
    "chain": Table(("tenant_id", "epoch", "holder", "sequence_number", "entry_hash"), ("tenant_id",)),
    "subtree": Table((*_BY_PLACE, "hash"), _BY_PLACE, binary=("hash",)),
    "tile": Table((*_BY_PLACE, "hashes"), _BY_PLACE, binary=("hashes",)),
    "checkpoint": Table(
        ("tenant_id", "number", "size", "root_hash", "signed_at", "note"),
        ("tenant_id", "number"),
    ),
    "index_segment": _table_of(IndexSegment, "sequence_number"),
    "index_page": _table_of(IndexPage, "sequence_number", "position", binary=("first_key", "root", "content")),
    "key_fact": Table(("position", "kind", "tenant_id", "sequence_number", "record"), ("position",)),
    "transcript": Table(("tenant_id", "transcript_id", "record"), ("tenant_id", "transcript_id")),
    "disclosure": Table(
        ("tenant_id", "sequence_number", "pointer", "salt", "value"),
        ("tenant_id", "sequence_number", "pointer"),
    ),
    "outbox": _table_of(OutboxRow, "position"),
    "outbox_cursor": _table_of(SubscriberCursor, "subscriber", added=1),
    "credential": Table(
        ("credential_id", "kind", "tenant_id", "principal_id", "record", "sequence_number"),
        ("tenant_id", "sequence_number"),
    ),
    "signing_key": Table(("key_id", "tenant_id", "principal_id", "record", "sequence_number"), ("key_id",), added=1),
    "request_nonce": Table(columns_of(UsedNonce), ("key_id", "nonce")),
    "login_failure": Table(("subject", "count", "failed_at"), ("subject",)),
    "ticket": Table(
        ("tenant_id", "ticket_id", "position", "kind", "opened_at", "record", "about"),
        ("tenant_id", "ticket_id"),
    ),
    "answer": Table(
        ("tenant_id", "ticket_id", "position", "answered_by", "record"),
        ("tenant_id", "ticket_id", "position"),
    ),
    "settlement": Table(("tenant_id", "ticket_id", "record"), ("tenant_id", "ticket_id")),
    "ticket_place": Table(
        ("tenant_id", "ticket_id", "position", "kind", "about", "is_open", "place", "due_at"),
        ("tenant_id", "ticket_id"),
    ),
    "truth_contract": _table_of(ReleasedContract, "claim_type"),
    "truth_record": _table_of(TruthRecord, "truthkey", "kind", "record_hash"),
    "trust_snapshot": _table_of(FrozenTrust, "snapshot_hash"),
    "truth_state": _table_of(SilverState, "truthkey", "version"),
    "truth_due": Table(("tenant_id", "truthkey", "version", "due_at"), ("tenant_id", "truthkey")),
    "trust_signal": _table_of(LoggedSignal, "sequence_number"),
    "trust_policy": _table_of(RegisteredPolicy, "policy_id"),
    "trust_mark": _table_of(FoldMark, "policy_hash"),
    "graph_version": _table_of(GraphVersion, "sequence_number"),
    "graph_activation": _table_of(GraphActivation, "sequence_number"),
    "telemetry_drop": _table_of(TelemetryDrop, "subject", "sequence_number"),
    "verdict_index": _table_of(VerdictRow, "sequence_number", added=1),
    "egress_note": _table_of(EgressNote, "sequence_number"),
    "claims_policy": _table_of(ReleasedClaimsPolicy, "sequence_number"),
    "claims_bundle": _table_of(ReceivedBundle, "bundle_hash"),
    "claims_decision": _table_of(RecordedDecision, "bundle_hash", "position"),
    "claims_turn": _table_of(TakenTurn, "bundle_hash"),
    "claims_evidence": _table_of(EvidenceFact, "sha256"),
    "claims_evidence_content": _table_of(EvidenceContent, "sha256", binary=("content",)),
    "switch_fact": _table_of(NodeSwitchFact, "service_id", "position", added=1),
    "service_key": _table_of(NodeKey, "service_id", "key_id", added=1),
    "service_key_end": _table_of(NodeKeyEnd, "service_id", "key_id", added=1),
    "service_lease": _table_of(HeldLease, "service_id", "instance_id"),
    "service_entry": _table_of(IndexedService, "service_id", added=1),
    "service_proof": _table_of(NodeProof, "service_id", "measured_at", added=1),
    "tier_change": _table_of(ChangedTier, "subject", "version", added=1),
    "rule_version": _table_of(RecordedRule, "rule_id", "version"),
    "rule_certification": _table_of(CertifiedRule, "sequence_number", "rule_id"),
    "query_type": _table_of(RecordedQuery, "slug", "version"),
    "reporter_grant": _table_of(GrantedReporter, "sequence_number"),
    "delivered_answer": _table_of(DeliveredAnswer, "answer_id"),
    "outcome_signal": _table_of(StoredSignal, "signal_id", added=1),
    "rule_outcome": _table_of(RuleSignal, "rule_id", "sequence_number", added=1),
    "rule_counter": _table_of(RuleCounters, "rule_id", added=1),
    "root_cause": _table_of(OpenedItem, "item_id", added=1),
    "root_cause_ticket": _table_of(AskedPeople, "item_id", added=1),
    "root_cause_conclusion": _table_of(ConcludedItem, "item_id", added=1),
    "rule_proposal": _table_of(ProposedRule, "item_id", added=1),
    "answer_finding": _table_of(AnswerFinding, "answer_id", "sequence_number"),
    "training_pair": _table_of(StoredPair, "pair_id", added=1),
    "training_job": _table_of(TrainingJobRow, "job_id", added=1),
    "training_result": _table_of(TrainingResultRow, "job_id"),
    "peer_agreement": _table_of(RecordedAgreement, "sequence_number", added=1),
    "webhook": _table_of(StoredWebhook, "webhook_id"),
    "webhook_end": _table_of(EndedWebhook, "webhook_id"),
    "webhook_attempt": _table_of(WebhookAttempts, "webhook_id"),
    "model": _table_of(RegisteredModel, "weight_hash"),
    "model_evaluation": _table_of(ModelEvaluation, "sequence_number"),
    "model_activation": _table_of(ModelActivation, "sequence_number"),
    "permit": _table_of(IssuedPermit, "permit_id"),
    "permit_claim": _table_of(ClaimedPermit, "permit_id"),
    "permit_report": _table_of(ReportedEffect, "sequence_number"),
    "permit_end": _table_of(EndedPermit, "permit_id"),
    "mandate": _table_of(SignedMandate, "mandate_id"),
    "mandate_use": _table_of(UsedMandate, "mandate_id", "position"),
    "mandate_end": _table_of(EndedMandate, "mandate_id"),
    "gateway_table": _table_of(ReleasedGatewayTable, "version"),
    "gateway_definition": _table_of(ApprovedDefinition, "sequence_number"),
    "gateway_call": _table_of(GatewayCall, "sequence_number"),
    "desk_act": _table_of(StoredAct, "ticket_id", "sequence_number"),
    "desk_escalation": _table_of(StoredEscalation, "ticket_id", "stage"),
    "desk_lease": _table_of(Lease, "ticket_id", "made_by"),
    "desk_held": _table_of(HeldRow, "ticket_id", "made_by"),
    "desk_draft": _table_of(SavedDraft, "ticket_id", "made_by"),
    "desk_pending": _table_of(PendingPower, "ticket_id"),
    "desk_view": _table_of(SavedView, "made_by", "name"),
    "kept_request": _table_of(KeptRequest, "principal_id", "request_key", added=1),
}


# Tables whose rows had no number of an entry in 0.1.0: the kinds of these entries, and what tells rows apart.
_NUMBERED = {
    "switch_fact": ("switch.fired", "switch.restored"),
    "service_key": ("service.key_added",),
    "service_key_end": ("service.key_revoked",),
    "service_proof": ("proof.measured",),
    "service_entry": ("service.listed",),
    "tier_change": ("tier.changed",),
    "credential": ("credential.issued",),
    "signing_key": ("credential.issued",),
}
_KEYS = {
    "credential": ("credential_id",),
    "signing_key": ("credential_id",),
    "switch_fact": ("service_id", "position"),
    "service_key": ("service_id", "key_id"),
    "service_key_end": ("service_id", "key_id"),
    "service_proof": ("service_id", "proof_hash"),
    "service_entry": ("service_id",),
    "tier_change": ("subject", "version"),
}


# Rows of 0.1.0 were also written under entries of these kinds, which say nothing of them.
_UNRECORDED = {
    "rule_version": ("graph.activated", "contract.released"),
    "rule_certification": ("graph.activated",),
}


class SqlTableStore:
    """Implements `ports.archive.TableStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._session = rows.session

    def names(self) -> tuple[str, ...]:
        return tuple(TABLES)

    def is_empty(self, table: str) -> bool:
        return not self._session.query(f"SELECT 1 FROM {_known(table)} LIMIT 1")  # noqa: S608 - a name of our list

    def dump(self, table: str) -> Iterator[bytes]:
        shape = TABLES[_known(table)]
        rows = self._session.stream(
            f"SELECT {', '.join(shape.columns)} FROM {table} ORDER BY {', '.join(shape.order)}"  # noqa: S608 - our constants
        )
        texts = _places(shape, shape.text)
        encoder = msgspec.json.Encoder()
        for row in rows:
            yield encoder.encode(_readable(row, texts)) + b"\n"

    def encode(self, row: Struct) -> bytes:
        return msgspec.msgpack.encode(stored_columns(row))

    def stored(self, row: type[Struct], tenant_id: TenantId, *, last: int | None = None) -> Iterator[tuple[int, bytes]]:
        return self._rows.encoded(row, tenant_id, last)

    def sample(self, row: type[Struct], tenant_id: TenantId, *, after: int, count: int) -> Iterable[tuple[int, bytes]]:
        found = self._rows.sampled(row, "tenant_id = ? AND sequence_number > ?", (tenant_id, after), count)
        rest = count - len(found)
        before = "tenant_id = ? AND sequence_number <= ?"
        return [*found, *(self._rows.sampled(row, before, (tenant_id, after), rest) if rest else ())]

    def count(self, table: str, tenant_id: TenantId) -> int:
        rows = self._session.query(f"SELECT count(*) FROM {_known(table)} WHERE tenant_id = ?", (tenant_id,))  # noqa: S608 - a name of our list
        return int(rows[0][0])

    def find_stray(self, table: str, tenants: Iterable[TenantId]) -> str | None:
        known = tuple(tenants)
        found = self._session.query(
            f"SELECT tenant_id FROM {_known(table)}"  # noqa: S608 - a name of our list
            f" WHERE tenant_id NOT IN ({marks(known)}) LIMIT 1",
            known,
        )
        return str(found[0][0]) if found else None

    def load(self, table: str, lines: Iterable[bytes]) -> int:
        shape = TABLES[_known(table)]
        # Every line counts, also one whose row is left out.
        read = count()
        rows = self._numbered(table, self._recorded(table, _counted(_rows(table, shape, lines), read)))
        if table == "credential":
            rows = map(_renamed, rows)
        if table == "truth_record":
            rows = self._placed(rows)
        while some := list(islice(rows, _AT_ONCE)):
            self._session.insert(table, shape.columns, some)
        return next(read)

    def _placed(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Fingerprints of older backups have rows under more keys than their entry names, and other ids."""
        for row in rows:
            tenant_id, kind, truthkey, record_id, record_hash, *_, number = row
            if kind != "fingerprint":
                yield row
                continue
            texts = self._session.query(
                "SELECT text FROM ledger WHERE tenant_id = ? AND sequence_number = ?", (tenant_id, number)
            )
            if texts and truthkey not in msgspec.json.decode(texts[0][0])["body"].get("truthkeys", ()):
                continue
            if str(record_id).startswith("embedding_"):
                record_id = f"embedding.{str(record_id).partition('.')[2]}.{record_hash}"
            yield (tenant_id, kind, truthkey, record_id, *row[4:])

    def _numbered(self, table: str, rows: Iterable[Row]) -> Iterator[Row]:
        """Rows of older backups get the number of the entry that they follow from; entries are loaded before them."""
        kinds = _NUMBERED.get(table)
        if kinds is None:
            yield from rows
            return
        known: dict[tuple[object, ...], int] | None = None
        for row in rows:
            if row[-1] is not None:
                yield row
                continue
            if known is None:
                known = dict(self._numbers(table, kinds))
            places = dict(zip(TABLES[table].columns, row, strict=True))
            places.setdefault("credential_id", places.get("key_id"))
            yield (*row[:-1], known.get((places["tenant_id"], *(places[name] for name in _KEYS[table]))))

    def _recorded(self, table: str, rows: Iterable[Row]) -> Iterable[Row]:
        """Without the rows of 0.1.0 that no entry committed to; opening the node makes them anew from the ledger."""
        if table == "rule_counter":
            return (row for row in rows if row[-1] is not None)
        if table == "answer_finding":
            return ((*row[:-1], abs(row[-1])) for row in rows if row[-1] > 0 or self._kind(row) == "answer.remarked")
        kinds = _UNRECORDED.get(table)
        return rows if kinds is None else (row for row in rows if self._kind(row) not in kinds)

    def _kind(self, row: Row) -> str | None:
        """The kind of the entry that the last column names."""
        sql = "SELECT kind FROM ledger WHERE tenant_id = ? AND sequence_number = ?"
        found = self._session.query(sql, (row[0], abs(row[-1])))
        return str(found[0][0]) if found else None

    def _numbers(self, table: str, kinds: tuple[str, ...]) -> Iterator[tuple[tuple[object, ...], int]]:
        passwords: Counter[str] = Counter()
        for kind in kinds:
            rows = self._session.query(
                "SELECT tenant_id, sequence_number, text FROM ledger WHERE kind = ? ORDER BY sequence_number", (kind,)
            )
            for tenant_id, number, text in rows:
                body = msgspec.json.decode(text)["body"]
                place = 2 * body.get("episode", 0) - (kind == "switch.fired")
                if body.get("credential") == "password":
                    name = f"password/{tenant_id}/{body['principal_id']}"
                    passwords[name] += 1
                    body["credential_id"] = f"{name}/{passwords[name]}"
                told = {**body, "position": place}
                yield (tenant_id, *(told[name] for name in _KEYS[table])), number


def _counted(rows: Iterable[Row], read: "count[int]") -> Iterator[Row]:
    for row in rows:
        next(read)
        yield row


def _renamed(row: Row) -> Row:
    """Passwords of 0.1.0 were counted by their ids; now all of a principal have one id."""
    return (f"password/{row[3]}", *row[1:]) if row[1] == "password" else row


def _known(table: str) -> str:
    if table not in TABLES:
        raise MalformedRowError(f"expected a table of ours, got `{table[:80]}`")
    return table


def _places(shape: Table, names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(shape.columns.index(name) for name in names)


def _readable(row: Row, texts: tuple[int, ...]) -> list[object]:
    """Bytes become base64 by themselves; those that are text become text."""
    values = list(row)
    for place in texts:
        try:
            values[place] = bytes(values[place]).decode()
        except UnicodeDecodeError as error:
            raise MalformedRowError(f"a row is damaged and cannot be backed up: {error.reason}") from error
    return values


def _rows(table: str, shape: Table, lines: Iterable[bytes]) -> Iterator[Row]:
    texts, binaries = _places(shape, shape.text), _places(shape, shape.binary)
    decoder = msgspec.json.Decoder(list[str | int | None])
    for number, line in enumerate(lines, 1):
        try:
            values: list[object] = list(decoder.decode(line))
            if len(values) == len(shape.columns) - shape.added:
                values += [None] * shape.added
            if table == "answer_finding" and isinstance(values[2], int):
                # Rows of 0.1.0 have a position; they are told apart by a negative number.
                values = [*values[:2], values[3], -int(str(values[4]))]
            if table == "credential" and isinstance(values[-1], str):
                # Rows of 0.1.0 have a position before the record, and no number.
                values = [*values[:4], values[-1], None]
            if len(values) != len(shape.columns):
                raise MalformedRowError(f"expected {len(shape.columns)} values in `{table}`, got {len(values)}")
            for place in binaries:
                values[place] = b64decode(str(values[place]), validate=True)
            for place in texts:
                values[place] = str(values[place]).encode()
        except (msgspec.MsgspecError, binascii.Error) as error:
            raise MalformedRowError(f"line {number} of `{table}` is not a row: {error}") from error
        yield tuple(values)
