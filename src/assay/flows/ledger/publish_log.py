"""Publish a chain as a static tile log, only what is new; a monitor verifies everything from these files alone.

newest checkpoint -> new tiles and entry bundles -> keys.json -> checkpoint, last

The log that is there already must be the beginning of this one. Partial tiles go when their tile is full.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from assay.flows.errors.ledger import LedgerFlowError, NoCheckpointError
from assay.flows.tools import Tools
from assay.kernel.checkpoint import Checkpoint, parse_checkpoint
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.key import Endorsement, Retirement
from assay.kernel.tile import TILE_BITS, TILE_WIDTH, TileCache
from assay.kernel.tile_log import (
    CHECKPOINT_FILE,
    Place,
    bundles_of,
    partial_folders,
    render_entries,
    tiles_of,
)
from assay.ports.database import Unit
from assay.ports.ledger_store import KeptCheckpoint
from assay.ports.object_store import ObjectStore

KEYS_FILE = "keys.json"


class LogKeys(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the keys that sign checkpoints follow from the key that the node was founded with."""

    keys: tuple[Endorsement, ...]
    retirements: tuple[Retirement, ...] = ()


class Published(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A log now covers `size` entries, `new_entries` of them new; `files` were written."""

    tenant_id: TenantId
    size: int
    new_entries: int
    files: int


def publish_log(tools: Tools, tenant_id: TenantId, store: ObjectStore) -> Published:
    """Bring the published log up to the newest checkpoint; the checkpoint is written last.

    Refuses a place that holds another log, or a later state of this one than the node has.
    """
    return tools.database.read(lambda unit: _publish(unit, tenant_id, store))


def _publish(unit: Unit, tenant_id: TenantId, store: ObjectStore) -> Published:
    kept = unit.ledger.find_checkpoint(tenant_id)
    if kept is None:
        raise NoCheckpointError(f"`{tenant_id}` has no checkpoint yet: sign one with `assay ledger checkpoint`")
    known = _published_size(unit, tenant_id, store, kept)
    files = 0
    for name, content in _new_files(unit, tenant_id, known, kept):
        store.write(name, content)
        files += 1
    for place in tiles_of(kept.size, after=known):
        if place.is_full:
            _remove_partials(store, place, known)
    return Published(tenant_id=tenant_id, size=kept.size, new_entries=kept.size - known, files=files)


def _published_size(unit: Unit, tenant_id: TenantId, store: ObjectStore, kept: KeptCheckpoint) -> int:
    content = store.read(CHECKPOINT_FILE)
    if content is None:
        if store.names("tile/"):
            raise LedgerFlowError.other_log("expected an empty place or a tile log, got tiles without a checkpoint")
        return 0
    try:
        there = parse_checkpoint(content).checkpoint
    except Error as error:
        raise LedgerFlowError.other_log(f"the place holds a checkpoint that cannot be read: {error}") from error
    own = parse_checkpoint(kept.note.encode()).checkpoint
    _require_beginning(unit, tenant_id, there, own)
    return there.size


def _require_beginning(unit: Unit, tenant_id: TenantId, there: Checkpoint, own: Checkpoint) -> None:
    if there.origin != own.origin:
        raise LedgerFlowError.other_log(f"expected a log of `{own.origin}`, got one of `{there.origin[:80]}`")
    if there.size > own.size:
        raise LedgerFlowError.other_log(
            f"the published log has {there.size} entries, the newest checkpoint covers {own.size}: the node was rolled "
            "back, or the place belongs to another tenant; run `assay ledger verify --full`"
        )
    cache = TileCache(lambda *place: unit.ledger.tile(tenant_id, *place))
    if cache.root_hash(there.size) != there.root:
        raise LedgerFlowError.other_log(
            f"the published log of {there.size} entries is not the beginning of this one: keep it as evidence, and run "
            "`assay ledger verify --full`"
        )


def _new_files(unit: Unit, tenant_id: TenantId, known: int, kept: KeptCheckpoint) -> Iterable[tuple[str, bytes]]:
    for place in tiles_of(kept.size, after=known):
        yield place.path, unit.ledger.tile(tenant_id, *place)
    for place in bundles_of(kept.size, after=known):
        first = place.number * TILE_WIDTH + 1
        rows = unit.ledger.entries(tenant_id, first=first, last=first + place.width - 1)
        yield render_entries(place, [row.text for row in rows])
    keys = LogKeys(keys=tuple(unit.keys.endorsements()), retirements=tuple(unit.keys.retirements()))
    yield KEYS_FILE, msgspec.json.encode(keys)
    yield CHECKPOINT_FILE, kept.note.encode()


def _remove_partials(store: ObjectStore, place: Place, known: int) -> None:
    """A tile that was published before it was full has narrower forms beside it."""
    if known <= place.number << (TILE_BITS * (place.level + 1)):
        return
    for folder in partial_folders(place):
        for name in store.names(folder):
            store.remove(name)
