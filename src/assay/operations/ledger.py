"""Operations of the ledger: entries, checkpoints, proofs, searches and indexes."""

from assay.flows import tenants
from assay.flows.ledger import activity, entries, proofs, report, verify
from assay.flows.request import SEE_ALL
from assay.identity.principal import BuiltInRole
from assay.operations.kinds import Bulk, Change, Listing, Operation, Read, needs
from assay.operations.shown import ledger as shown

READ = needs("log:read", BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)
# As `/log/checkpoint` and `/log/tile` (C2SP tlog-tiles): a checkpoint has a size, a root and signatures, no content.
READ_TREE = needs("log:read")
WRITE = needs("log:write", BuiltInRole.OPERATOR)
ERASE = needs("log:write", BuiltInRole.OPERATOR, session=True)
FOLLOW = needs("events:read", *SEE_ALL)
_LINE = ("sequence_number", "timestamp", "kind", "body")
_SIGN_FIRST = {"proof.no_checkpoint": ("checkpoint.sign",)}

OPERATIONS: tuple[Operation, ...] = (
    Listing(
        "tenants.list",
        tenants.tenants,
        "GET /tenants",
        needs=needs("log:read", BuiltInRole.ADMIN, BuiltInRole.AUDITOR, BuiltInRole.OPERATOR),
        command="ledger tenants",
        columns=("tenant_id", "entries", "checkpoint_at"),
    ),
    Listing("entries.list", entries.entries, "GET /entries", needs=READ, command="ledger list", columns=_LINE),
    Read(
        "entry.show",
        entries.entry,
        "GET /entries/{sequence}",
        needs=READ,
        command="ledger show",
        etag="entry_hash",
        is_immutable=lambda entry: not entry.disclosed,
        shows=shown.entry_text,
    ),
    Listing(
        "activity.list",
        activity.activity,
        "GET /activity",
        needs=FOLLOW,
        command="ledger activity",
        columns=("timestamp", "text", "sequence_number"),
    ),
    Read("activity.days", activity.count_activity, "GET /activity/days", needs=FOLLOW, command="ledger activity-days"),
    Read("entry.text", entries.entry_text, "GET /entries/{sequence}/text", needs=READ, command="ledger text"),
    Change(
        "note.append",
        entries.append_note,
        "POST /entries",
        needs=WRITE,
        command="ledger append",
        method="append",
        location="/entries/{sequence_number}",
        example={"note": {"email": "amira@example.org", "text": "seen"}, "personal": ["/email"]},
        says="{sequence_number} {entry_hash}",
    ),
    Bulk(
        "notes.append",
        entries.append_notes,
        "POST /entries:bulk",
        needs=WRITE,
        method="append_many",
        example={"note": {"text": "seen"}},
    ),
    Change(
        "entry.erase",
        entries.erase_entry,
        "POST /entries/{sequence}/erase",
        needs=ERASE,
        command="erase",
        method="erase",
        example={"reason": "asked for by the person", "pointers": ["/note/email"]},
        shows=shown.erased_text,
    ),
    Listing(
        "checkpoints.list",
        proofs.checkpoints,
        "GET /checkpoints",
        needs=READ_TREE,
        command="ledger checkpoints",
        columns=("size", "signed_at", "root_hash"),
    ),
    Read(
        "checkpoint.show",
        proofs.checkpoint,
        "GET /checkpoints/{size}",
        dialects=("GET /log/checkpoint",),
        needs=READ_TREE,
        command="ledger checkpoint-show",
        shows=shown.checkpoint_note,
    ),
    Change(
        "checkpoint.sign",
        proofs.sign_checkpoint,
        "POST /checkpoints",
        needs=WRITE,
        command="ledger checkpoint",
        location="/checkpoints/{size}",
        shows=shown.checkpoint_note,
    ),
    Read(
        "ledger.verify",
        verify.verify_ledger,
        "GET /ledger/verification",
        needs=READ,
        method="audit",
        crew="report",
    ),
    Read(
        "proof.verify",
        verify.verify_proof,
        "POST /proofs/verify",
        needs=READ_TREE,
        tool="verify",
        example={"proof": "{}", "trust": []},
    ),
    Read(
        "report.make",
        report.make_report,
        "GET /reports",
        needs=READ,
        command="report",
        method="report",
        media_types=("text/html", "text/csv"),
        crew="report",
        remedies=_SIGN_FIRST,
    ),
    Read("tile.show", proofs.tile, dialects=("GET /log/tile/{level}/{place}",), needs=READ_TREE),
    Read(
        "entry.prove",
        proofs.prove_entry,
        "GET /proofs/{sequence}",
        needs=READ,
        command="ledger prove",
        media_types=proofs.MEDIA_TYPES,
        remedies=_SIGN_FIRST,
    ),
    Listing(
        "search.find",
        proofs.search,
        "GET /search",
        needs=READ,
        command="ledger search",
        columns=_LINE,
        example={"term": ["kind=note"]},
    ),
    Read(
        "search.prove",
        proofs.prove_search,
        "GET /search/proof",
        needs=READ,
        command="ledger prove-search",
        example={"term": ["kind=note"]},
        remedies={"search.no_index": ("index.seal", "checkpoint.sign")},
    ),
    Listing(
        "indexes.list",
        proofs.indexes,
        "GET /indexes",
        needs=READ,
        command="ledger indexes",
        columns=("first", "last", "leaves", "sequence_number", "root"),
    ),
    Change(
        "index.seal",
        proofs.seal_index,
        "POST /indexes",
        needs=WRITE,
        command="ledger index",
        shows=shown.indexes_text,
    ),
)
