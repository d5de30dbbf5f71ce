"""What proves entries to others: checkpoints, proofs of entries, searches with their proofs, and indexes."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from assay.flows.errors import NotFoundError
from assay.flows.ledger import seal_index as sealing
from assay.flows.ledger import sign_checkpoint as signing
from assay.flows.ledger.check_entry import sound_checkpoint
from assay.flows.ledger.entries import EntryItem, SequenceNumber, entry_item, require_discloser
from assay.flows.ledger.export_proof import ProofForm, render_proof
from assay.flows.ledger.prove_record import prove_record, tlog_proof_of
from assay.flows.ledger.prove_search import prove_search as search_proof
from assay.flows.ledger.search_entries import search_entries
from assay.flows.request import (
    Content,
    FieldProblem,
    FieldsError,
    Option,
    Page,
    Paged,
    Request,
    cut,
    map_page,
    next_cursor,
    read_number,
)
from assay.flows.tools import Tools
from assay.flows.verdicts.receipts import prove_entry as prove_with_receipt
from assay.identity.caller import Caller
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant
from assay.kernel.merkle import MAX_SIZE
from assay.kernel.proof import render_tlog_proof
from assay.kernel.scitt import RECEIPT_MEDIA_TYPE, STATEMENT_MEDIA_TYPE
from assay.kernel.search_proof import render_search
from assay.kernel.term import MAX_TERM
from assay.kernel.tile import TILE_WIDTH, tile_width
from assay.ports.database import Unit
from assay.ports.index_store import IndexSegment
from assay.ports.ledger_store import KeptCheckpoint

_LATEST = "latest"
_Terms = Annotated[
    tuple[Annotated[str, Meta(min_length=3, max_length=MAX_TERM, pattern="^[^=]+=.")], ...],
    Meta(
        min_length=1,
        max_length=16,
        description="A member of an entry, however deep, and its value: `kind=verdict`, `day=2026-03-01`. "
        "An entry is found when it has all terms.",
    ),
    Option(form="argument", metavar="NAME=VALUE..."),
]


class EntryProofForm(StrEnum):
    """The forms of an entry's proof."""

    BUNDLE = "bundle"
    DSSE = "dsse"
    SCITT = "scitt"
    RECEIPT = "receipt"
    TLOG = "tlog"


_MEDIA_TYPES = {
    EntryProofForm.SCITT: STATEMENT_MEDIA_TYPE,
    EntryProofForm.RECEIPT: RECEIPT_MEDIA_TYPE,
    EntryProofForm.TLOG: "text/plain; charset=utf-8",
}
# Of proofs that are not JSON, without parameters.
MEDIA_TYPES = tuple(one.partition(";")[0] for one in _MEDIA_TYPES.values())


