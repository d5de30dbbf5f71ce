"""Proofs read from tiles of 256 hashes, at the sizes where tiles begin and end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.merkle import Frontier, TreeRangeError, leaf_hash, verify_consistency, verify_inclusion
from assay.kernel.tile import TileCache, TileShapeError, root_hash, tile_path, tile_width
from tests.kernel._naive_tree import naive_root
from tests.kernel._store import stored

LEAVES = [leaf_hash(b"%d" % number) for number in range(66_100)]
TILES = stored(LEAVES)
EDGES = [1, 2, 255, 256, 257, 511, 512, 513, 65_279, 65_280, 65_281, 65_535, 65_536, 65_537, 65_792, 66_100]


def _root(size: int) -> bytes:
    return Frontier().extend(LEAVES[:size]).root()


@pytest.mark.parametrize("size", EDGES)
def test_proofs_hold_where_tiles_begin_and_end(size: int) -> None:
    """First, last and middle leaves, and consistency with every earlier edge."""
    cache = TileCache(TILES.read)
    root = _root(size)
    assert cache.root_hash(size) == root
    for index in {0, size // 2, size - 1, max(0, size - 256), max(0, size - 257)}:
        verify_inclusion(LEAVES[index], index, size, cache.inclusion_path(index, size), root)
    for old in (edge for edge in EDGES if edge <= size):
        verify_consistency(old, _root(old), size, root, cache.consistency_path(old, size))


@given(st.data())
def test_one_cache_serves_many_sizes_in_any_order(data: st.DataObject) -> None:
    """What is kept for one size is never used for another."""
    cache = TileCache(TILES.read, capacity=3)
    for _ in range(6):
        size = data.draw(st.integers(1, 1500))
        index = data.draw(st.integers(0, size - 1))
        path = cache.inclusion_path(index, size)
        verify_inclusion(LEAVES[index], index, size, path, cache.root_hash(size))
        assert cache.root_hash(size) == naive_root(LEAVES[:size])


def test_a_warm_cache_reads_nothing() -> None:
    """The second proof of a kind costs no read."""
    tiles = stored(LEAVES[:1000])
    cache = TileCache(tiles.read)
    cache.inclusion_path(300, 1000)
    reads = tiles.reads
    cache.inclusion_path(400, 1000)
    assert tiles.reads == reads


def test_the_least_recently_used_tile_goes_first() -> None:
    """A small cache forgets the tile that was asked for longest ago, and can read it again."""
    tiles = stored(LEAVES[:1024])
    cache = TileCache(tiles.read, capacity=2)
    cache.root_hash(1024)
    for index in (0, 256, 0, 512):
        cache.inclusion_path(index, 1024)
    reads = tiles.reads
    cache.inclusion_path(1, 1024)
    assert tiles.reads == reads
    cache.inclusion_path(257, 1024)
    assert tiles.reads == reads + 1


def test_a_failed_read_leaves_nothing_behind() -> None:
    """After a fault, the same cache answers correctly for the old size and for the new one."""
    broken = {"now": False}

    def read(level: int, index: int, width: int) -> bytes:
        return b"" if broken["now"] and level == 1 else TILES.read(level, index, width)

    cache = TileCache(read)
    cache.root_hash(600)
    broken["now"] = True
    with pytest.raises(TileShapeError) as caught:
        cache.root_hash(700)
    assert caught.value.code == "merkle.tile_shape"
    broken["now"] = False
    assert cache.root_hash(600) == _root(600)
    assert cache.root_hash(700) == _root(700)


def test_a_tile_of_the_wrong_width_is_refused() -> None:
    """A store that loses or adds a hash is not believed."""
    with pytest.raises(TileShapeError):
        root_hash(300, lambda level, index, width: TILES.read(level, index, width) + b"\0" * 32)


@pytest.mark.parametrize("size", [-1, 2**63])
def test_a_size_that_no_tree_has_is_refused(size: int) -> None:
    """Also where no leaf is asked for."""
    with pytest.raises(TreeRangeError):
        root_hash(size, TILES.read)
    with pytest.raises(TreeRangeError):
        TileCache(TILES.read).frontier(size)


def test_widths_are_those_of_the_tile_specification() -> None:
    """C2SP tlog-tiles: 70,000 leaves are 273 full tiles and 112 hashes, then 256 and 17, then 1."""
    assert [tile_width(0, index, 70_000) for index in (0, 272, 273, 274)] == [256, 256, 112, 0]
    assert [tile_width(1, index, 70_000) for index in (0, 1, 2)] == [256, 17, 0]
    assert [tile_width(2, 0, 70_000), tile_width(3, 0, 70_000)] == [1, 0]
    assert [tile_width(0, 0, 256), tile_width(1, 0, 256)] == [256, 1]


def test_paths_are_those_of_the_tile_specification() -> None:
    """C2SP tlog-tiles: index 1234067 is `x001/x234/067`; a partial tile says its width."""
    assert tile_path(0, 1_234_067, 256) == "tile/0/x001/x234/067"
    assert tile_path(1, 0, 17) == "tile/1/000.p/17"
