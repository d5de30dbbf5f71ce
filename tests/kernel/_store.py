"""A store of tiles in memory, kept as a database keeps it: leaf hashes, subtree hashes, full tiles."""

from collections.abc import Iterable, Sequence

from assay.kernel.growth import EMPTY_GROWTH, Growth, grow
from assay.kernel.merkle import HASH_SIZE


class MemoryTiles:
    """Appends through `grow`; `read` answers as a TileReader and refuses to invent what was never stored."""

    def __init__(self) -> None:
        self.growth: Growth = EMPTY_GROWTH
        self.leaves: list[bytes] = []
        self.subtrees: dict[tuple[int, int], bytes] = {}
        self.tiles: dict[tuple[int, int], bytes] = {}
        self.reads = 0

    def append(self, leaf_hashes: Sequence[bytes]) -> None:
        grown = grow(self.growth, leaf_hashes)
        self.leaves += leaf_hashes
        _add(self.subtrees, (((s.level, s.index), s.hash) for s in grown.subtrees))
        _add(self.tiles, (((t.level, t.index), t.hashes) for t in grown.tiles))
        self.growth = grown.growth

    def read(self, level: int, index: int, width: int) -> bytes:
        self.reads += 1
        if (level, index) in self.tiles:
            return self.tiles[level, index][: width * HASH_SIZE]
        places = range(index * 256, index * 256 + width)
        if level == 0:
            return b"".join(self.leaves[place] for place in places)
        return b"".join(self.subtrees[level, place] for place in places)


def stored(leaf_hashes: Sequence[bytes], batch: int = 1000) -> MemoryTiles:
    tiles = MemoryTiles()
    for at in range(0, len(leaf_hashes), batch):
        tiles.append(leaf_hashes[at : at + batch])
    return tiles


def _add(kept: dict[tuple[int, int], bytes], new: Iterable[tuple[tuple[int, int], bytes]]) -> None:
    for key, value in new:
        assert key not in kept, "a stored hash is never written twice"
        kept[key] = value
