"""The Merkle tree of RFC 9162: leaf and node hashes, the two proofs, and the frontier of a growing tree.

leaf bytes -> leaf hash -> Frontier -> root;   path + root -> verify_inclusion | verify_consistency

A leaf is SHA-256(0x00 || bytes), a node SHA-256(0x01 || left || right), the empty tree SHA-256 of nothing.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from msgspec import Struct

from assay.kernel.errors import MerkleError

HASH_SIZE = 32
# C2SP counts leaves in a signed 64-bit integer.
MAX_SIZE = 2**63 - 1
EMPTY_ROOT = sha256(b"").digest()
_HASH_SIZES = frozenset({HASH_SIZE})


class TreeRangeError(MerkleError):
    """A leaf index or a tree size is outside of the tree."""

    code = "merkle.range"


class HashLengthError(MerkleError):
    """A hash is not 32 bytes."""

    code = "merkle.hash_length"


class PathLengthError(MerkleError):
    """A proof has more or fewer hashes than its sizes call for."""

    code = "merkle.path_length"


class RootMismatchError(MerkleError):
    """A proof leads to another root."""

    code = "merkle.root_mismatch"


class Frontier(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The roots of the complete subtrees a tree is made of: enough to append, O(log n) in size.

    `peaks[h]` is the hash of the complete subtree of height h, or empty bytes where the size has no such bit.
    """

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        require_size(self.size)
        expected = [HASH_SIZE * (self.size >> height & 1) for height in range(self.size.bit_length())]
        if [len(peak) for peak in self.peaks] != expected:
            raise HashLengthError(f"expected one peak of {HASH_SIZE} bytes for each bit of size {self.size}")

    def extend(self, leaf_hashes: Sequence[bytes]) -> "Frontier":
        """The tree after these leaves; one hash per leaf, amortised."""
        return climb(self, leaf_hashes)[0]

    def root(self) -> bytes:
        """The root of the whole tree; SHA-256 of nothing when it is empty."""
        root = b""
        for peak in self.peaks:
            if peak:
                root = sha256(b"\x01" + peak + root).digest() if root else peak
        return root or EMPTY_ROOT


def leaf_hash(content: bytes) -> bytes:
    return sha256(b"\x00" + content).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def pair_up(hashes: Sequence[bytes]) -> list[bytes]:
    """The parents of neighbours, two by two; a last one without a neighbour has no parent yet."""
    pairs = iter(hashes)
    return [sha256(b"\x01" + left + right).digest() for left, right in zip(pairs, pairs, strict=False)]


def climb(frontier: Frontier, leaf_hashes: Sequence[bytes]) -> tuple[Frontier, list[Sequence[bytes]]]:
    """Append leaves; also give, by height, the hashes of the complete subtrees that came into being.

    The subtrees of a height are consecutive, and the first of them has index `frontier.size >> height`.
    """
    _require_hashes(leaf_hashes)
    size = frontier.size
    peaks = list(frontier.peaks)
    born: list[Sequence[bytes]] = []
    hashes = leaf_hashes
    while hashes:
        height = len(born)
        born.append(hashes)
        if height == len(peaks):
            peaks.append(b"")
        left = peaks[height]
        row = [left, *hashes] if left else hashes
        peaks[height] = row[-1] if len(row) & 1 else b""
        hashes = pair_up(row)
    return Frontier(size=size + len(leaf_hashes), peaks=tuple(peaks)), born


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> None:
    """Raise unless the leaf hash `leaf` is at `index` in the tree of `size` with this root (RFC 9162, 2.1.3.2).

    The caller must have size and root from a signed checkpoint: several sizes share the shape of a path.
    """
    node = inclusion_root(leaf, index, size, path)
    _require_hashes((root,))
    if node != root:
        raise RootMismatchError(f"leaf {index} leads to root {node.hex()}, expected {root.hex()}")


