"""`/api/v1/entries`, `checkpoints` and `proofs`: the caller's own ledger, as it is proven."""

import re
from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response

from assay.flows.answer_once import Reply
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.ledger.append_note import append_note
from assay.flows.ledger.show_entries import ShownEntry, show_entries, show_stored
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.flows.verdicts.prove_verdict import prove_entry
from assay.identity.principal import BuiltInRole
from assay.kernel.bundle import render_bundle
from assay.kernel.merkle import MAX_SIZE
from assay.ports.database import Unit
from assay.ports.ledger_store import KeptCheckpoint
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow
from assay.surfaces.http.query import parse_query
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import (
    PREFIX,
    PageQuery,
    changes,
    found,
    lists,
    lists_operation,
    made,
    one_operation,
)
from assay.surfaces.http.v1.one import answer_one, answer_page
from assay.surfaces.http.v1.page import cut, read_number
from assay.surfaces.http.v1.shapes import (
    CheckpointItem,
    CheckpointPage,
    EntryItem,
    EntryPage,
    EntryReceipt,
    NewEntry,
)

__all__ = [
    "EntriesQuery",
    "entry_item",
    "list_checkpoints",
    "list_entries",
    "read_sequence",
    "record_entry",
    "show_checkpoint",
    "show_entry",
    "show_proof",
    "sign_new_checkpoint",
]

_READ = allow(scope="log:read", roles=[BuiltInRole.AUDITOR, BuiltInRole.OPERATOR])
_WRITE = allow(scope="log:write", roles=[BuiltInRole.OPERATOR])
_ENTRIES, _CHECKPOINTS = f"{PREFIX}/entries", f"{PREFIX}/checkpoints"


class EntriesQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The oldest first; only those of a kind, where it is named. A page may then be short, and still have a next."""

    kind: str | None = None


@get(
    _ENTRIES,
    opt=_READ,
    operation_class=lists_operation(EntriesQuery),
    responses=lists(f"GET {_ENTRIES}", EntryPage),
)
async def list_entries(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Entries in order, from the first on."""
    wanted = parse_query(EntriesQuery, request)
    after, tenant_id = read_number("entries", wanted.cursor), caller.principal.tenant_id

    def look(unit: Unit) -> list[ShownEntry]:
        last = after + wanted.limit + 1
        return [show_stored(unit, row) for row in unit.ledger.entries(tenant_id, first=after + 1, last=last)]

    rows = await desk.run(lambda: desk.tools.database.read(look))
    page, following = cut("entries", rows, wanted.limit, lambda row: row.sequence_number)
    shown = tuple(entry_item(row) for row in page if wanted.kind is None or row.kind == wanted.kind)
    return answer_page(request, EntryPage(items=shown, next=following))


@get(
    f"{_ENTRIES}/{{sequence:str}}",
    opt=_READ,
    operation_class=one_operation(),
    responses=found(f"GET {_ENTRIES}/{{sequence}}", EntryItem),
)
async def show_entry(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    sequence: FromPath[str],
) -> Response[bytes]:
    """One entry; its hash is the ETag, and it never changes."""
    tenant_id, number = caller.principal.tenant_id, read_sequence(sequence)

    def look() -> ShownEntry:
        found: list[ShownEntry] = []
        show_entries(desk.tools, tenant_id, found.append, first=number, last=number)
        return found[0]

    entry = await desk.run(look)
    return answer_one(request, entry_item(entry), etag=entry.entry_hash, is_immutable=True)


