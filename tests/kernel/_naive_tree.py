"""The tree as RFC 9162 defines it, word for word and slow: the oracle that quick code is compared with."""

from collections.abc import Sequence
from hashlib import sha256


def naive_root(leaves: Sequence[bytes]) -> bytes:
    """2.1.1; `leaves` are leaf hashes."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return sha256(b"\x01" + naive_root(leaves[:k]) + naive_root(leaves[k:])).digest()


def naive_path(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    """2.1.3.1."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if index < k:
        return [*naive_path(index, leaves[:k]), naive_root(leaves[k:])]
    return [*naive_path(index - k, leaves[k:]), naive_root(leaves[:k])]


def naive_consistency(old: int, leaves: Sequence[bytes], *, known: bool = True) -> list[bytes]:
    """2.1.4.1; SUBPROOF with its flag."""
    if old == len(leaves):
        return [] if known else [naive_root(leaves)]
    k = split(len(leaves))
    if old <= k:
        return [*naive_consistency(old, leaves[:k], known=known), naive_root(leaves[k:])]
    return [*naive_consistency(old - k, leaves[k:], known=False), naive_root(leaves[:k])]


def split(size: int) -> int:
    """The largest power of two smaller than `size`."""
    return 1 << (size - 1).bit_length() - 1
