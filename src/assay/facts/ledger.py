"""The ledger itself, its indexes, keys, transcripts, erasable values and events."""

from assay.facts.kinds import Chain, Content, Fact, Folded, Projected, Table, Transient
from assay.ports.index_store import IndexPage, IndexSegment
from assay.ports.ledger_store import StoredEntry
from assay.ports.request_store import KeptRequest

FACTS: tuple[Fact, ...] = ()
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
    Table("index_segment", Projected(IndexSegment), pending=True),
    Table("index_page", Folded(IndexPage), pending=True),
    Table(
        "key_fact",
        Projected(None),
        columns=("tenant_id", "position", "kind", "sequence_number", "record"),
        pending=True,
    ),
    Table(
        "transcript",
        Content("the id is a hash of the transcript, which is signed by a key of the node"),
        columns=("tenant_id", "transcript_id", "record"),
        pending=True,
    ),
    Table(
        "disclosure",
        Content("the salted commitment in the body of the entry"),
        columns=("tenant_id", "sequence_number", "pointer", "salt", "value"),
        pending=True,
    ),
    Table(
        "outbox",
        Projected(None),
        columns=("tenant_id", "position", "ledger_sequence", "type", "subject", "occurred_at", "body"),
        pending=True,
    ),
    Table(
        "outbox_cursor", Transient("not examined yet"), columns=("tenant_id", "subscriber", "position"), pending=True
    ),
    Table("kept_request", Transient("not examined yet", row=KeptRequest), pending=True),
)