class ListCheckpoints(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every checkpoint."""


class ShowCheckpoint(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    size: Annotated[
        str,
        Meta(description="How many entries the checkpoint covers, or `latest`.", pattern="^(latest|[1-9][0-9]{0,18})$"),
        Option(metavar="[SIZE]"),
    ] = _LATEST


class SignCheckpoint(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing has to be said."""


class ShowTile(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    level: Annotated[int, Meta(ge=0, le=63, description="The level of the tile in the tree; 0 has the leaves.")]
    index: Annotated[int, Meta(ge=0, le=MAX_SIZE, description="The place of the tile in its level.")]
    width: Annotated[int, Meta(ge=1, le=TILE_WIDTH, description="How many hashes of it.")] = TILE_WIDTH


class ProveEntry(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sequence: Annotated[SequenceNumber, Option(metavar="SEQ")]
    format: Annotated[
        EntryProofForm,
        Meta(
            description="bundle: entry, path, checkpoint and keys for `assay verify`. dsse: an in-toto statement. "
            "scitt: a COSE statement with its receipt. receipt: that alone (RFC 9942). tlog: a C2SP tlog-proof, to "
            "verify with the entry's text beside it."
        ),
    ] = EntryProofForm.BUNDLE
    disclose: Annotated[
        bool,
        Meta(description="Put personal values that still exist into the bundle, for everybody who gets it."),
    ] = False


class SearchEntries(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    term: _Terms


class ProveSearch(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    term: _Terms


class ListIndexes(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every index."""


class SealIndex(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing has to be said."""


class CheckpointItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signed tree; `note` is the C2SP signed note itself."""

    size: int
    root_hash: str
    signed_at: Instant
    note: str


class IndexItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An index of entries `first` to `last`, whose root is logged in entry `sequence_number`."""

    sequence_number: int
    first: int
    last: int
    leaves: int
    root: Digest


class NewIndexes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Those that were logged just now; none where nothing was left to index."""

    indexes: tuple[IndexItem, ...]


def checkpoints(tools: Tools, caller: Caller, request: ListCheckpoints) -> Page[CheckpointItem]:
    """List signed checkpoints, the smallest first."""
    after = read_number("checkpoints", request.cursor)

    def look(unit: Unit) -> list[KeptCheckpoint]:
        rows: list[KeptCheckpoint] = []
        for row in unit.ledger.checkpoints(caller.tenant_id, after=after):
            rows.append(sound_checkpoint(row))
            if len(rows) > request.limit:
                break
        return rows

    found = tools.database.read(look)
    return map_page(cut("checkpoints", found, request.limit, lambda row: row.size), _checkpoint)


def checkpoint(tools: Tools, caller: Caller, request: ShowCheckpoint) -> CheckpointItem:
    """Show the checkpoint of a tree of that size, or the newest."""
    wanted = None if request.size == _LATEST else int(request.size)
    at_most = None if wanted is None else min(wanted, MAX_SIZE)
    row = tools.database.read(lambda unit: unit.ledger.find_checkpoint(caller.tenant_id, at_most=at_most))
    if row is None or (wanted is not None and row.size != wanted):
        which = "yet" if wanted is None else f"of size {request.size}"
        raise NotFoundError(f"`{caller.tenant_id}` has no checkpoint {which}")
    return _checkpoint(sound_checkpoint(row))


def sign_checkpoint(tools: Tools, caller: Caller, request: SignCheckpoint) -> CheckpointItem:  # noqa: ARG001 - no fields
    """Sign a checkpoint of the whole ledger as it is now, and ask the witnesses to sign it."""
    signing.sign_checkpoint(tools, caller.tenant_id, at=caller.at)
    row = tools.database.read(lambda unit: unit.ledger.find_checkpoint(caller.tenant_id))
    assert row is not None  # noqa: S101 - it was signed and stored just now
    return _checkpoint(row)


def tile(tools: Tools, caller: Caller, request: ShowTile) -> Content:
    """Return hashes of a tile of the Merkle tree, 32 bytes each (C2SP tlog-tiles)."""
    level, index, width = request.level, request.index, request.width

    def look(unit: Unit) -> bytes:
        # Beyond the head there is nothing yet; what is missing before it is damage, and our fault.
        there = tile_width(level, index, unit.ledger.head(caller.tenant_id).sequence_number)
        if width > there:
            raise NotFoundError(f"expected at most {there} hashes in tile {level}/{index}, got a width of {width}")
        return unit.ledger.tile(caller.tenant_id, level, index, width)

    body = tools.database.read(look)
    return Content(body=body, media_type="application/octet-stream", is_immutable=width == TILE_WIDTH)


def prove_entry(tools: Tools, caller: Caller, request: ProveEntry) -> Content:
    """Make the file that proves one entry offline to anybody who trusts this node's key.

    Refused while no checkpoint covers the entry; on the command line one is signed first. The forms other than a bundle
    are signed by the ledger's key when they are made, and never hold personal values.
    """
    form = request.format
    if request.disclose:
        require_discloser(caller)
        if form is not EntryProofForm.BUNDLE:
            raise FieldsError([FieldProblem(field="disclose", message=f"expected format `bundle`, got `{form}`")])
    if form is EntryProofForm.BUNDLE:
        bundle = prove_with_receipt(tools, caller.tenant_id, request.sequence, disclose=request.disclose)
        return Content(body=render_proof(tools, bundle, ProofForm.BUNDLE, at=caller.at))
    bundle = prove_record(tools, caller.tenant_id, request.sequence)
    if form is EntryProofForm.TLOG:
        body = render_tlog_proof(tlog_proof_of(bundle))
    else:
        body = render_proof(tools, bundle, ProofForm(form.value), at=caller.at)
    return Content(body=body, media_type=_MEDIA_TYPES.get(form, "application/json"))


def search(tools: Tools, caller: Caller, request: SearchEntries) -> Page[EntryItem]:
    """Find the entries that have every term, the oldest first, indexed or not.

    Every entry of a request has its trace: `trace_id=…` finds all of them.
    """
    after = read_number("search", request.cursor)
    answer = search_entries(tools, caller.tenant_id, request.term, after=after, limit=request.limit)
    following = next_cursor("search", answer.entries[-1].sequence_number) if answer.more else None
    return Page(items=tuple(map(entry_item, answer.entries)), next=following)


def prove_search(tools: Tools, caller: Caller, request: ProveSearch) -> Content:
    """Make the file that shows every entry that a search finds, and that none is missing.

    It covers the entries up to the newest index that a checkpoint covers. Refused while there is none; on the command
    line both are made first.
    """
    return Content(body=render_search(search_proof(tools, caller.tenant_id, request.term)))


def indexes(tools: Tools, caller: Caller, request: ListIndexes) -> Page[IndexItem]:
    """List logged indexes in order: which entries each covers, and its root."""
    after = read_number("indexes", request.cursor)
    rows = tools.database.read(lambda unit: unit.index.segments(caller.tenant_id, ending_after=after))
    return map_page(cut("indexes", rows, request.limit, lambda row: row.last), _index)


def seal_index(tools: Tools, caller: Caller, request: SealIndex) -> NewIndexes:  # noqa: ARG001 - no fields
    """Index the entries that no index covers yet, and log the root of each index.

    A server does so by itself whenever a ledger has grown by some thousand entries.
    """
    sealed = sealing.seal_index(tools, caller.tenant_id, at=caller.at)
    return NewIndexes(indexes=tuple(map(_index, sealed)))


def _checkpoint(row: KeptCheckpoint) -> CheckpointItem:
    return CheckpointItem(size=row.size, root_hash=row.root_hash, signed_at=row.signed_at, note=row.note)


def _index(segment: IndexSegment) -> IndexItem:
    return IndexItem(
        sequence_number=segment.sequence_number,
        first=segment.first,
        last=segment.last,
        leaves=segment.leaves,
        root=segment.root,
    )
