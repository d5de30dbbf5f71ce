"""An index over a stretch of the ledger whose root is logged, so that a search can be shown to have left nothing out.

texts of entries -> build_leaves (sorted by key) -> tree -> root;   answer_term -> the numbers, or two neighbours

A leaf is a term's key with the hash of where the term occurs, and leaves are sorted: a term that is not there would lie
between two that are, and lie side by side. The tree is that of RFC 9162.
"""

import struct
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from assay.kernel.digest import Digest, digest_from_raw, parse_digest, raw_digest
from assay.kernel.errors import ProofError
from assay.kernel.merkle import Frontier, climb, leaf_hash, verify_inclusion
from assay.kernel.term import KEY_SIZE, term_key, terms_of
from assay.kernel.tile import TILE_WIDTH, inclusion_path, root_hash

INDEX_FORMAT: Final = "assay-term-index/1"
# So many entries are indexed at once, while others wait for the writer.
MAX_SEGMENT = 4096
# So many leaves are read to look one up.
PAGE_LEAVES = TILE_WIDTH
_NUMBER = 4


class UnansweredTermError(ProofError):
    """What is said of a term does not follow from the logged root of the index."""

    code = "search.answer"


class Leaf(NamedTuple):
    """One term by its key, and the numbers of the entries that have it, in order."""

    key: bytes
    numbers: tuple[int, ...]


class Seal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is logged of an index: the stretch that it covers, its root, and the entry that covers what lies before."""

    first: int
    last: int
    leaves: int
    root: Digest
    previous: int | None
    format: Literal["assay-term-index/1"] = INDEX_FORMAT


class LeafProof(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The proof that a leaf is at this place of the tree."""

    position: int
    key: bytes
    numbers_hash: bytes
    path: tuple[bytes, ...]


class TermAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a term occurs, with its own leaf; or nowhere, with the leaves on either side of where its own would be."""

    numbers: tuple[int, ...]
    leaves: tuple[LeafProof, ...]


class TermTree:
    """A segment as a tree: its leaves in pages that are read when they are needed, and the roots of all full pages."""

    def __init__(
        self, *, first: int, size: int, page_roots: Sequence[bytes], load: Callable[[int], Sequence[Leaf]]
    ) -> None:
        self._first = first
        self._size = size
        # INVARIANT: a page is a tile, so that the root of a full one is a hash of the next level of tiles.
        self._rows = climb(Frontier(), page_roots[: size // PAGE_LEAVES])[1]
        self._load = cache(load)

    @property
    def root(self) -> Digest:
        return digest_from_raw(root_hash(self._size, self._read))

    def answer(self, term: str, *, page: int) -> TermAnswer:
        """What the segment says of a term that is on this page, or would be."""
        key, leaves = term_key(term), self._load(page)
        place = _place(leaves, key)
        if place < len(leaves) and leaves[place].key == key:
            return TermAnswer(numbers=leaves[place].numbers, leaves=(self.prove_leaf(page * PAGE_LEAVES + place),))
        gap = page * PAGE_LEAVES + place
        beside = [one for one in (gap - 1, gap) if 0 <= one < self._size]
        return TermAnswer(numbers=(), leaves=tuple(map(self.prove_leaf, beside)))

    def prove_leaf(self, place: int) -> LeafProof:
        leaf = self._load(place // PAGE_LEAVES)[place % PAGE_LEAVES]
        path = inclusion_path(place, self._size, self._read)
        return LeafProof(position=place, key=leaf.key, numbers_hash=_numbers_hash(leaf, self._first), path=path)

    def _read(self, level: int, index: int, width: int) -> bytes:
        if level == 0:
            return b"".join(_hashes(self._load(index), self._first)[:width])
        start = index * TILE_WIDTH
        return b"".join(self._rows[8 * (level - 1)][start : start + width])


def common_numbers(answers: Iterable[TermAnswer]) -> list[int]:
    """The entries of a segment that have every one of the terms that it answered."""
    return sorted(set.intersection(*(set(answer.numbers) for answer in answers)))


def page_root(leaves: Sequence[Leaf], *, first: int) -> bytes:
    """The root of the leaves of one page."""
    return Frontier().extend(_hashes(leaves, first)).root()


def paged(leaves: Sequence[Leaf]) -> list[Sequence[Leaf]]:
    return [leaves[start : start + PAGE_LEAVES] for start in range(0, len(leaves), PAGE_LEAVES)]


def tree_of(leaves: Sequence[Leaf], *, first: int) -> TermTree:
    """The tree of a segment whose leaves are all at hand."""
    pages = paged(leaves)
    roots = [page_root(page, first=first) for page in pages]
    return TermTree(first=first, size=len(leaves), page_roots=roots, load=pages.__getitem__)


def build_leaves(first: int, texts: Iterable[bytes]) -> list[Leaf]:
    """The leaves over consecutive entries, the first of which has this number."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number, text in enumerate(texts, first):
        for term in terms_of(text):
            found[term].append(number)
    keyed: defaultdict[bytes, set[int]] = defaultdict(set)
    for term, numbers in found.items():
        keyed[term_key(term)].update(numbers)
    return [Leaf(key, tuple(sorted(keyed[key]))) for key in sorted(keyed)]


