"""The tree of RFC 9162 against published vectors and against its own definition."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import MerkleError
from assay.kernel.merkle import (
    EMPTY_ROOT,
    MAX_SIZE,
    Frontier,
    HashLengthError,
    PathLengthError,
    RootMismatchError,
    TreeRangeError,
    leaf_hash,
    node_hash,
    verify_consistency,
    verify_inclusion,
)
from assay.kernel.tile import consistency_path, inclusion_path, root_hash
from tests.kernel._naive_tree import naive_consistency, naive_path, naive_root
from tests.kernel._store import stored

VECTORS = json.loads((Path(__file__).parent.parent / "vectors/merkle/certificate-transparency.json").read_text())
CT_LEAVES = [leaf_hash(bytes.fromhex(leaf)) for leaf in VECTORS["leaves"]]
CT_ROOTS = [bytes.fromhex(root) for root in VECTORS["roots"]]
LEAVES = [leaf_hash(b"%d" % number) for number in range(300)]
TILES = stored(LEAVES)
ROOTS = [naive_root(LEAVES[:size]) for size in range(len(LEAVES) + 1)]
SIZES = st.integers(1, len(LEAVES))


def _hashes(texts: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(bytes.fromhex(text) for text in texts)


def _flip(value: bytes, bit: int) -> bytes:
    return (int.from_bytes(value) ^ 1 << bit).to_bytes(len(value))


@pytest.mark.parametrize("size", range(9))
def test_published_roots_come_out_for_every_size(size: int) -> None:
    """From tiles and from the frontier alike."""
    assert root_hash(size, stored(CT_LEAVES).read) == CT_ROOTS[size]
    assert Frontier().extend(CT_LEAVES[:size]).root() == CT_ROOTS[size]


@pytest.mark.parametrize("case", VECTORS["inclusion"], ids=lambda case: f"{case['index']}-of-{case['size']}")
def test_published_inclusion_paths_come_out_and_verify(case: dict[str, object]) -> None:
    """The path of a leaf is exactly the published one."""
    index, size, path = case["index"], case["size"], case["path"]
    assert isinstance(index, int)
    assert isinstance(size, int)
    assert isinstance(path, list)
    found = inclusion_path(index, size, stored(CT_LEAVES).read)
    assert found == _hashes(path)
    verify_inclusion(CT_LEAVES[index], index, size, found, CT_ROOTS[size])


@pytest.mark.parametrize("case", VECTORS["consistency"], ids=lambda case: f"{case['old']}-to-{case['new']}")
def test_published_consistency_paths_come_out_and_verify(case: dict[str, object]) -> None:
    """The path between two sizes is exactly the published one."""
    old, new, path = case["old"], case["new"], case["path"]
    assert isinstance(old, int)
    assert isinstance(new, int)
    assert isinstance(path, list)
    found = consistency_path(old, new, stored(CT_LEAVES).read)
    assert found == _hashes(path)
    verify_consistency(old, CT_ROOTS[old], new, CT_ROOTS[new], found)


@given(SIZES, st.data())
def test_every_leaf_of_every_size_has_the_path_the_definition_gives(size: int, data: st.DataObject) -> None:
    """Compared with the recursive definition, and accepted by the verifier."""
    index = data.draw(st.integers(0, size - 1))
    path = inclusion_path(index, size, TILES.read)
    assert list(path) == naive_path(index, LEAVES[:size])
    verify_inclusion(LEAVES[index], index, size, path, ROOTS[size])


@given(SIZES, st.data())
def test_every_pair_of_sizes_has_the_path_the_definition_gives(new: int, data: st.DataObject) -> None:
    """Compared with the recursive definition, and accepted by the verifier."""
    old = data.draw(st.integers(1, new))
    path = consistency_path(old, new, TILES.read)
    assert list(path) == naive_consistency(old, LEAVES[:new])
    verify_consistency(old, ROOTS[old], new, ROOTS[new], path)


def test_all_proofs_up_to_forty_leaves_verify_and_no_other_position_does() -> None:
    """Exhaustive where it is cheap: a path is good for one leaf, one index and one size only."""
    for size in range(1, 41):
        for index in range(size):
            path = inclusion_path(index, size, TILES.read)
            verify_inclusion(LEAVES[index], index, size, path, ROOTS[size])
            with pytest.raises(MerkleError):
                verify_inclusion(LEAVES[index], (index + 1) % (size + 1), size, path, ROOTS[size])
        for old in range(size + 1):
            path = consistency_path(old, size, TILES.read)
            verify_consistency(old, ROOTS[old], size, ROOTS[size], path)


@given(SIZES.filter(lambda size: size > 1), st.integers(0, 255), st.data())
def test_any_flipped_bit_of_an_inclusion_proof_is_refused(size: int, bit: int, data: st.DataObject) -> None:
    """Leaf, each hash of the path, and root."""
    index = data.draw(st.integers(0, size - 1))
    path = naive_path(index, LEAVES[:size])
    place = data.draw(st.integers(0, len(path) - 1))
    bent = [*path[:place], _flip(path[place], bit), *path[place + 1 :]]
    for leaf, way, root in (
        (_flip(LEAVES[index], bit), path, ROOTS[size]),
        (LEAVES[index], bent, ROOTS[size]),
        (LEAVES[index], path, _flip(ROOTS[size], bit)),
    ):
        with pytest.raises(RootMismatchError):
            verify_inclusion(leaf, index, size, way, root)


@given(SIZES.filter(lambda size: size > 2), st.integers(0, 255), st.data())
def test_any_flipped_bit_of_a_consistency_proof_is_refused(new: int, bit: int, data: st.DataObject) -> None:
    """Old root, each hash of the path, and new root."""
    old = data.draw(st.integers(1, new - 1))
    path = naive_consistency(old, LEAVES[:new])
    place = data.draw(st.integers(0, len(path) - 1))
    bent = [*path[:place], _flip(path[place], bit), *path[place + 1 :]]
    for old_root, new_root, way in (
        (_flip(ROOTS[old], bit), ROOTS[new], path),
        (ROOTS[old], _flip(ROOTS[new], bit), path),
        (ROOTS[old], ROOTS[new], bent),
    ):
        with pytest.raises(RootMismatchError):
            verify_consistency(old, old_root, new, new_root, way)


INDEX, SIZE, OLD = 77, 201, 150
PATH = naive_path(INDEX, LEAVES[:SIZE])
WAY = naive_consistency(OLD, LEAVES[:SIZE])


@pytest.mark.parametrize(
    ("bend", "error"),
    [
        (lambda path: path[:-1], PathLengthError),
        (lambda path: path[1:], PathLengthError),
        (lambda path: [*path, path[-1]], PathLengthError),
        (lambda path: [path[0], *path], PathLengthError),
        (lambda _path: [], PathLengthError),
        (lambda path: [path[1], path[0], *path[2:]], RootMismatchError),
        (lambda path: path[::-1], RootMismatchError),
        (lambda path: [path[0], path[0], *path[2:]], RootMismatchError),
        (lambda path: [path[0][:-1], *path[1:]], HashLengthError),
        (lambda path: [path[0] + b"\0", *path[1:]], HashLengthError),
    ],
    ids=["cut", "cut-front", "longer", "doubled", "empty", "swapped", "reversed", "repeated", "short", "long"],
)
def test_a_reordered_cut_or_stretched_path_is_refused(
    bend: Callable[[list[bytes]], list[bytes]], error: type[MerkleError]
) -> None:
    """The number of hashes is fixed by index and sizes, and their order by the tree."""
    with pytest.raises(error):
        verify_inclusion(LEAVES[INDEX], INDEX, SIZE, bend(PATH), ROOTS[SIZE])
    with pytest.raises(error):
        verify_consistency(OLD, ROOTS[OLD], SIZE, ROOTS[SIZE], bend(WAY))


def test_an_old_root_may_not_stand_in_for_a_complete_subtree_of_another_size() -> None:
    """Sizes on either side of the true old size need other paths or lead elsewhere."""
    for claimed in (OLD - 1, OLD + 1, 128):
        with pytest.raises(MerkleError):
            verify_consistency(claimed, ROOTS[OLD], SIZE, ROOTS[SIZE], WAY)
    # 256 would do: a path has the same shape for every new size from 193 to 256, and only the signature of a checkpoint
    # binds a root to one of them.
    for claimed in (192, 257):
        with pytest.raises(MerkleError):
            verify_consistency(OLD, ROOTS[OLD], claimed, ROOTS[SIZE], WAY)


@pytest.mark.parametrize(("index", "size"), [(-1, 8), (8, 8), (9, 8), (0, 0), (0, -1), (0, MAX_SIZE + 1)])
def test_a_leaf_outside_of_the_tree_is_refused(index: int, size: int) -> None:
    """By the verifier and by the prover."""
    with pytest.raises(TreeRangeError) as caught:
        verify_inclusion(LEAVES[0], index, size, [], ROOTS[1])
    assert caught.value.code == "merkle.range"
    with pytest.raises(TreeRangeError):
        inclusion_path(index, size, TILES.read)


@pytest.mark.parametrize(("old", "new"), [(-1, 5), (6, 5), (0, -1), (1, MAX_SIZE + 1), (MAX_SIZE + 1, MAX_SIZE + 2)])
def test_sizes_that_do_not_grow_are_refused(old: int, new: int) -> None:
    """By the verifier and by the prover."""
    with pytest.raises(TreeRangeError):
        verify_consistency(old, ROOTS[1], new, ROOTS[1], [])
    with pytest.raises(TreeRangeError):
        consistency_path(old, new, TILES.read)


def test_a_root_of_another_length_is_refused() -> None:
    """A hash is 32 bytes, wherever it stands."""
    with pytest.raises(HashLengthError):
        verify_inclusion(LEAVES[0], 0, 1, [], ROOTS[1][:31])
    with pytest.raises(HashLengthError):
        verify_consistency(1, ROOTS[1][:31], 2, ROOTS[2], [LEAVES[1]])


def test_the_empty_tree_begins_every_tree_and_has_one_root_only() -> None:
    """From size 0 only the root of nothing is accepted, and a path has nothing to say."""
    verify_consistency(0, EMPTY_ROOT, 9, ROOTS[9], [])
    verify_consistency(0, EMPTY_ROOT, 0, EMPTY_ROOT, [])
    verify_consistency(9, ROOTS[9], 9, ROOTS[9], [])
    for old, old_root, new, new_root in (
        (0, ROOTS[1], 9, ROOTS[9]),
        (0, ROOTS[1], 0, ROOTS[1]),
        (0, EMPTY_ROOT, 0, ROOTS[1]),
        (9, ROOTS[9], 9, ROOTS[8]),
    ):
        with pytest.raises(RootMismatchError):
            verify_consistency(old, old_root, new, new_root, [])
    with pytest.raises(PathLengthError):
        verify_consistency(0, EMPTY_ROOT, 9, ROOTS[9], [ROOTS[1]])


def test_a_node_never_passes_for_a_leaf() -> None:
    """Second preimages between heights are closed by the two prefixes."""
    assert node_hash(LEAVES[0], LEAVES[1]) != leaf_hash(LEAVES[0] + LEAVES[1])


@given(st.lists(st.integers(0, 60), max_size=8))
def test_a_frontier_gives_the_root_however_the_leaves_are_cut_into_batches(batches: list[int]) -> None:
    """Batches, the empty one among them, do not show in the root."""
    frontier = Frontier()
    for batch in batches:
        frontier = frontier.extend(LEAVES[frontier.size : frontier.size + batch])
        assert frontier.root() == ROOTS[frontier.size]


@pytest.mark.parametrize(
    ("size", "peaks"), [(1, ()), (0, (b"",)), (2, (LEAVES[0], LEAVES[1])), (1, (b"x",)), (2, (b"", b""))]
)
def test_a_frontier_whose_peaks_do_not_fit_its_size_is_refused(size: int, peaks: tuple[bytes, ...]) -> None:
    """It may have come from a file."""
    with pytest.raises(HashLengthError):
        Frontier(size=size, peaks=peaks)


def test_a_frontier_takes_only_hashes() -> None:
    """Leaf bytes given by mistake are noticed."""
    with pytest.raises(HashLengthError):
        Frontier().extend([b"not a hash"])
