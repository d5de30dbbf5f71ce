"""Growth: what to store when leaves are appended, so that proofs can be read from tiles later.

Growth + leaf hashes -> grow -> Grown: the next Growth, new subtree hashes (level >= 1), tiles that became full

The store keeps leaf hashes by entry (level 0), one hash for each complete subtree of 256^level leaves, and full tiles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import Struct

from assay.kernel.errors import MerkleError
from assay.kernel.merkle import HASH_SIZE, Frontier, climb
from assay.kernel.tile import TILE_BITS, TILE_BYTES, TILE_WIDTH, TileCache, TileReader, read_tile


class GrowthStateError(MerkleError):
    """The tiles at hand do not belong to the size at hand."""

    code = "merkle.growth_state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """All that a tree needs to grow on: its frontier, and by level the hashes of the tile that is not yet full."""

    frontier: Frontier
    partial: tuple[bytes, ...]

    def __post_init__(self) -> None:
        for level, tile in enumerate(self.partial):
            expected = (self.size >> (TILE_BITS * level)) % TILE_WIDTH
            if len(tile) != expected * HASH_SIZE:
                raise GrowthStateError(f"expected {expected} hashes at level {level}, got {len(tile)} bytes")

    @property
    def size(self) -> int:
        return self.frontier.size

    def root(self) -> bytes:
        return self.frontier.root()


class SubtreeHash(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The hash of a complete subtree of 256^level leaves; level is 1 or more, level 0 is stored with the entries."""

    level: int
    index: int
    hash: bytes


class Tile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A full tile: 256 hashes, 8192 bytes, that will never change."""

    level: int
    index: int
    hashes: bytes


class Grown(NamedTuple):
    """What one append brought: `subtrees` and `tiles` are new and to be stored in the same commit as the leaves."""

    growth: Growth
    subtrees: tuple[SubtreeHash, ...]
    tiles: tuple[Tile, ...]


EMPTY_GROWTH = Growth(frontier=Frontier(), partial=())


def grow(growth: Growth, leaf_hashes: Sequence[bytes]) -> Grown:
    """Append leaf hashes; costs one hash per leaf, amortised, and never reads the store."""
    frontier, born = climb(growth.frontier, leaf_hashes)
    partial = list(growth.partial)
    subtrees: list[SubtreeHash] = []
    tiles: list[Tile] = []
    for level, hashes in enumerate(born[::TILE_BITS]):
        first = growth.size >> (TILE_BITS * level)
        if level:
            subtrees += [SubtreeHash(level=level, index=first + at, hash=value) for at, value in enumerate(hashes)]
        if level == len(partial):
            partial.append(b"")
        row = partial[level] + b"".join(hashes)
        sealed = _seal(level, first >> TILE_BITS, row)
        partial[level] = row[TILE_BYTES * len(sealed) :]
        tiles += sealed
    return Grown(Growth(frontier=frontier, partial=tuple(partial)), tuple(subtrees), tuple(tiles))


def growth_of(size: int, read: TileReader) -> Growth:
    """Rebuild the state at a size from the store, after a restart; reads one incomplete tile per level."""
    partial = []
    level = 0
    frontier = TileCache(read).frontier(size)
    while complete := size >> (TILE_BITS * level):
        index, width = divmod(complete, TILE_WIDTH)
        partial.append(read_tile(read, level, index, width) if width else b"")
        level += 1
    return Growth(frontier=frontier, partial=tuple(partial))


def _seal(level: int, first: int, row: bytes) -> list[Tile]:
    """The full tiles that a row of hashes begins with; `first` is the index of the first."""
    return [
        Tile(level=level, index=first + at, hashes=row[at * TILE_BYTES : (at + 1) * TILE_BYTES])
        for at in range(len(row) // TILE_BYTES)
    ]
