"""The tree of a ledger as C2SP tlog-tiles has it: the newest checkpoint, and tiles.

GET /log/checkpoint -> checkpoint.show;   GET /log/tile/LEVEL/x001/067 -> tile.show
"""

import re
from typing import Any

from litestar import Request, get
from litestar.params import FromPath
from litestar.response import Response

from assay.flows.ledger.proofs import ShowCheckpoint, ShowTile
from assay.flows.request import Content
from assay.kernel.merkle import MAX_SIZE
from assay.kernel.tile import TILE_WIDTH
from assay.operations.kinds import Operation
from assay.operations.table import BY_NAME
from assay.surfaces.credential import VARY
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.errors import HttpError

_HIGHEST_LEVEL = 63
_TILE = re.compile(r"((?:x[0-9]{3}/)*)([0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?", re.ASCII)
# The answer depends on who asks, so a shared cache must not keep it; a private one may, for ever.
_IMMUTABLE = {"cache-control": "private, max-age=31536000, immutable", "vary": VARY}
_CHANGING = {"cache-control": "no-store"}
_CHECKPOINT, _SHOW_TILE = BY_NAME["checkpoint.show"], BY_NAME["tile.show"]


def _opt(one: Operation) -> dict[str, Any]:
    needs = one.needs
    return {
        "operation": one,
        "scope": needs.scope,
        "roles": needs.roles,
        "session": needs.session,
        "tier": needs.tier,
    }


@get(
    "/log/checkpoint",
    opt=_opt(_CHECKPOINT),
    media_type="text/plain",
    responses={200: described("a C2SP signed note", kind=str, media_type="text/plain"), **problems(401, 403, 404)},
)
async def show_checkpoint(request: Request[Any, Any, Any], desk: GivenDesk) -> Response[bytes]:
    """The newest signed checkpoint, with its cosignatures."""
    caller, asked = request.scope["user"], ShowCheckpoint(size="latest")
    found = await desk.run(lambda: desk.dispatch.perform(_CHECKPOINT, caller, asked))
    return Response(found.value.note.encode(), media_type="text/plain", headers=_CHANGING)


@get(
    "/log/tile/{level:str}/{place:path}",
    opt=_opt(_SHOW_TILE),
    media_type="application/octet-stream",
    responses={
        200: described("hashes, 32 bytes each", media_type="application/octet-stream"),
        **problems(400, 401, 403, 404, 422),
    },
)
async def show_tile(
    request: Request[Any, Any, Any], desk: GivenDesk, level: FromPath[str], place: FromPath[str]
) -> Response[bytes]:
    """A tile of the Merkle tree: `/log/tile/0/x001/067`, or `….p/12` for the first 12 hashes of one still growing."""
    number, index, width = parse_tile_path(level, place)
    caller, asked = request.scope["user"], ShowTile(level=number, index=index, width=width)
    found = await desk.run(lambda: desk.dispatch.perform(_SHOW_TILE, caller, asked))
    tile: Content = found.value
    return Response(tile.body, media_type=tile.media_type, headers=_IMMUTABLE if tile.is_immutable else _CHANGING)


def parse_tile_path(level: str, place: str) -> tuple[int, int, int]:
    """Level, index and width of a tile; only the canonical spelling is read."""
    match = _TILE.fullmatch(place.removeprefix("/"))
    if match is None or re.fullmatch(r"0|[1-9][0-9]?", level, re.ASCII) is None or int(level) > _HIGHEST_LEVEL:
        raise HttpError.tile_path(f"expected `LEVEL/x001/234` or `….p/WIDTH`, got `{level[:20]}/{place[:80]}`")
    groups, last, partial = match.groups()
    index = int(groups.replace("x", "").replace("/", "") + last)
    width = int(partial) if partial else TILE_WIDTH
    # A leading group of zeros would be a second path for the same tile; 256 wide is written without a suffix.
    if groups.startswith("x000/") or index > MAX_SIZE or (partial and width >= TILE_WIDTH):
        raise HttpError.tile_path(f"expected the shortest spelling of a tile's path, got `{place[:80]}`")
    return int(level), index, width
