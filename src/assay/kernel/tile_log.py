"""The files of a static tile log (C2SP tlog-tiles): their names, and the entries inside a bundle.

checkpoint;   tile/<level>/<N>[.p/<W>];   tile/entries/<N>[.p/<W>];   size -> the tiles and bundles of a tree

An entry bundle has 16-bit lengths. Where one of its entries is longer than that, the bundle is in `tile/entries32`,
with 32-bit lengths, and other readers find no bundle rather than a wrong one.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay.kernel.errors import MerkleError
from assay.kernel.tile import TILE_BITS, TILE_WIDTH, tile_path, tile_width

CHECKPOINT_FILE = "checkpoint"
_LONGEST = 0xFFFF
_SHORT, _LONG = 2, 4


class EntryBundleError(MerkleError):
    """An entry bundle does not hold the entries that it should hold."""

    code = "merkle.entry_bundle"


class Place(NamedTuple):
    """One tile or bundle, the `number`th of its level: `width` hashes or entries, 256 when full."""

    level: int
    number: int
    width: int

    @property
    def is_full(self) -> bool:
        return self.width == TILE_WIDTH

    @property
    def path(self) -> str:
        return tile_path(*self)


def tiles_of(size: int, *, after: int = 0) -> Iterator[Place]:
    """The tiles of a tree that a tree of `after` leaves does not have yet, or has with fewer hashes."""
    level = 0
    while complete := size >> (TILE_BITS * level):
        known = after >> (TILE_BITS * level)
        for index in range(known >> TILE_BITS, -(-complete // TILE_WIDTH)):
            place = Place(level, index, tile_width(level, index, size))
            if place.width > tile_width(level, index, after):
                yield place
        level += 1


def bundles_of(size: int, *, after: int = 0) -> Iterator[Place]:
    """The entry bundles of a tree, as `tiles_of` gives tiles: a bundle lies beside each tile of level 0."""
    return (place for place in tiles_of(size, after=after) if place.level == 0)


def bundle_paths(place: Place) -> tuple[str, str]:
    """Where a bundle is: with 16-bit lengths, or else with 32-bit lengths."""
    rest = place.path.removeprefix("tile/0/")
    return f"tile/entries/{rest}", f"tile/entries32/{rest}"


def partial_folders(place: Place) -> tuple[str, ...]:
    """Where narrower forms of a full tile and its bundle may lie; nobody needs them any more."""
    paths = (place.path, *bundle_paths(place)) if place.level == 0 else (place.path,)
    return tuple(f"{path}.p/" for path in paths)


def render_entries(place: Place, texts: Sequence[bytes]) -> tuple[str, bytes]:
    """The path and the content of the bundle of these entries, each behind its length, big-endian."""
    short, long = bundle_paths(place)
    is_short = all(len(text) <= _LONGEST for text in texts)
    size = _SHORT if is_short else _LONG
    return (short if is_short else long), b"".join(len(text).to_bytes(size) + text for text in texts)


def parse_entries(place: Place, path: str, content: bytes) -> tuple[bytes, ...]:
    """The entries of a bundle; refuses another number of them, and anything behind the last."""
    size = _SHORT if path == bundle_paths(place)[0] else _LONG
    texts, at = [], 0
    while at < len(content):
        length = int.from_bytes(content[at : at + size])
        text = content[at + size : at + size + length]
        if len(text) != length or at + size > len(content):
            raise EntryBundleError(f"expected an entry of {length} bytes at byte {at} of `{path}`, got {len(text)}")
        texts.append(text)
        at += size + length
    if len(texts) != place.width:
        raise EntryBundleError(f"expected {place.width} entries in `{path}`, got {len(texts)}")
    return tuple(texts)
