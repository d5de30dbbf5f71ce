"""Entries of a ledger: list, show, quote, append, erase; what is shown is read from the text that is hashed.

caller -> rows in order, of one kind or all -> the proven text of each, with personal values where they were asked for
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from assay.facts.ledger import Erasure
from assay.flows.errors import NotFoundError
from assay.flows.errors.identity import IdentityFlowError
from assay.flows.identity.authenticate import confirm
from assay.flows.ledger.erase_record import erase_entry_in
from assay.flows.ledger.seal_draft import seal_draft
from assay.flows.ledger.show_entries import ShownEntry, require_sound, show_stored
from assay.flows.request import (
    LINES,
    BulkLine,
    Content,
    Document,
    FieldProblem,
    FieldsError,
    Option,
    Page,
    Paged,
    Reason,
    Request,
    next_cursor,
    read_number,
)
from assay.flows.tools import Tools
from assay.identity.authorise import require_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.json_text import parse_json
from assay.kernel.ledger import EntryKind, Receipt
from assay.kernel.merkle import MAX_SIZE
from assay.ports.database import Pending, Unit
from assay.ports.ledger_store import StoredEntry

SequenceNumber = Annotated[int, Meta(ge=1, le=MAX_SIZE, description="The number of an entry, from 1 on.")]
_Sequence = Annotated[SequenceNumber, Option(metavar="SEQ")]


class ListEntries(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: Annotated[str | None, Meta(description="Only entries of this kind, such as `verdict`.")] = None
    first: Annotated[
        SequenceNumber, Meta(description="Begin with this entry."), Option(flag="--from", metavar="SEQ")
    ] = 1
    last: Annotated[
        SequenceNumber | None, Meta(description="End with this entry."), Option(flag="--to", metavar="SEQ")
    ] = None
    order: Annotated[
        Literal["oldest", "newest"], Meta(description="Whether the oldest or the newest entries come first.")
    ] = "oldest"


class ShowEntry(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sequence: _Sequence
    disclose: Annotated[
        bool,
        Meta(description="Put personal values that still exist back in place; for operators."),
    ] = False


class QuoteEntry(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sequence: _Sequence


class AppendNote(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    note: Annotated[dict[str, Any], Meta(description="The note: any JSON object."), Option(form="argument")]
    personal: Annotated[
        tuple[str, ...],
        Meta(description="JSON pointers into the note to personal values, sealed so that they can be erased."),
    ] = ()


class AppendNotes(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    notes: Annotated[
        bytes,
        Meta(description="One note in each line: an object with `note`, and `personal` where it has personal values."),
        Document(kind=AppendNote, media_type=LINES, metavar="FILE|-"),
    ]


class EraseEntry(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sequence: _Sequence
    reason: Reason
    pointers: Annotated[
        tuple[str, ...],
        Meta(description="Only the values at these JSON pointers; without them, all."),
        Option(flag="--pointer", metavar="POINTER"),
    ] = ()


class EntryItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An entry; `text` is what is hashed and proven, `body` a part of it.

    `trace_id` is the trace of the request that wrote it; `disclosed` names the personal values that were put in place.
    """

    sequence_number: int
    entry_hash: Digest
    previous_hash: Digest
    timestamp: str
    kind: str
    body: dict[str, Any]
    text: str
    trace_id: str | None = None
    disclosed: tuple[str, ...] = ()


class ErasedEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An erasure, the entry that records it, and whether the bytes have left the database's files already."""

    erasure: Erasure
    receipt: Receipt
    scrubbed: bool


def entries(tools: Tools, caller: Caller, request: ListEntries) -> Page[EntryItem]:
    """List entries by number, all or those of one kind.

    Each is hashed again; one that was changed is refused (`ledger.fault`). `assay ledger verify` checks the chain.
    """
    is_newest = request.order == "newest"
    place = read_number("entries", request.cursor)
    first, last = request.first, request.last
    if place and is_newest:
        last = min(place - 1, place - 1 if last is None else last)
    elif place:
        first = max(first, place + 1)

    def look(unit: Unit) -> list[ShownEntry]:
        rows = unit.ledger.select(
            caller.tenant_id, kind=request.kind, first=first, last=last, newest=is_newest, limit=request.limit + 1
        )
        return [show_stored(unit, row) for row in rows]

    found = tools.database.read(look)
    items = tuple(entry_item(row) for row in found[: request.limit])
    following = next_cursor("entries", items[-1].sequence_number) if len(found) > request.limit else None
    return Page(items=items, next=following)


