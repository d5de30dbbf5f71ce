"""Growth says what to store, once, however the leaves arrive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.growth import EMPTY_GROWTH, Growth, GrowthStateError, grow, growth_of
from assay.kernel.merkle import Frontier, HashLengthError, leaf_hash
from assay.kernel.tile import TILE_BYTES
from tests.kernel._naive_tree import naive_root
from tests.kernel._store import MemoryTiles, stored

LEAVES = [leaf_hash(b"%d" % number) for number in range(66_000)]
WHOLE = stored(LEAVES, batch=len(LEAVES))


@given(st.lists(st.integers(1, 700), min_size=1, max_size=6))
def test_batches_do_not_show_in_what_is_stored(batches: list[int]) -> None:
    """The same leaves give the same subtrees, tiles and state, in one batch or many."""
    total = sum(batches)
    cut = MemoryTiles()
    for batch in batches:
        at = cut.growth.size
        cut.append(LEAVES[at : at + batch])
    one = stored(LEAVES[:total], batch=total)
    assert (cut.subtrees, cut.tiles, cut.growth) == (one.subtrees, one.tiles, one.growth)
    assert cut.growth.root() == naive_root(LEAVES[:total])


def test_each_complete_subtree_of_256_leaves_has_its_hash_and_its_tile() -> None:
    """And the 65,536 leaves of a full level 1 tile have theirs."""
    assert set(WHOLE.subtrees) == {(1, index) for index in range(257)} | {(2, 0)}
    assert set(WHOLE.tiles) == {(0, index) for index in range(257)} | {(1, 0)}
    assert {len(tile) for tile in WHOLE.tiles.values()} == {TILE_BYTES}
    assert WHOLE.subtrees[1, 3] == naive_root(LEAVES[768:1024])
    assert WHOLE.subtrees[2, 0] == naive_root(LEAVES[:65_536])
    assert WHOLE.tiles[1, 0] == b"".join(WHOLE.subtrees[1, index] for index in range(256))


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 65_535, 65_536, 65_793])
def test_the_state_can_be_rebuilt_from_the_store_and_grows_on_alike(size: int) -> None:
    """A restart loses nothing."""
    kept = stored(LEAVES[:size], batch=5000)
    again = growth_of(size, kept.read)
    assert again == kept.growth
    assert grow(again, LEAVES[size : size + 300]) == grow(kept.growth, LEAVES[size : size + 300])


def test_nothing_appended_changes_nothing() -> None:
    """An empty batch is no batch."""
    assert grow(EMPTY_GROWTH, []) == (EMPTY_GROWTH, (), ())


def test_only_hashes_are_appended() -> None:
    """Leaf bytes given by mistake are noticed before anything is stored."""
    with pytest.raises(HashLengthError):
        grow(EMPTY_GROWTH, [b"leaf"])


def test_a_state_whose_tiles_do_not_fit_its_size_is_refused() -> None:
    """One hash at level 0 belongs to a size that ends in one."""
    with pytest.raises(GrowthStateError) as caught:
        Growth(frontier=Frontier().extend(LEAVES[:2]), partial=(LEAVES[0],))
    assert caught.value.code == "merkle.growth_state"
