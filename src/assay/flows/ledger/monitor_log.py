"""Follow a published tile log and verify all of it, with nothing but its files and a key that is trusted.

checkpoint -> signature -> growth since the last visit -> each new entry: leaf, link, number -> tiles -> signed root

What was seen is kept, so that an entry is read once. A signed log that is not what was seen before has forked: the two
signed checkpoints prove it to anybody.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.ledger.publish_log import KEYS_FILE, LogKeys
from assay.kernel.checkpoint import Checkpoint, SignedCheckpoint, parse_checkpoint, verify_checkpoint
from assay.kernel.cosignature import verify_cosignatures
from assay.kernel.digest import ZERO_DIGEST, Digest, digest_of
from assay.kernel.entry import parse_entry
from assay.kernel.errors import Error, MerkleError
from assay.kernel.growth import EMPTY_GROWTH, Grown, Growth, grow
from assay.kernel.ids import TenantId
from assay.kernel.key import KeyPurpose, KeyRing, TrustAnchors, trusted_keys
from assay.kernel.merkle import HASH_SIZE, leaf_hash
from assay.kernel.tile import TILE_BITS, TILE_WIDTH, TileCache, tile_width
from assay.kernel.tile_log import CHECKPOINT_FILE, Place, bundle_paths, bundles_of, parse_entries
from assay.ports.object_store import ObjectStore


class Seen(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a monitor keeps between two visits: the newest checkpoint that held, and the tree below it."""

    format: Literal["assay-monitor/1"] = "assay-monitor/1"
    note: str
    tenant_id: TenantId
    entry_hash: Digest
    growth: Growth

    @property
    def checkpoint(self) -> Checkpoint:
        return parse_checkpoint(self.note.encode()).checkpoint