def entry(tools: Tools, caller: Caller, request: ShowEntry) -> EntryItem:
    """Show one entry; its hash is the ETag, and it never changes."""
    if request.disclose:
        require_discloser(caller)

    def look(unit: Unit) -> ShownEntry:
        row = unit.ledger.find_entry(caller.tenant_id, request.sequence)
        if row is None:
            raise NotFoundError(f"`{caller.tenant_id}` has no entry {request.sequence}")
        return show_stored(unit, row, disclose=request.disclose)

    return entry_item(tools.database.read(look))


def entry_text(tools: Tools, caller: Caller, request: QuoteEntry) -> Content:
    """Return the text of one entry exactly as it was hashed: its SHA-256 is the entry's hash."""

    def look(unit: Unit) -> StoredEntry:
        row = unit.ledger.find_entry(caller.tenant_id, request.sequence)
        if row is None:
            raise NotFoundError(f"`{caller.tenant_id}` has no entry {request.sequence}")
        require_sound(unit, row)
        return row

    row = tools.database.read(look)
    return Content(body=row.text, etag=row.entry_hash, is_immutable=True)


def append_note(tools: Tools, caller: Caller, request: AppendNote) -> Receipt:
    """Append a note to the caller's ledger; it is on disk when the receipt is returned.

    A note of the operator of the node's folder is the body of its entry; that of another caller names who recorded it.
    """
    return submit_note(tools, caller, request).result()


def append_notes(tools: Tools, caller: Caller, request: AppendNotes) -> tuple[BulkLine, ...]:
    """Append notes in lines; each is on disk or refused by itself, in order, and many share a commit."""
    waiting = [_submitted(tools, caller, line) for line in request.notes.splitlines() if line.strip()]
    return tuple(_settled(number, one) for number, one in enumerate(waiting, start=1))


def _submitted(tools: Tools, caller: Caller, line: bytes) -> Pending[Receipt] | Error:
    try:
        note = msgspec.convert(parse_json(line), AppendNote)
        return submit_note(tools, caller, note)
    except msgspec.ValidationError as error:
        return FieldsError([FieldProblem(field="", message=str(error), pointer="")])
    except Error as error:
        return error


def _settled(number: int, waiting: Pending[Receipt] | Error) -> BulkLine:
    try:
        if isinstance(waiting, Error):
            raise waiting
        receipt = waiting.result()
    except Error as error:
        return BulkLine(line=number, status="refused", code=error.code, problem=str(error))
    return BulkLine(line=number, status="recorded", receipt=msgspec.to_builtins(receipt))


def submit_note(tools: Tools, caller: Caller, request: AppendNote) -> Pending[Receipt]:
    """Hand the note to the writer without waiting; notes of many callers share one commit."""
    body, pointers = request.note, list(request.personal)
    if not caller.is_local:
        body = {"note": request.note, "recorded_by": caller.principal.id}
        pointers = [f"/note{pointer}" for pointer in request.personal]
    return tools.database.submit(seal_draft(tools, caller.tenant_id, EntryKind.NOTE, body, pointers, at=caller.at))


def erase_entry(tools: Tools, caller: Caller, request: EraseEntry) -> ErasedEntry:
    """Erase the personal values of an entry, or the evidence it attached: all, or what is named.

    The entry and its proofs stay valid; an entry records who erased what and why. Copies in backups and exports are not
    reached. Bytes may stay in the database's files for a while: a reader keeps them, and PostgreSQL removes them later.
    """

    def work(unit: Unit) -> tuple[Erasure, Receipt]:
        by = confirm(unit, caller).principal.id
        return erase_entry_in(
            unit,
            caller.tenant_id,
            request.sequence,
            request.pointers or None,
            by=by,
            reason=request.reason,
            at=caller.at,
        )

    erasure, receipt = tools.database.write(work)
    return ErasedEntry(erasure=erasure, receipt=receipt, scrubbed=tools.database.scrub())


def require_discloser(caller: Caller) -> None:
    """Raise unless the caller may see personal values: an operator, present in a session of their own."""
    require_role(caller.principal, [BuiltInRole.OPERATOR])
    if not caller.has_session:
        raise IdentityFlowError.session_required(
            f"expected a session of an operator to disclose personal values, got {caller.via}"
        )


def entry_item(shown: ShownEntry) -> EntryItem:
    return EntryItem(
        sequence_number=shown.sequence_number,
        entry_hash=shown.entry_hash,
        previous_hash=shown.previous_hash,
        timestamp=shown.timestamp,
        kind=shown.kind,
        body=msgspec.json.decode(shown.body),
        text=shown.text,
        trace_id=shown.trace_id,
        disclosed=shown.disclosed,
    )