def write_leaves(leaves: Iterable[Leaf], *, first: int) -> bytes:
    """The leaves as they are stored: key, count, and each number from the first of the segment on."""
    return b"".join(
        leaf.key + len(leaf.numbers).to_bytes(_NUMBER) + _offsets(leaf.numbers, first=first) for leaf in leaves
    )


def read_leaves(content: bytes, *, first: int) -> list[Leaf]:
    return [Leaf(key, _numbers(content, start, end, first)) for key, start, end in _stored(content)]


def find_numbers(content: bytes, term: str, *, first: int) -> tuple[int, ...]:
    """Where the term occurs, by stored leaves among which its own would be; none of the others is read."""
    wanted = term_key(term)
    return next((_numbers(content, start, end, first) for key, start, end in _stored(content) if key == wanted), ())


def _stored(content: bytes) -> Iterator[tuple[bytes, int, int]]:
    """The key of each leaf, and where its numbers begin and end."""
    place = 0
    while place < len(content):
        start = place + KEY_SIZE + _NUMBER
        end = start + _NUMBER * int.from_bytes(content[place + KEY_SIZE : start])
        if end > len(content):
            raise UnansweredTermError(f"expected stored leaves up to byte {end}, got {len(content)} bytes")
        yield content[place : place + KEY_SIZE], start, end
        place = end


def _numbers(content: bytes, start: int, end: int, first: int) -> tuple[int, ...]:
    offsets = struct.unpack_from(f">{(end - start) // _NUMBER}I", content, start)
    return tuple(first + offset for offset in offsets)


def verify_seal(seal: Seal) -> None:
    """Raise unless an index could be what it is said to be."""
    parse_digest(seal.root)
    if not 1 <= seal.first <= seal.last < seal.first + MAX_SEGMENT or seal.leaves < 1:
        raise UnansweredTermError(f"expected an index of 1 to {MAX_SEGMENT} entries, got {seal.first} to {seal.last}")


def verify_answer(seal: Seal, term: str, answer: TermAnswer) -> None:
    """Raise unless the logged root says the same of the term: that it is in these entries of the segment and no other.

    Whether the root itself is that of the entries is found out by whoever has them: an audit does.
    """
    for leaf in answer.leaves:
        node = _leaf_hash(leaf.key, leaf.numbers_hash)
        verify_inclusion(node, leaf.position, seal.leaves, leaf.path, raw_digest(seal.root))
    if answer.numbers:
        _verify_found(seal, term, answer)
    else:
        _verify_absent(seal, term, answer.leaves)


def _verify_found(seal: Seal, term: str, answer: TermAnswer) -> None:
    numbers, key = answer.numbers, term_key(term)
    if list(numbers) != sorted(set(numbers)) or not seal.first <= numbers[0] <= numbers[-1] <= seal.last:
        raise UnansweredTermError(f"expected rising numbers from {seal.first} to {seal.last} for `{term}`")
    expected = (key, _numbers_hash(Leaf(key, numbers), seal.first))
    if [(leaf.key, leaf.numbers_hash) for leaf in answer.leaves] != [expected]:
        raise UnansweredTermError(f"expected the leaf of `{term}` with its {len(numbers)} entries, got another")


def _verify_absent(seal: Seal, term: str, leaves: Sequence[LeafProof]) -> None:
    """Between two neighbours, before the first leaf, or after the last: there is no other way not to be there."""
    key = term_key(term)
    before = [leaf.position for leaf in leaves if leaf.key < key]
    after = [leaf.position for leaf in leaves if leaf.key > key]
    gap = before[0] + 1 if before else 0
    is_beside = after == [gap] if gap < seal.leaves else not after
    if len(before) > 1 or len(before) + len(after) != len(leaves) or not is_beside:
        raise UnansweredTermError(f"expected the leaves on either side of `{term}`, got others")


def _place(leaves: Sequence[Leaf], key: bytes) -> int:
    return bisect_left(leaves, key, key=_key_of)


def _key_of(leaf: Leaf) -> bytes:
    return leaf.key


def _leaf_hash(key: bytes, numbers_hash: bytes) -> bytes:
    return leaf_hash(key + numbers_hash)


def _hashes(leaves: Iterable[Leaf], first: int) -> list[bytes]:
    return [_leaf_hash(leaf.key, _numbers_hash(leaf, first)) for leaf in leaves]


def _numbers_hash(leaf: Leaf, first: int) -> bytes:
    return sha256(_offsets(leaf.numbers, first=first)).digest()


def _offsets(numbers: Iterable[int], *, first: int) -> bytes:
    offsets = [number - first for number in numbers]
    return struct.pack(f">{len(offsets)}I", *offsets)
