"""Give the ledger away in a form that others read: texts, a static tile log, or a proof for each entry.

one state of the database -> files by name -> whoever puts them somewhere
"""

from collections.abc import Callable, Iterator
from enum import StrEnum

from msgspec import Struct

from assay.flows.errors.ledger import LedgerFlowError, NoCheckpointError
from assay.flows.ledger.prove_record import bundle_of
from assay.flows.tools import Tools
from assay.kernel.bundle import render_bundle
from assay.kernel.ids import TenantId
from assay.kernel.tile import TILE_BITS, TILE_WIDTH, TileCache, tile_path, tile_width
from assay.ports.database import Unit
from assay.ports.ledger_store import KeptCheckpoint

# Called with a file's name and more of its content; a name comes once, or for a growing file several times in a row.
Put = Callable[[str, bytes], None]
_LONGEST = 0xFFFF


class ExportForm(StrEnum):
    """`ndjson`: entry texts, one per line. `tiles`: C2SP tlog-tiles. `bundle`: a proof bundle for each entry."""

    BUNDLE = "bundle"
    NDJSON = "ndjson"
    TILES = "tiles"


class Exported(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was given away; `checkpoint_size` is None where no checkpoint goes with it."""

    tenant_id: TenantId
    form: ExportForm
    entries: int
    checkpoint_size: int | None


def export_ledger(
    tools: Tools,
    tenant_id: TenantId,
    form: ExportForm,
    put: Put,
    *,
    first: int = 1,
    last: int | None = None,
) -> Exported:
    """Read one state and hand it out piece by piece; a tile log is always whole, so it takes no range."""
    export = {ExportForm.NDJSON: _texts, ExportForm.BUNDLE: _bundles, ExportForm.TILES: _tiles}[form]
    return tools.database.read(lambda unit: export(unit, tenant_id, put, first, last))


def _texts(unit: Unit, tenant_id: TenantId, put: Put, first: int, last: int | None) -> Exported:
    count = 0
    put("entries.ndjson", b"")
    for row in unit.ledger.entries(tenant_id, first=first, last=last):
        put("entries.ndjson", row.text + b"\n")
        count += 1
    return Exported(tenant_id=tenant_id, form=ExportForm.NDJSON, entries=count, checkpoint_size=None)


def _bundles(unit: Unit, tenant_id: TenantId, put: Put, first: int, last: int | None) -> Exported:
    kept = _checkpoint(unit, tenant_id)
    numbers = range(first, (kept.size if last is None else last) + 1)
    # One cache for all, so that neighbours share the tiles they have in common.
    cache = TileCache(lambda *place: unit.ledger.tile(tenant_id, *place))
    for number in numbers:
        put(f"entry-{number:09d}.json", render_bundle(bundle_of(unit, tenant_id, number, cache=cache)))
    return Exported(tenant_id=tenant_id, form=ExportForm.BUNDLE, entries=len(numbers), checkpoint_size=kept.size)


def _tiles(unit: Unit, tenant_id: TenantId, put: Put, _first: int, _last: int | None) -> Exported:
    """The checkpoint comes last: whoever sees it finds everything it speaks of."""
    kept = _checkpoint(unit, tenant_id)
    for level, index, width in _places(kept.size):
        put(tile_path(level, index, width), unit.ledger.tile(tenant_id, level, index, width))
    for index in range(-(-kept.size // TILE_WIDTH)):
        width = tile_width(0, index, kept.size)
        put(_entries_path(index, width), _entry_bundle(unit, tenant_id, index, width))
    put("checkpoint", kept.note.encode())
    return Exported(tenant_id=tenant_id, form=ExportForm.TILES, entries=kept.size, checkpoint_size=kept.size)


def _places(size: int) -> Iterator[tuple[int, int, int]]:
    level = 0
    while size >> (TILE_BITS * level):
        count = -(-(size >> (TILE_BITS * level)) // TILE_WIDTH)
        yield from ((level, index, tile_width(level, index, size)) for index in range(count))
        level += 1


def _entries_path(index: int, width: int) -> str:
    return tile_path(0, index, width).replace("tile/0/", "tile/entries/", 1)


def _entry_bundle(unit: Unit, tenant_id: TenantId, index: int, width: int) -> bytes:
    """256 entries, each after its length in 16 bits, big-endian."""
    first = index * TILE_WIDTH + 1
    texts = [row.text for row in unit.ledger.entries(tenant_id, first=first, last=first + width - 1)]
    for number, text in enumerate(texts, first):
        if len(text) > _LONGEST:
            raise LedgerFlowError.entry_too_long(
                f"expected at most {_LONGEST} bytes for a tile log, got {len(text)} in entry {number}; export ndjson"
            )
    return b"".join(len(text).to_bytes(2) + text for text in texts)


def _checkpoint(unit: Unit, tenant_id: TenantId) -> KeptCheckpoint:
    kept = unit.ledger.find_checkpoint(tenant_id)
    if kept is None:
        raise NoCheckpointError(f"`{tenant_id}` has no checkpoint yet: sign one with `assay ledger checkpoint`")
    return kept
