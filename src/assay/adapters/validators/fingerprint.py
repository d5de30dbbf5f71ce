"""Fingerprints of pictures: 64 bits that stay alike when a picture is scaled, brightened or saved again.

grey pixels, rows from the top, each 0 to 255 -> bits, the first pixel's the highest
Integers only: the same pixels give the same bits on every machine.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import cos, pi
from types import MappingProxyType

from assay.ports.validator import ValidatorError
from assay.truth.contract import SimilarityMethod
from assay.truth.evidence import Fingerprint

Pixels = Sequence[Sequence[int]]

# Columns and rows that each method looks at.
GRIDS: Mapping[SimilarityMethod, tuple[int, int]] = MappingProxyType(
    {SimilarityMethod.PHASH: (32, 32), SimilarityMethod.DHASH: (9, 8), SimilarityMethod.AHASH: (8, 8)}
)
_SIDE = 8
_BRIGHTEST = 255
_LARGE = 32
# cos((2x + 1) u π / 64) for the lowest frequencies, in 2^20ths: coarse enough that every libm rounds it alike.
_COSINES = tuple(
    tuple(round(cos((2 * x + 1) * u * pi / (2 * _LARGE)) * (1 << 20)) for x in range(_LARGE)) for u in range(_SIDE)
)


def fingerprint_of(sha256: str, method: SimilarityMethod, pixels: Pixels) -> Fingerprint:
    """Of the picture with this content hash, scaled to the method's grid."""
    columns, rows = GRIDS[method]
    is_grid = len(pixels) == rows and all(len(row) == columns for row in pixels)
    if not is_grid or not all(0 <= value <= _BRIGHTEST for row in pixels for value in row):
        raise ValidatorError.pixels(f"expected {columns} x {rows} values of 0 to 255 for `{method}`, got others")
    bits = "".join("1" if bit else "0" for bit in _METHODS[method](pixels))
    return Fingerprint(sha256=sha256, method=method, bits=f"{int(bits, 2):016x}")


def _phash(pixels: Pixels) -> list[bool]:
    """The lowest frequencies of the cosine transform: above their median or not."""
    across = [[sum(map(int.__mul__, wave, row)) for row in pixels] for wave in _COSINES]
    waves = [sum(map(int.__mul__, wave, across[u])) for wave in _COSINES for u in range(_SIDE)]
    low, high = sorted(waves)[31:33]
    return [2 * wave > low + high for wave in waves]


def _dhash(pixels: Pixels) -> list[bool]:
    """Whether each pixel is brighter than its left neighbour."""
    return [right > left for row in pixels for left, right in pairwise(row)]


def _ahash(pixels: Pixels) -> list[bool]:
    """Whether each pixel is brighter than their mean."""
    values = [value for row in pixels for value in row]
    return [value * len(values) > sum(values) for value in values]


_METHODS: Mapping[SimilarityMethod, Callable[[Pixels], list[bool]]] = MappingProxyType(
    {SimilarityMethod.PHASH: _phash, SimilarityMethod.DHASH: _dhash, SimilarityMethod.AHASH: _ahash}
)
