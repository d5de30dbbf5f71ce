"""The caller's own ledger: checkpoint, tiles, entries and proofs, and a way to record a note.

Every route works on the tenant of the principal who asks; no route takes a tenant.
Checkpoint and tiles are C2SP tlog-tiles under the prefix `/log`.
"""

import re
from dataclasses import dataclass
from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import OpenAPIFormat, OpenAPIMediaType, OpenAPIResponse, OpenAPIType, Schema
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.answer_once import Reply
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.ledger.append_note import append_note
from assay.flows.ledger.export_proof import ProofForm, export_proof
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole
from assay.kernel.errors import Blame
from assay.kernel.instant import render_instant
from assay.kernel.ledger import Receipt
from assay.kernel.merkle import MAX_SIZE
from assay.kernel.scitt import RECEIPT_MEDIA_TYPE, STATEMENT_MEDIA_TYPE
from assay.kernel.tile import TILE_WIDTH, tile_width
from assay.ports.database import Pending, Unit
from assay.surfaces.credential import VARY
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.describe import asks, described, problems
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.errors import HttpError
from assay.surfaces.http.guard import allow
from assay.surfaces.http.query import parse_query
from assay.surfaces.http.v1.change import change, find_key, reply_json
from assay.surfaces.http.v1.common import changes

__all__ = [
    "NoteReceipt",
    "NoteRequest",
    "ProofQuery",
    "TilePathError",
    "parse_tile_path",
    "record_note",
    "show_checkpoint",
    "show_entry",
    "show_proof",
    "show_tile",
]

_READERS = (BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)
_HIGHEST_LEVEL = 63
_TILE = re.compile(r"((?:x[0-9]{3}/)*)([0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?", re.ASCII)
# The answer depends on who asks, so a shared cache must not keep it; a private one may, for ever.
_IMMUTABLE = {"cache-control": "private, max-age=31536000, immutable", "vary": VARY}
_CHANGING = {"cache-control": "no-store"}
_MEDIA_TYPES = {
    ProofForm.BUNDLE: "application/json",
    ProofForm.DSSE: "application/json",
    ProofForm.SCITT: STATEMENT_MEDIA_TYPE,
    ProofForm.RECEIPT: RECEIPT_MEDIA_TYPE,
}


class TilePathError(HttpError):
    """A tile's path is not the one spelling that C2SP tlog-tiles gives it."""

    code = "http.tile_path"
    blame = Blame.INPUT


class NoteRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A note to record; `personal` lists JSON pointers into it whose values may be erased later."""

    note: dict[str, Any]
    personal: tuple[str, ...] = ()


class ProofQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In which form."""

    format: ProofForm = ProofForm.BUNDLE


@dataclass
class _ProofOperation(asks(ProofQuery)):  # type: ignore[misc]  # a class that is made for the query
    """The answer is JSON or one of two kinds of CBOR."""

    def __post_init__(self) -> None:
        super().__post_init__()
        answer = (self.responses or {}).get("200")
        if isinstance(answer, OpenAPIResponse):
            binary = OpenAPIMediaType(schema=Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY))
            answer.content = {**(answer.content or {}), STATEMENT_MEDIA_TYPE: binary, RECEIPT_MEDIA_TYPE: binary}


class NoteReceipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The durable acknowledgement."""

    tenant_id: str
    sequence_number: int
    entry_hash: str
    timestamp: str


@get(
    "/log/checkpoint",
    opt=allow(scope="log:read"),
    media_type="text/plain",
    responses={200: described("a C2SP signed note", kind=str, media_type="text/plain"), **problems(401, 403, 404)},
)
async def show_checkpoint(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """The newest signed checkpoint, with its cosignatures."""
    tenant_id = caller.principal.tenant_id
    kept = await desk.run(lambda: desk.tools.database.read(lambda unit: unit.ledger.find_checkpoint(tenant_id)))
    if kept is None:
        raise NotFoundError(f"`{tenant_id}` has no checkpoint yet")
    return Response(kept.note.encode(), media_type="text/plain", headers=_CHANGING)


@get(
    "/log/tile/{level:str}/{place:path}",
    opt=allow(scope="log:read"),
    media_type="application/octet-stream",
    responses={
        200: described("hashes, 32 bytes each", media_type="application/octet-stream"),
        **problems(400, 401, 403, 404, 422),
    },
)
async def show_tile(
    desk: GivenDesk, caller: NamedDependency[Authenticated], level: FromPath[str], place: FromPath[str]
) -> Response[bytes]:
    """A tile of the Merkle tree: `/log/tile/0/x001/067`, or `….p/12` for the first 12 hashes of one still growing."""
    number, index, width = parse_tile_path(level, place)
    tenant_id = caller.principal.tenant_id

    def read(unit: Unit) -> bytes:
        # Beyond the head there is nothing yet; what is missing before it is damage, and our fault.
        there = tile_width(number, index, unit.ledger.head(tenant_id).sequence_number)
        if width > there:
            raise NotFoundError(f"expected at most {there} hashes in tile {number}/{index}, got a width of {width}")
        return unit.ledger.tile(tenant_id, number, index, width)

    tile = await desk.run(lambda: desk.tools.database.read(read))
    headers = _IMMUTABLE if width == TILE_WIDTH else _CHANGING
    return Response(tile, media_type="application/octet-stream", headers=headers)


@get(
    "/log/entries/{sequence:str}",
    opt=allow(scope="log:read", roles=_READERS),
    responses={200: described("the entry's canonical text", kind=dict[str, Any]), **problems(400, 401, 403, 404)},
)
async def show_entry(
    desk: GivenDesk, caller: NamedDependency[Authenticated], sequence: FromPath[str]
) -> Response[bytes]:
    """The entry exactly as it was hashed: SHA-256 of this body is the `entry_hash`, which is also the ETag."""
    tenant_id, number = caller.principal.tenant_id, _sequence(sequence)
    row = await desk.run(lambda: desk.tools.database.read(lambda unit: unit.ledger.find_entry(tenant_id, number)))
    if row is None:
        raise NotFoundError(f"`{tenant_id}` has no entry {number}")
    return Response(row.text, media_type="application/json", headers={**_IMMUTABLE, "etag": f'"{row.entry_hash}"'})


@get(
    "/log/proof/{sequence:str}",
    opt=allow(scope="log:read", roles=_READERS),
    operation_class=_ProofOperation,
    responses={
        200: described("a proof: JSON, or CBOR for `scitt` and `receipt`", kind=dict[str, Any]),
        **problems(400, 401, 403, 404, 409, 422),
    },
)
async def show_proof(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    sequence: FromPath[str],
) -> Response[bytes]:
    """Everything that proves the entry offline, but whom to trust; 409 while no checkpoint covers it.

    `format` is `bundle`, `dsse` (an in-toto statement), `scitt` (a COSE statement with its receipt) or `receipt`.
    """
    tenant_id, number = caller.principal.tenant_id, _sequence(sequence)
    form = parse_query(ProofQuery, request).format
    now = desk.tools.clock.now()
    content = await desk.run(lambda: export_proof(desk.tools, tenant_id, number, form, at=now))
    return Response(content, media_type=_MEDIA_TYPES[form], headers=_CHANGING)


@post(
    "/log/entries",
    opt=allow(scope="log:write", roles=[BuiltInRole.OPERATOR]),
    operation_class=changes(NoteRequest),
    responses={
        201: described("on disk; the receipt names its place", kind=NoteReceipt),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def record_note(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Append a note to the caller's ledger; answered only when it is on disk, and under a key once."""
    received = await read_body(request)

    def submit(tools: Tools) -> Pending[Receipt]:
        wanted = parse_body(NoteRequest, received)
        return append_note(tools, caller.principal, wanted.note, personal=wanted.personal, at=desk.tools.clock.now())

    if find_key(request) is not None:
        return await change(request, desk, caller, received, lambda tools: _told(desk, submit(tools).result()))
    receipt = await desk.settle(lambda: submit(desk.tools))
    desk.metrics.appends.labels(tenant=receipt.tenant_id).inc()
    return Response(
        msgspec.json.encode(_shown(receipt)),
        status_code=201,
        media_type="application/json",
        headers={**_CHANGING, "location": f"/log/entries/{receipt.sequence_number}"},
    )


def parse_tile_path(level: str, place: str) -> tuple[int, int, int]:
    """Level, index and width of a tile; only the canonical spelling is read."""
    match = _TILE.fullmatch(place.removeprefix("/"))
    if match is None or re.fullmatch(r"0|[1-9][0-9]?", level, re.ASCII) is None or int(level) > _HIGHEST_LEVEL:
        raise TilePathError(f"expected `LEVEL/x001/234` or `….p/WIDTH`, got `{level[:20]}/{place[:80]}`")
    groups, last, partial = match.groups()
    index = int(groups.replace("x", "").replace("/", "") + last)
    width = int(partial) if partial else TILE_WIDTH
    # A leading group of zeros would be a second path for the same tile; 256 wide is written without a suffix.
    if groups.startswith("x000/") or index > MAX_SIZE or (partial and width >= TILE_WIDTH):
        raise TilePathError(f"expected the shortest spelling of a tile's path, got `{place[:80]}`")
    return int(level), index, width


def _sequence(text: str) -> int:
    if re.fullmatch(r"[1-9][0-9]{0,18}", text, re.ASCII) is None or int(text) > MAX_SIZE:
        raise NotFoundError(f"expected a sequence number from 1 on, got `{text[:80]}`")
    return int(text)


def _told(desk: Desk, receipt: Receipt) -> Reply:
    desk.metrics.appends.labels(tenant=receipt.tenant_id).inc()
    return reply_json(_shown(receipt), status=201, location=f"/log/entries/{receipt.sequence_number}")


def _shown(receipt: Receipt) -> NoteReceipt:
    return NoteReceipt(
        tenant_id=receipt.tenant_id,
        sequence_number=receipt.sequence_number,
        entry_hash=receipt.entry_hash,
        timestamp=render_instant(receipt.timestamp),
    )