def inclusion_root(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """The root that this path leads to, for those who then verify a signature over it."""
    require_index(index, size)
    # Up to where the leaf's way meets that of the last leaf, every level has a sibling; above, only left ones are left.
    inner = (index ^ (size - 1)).bit_length()
    _require_path(path, inner + (index >> inner).bit_count())
    _require_hashes((leaf,))
    node = leaf
    turns = index
    for sibling in path[:inner]:
        node = sha256(b"\x01" + sibling + node if turns & 1 else b"\x01" + node + sibling).digest()
        turns >>= 1
    for sibling in path[inner:]:
        node = sha256(b"\x01" + sibling + node).digest()
    return node


def verify_consistency(old_size: int, old_root: bytes, new_size: int, new_root: bytes, path: Sequence[bytes]) -> None:
    """Raise unless the old tree is the beginning of the new one (RFC 9162, 2.1.4.2).

    The caller must have both sizes and roots from signed checkpoints: several sizes share the shape of a path.
    """
    require_size(old_size)
    require_size(new_size)
    if old_size > new_size:
        raise TreeRangeError(f"expected an old size of at most {new_size}, got {old_size}")
    _require_hashes((old_root, new_root))
    if old_size in (0, new_size):
        _verify_trivial(old_size, old_root, new_size, new_root, path)
        return
    old, new = _roots_by_path(old_size, old_root, new_size, path)
    if old != old_root:
        raise RootMismatchError(f"the path leads to old root {old.hex()}, expected {old_root.hex()}")
    if new != new_root:
        raise RootMismatchError(f"the path leads to new root {new.hex()}, expected {new_root.hex()}")


def require_size(size: int) -> None:
    if not 0 <= size <= MAX_SIZE:
        raise TreeRangeError(f"expected a tree size from 0 to {MAX_SIZE}, got {size}")


def require_index(index: int, size: int) -> None:
    require_size(size)
    if not 0 <= index < size:
        raise TreeRangeError(f"expected a leaf index from 0 and below {size}, got {index}")


def _verify_trivial(old_size: int, old_root: bytes, new_size: int, new_root: bytes, path: Sequence[bytes]) -> None:
    """Every tree begins with the empty tree and with itself; there is nothing for a path to say."""
    _require_path(path, 0)
    for size, root in ((old_size, old_root), (new_size, new_root)):
        if size == 0 and root != EMPTY_ROOT:
            raise RootMismatchError(f"the empty tree has root {EMPTY_ROOT.hex()}, got {root.hex()}")
    if old_size == new_size and old_root != new_root:
        raise RootMismatchError(f"two trees of size {old_size} have roots {old_root.hex()} and {new_root.hex()}")


def _roots_by_path(old_size: int, old_root: bytes, new_size: int, path: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Rebuild both roots from the last complete subtree of the old tree and the hashes beside its way up."""
    base = (old_size & -old_size).bit_length() - 1
    first, last = old_size - 1 >> base, new_size - 1 >> base
    inner = (first ^ last).bit_length()
    # An old tree that is one complete subtree is its own start; otherwise the path names the start.
    named = 1 if first else 0
    _require_path(path, named + inner + (first >> inner).bit_count())
    old = new = path[0] if named else old_root
    for height, sibling in enumerate(path[named:]):
        if height >= inner or first >> height & 1:
            old = node_hash(sibling, old)
            new = node_hash(sibling, new)
        else:
            new = node_hash(new, sibling)
    return old, new


def _require_path(path: Sequence[bytes], expected: int) -> None:
    if len(path) != expected:
        raise PathLengthError(f"expected a path of {expected} hashes, got {len(path)}")
    _require_hashes(path)


def _require_hashes(hashes: Iterable[bytes]) -> None:
    if not set(map(len, hashes)) <= _HASH_SIZES:
        raise HashLengthError(f"expected hashes of {HASH_SIZE} bytes, got one of another length")
