"""Inclusion proofs in a tree of a million leaves, warm: making one and verifying one, beside pymerkle in memory."""

from collections.abc import Callable
from functools import lru_cache
from itertools import cycle
from typing import Any

from assay.kernel.growth import EMPTY_GROWTH, grow
from assay.kernel.merkle import leaf_hash, verify_inclusion
from assay.kernel.tile import TILE_WIDTH, TileCache
from bench._frame import Figure, compare, print_table

__all__ = ["figures"]

_SIZE = 1_000_000
_BATCH = 1000
# Every index once in 1,000 calls, spread over the whole tree: 7,919 and the size have no common divisor.
_INDICES = [(step * 7919 * 131) % _SIZE for step in range(1000)]
# A million leaves are 3,906 full tiles and 16 above them: all are kept, as the peer keeps its whole tree.
_TILES = 4096


def figures() -> list[Figure]:
    cache, root = _ours()
    peer = _peer()
    assert peer.get_root(_SIZE) == root, "both must hold the same tree"  # noqa: S101 - else the figure is worth nothing
    note = f"{_SIZE:,} leaves, warm"
    return [
        compare(
            "inclusion proof",
            _prover(lambda index: cache.inclusion_path(index, _SIZE)),
            _prover(lambda index: peer.prove_inclusion(index + 1, _SIZE)),
            peer_name="pymerkle in memory",
            target=3,
            note=note,
        ),
        compare(
            "verify an inclusion proof",
            _our_verifier(cache, root),
            _peer_verifier(peer, root),
            peer_name="pymerkle",
            target=2,
            note=note,
        ),
    ]


def _prover(prove: Callable[[int], object]) -> Callable[[], object]:
    indices = cycle(_INDICES)
    for index in _INDICES:
        prove(index)
    return lambda: prove(next(indices))


def _our_verifier(cache: TileCache, root: bytes) -> Callable[[], object]:
    proofs = cycle([(leaf_hash(_entry(i)), i, _SIZE, cache.inclusion_path(i, _SIZE), root) for i in _INDICES])
    return lambda: verify_inclusion(*next(proofs))


def _peer_verifier(peer: Any, root: bytes) -> Callable[[], object]:  # noqa: ANN401 - the peer has no types
    from pymerkle import verify_inclusion as peer_verify  # noqa: PLC0415 - only `make bench` installs the peer

    proofs = cycle([(peer.get_leaf(i + 1), root, peer.prove_inclusion(i + 1, _SIZE), i + 1, _SIZE) for i in _INDICES])

    def verify() -> None:
        leaf, state, proof, index, size = next(proofs)
        # Bound to index and size, as ours is.
        peer_verify(leaf, state, proof, index=index, size=size)

    return verify


def _entry(number: int) -> bytes:
    return b"entry %d" % number


@lru_cache(maxsize=1)
def _ours() -> tuple[TileCache, bytes]:
    """A store as a database keeps it, read through a cache that has seen every tile once."""
    growth = EMPTY_GROWTH
    leaves: list[bytes] = []
    hashes: dict[tuple[int, int], bytes] = {}
    tiles: dict[tuple[int, int], bytes] = {}
    for start in range(0, _SIZE, _BATCH):
        batch = [leaf_hash(_entry(number)) for number in range(start, start + _BATCH)]
        growth, new_hashes, new_tiles = grow(growth, batch)
        leaves += batch
        hashes |= {(h.level, h.index): h.hash for h in new_hashes}
        tiles |= {(t.level, t.index): t.hashes for t in new_tiles}

    def read(level: int, index: int, width: int) -> bytes:
        if (level, index) in tiles:
            return tiles[level, index]
        places = range(index * TILE_WIDTH, index * TILE_WIDTH + width)
        return b"".join(hashes[level, place] if level else leaves[place] for place in places)

    cache = TileCache(read, _TILES)
    for index in range(0, _SIZE, TILE_WIDTH):
        cache.inclusion_path(index, _SIZE)
    return cache, growth.root()


@lru_cache(maxsize=1)
def _peer() -> Any:  # noqa: ANN401 - the peer has no types
    from pymerkle import InmemoryTree  # noqa: PLC0415 - only `make bench` installs the peer

    return InmemoryTree.init_from_entries((_entry(number) for number in range(_SIZE)), algorithm="sha256")


if __name__ == "__main__":
    print_table(figures())
