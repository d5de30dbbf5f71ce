"""The ledger itself, its indexes, keys, transcripts, erasable values and events."""

from collections.abc import Iterator, MutableMapping
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from assay.facts.kinds import Chain, Content, Fact, Folded, Projected, Table, Transient
from assay.kernel.commitment import COMMITMENT_KEY, commit
from assay.kernel.entry import Entry
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import render_instant
from assay.kernel.key import Endorsement, Retirement
from assay.kernel.ledger import EntryKind, Event
from assay.kernel.term_index import Seal
from assay.ports.events import OutboxRow, SubscriberCursor
from assay.ports.index_store import IndexPage, IndexSegment
from assay.ports.key_store import KeyFactRow
from assay.ports.ledger_store import DisclosureRow, StoredEntry
from assay.ports.request_store import KeptRequest


class Erasure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was erased, by whom and why; this is the body of the entry that records it."""

    sequence_number: int
    pointers: tuple[str, ...]
    erased_by: PrincipalId
    reason: str


def _segment_rows(entry: Entry, seal: Seal) -> Iterator[IndexSegment]:
    yield IndexSegment(
        sequence_number=entry.sequence_number,
        first=seal.first,
        last=seal.last,
        leaves=seal.leaves,
        root=seal.root,
        previous=seal.previous,
    )


def _fold_keys(rows: MutableMapping[Any, Any], entry: Entry) -> None:
    is_added = entry.kind is EntryKind.KEY_ADDED
    fact = msgspec.json.decode(entry.body, type=Endorsement if is_added else Retirement)
    rows[entry.sequence_number] = KeyFactRow(
        kind="endorsement" if is_added else "retirement",
        sequence_number=entry.sequence_number,
        record=msgspec.json.encode(fact).decode(),
    )


def _sealed_key(row: KeyFactRow) -> KeyFactRow:
    kind = Endorsement if row.kind == "endorsement" else Retirement
    return replace(row, record=msgspec.json.encode(msgspec.json.decode(row.record, type=kind)).decode())


def disclosed_rows(entry: Entry) -> Iterator[DisclosureRow]:
    """The sealed rows of an entry: one for each commitment in its body, as long as none is erased."""
    if COMMITMENT_KEY.encode() in bytes(entry.body):
        for pointer, digest in _commitments("", msgspec.json.decode(entry.body)):
            yield DisclosureRow(sequence_number=entry.sequence_number, pointer=pointer, salt="", value=digest)


def _commitments(place: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        if value.keys() == {COMMITMENT_KEY}:
            yield place, str(value[COMMITMENT_KEY])
            return
        for name, inner in value.items():
            yield from _commitments(f"{place}/{str(name).replace('~', '~0').replace('/', '~1')}", inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _commitments(f"{place}/{number}", inner)


def _sealed_disclosure(row: DisclosureRow) -> DisclosureRow:
    """Value and salt become the commitment that they open."""
    digest = commit(msgspec.json.decode(row.value), bytes.fromhex(row.salt))
    return replace(row, salt="", value=digest)


def event_rows(entry: Entry) -> Iterator[OutboxRow]:
    """The sealed rows of the events that an entry of any kind records."""
    if entry.events is not None:
        for position, digest in enumerate(entry.events.hashes, entry.events.after + 1):
            yield OutboxRow(
                position=position,
                sequence_number=entry.sequence_number,
                type="",
                subject="",
                occurred_at=render_instant(entry.timestamp),
                body=digest,
            )


def _sealed_event(row: OutboxRow) -> OutboxRow:
    event = Event(type=row.type, subject=row.subject, body=Raw(row.body.encode()))
    return replace(row, type="", subject="", body=event.hash)


FACTS: tuple[Fact, ...] = (Fact(EntryKind.INDEX_SEALED, Seal, _segment_rows, into=(IndexSegment,)),)
TABLES = (
    Table(
        "ledger",
        Chain("each entry is hashed and linked, and every column is compared with its text"),
        columns=StoredEntry.__struct_fields__,
    ),
    Table(
        "chain",
        Chain("the head is compared with the last entry; `epoch` and `holder` only fence writers, who claim it anew"),
        columns=("tenant_id", "epoch", "holder", "sequence_number", "entry_hash"),
    ),
    Table(
        "subtree",
        Chain("hashes above the last full tile are computed from the entries and compared"),
        columns=("tenant_id", "level", "position", "hash"),
    ),
    Table(
        "tile",
        Chain("each tile is computed from its entries and compared"),
        columns=("tenant_id", "level", "position", "hashes"),
    ),
    Table(
        "checkpoint",
        Chain("each note is verified with the keys of the node, and its columns and tree are compared"),
        columns=("tenant_id", "number", "size", "root_hash", "signed_at", "note"),
    ),
    Table(
        "schema_migration",
        Chain("compared with the migrations of the program when the database is opened"),
        columns=("version", "name", "checksum", "applied_at"),
    ),
    Table("index_segment", Projected(IndexSegment), taken="the index of entry {sequence_number}"),
    Table(
        "index_page",
        Content("`root` of the segment, which its entry names; an audit builds the pages again", row=IndexPage),
    ),
    Table(
        "key_fact",
        Folded(KeyFactRow, fold=_fold_keys, folds=(EntryKind.KEY_ADDED, EntryKind.KEY_RETIRED), seal=_sealed_key),
        columns=("tenant_id", "position", "kind", "sequence_number", "record"),
    ),
    Table(
        "transcript",
        Content("the id is a hash of the transcript, which is signed by a key of the node"),
        columns=("tenant_id", "transcript_id", "record"),
    ),
    Table(
        "disclosure",
        Content("the salted commitment in the body of the entry", row=DisclosureRow, seal=_sealed_disclosure),
    ),
    Table(
        "outbox",
        Projected(OutboxRow, seal=_sealed_event),
    ),
    Table(
        "outbox_cursor",
        Transient(
            "nothing: a cursor whose MAC does not hold counts as the start: events are sent again, and none is missed",
            row=SubscriberCursor,
        ),
    ),
    Table(
        "kept_request",
        Transient(
            "nothing: an answer whose MAC does not hold is not given again; a request whose row is missing is new, and"
            " its caller alone could send it",
            row=KeptRequest,
        ),
    ),
)