class LogFault(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What does not hold; `entry` is the first bad entry, where one can be named. Of a fork, both signed notes."""

    code: str
    message: str
    entry: int | None = None
    seen: str | None = None
    shown: str | None = None


class MonitorReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one visit found; without a fault, every entry up to `size` was verified in this visit or an earlier one."""

    origin: str
    tenant_id: TenantId | None
    size: int
    new_entries: int
    cosigned_by: tuple[str, ...] = ()
    fault: LogFault | None = None

    @property
    def holds(self) -> bool:
        return self.fault is None


class Trusted(NamedTuple):
    """Who is believed: anchors of the log's keys, its name where it is pinned, and witnesses with their number."""

    anchors: TrustAnchors
    origin: str | None = None
    witnesses: Mapping[str, bytes] = {}
    threshold: int = 0


class _FaultError(Exception):
    """Carries what does not hold to the report; never leaves this module."""

    def __init__(self, fault: LogFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def monitor_log(store: ObjectStore, trusted: Trusted, seen: Seen | None) -> tuple[MonitorReport, Seen | None]:
    """Verify what is new since `seen`; return the report and what to keep: `seen` itself where something is wrong."""
    content = store.read(CHECKPOINT_FILE)
    if content is None:
        raise LedgerFlowError.no_log("expected a tile log with a file `checkpoint`, got none")
    size, origin = 0, "" if seen is None else seen.checkpoint.origin
    cosigned: tuple[str, ...] = ()
    try:
        signed, cosigned = _verified(store, content, trusted)
        size, origin = signed.checkpoint.size, signed.checkpoint.origin
        following = _follow(store, signed, seen)
    except _FaultError as fault:
        known = None if seen is None else seen.tenant_id
        report = MonitorReport(
            origin=origin, tenant_id=known, size=size, new_entries=0, cosigned_by=cosigned, fault=fault.fault
        )
        return report, seen
    report = MonitorReport(
        origin=origin,
        tenant_id=following.tenant_id,
        size=size,
        new_entries=size - (0 if seen is None else seen.growth.size),
        cosigned_by=cosigned,
    )
    return report, following


def _verified(store: ObjectStore, content: bytes, trusted: Trusted) -> tuple[SignedCheckpoint, tuple[str, ...]]:
    """The checkpoint, if a key that an anchor leads to signed it while it was valid, and enough witnesses cosigned."""
    try:
        signed = parse_checkpoint(content)
        ring = _ring(store, trusted.anchors)
        keys = {record.raw_public_key for records in ring.records.values() for record in records} - {None}
        origin = trusted.origin or signed.checkpoint.origin
        signer = verify_checkpoint(signed, origin, [key for key in keys if key is not None])
        if signed.checkpoint.signed_at is None:
            raise LedgerFlowError.no_log("expected a `signed_at` line in the checkpoint, got none")
        ring.get(signer, signed.checkpoint.signed_at, purpose=KeyPurpose.LEDGER)
        cosigned = verify_cosignatures(signed, trusted.witnesses, trusted.threshold) if trusted.witnesses else ()
    except Error as error:
        raise _FaultError(LogFault(code=error.code, message=str(error), shown=_text(content))) from error
    return signed, tuple(one.name for one in cosigned)


def _ring(store: ObjectStore, anchors: TrustAnchors) -> KeyRing:
    content = store.read(KEYS_FILE)
    if content is None:
        return trusted_keys(anchors, (), ())
    try:
        offered = msgspec.json.decode(content, type=LogKeys)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LedgerFlowError.no_log(f"`{KEYS_FILE}` is no list of keys: {error}") from error
    return trusted_keys(anchors, offered.keys, offered.retirements)


def _follow(store: ObjectStore, signed: SignedCheckpoint, seen: Seen | None) -> Seen:
    shown = signed.checkpoint
    reader = _Tiles(store, shown.size)
    if seen is not None:
        _require_growth(reader, signed, seen)
    if shown.size == 0:
        raise LedgerFlowError.no_log("expected a log with at least one entry, got an empty one")
    walk = _Walk(store, reader, seen)
    for place in bundles_of(shown.size, after=walk.growth.size):
        walk.read(place)
    walk.compare_edge(shown)
    assert walk.tenant_id is not None  # noqa: S101 - INVARIANT: a log that is not empty has an entry
    return Seen(
        note=signed.note.received.decode(),
        tenant_id=walk.tenant_id,
        entry_hash=walk.entry_hash,
        growth=walk.growth,
    )


def _require_growth(reader: "_Tiles", signed: SignedCheckpoint, seen: Seen) -> None:
    """The log must be the same one, no smaller, and begin with what was seen."""
    shown, known = signed.checkpoint, seen.checkpoint

    def fault(code: str, message: str) -> _FaultError:
        return _FaultError(LogFault(code=code, message=message, seen=seen.note, shown=signed.note.received.decode()))

    if shown.origin != known.origin:
        message = f"expected the log `{known.origin}`, got `{shown.origin}`"
        raise fault("checkpoint.origin", message)
    if shown.size < known.size:
        message = f"{known.size} entries were seen, the log now shows {shown.size}; a cache may give out an old file"
        raise fault("checkpoint.shrinks", message)
    root = shown.root if shown.size == known.size else reader.root_at(known.size, shown)
    if root != known.root:
        message = f"the signed log of {shown.size} entries does not begin with the {known.size} that were seen"
        raise fault("checkpoint.forks", message)


class _Tiles:
    """The published tiles of a tree of one size."""

    def __init__(self, store: ObjectStore, size: int) -> None:
        self._store = store
        self._size = size
        self.cache = TileCache(self.read)

    def read(self, level: int, index: int, width: int) -> bytes:
        """A tile, or its beginning; one that is full by now has no narrower form any more."""
        whole = tile_width(level, index, self._size)
        for candidate in dict.fromkeys((width, whole, TILE_WIDTH)):
            content = self._store.read(Place(level, index, candidate).path)
            if content is not None:
                return content[: width * HASH_SIZE]
        return b""

    def root_at(self, size: int, shown: Checkpoint) -> bytes:
        """The root of the first `size` entries, by tiles that give the signed root."""
        try:
            if self.cache.root_hash(shown.size) != shown.root:
                raise _FaultError(_damaged(f"the tiles do not give the signed root of {shown.size} entries"))
            return self.cache.root_hash(size)
        except MerkleError as error:
            raise _FaultError(_damaged(str(error))) from error


class _Walk:
    """Reads new entries in order; keeps the tree and the chain so far."""

    def __init__(self, store: ObjectStore, reader: _Tiles, seen: Seen | None) -> None:
        self._store = store
        self._reader = reader
        self.growth = EMPTY_GROWTH if seen is None else seen.growth
        self.entry_hash = ZERO_DIGEST if seen is None else seen.entry_hash
        self.tenant_id = None if seen is None else seen.tenant_id

    def read(self, place: Place) -> None:
        texts = self._texts(place)
        new = texts[self.growth.size - place.number * TILE_WIDTH :]
        tile = self._reader.read(*place)
        leaves = []
        for number, text in enumerate(new, self.growth.size + 1):
            leaf = leaf_hash(text)
            at = (number - 1) % TILE_WIDTH * HASH_SIZE
            if tile[at : at + HASH_SIZE] != leaf:
                raise _FaultError(_damaged(f"entry {number} is not the one in the tile", number))
            self._link(number, text)
            leaves.append(leaf)
        self._grow(grow(self.growth, leaves))

    def compare_edge(self, shown: Checkpoint) -> None:
        """The tiles that are not full, and the root over all entries."""
        for level, hashes in enumerate(self.growth.partial):
            index, width = divmod(shown.size >> (TILE_BITS * level), TILE_WIDTH)
            if width and self._reader.read(level, index, width) != hashes:
                raise _FaultError(_damaged(f"tile {level}/{index} does not hold the hashes of its entries"))
        if self.growth.root() != shown.root:
            message = f"the {shown.size} published entries give another root than the signed one"
            raise _FaultError(_damaged(message))

    def _texts(self, place: Place) -> tuple[bytes, ...]:
        for path in bundle_paths(place):
            content = self._store.read(path)
            if content is not None:
                try:
                    return parse_entries(place, path, content)
                except MerkleError as error:
                    raise _FaultError(_damaged(str(error))) from error
        first = place.number * TILE_WIDTH + 1
        raise _FaultError(_damaged(f"the bundle of entries from {first} on is missing", first))

    def _link(self, number: int, text: bytes) -> None:
        try:
            entry = parse_entry(text)
        except Error as error:
            raise _FaultError(LogFault(code=error.code, message=f"entry {number}: {error}", entry=number)) from error
        expected = (self.tenant_id or entry.tenant_id, number, self.entry_hash)
        if (entry.tenant_id, entry.sequence_number, entry.previous_hash) != expected:
            message = f"entry {number} does not follow {self.entry_hash} in the chain of `{expected[0]}`"
            raise _FaultError(LogFault(code="ledger.broken_link", message=message, entry=number))
        self.tenant_id, self.entry_hash = entry.tenant_id, digest_of(text)

    def _grow(self, grown: Grown) -> None:
        for tile in grown.tiles:
            if self._reader.read(tile.level, tile.index, TILE_WIDTH) != tile.hashes:
                place = f"tile {tile.level}/{tile.index}"
                raise _FaultError(_damaged(f"{place} does not hold the hashes of its entries"))
        self.growth = grown.growth


def _damaged(message: str, entry: int | None = None) -> LogFault:
    return LogFault(code="ledger.tile_altered", message=message, entry=entry)


def _text(content: bytes) -> str:
    return content.decode(errors="replace")[:4096]


def parse_seen(content: bytes) -> Seen:
    """Read what a monitor kept."""
    try:
        return msgspec.json.decode(content, type=Seen)
    except (msgspec.MsgspecError, Error) as error:
        raise LedgerFlowError.no_log(f"expected the state of a monitor, got: {error}") from error
