"""Tiles: the tree stored 256 hashes at a time (C2SP tlog-tiles), and the proofs read from them.

tile (level, index) -> the hashes of subtrees of 256^level leaves, 256 to a tile;   TileReader -> TileCache -> path

A full tile never changes, so it is expanded once into all its interior hashes and kept; tiles at the right edge are
kept only for the tree size they were last asked for.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from assay.kernel.errors import MerkleError
from assay.kernel.merkle import (
    EMPTY_ROOT,
    HASH_SIZE,
    Frontier,
    TreeRangeError,
    node_hash,
    pair_up,
    require_index,
    require_size,
)

TILE_BITS = 8
TILE_WIDTH = 1 << TILE_BITS
TILE_BYTES = TILE_WIDTH * HASH_SIZE
_DEFAULT_TILES = 1024  # about 17 MB when full

# (level, index, width) -> the first `width` hashes of that tile, as width * 32 raw bytes.
TileReader = Callable[[int, int, int], bytes]
# By height above the tile's own level: the hashes of its complete subtrees, one after the other.
_Rows = tuple[bytes, ...]


class TileShapeError(MerkleError):
    """A stored tile does not have the hashes it should have."""

    code = "merkle.tile_shape"


class TileCache:
    """Reads the tiles of one tree; keeps at most `capacity` full ones, the least recently used go first.

    Not for two threads at once. A cache belongs to one tree: the tiles of another would be taken for its own.
    """

    def __init__(self, read: TileReader, capacity: int = _DEFAULT_TILES) -> None:
        self._read = read
        self._capacity = capacity
        self._full: OrderedDict[tuple[int, int], _Rows] = OrderedDict()
        self._last_edge = _Edge(0, {}, [b""])

    def root_hash(self, size: int) -> bytes:
        require_size(size)
        return self._edge(size).hashes[-1] or EMPTY_ROOT

    def frontier(self, size: int) -> Frontier:
        """The complete subtrees of the tree at that size, from which it can grow on."""
        require_size(size)
        edge = self._edge(size)
        peaks = (self._peak(height, edge) if size >> height & 1 else b"" for height in range(size.bit_length()))
        return Frontier(size=size, peaks=tuple(peaks))

    def inclusion_path(self, index: int, size: int) -> tuple[bytes, ...]:
        """The hashes beside the way from a leaf to the root (RFC 9162, 2.1.3.1)."""
        require_index(index, size)
        return tuple(self._path(0, index, self._edge(size)))

    def consistency_path(self, old_size: int, new_size: int) -> tuple[bytes, ...]:
        """The hashes that show that the old tree is the beginning of the new one (RFC 9162, 2.1.4.1)."""
        require_size(new_size)
        if not 0 <= old_size <= new_size:
            raise TreeRangeError(f"expected an old size from 0 to {new_size}, got {old_size}")
        if old_size in (0, new_size):
            return ()
        edge = self._edge(new_size)
        height = (old_size & -old_size).bit_length() - 1
        last = (old_size >> height) - 1
        path = self._path(height, last, edge)
        # An old tree that is one complete subtree needs no start: its root is known to whoever verifies.
        return tuple([self._node(height, last, edge), *path] if last else path)

    def _path(self, height: int, index: int, edge: "_Edge") -> list[bytes]:
        """The siblings on the way up from the complete subtree (height, index)."""
        path: list[bytes] = []
        top = (edge.size - 1).bit_length()
        while height < top:
            level, low = divmod(height, TILE_BITS)
            tile_index = index >> (TILE_BITS - low)
            if _is_full(level, tile_index, edge.size):
                path += _siblings(self._full_tile(level, tile_index), low, index)
                height += TILE_BITS - low
                index = tile_index
            else:
                path += self._edge_sibling(height, index ^ 1, edge)
                height += 1
                index >>= 1
        return path

    def _edge_sibling(self, height: int, sibling: int, edge: "_Edge") -> tuple[bytes, ...]:
        complete = edge.size >> height
        if sibling < complete:
            return (self._node(height, sibling, edge),)
        # The subtree at the edge is incomplete or empty; beside an empty one, the node above is the node itself.
        return (edge.hashes[height],) if sibling == complete and edge.hashes[height] else ()

    def _node(self, height: int, index: int, edge: "_Edge") -> bytes:
        """The hash of a complete subtree."""
        level, low = divmod(height, TILE_BITS)
        tile_index = index >> (TILE_BITS - low)
        full = _is_full(level, tile_index, edge.size)
        rows = self._full_tile(level, tile_index) if full else self._edge_tile(level, edge)
        at = HASH_SIZE * (index & (TILE_WIDTH >> low) - 1)
        return rows[low][at : at + HASH_SIZE]

    def _peak(self, height: int, edge: "_Edge") -> bytes:
        return self._node(height, (edge.size >> height) - 1, edge)

    def _edge(self, size: int) -> "_Edge":
        if size == self._last_edge.size:
            return self._last_edge
        edge = _Edge(size, {}, [b""])
        for height in range(size.bit_length()):
            rest = edge.hashes[-1]
            if size >> height & 1:
                peak = self._peak(height, edge)
                rest = node_hash(peak, rest) if rest else peak
            edge.hashes.append(rest)
        # Kept only now: an edge whose tiles could not all be read must not be taken for a whole one.
        self._last_edge = edge
        return edge

    def _full_tile(self, level: int, index: int) -> _Rows:
        key = (level, index)
        rows = self._full.get(key)
        if rows is None:
            rows = self._full[key] = _expand(read_tile(self._read, level, index, TILE_WIDTH))
            if len(self._full) > self._capacity:
                self._full.popitem(last=False)
        else:
            self._full.move_to_end(key)
        return rows

    def _edge_tile(self, level: int, edge: "_Edge") -> _Rows:
        rows = edge.tiles.get(level)
        if rows is None:
            complete = edge.size >> (TILE_BITS * level)
            tile = read_tile(self._read, level, complete >> TILE_BITS, complete & (TILE_WIDTH - 1))
            rows = edge.tiles[level] = _expand(tile)
        return rows


class _Edge(NamedTuple):
    """The right edge of the tree at one size: its incomplete tiles, and what is left of each height."""

    size: int
    tiles: dict[int, _Rows]
    # By height h, the hash of what lies right of the last complete subtree of height h; empty where nothing does.
    hashes: list[bytes]


def root_hash(size: int, read: TileReader) -> bytes:
    return TileCache(read).root_hash(size)


def inclusion_path(index: int, size: int, read: TileReader) -> tuple[bytes, ...]:
    return TileCache(read).inclusion_path(index, size)


def consistency_path(old_size: int, new_size: int, read: TileReader) -> tuple[bytes, ...]:
    return TileCache(read).consistency_path(old_size, new_size)


def read_tile(read: TileReader, level: int, index: int, width: int) -> bytes:
    """Ask the store for a tile; anything but exactly `width` hashes is refused."""
    tile = read(level, index, width)
    if len(tile) != width * HASH_SIZE:
        raise TileShapeError(f"expected {width} hashes in tile {level}/{index}, got {len(tile)} bytes")
    return tile


def tile_width(level: int, index: int, size: int) -> int:
    """How many hashes tile (level, index) has in a tree of that size; 256 when full, 0 when it does not exist yet."""
    return max(0, min(TILE_WIDTH, (size >> (TILE_BITS * level)) - (index << TILE_BITS)))


def tile_path(level: int, index: int, width: int) -> str:
    """Where C2SP tlog-tiles serves a tile: `tile/0/x001/x234/067`, with `.p/12` when only 12 hashes wide."""
    groups = [f"{index % 1000:03d}"]
    while index := index // 1000:
        groups.append(f"x{index % 1000:03d}")
    suffix = "" if width == TILE_WIDTH else f".p/{width}"
    return f"tile/{level}/{'/'.join(reversed(groups))}{suffix}"


def _is_full(level: int, index: int, size: int) -> bool:
    return (index + 1) << (TILE_BITS * (level + 1)) <= size


def _siblings(rows: _Rows, low: int, index: int) -> list[bytes]:
    """All siblings inside one full tile, from height `low` up; this is the inner loop of a warm proof."""
    at = index & (TILE_WIDTH >> low) - 1
    found = []
    for row in rows[low:TILE_BITS]:
        start = (at ^ 1) * HASH_SIZE
        found.append(row[start : start + HASH_SIZE])
        at >>= 1
    return found


def _expand(tile: bytes) -> _Rows:
    hashes = [tile[at : at + HASH_SIZE] for at in range(0, len(tile), HASH_SIZE)]
    rows = [tile]
    while len(hashes) > 1:
        hashes = pair_up(hashes)
        rows.append(b"".join(hashes))
    return tuple(rows)