@post(
    _ENTRIES,
    opt=_WRITE,
    operation_class=changes(
        NewEntry, example={"note": {"email": "amira@example.org", "text": "seen"}, "personal": ["/email"]}
    ),
    responses=made(f"POST {_ENTRIES}", EntryReceipt),
)
async def record_entry(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Append a note to the caller's ledger."""
    received = await read_body(request)

    def work(tools: Tools) -> Reply:
        wanted, now = parse_body(NewEntry, received), tools.clock.now()
        receipt = append_note(tools, caller.principal, wanted.note, personal=wanted.personal, at=now).result()
        desk.metrics.appends.labels(tenant=receipt.tenant_id).inc()
        told = EntryReceipt(
            tenant_id=receipt.tenant_id,
            sequence_number=receipt.sequence_number,
            entry_hash=receipt.entry_hash,
            timestamp=receipt.timestamp,
        )
        return reply_json(told, status=201, location=f"{_ENTRIES}/{receipt.sequence_number}")

    return await change(request, desk, caller, received, work)


@get(
    _CHECKPOINTS,
    opt=_READ,
    operation_class=lists_operation(),
    responses=lists(f"GET {_CHECKPOINTS}", CheckpointPage),
)
async def list_checkpoints(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Signed checkpoints, the smallest first."""
    wanted = parse_query(PageQuery, request)
    after, tenant_id = read_number("checkpoints", wanted.cursor), caller.principal.tenant_id

    def look(unit: Unit) -> list[KeptCheckpoint]:
        rows: list[KeptCheckpoint] = []
        for row in unit.ledger.checkpoints(tenant_id, after=after):
            rows.append(row)
            if len(rows) > wanted.limit:
                break
        return rows

    rows = await desk.run(lambda: desk.tools.database.read(look))
    page, following = cut("checkpoints", rows, wanted.limit, lambda row: row.size)
    return answer_page(request, CheckpointPage(items=tuple(map(_checkpoint, page)), next=following))


@get(
    f"{_CHECKPOINTS}/{{size:str}}",
    opt=_READ,
    operation_class=one_operation(),
    responses=found(f"GET {_CHECKPOINTS}/{{size}}", CheckpointItem),
)
async def show_checkpoint(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated], size: FromPath[str]
) -> Response[bytes]:
    """The checkpoint of a tree of that size; `latest` is the newest."""
    tenant_id, wanted = caller.principal.tenant_id, None if size == "latest" else read_sequence(size)
    row = await desk.run(
        lambda: desk.tools.database.read(lambda unit: unit.ledger.find_checkpoint(tenant_id, at_most=wanted))
    )
    if row is None or (wanted is not None and row.size != wanted):
        raise NotFoundError(f"`{tenant_id}` has no checkpoint of size {size[:20]}")
    return answer_one(request, _checkpoint(row), is_immutable=wanted is not None)


@post(
    _CHECKPOINTS,
    opt=_WRITE,
    operation_class=changes(),
    responses=made(f"POST {_CHECKPOINTS}", CheckpointItem),
)
async def sign_new_checkpoint(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Sign the tree as it is now, and ask the witnesses."""
    tenant_id = caller.principal.tenant_id

    def work(tools: Tools) -> Reply:
        sign_checkpoint(tools, tenant_id, at=tools.clock.now())
        row = tools.database.read(lambda unit: unit.ledger.find_checkpoint(tenant_id))
        assert row is not None  # noqa: S101 - it was signed and stored just now
        return reply_json(_checkpoint(row), status=201, location=f"{_CHECKPOINTS}/{row.size}")

    return await change(request, desk, caller, await request.body(), work, is_repeatable=True)


@get(
    f"{PREFIX}/proofs/{{sequence:str}}",
    opt=_READ,
    operation_class=one_operation(),
    responses=found(f"GET {PREFIX}/proofs/{{sequence}}", dict[str, Any], 409, words="a proof bundle"),
)
async def show_proof(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    sequence: FromPath[str],
) -> Response[bytes]:
    """Everything that proves an entry offline, but whom to trust; 409 while no checkpoint covers it."""
    tenant_id, number = caller.principal.tenant_id, read_sequence(sequence)
    bundle = await desk.run(lambda: render_bundle(prove_entry(desk.tools, tenant_id, number)))
    return answer_one(request, bundle)


def read_sequence(text: str) -> int:
    """A number from 1 on; anything else is not found."""
    if re.fullmatch(r"[1-9][0-9]{0,18}", text, re.ASCII) is None or int(text) > MAX_SIZE:
        raise NotFoundError(f"expected a number from 1 on, got `{text[:80]}`")
    return int(text)


def entry_item(shown: ShownEntry) -> EntryItem:
    return EntryItem(
        sequence_number=shown.sequence_number,
        entry_hash=shown.entry_hash,
        previous_hash=shown.previous_hash,
        timestamp=shown.timestamp,
        kind=shown.kind,
        body=msgspec.json.decode(shown.body),
        text=shown.text,
    )


def _checkpoint(row: KeptCheckpoint) -> CheckpointItem:
    return CheckpointItem(size=row.size, root_hash=row.root_hash, signed_at=row.signed_at, note=row.note)
